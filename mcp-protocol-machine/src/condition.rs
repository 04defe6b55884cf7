//! Conditions, and other places in payloads, as their authors write them.

use std::fmt;

use crate::protocol::{Condition, During, Gate, RequestVersion, Text};

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "if {}", self.test())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.during {
            None => formatter.write_str(&dotted(&self.path)),
            Some(During { condition: None, .. }) => formatter.write_str("during …"),
            Some(During { condition: Some(condition), .. }) => write!(formatter, "during … {condition}"),
        }
    }
}

impl fmt::Display for RequestVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&dotted(&self.path))
    }
}

impl Condition {
    /// What stands behind `if` or `unless`.
    pub(crate) fn test(&self) -> String {
        match &self.literal {
            Some(literal) => format!("{} = {literal:?}", dotted(&self.path)),
            None => dotted(&self.path),
        }
    }

    /// Whether every payload that fits another condition fits this one, too.
    pub fn covers(&self, other: &Condition) -> bool {
        self.path == other.path && (self.literal.is_none() || self.literal == other.literal)
    }
}

/// A path as it is written in a `.session` file: a key that is not a plain word is quoted.
pub(crate) fn dotted(path: &[Text]) -> String {
    let plain =
        |key: &str| key.chars().all(|character| character.is_alphanumeric() || "_-".contains(character));
    let keys = path.iter().map(|key| if plain(key) { key.to_string() } else { format!("{key:?}") });
    keys.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::protocol::{GateIndex, Holder, Requirement};

    fn condition(path: &[&str], literal: Option<&str>) -> Condition {
        Condition {
            path: path.iter().map(|key| Cow::Owned((*key).to_owned())).collect(),
            literal: literal.map(|literal| Cow::Owned(literal.to_owned())),
        }
    }

    #[test]
    fn conditions_read_as_they_are_written() {
        assert_eq!(condition(&["task"], None).to_string(), "if task");
        assert_eq!(
            condition(&["_meta", "io.x/y"], Some("a\"b")).to_string(),
            r#"if _meta."io.x/y" = "a\"b""#
        );
    }

    #[test]
    fn when_a_capability_is_needed_reads_as_it_is_written() {
        let mut requirement =
            Requirement { holder: Holder::Sender, gate: GateIndex(0), condition: None, unless: false };
        assert_eq!(requirement.when(), None);
        assert!(requirement.is_needed(|_| false) && requirement.is_needed(|_| true));
        requirement.condition = Some(condition(&["mode"], Some("url")));
        assert_eq!(requirement.when().as_deref(), Some("if mode = \"url\""));
        assert!(requirement.is_needed(|_| true) && !requirement.is_needed(|_| false));
        requirement.unless = true;
        assert_eq!(requirement.when().as_deref(), Some("unless mode = \"url\""));
        assert!(requirement.is_needed(|_| false) && !requirement.is_needed(|_| true));
    }

    #[test]
    fn a_value_that_is_there_covers_one_that_is_a_certain_text() {
        let (there, url) = (condition(&["mode"], None), condition(&["mode"], Some("url")));
        assert!(there.covers(&url) && there.covers(&there) && url.covers(&url));
        assert!(!url.covers(&there) && !url.covers(&condition(&["mode"], Some("form"))));
        assert!(!there.covers(&condition(&["task"], None)));
    }
}
