//! How strict a rule is, and where it is written.

use std::borrow::Cow;

use super::Text;

/// How strict a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strictness {
    /// Breaking it is reported as advice unheeded.
    Should,
    /// Breaking it is an error.
    Must,
}

/// The level of a rule and where it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Level {
    /// Must or should.
    pub strictness: Strictness,
    /// The name of the rule, `L5`.
    pub rule: Option<Text>,
    /// The JSON-RPC code of the error that refuses a request here.
    pub error: Option<i64>,
}

impl Level {
    /// What is refused is an error, by no rule in particular.
    pub const MUST: Level = Level::new(Strictness::Must);

    /// What is refused is advice unheeded, by no rule in particular.
    pub const SHOULD: Level = Level::new(Strictness::Should);

    /// A rule whose breach is an error.
    pub const fn must(rule: &'static str) -> Level {
        Level { strictness: Strictness::Must, rule: Some(Cow::Borrowed(rule)), error: None }
    }

    /// A rule whose breach is advice unheeded.
    pub const fn should(rule: &'static str) -> Level {
        Level { strictness: Strictness::Should, rule: Some(Cow::Borrowed(rule)), error: None }
    }
}
