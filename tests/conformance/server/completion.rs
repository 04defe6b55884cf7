//! Completions: suggestions for what the user begins to type.

use mcp_protocols::eras::types::{CompleteParams, CompleteResult, Completion};

const WORDS: [&str; 6] = ["paper", "pencil", "ruler", "tea", "test", "text"];

/// The words that begin like that.
pub(crate) fn complete(params: &CompleteParams) -> CompleteResult {
    let fitting = WORDS.into_iter().filter(|word| word.starts_with(&params.argument.value));
    CompleteResult::new(Completion::new(fitting))
}
