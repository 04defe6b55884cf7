//! The version that a peer announced.

use mcp_protocol_machine::Excerpt;

/// The version of the protocol that a message announces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnnouncedVersion {
    /// The field is missing.
    Missing,
    /// The field is not a string; this is its JSON.
    NotAString(String),
    /// The field is not a whole number, and the protocol's versions are; this is its JSON.
    NotANumber(String),
    /// The version.
    Named(String),
}

impl AnnouncedVersion {
    /// The version, if one is announced.
    pub fn as_deref(&self) -> Option<&str> {
        match self {
            AnnouncedVersion::Named(version) => Some(version),
            AnnouncedVersion::Missing | AnnouncedVersion::NotAString(_) | AnnouncedVersion::NotANumber(_) => {
                None
            }
        }
    }

    /// The field as its JSON says it, which is a whole number where versions are `numeric`; nothing if it is missing.
    pub(crate) fn read(json: Option<&str>, numeric: bool) -> AnnouncedVersion {
        let Some(json) = json else { return AnnouncedVersion::Missing };
        if numeric {
            return match serde_json::from_str::<u64>(json) {
                Ok(version) => AnnouncedVersion::Named(version.to_string()),
                Err(_) => AnnouncedVersion::NotANumber(shown(json)),
            };
        }
        match serde_json::from_str(json) {
            Ok(version) => AnnouncedVersion::Named(version),
            Err(_) => AnnouncedVersion::NotAString(shown(json)),
        }
    }

    /// What a peer does that announces this.
    pub(super) fn speaks(&self) -> String {
        match self {
            AnnouncedVersion::Named(version) => format!("speaks version `{}`", Excerpt(version)),
            AnnouncedVersion::NotAString(json) => {
                format!("announces the version `{}`, which is not a string", Excerpt(json))
            }
            AnnouncedVersion::NotANumber(json) => {
                format!("announces the version `{}`, which is not a whole number", Excerpt(json))
            }
            AnnouncedVersion::Missing => "does not say which version it speaks".to_owned(),
        }
    }
}

/// How much of a value that is not a version is kept.
const LONGEST: usize = 100;

fn shown(json: &str) -> String {
    match json.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", json.get(..end).unwrap_or_default()),
        None => json.to_owned(),
    }
}

/// How to accept more versions.
pub(super) const OTHERS: &str = ": list others with `Options::revisions`";

/// Versions in a sentence.
pub(crate) fn either(versions: &[String]) -> String {
    match versions {
        [] => "none".to_owned(),
        versions => format!("`{}`", versions.join("` or `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_string() {
        for (json, speaks) in [
            (Some("\"1\""), "speaks version `1`"),
            (Some("20250326"), "announces the version `20250326`, which is not a string"),
            (Some("null"), "announces the version `null`, which is not a string"),
            (None, "does not say which version it speaks"),
        ] {
            assert_eq!(AnnouncedVersion::read(json, false).speaks(), speaks);
        }
        let long = AnnouncedVersion::read(Some(&format!("[{}]", "1,".repeat(1_000))), false);
        assert!(matches!(long, AnnouncedVersion::NotAString(json) if json.chars().count() == LONGEST + 1));
    }

    #[test]
    fn a_numeric_version_is_a_whole_number() {
        for (json, speaks) in [
            (Some("1"), "speaks version `1`"),
            (Some("\"1\""), "announces the version `\"1\"`, which is not a whole number"),
            (Some("1.5"), "announces the version `1.5`, which is not a whole number"),
            (Some("-1"), "announces the version `-1`, which is not a whole number"),
            (None, "does not say which version it speaks"),
        ] {
            assert_eq!(AnnouncedVersion::read(json, true).speaks(), speaks);
        }
    }
}
