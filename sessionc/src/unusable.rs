//! What an error of the command line says beyond what clap says.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, builder::StyledStr};

/// How the usage of a command shows that it takes the command of a server.
const TAKES_A_SERVER: &str = "[-- <COMMAND>...]";

/// The option whose value may be left out, so that a file behind it is taken for one.
const TAKES_A_LEVEL: &str = "--enforce";
/// What clap proposes for each unknown option: to write it as a path. That is hardly ever meant.
const AS_VALUE: &str = "to pass ";

/// The option that names a shipped protocol.
const TAKES_A_NAME: &str = "--protocol";

/// What to write where the value of an option is the file of a protocol.
fn instead_of(option: &str, value: &str) -> Option<String> {
    if option.starts_with(TAKES_A_LEVEL) {
        Some(format!(
            "if `{value}` is the file of the protocol, write it in front of `{TAKES_A_LEVEL}`, or write `{TAKES_A_LEVEL} must`"
        ))
    } else if option.starts_with(TAKES_A_NAME) && value.contains(['.', '/']) {
        Some(format!(
            "if `{value}` is the file of the protocol, write it without `{TAKES_A_NAME}`, as the first argument"
        ))
    } else {
        None
    }
}

/// The word with which a command begins of which this word is not expected: where `--protocol` stands before it, the word in
/// front of it was taken for the file of a protocol.
fn first_of_command<'a>(words: &'a [String], word: &'a str) -> &'a str {
    let place = words.iter().position(|one| one == word).unwrap_or_default();
    match words.get(..place) {
        Some([before @ .., option, first]) => {
            let is_named =
                before.iter().any(|one| one.starts_with(TAKES_A_NAME)) || option.starts_with(TAKES_A_NAME);
            let is_value = option.starts_with('-') && !option.contains('=');
            let is_command = !first.starts_with('-') && !first.ends_with(".session");
            if is_named && !is_value && is_command { first } else { word }
        }
        _ => word,
    }
}

/// Adds that the command of a server is written after `--`, where a word that could be one is not expected.
pub(crate) fn with_advice(mut error: Error) -> Error {
    if let (ErrorKind::InvalidValue, Some(ContextValue::String(option)), Some(ContextValue::String(value))) =
        (error.kind(), error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
        && let Some(advice) = instead_of(option, value)
        && error.get(ContextKind::SuggestedValue).is_none()
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    }
    let word = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument => word,
        _ => return error,
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let words: Vec<String> = std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect();
    let first = first_of_command(&words, word);
    // An option may be one of the server: `npx -y`.
    if usage.contains(TAKES_A_SERVER) && !first.starts_with('-') {
        let advice =
            StyledStr::from(format!("to start a server, write its command after `--`: `-- {first} …`"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice]));
    }
    let is_as_value = matches!(
        error.get(ContextKind::Suggested),
        Some(ContextValue::StyledStrs(tips)) if tips.iter().all(|tip| tip.to_string().starts_with(AS_VALUE))
    );
    if is_as_value {
        error.remove(ContextKind::Suggested);
    }
    error
}
