//! What an error of the command line says beyond what clap says.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, builder::StyledStr};

use crate::server_command::{NAMES_A_PROTOCOL, line_that_starts};

/// The option whose value may be left out, so that a file behind it is taken for one.
const TAKES_A_LEVEL: &str = "--enforce";
/// What clap proposes for each unknown option: to write it as a path. That is hardly ever meant.
const AS_VALUE: &str = "to pass ";

/// What to write where the value of an option is the file of a protocol.
fn instead_of(option: &str, value: &str) -> Option<String> {
    if option.starts_with(TAKES_A_LEVEL) {
        Some(format!(
            "if `{value}` is the file of the protocol, write it in front of `{TAKES_A_LEVEL}`, or write `{TAKES_A_LEVEL} must`"
        ))
    } else if option.starts_with(NAMES_A_PROTOCOL) && value.contains(['.', '/']) {
        Some(format!(
            "if `{value}` is the file of the protocol, write it without `{NAMES_A_PROTOCOL}`, as the first argument"
        ))
    } else {
        None
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
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    // An option may be one of the server: `npx -y`.
    if let Some(line) = line_that_starts() {
        let advice = StyledStr::from(format!("to start a server, write its command after `--`: `{line}`"));
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
