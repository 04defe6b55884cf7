//! Conditions, and other places in payloads, as their authors write them.

use std::fmt;

use crate::protocol::{Condition, During, Gate, Literal, RequestVersion, Text};
use crate::shape::expected_literal;

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
            // With escapes, as the file has it.
            Some(Literal::Text(text)) => format!("{} = {text:?}", self.looked_at()),
            Some(other) => format!("{} = {}", self.looked_at(), expected_literal(other)),
            None => self.looked_at(),
        }
    }

    /// The path, or `_` for the payload itself.
    fn looked_at(&self) -> String {
        if self.path.is_empty() { "_".to_owned() } else { dotted(&self.path) }
    }

    /// Whether every payload that fits another condition fits this one, too.
    pub fn covers(&self, other: &Condition) -> bool {
        // A value that is `false` does not fit a condition that names none.
        let any = self.literal.is_none() && other.literal != Some(Literal::Bool(false));
        self.path == other.path && (any || self.literal == other.literal)
    }
}

/// A path as it is written in a `.session` file: a key that is not a plain word is quoted.
pub(crate) fn dotted(path: &[Text]) -> String {
    let plain =
        |key: &str| key != "_" && key.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
    let keys = path.iter().map(|key| if plain(key) { key.to_string() } else { format!("{key:?}") });
    keys.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::protocol::{GateIndex, Holder, Requirement};

    fn condition<const KEYS: usize>(path: [&'static str; KEYS], literal: Option<Literal>) -> Condition {
        Condition { path: path.into_iter().map(Cow::Borrowed).collect(), literal }
    }

    #[test]
    fn conditions_read_as_they_are_written() {
        assert_eq!(condition(["task"], None).to_string(), "if task");
        assert_eq!(
            condition(["_meta", "io.x/y"], Some("a\"b".into())).to_string(),
            r#"if _meta."io.x/y" = "a\"b""#
        );
        assert_eq!(condition(["kind"], Some((-1).into())).to_string(), "if kind = -1");
        assert_eq!(condition(["ok"], Some(false.into())).to_string(), "if ok = false");
        assert_eq!(condition([], Some(true.into())).to_string(), "if _ = true");
        assert_eq!(condition(["_"], None).to_string(), "if \"_\"");
    }

    #[test]
    fn when_a_capability_is_needed_reads_as_it_is_written() {
        let mut requirement =
            Requirement { holder: Holder::Sender, gate: GateIndex(0), condition: None, unless: false };
        assert_eq!(requirement.when(), None);
        assert!(requirement.is_needed(|_| false) && requirement.is_needed(|_| true));
        requirement.condition = Some(condition(["mode"], Some("url".into())));
        assert_eq!(requirement.when().as_deref(), Some("if mode = \"url\""));
        assert!(requirement.is_needed(|_| true) && !requirement.is_needed(|_| false));
        requirement.unless = true;
        assert_eq!(requirement.when().as_deref(), Some("unless mode = \"url\""));
        assert!(requirement.is_needed(|_| false) && !requirement.is_needed(|_| true));
    }

    #[test]
    fn a_value_that_is_there_covers_a_certain_one_unless_that_is_false() {
        let mode = |literal| condition(["mode"], literal);
        let (there, url) = (mode(None), mode(Some("url".into())));
        assert!(there.covers(&url) && there.covers(&there) && url.covers(&url));
        assert!(!url.covers(&there) && !url.covers(&mode(Some("form".into()))));
        assert!(!there.covers(&condition(["task"], None)));
        let (one, yes, no) = (mode(Some(1.into())), mode(Some(true.into())), mode(Some(false.into())));
        assert!(there.covers(&one) && there.covers(&yes) && !there.covers(&no));
        assert!(no.covers(&no) && !no.covers(&there) && !one.covers(&mode(Some("1".into()))));
    }
}
