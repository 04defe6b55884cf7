//! [`Typed`]: what a user has typed of an argument, when a client asks for suggestions.

use std::collections::BTreeMap;

use mcp_protocols::eras::types::CompleteParams;

/// What a user has typed of an argument of a prompt, or of a variable of a resource.
///
/// ```
/// use mcp_kit::{Failure, Typed};
///
/// fn streets(typed: &Typed) -> Vec<String> {
///     let streets: &[&str] = match typed.others.get("city").map(String::as_str) {
///         Some("Bern") => &["Aarbergergasse", "Bundesgasse"],
///         _ => &[],
///     };
///     let fitting = streets.iter().filter(|street| street.starts_with(&typed.text));
///     fitting.map(|street| street.to_string()).collect()
/// }
///
/// assert_eq!(streets(&Typed::new("street", "B").other("city", "Bern")), ["Bundesgasse"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Typed {
    /// The name of the argument.
    pub argument: String,
    /// What the user has typed so far, which may be nothing.
    pub text: String,
    /// The values of the other arguments, as far as the client says them: those of revisions before 2025-06-18 never do.
    pub others: BTreeMap<String, String>,
}

impl Typed {
    /// What a client sends, for tests.
    pub fn new(argument: impl Into<String>, text: impl Into<String>) -> Typed {
        Typed { argument: argument.into(), text: text.into(), others: BTreeMap::new() }
    }

    /// The value of another argument.
    #[must_use]
    pub fn other(mut self, argument: impl Into<String>, value: impl Into<String>) -> Typed {
        self.others.insert(argument.into(), value.into());
        self
    }

    pub(super) fn of(params: CompleteParams) -> Typed {
        let others = params.context.and_then(|context| context.arguments).unwrap_or_default();
        Typed { argument: params.argument.name, text: params.argument.value, others }
    }
}
