//! What users of the command read about a revision that is announced and not known.

use mcp_protocol_machine::Excerpt;
use mcp_runtime::Error;
use mcp_runtime::error::AnnouncedVersion;

/// The announced revision, and what to do; nothing if the error is another one.
pub(crate) fn of_error(error: &Error) -> Option<(String, String)> {
    let Error::Version { offered, accepted, .. } = error else { return None };
    let offered = match offered {
        AnnouncedVersion::Named(text) => format!("`{}`", Excerpt(text)),
        AnnouncedVersion::NotAString(text) | AnnouncedVersion::NotANumber(text) => {
            format!("`{}`", Excerpt(text))
        }
        _ => "that is not announced".to_owned(),
    };
    let known = format!("known are `{}`; for another one name its `.session` file", accepted.join("`, `"));
    Some((offered, known))
}

/// The same as a sentence.
pub(crate) fn sentence((revision, known): (String, String)) -> String {
    format!("the revision {revision} is not known: {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_reads_what_to_do() {
        let accepted = vec!["1".to_owned(), "2".to_owned()];
        let error = |offered| Error::Version { requested: None, offered, accepted: accepted.clone() };
        let known = "known are `1`, `2`; for another one name its `.session` file";
        for (offered, expected) in [
            (AnnouncedVersion::Named("3".to_owned()), "`3`"),
            (AnnouncedVersion::NotAString("3".to_owned()), "`3`"),
            (AnnouncedVersion::Missing, "that is not announced"),
        ] {
            assert_eq!(of_error(&error(offered)), Some((expected.to_owned(), known.to_owned())));
        }
    }
}
