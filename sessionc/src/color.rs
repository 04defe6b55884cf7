//! Whether to print in colour: `--color` first, then the usual variables and whether the output is a terminal.

use std::ffi::OsString;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use mcp_protocol_compiler::diagnostic::render::Style;

/// What `--color` says, for the messages that clap prints before it has read all arguments.
pub(crate) fn asked_for(arguments: impl Iterator<Item = OsString>) -> clap::ColorChoice {
    let mut choice = clap::ColorChoice::Auto;
    let mut is_value = false;
    for argument in arguments.map(|argument| argument.to_string_lossy().into_owned()) {
        let value = if is_value { Some(argument.as_str()) } else { argument.strip_prefix("--color=") };
        choice = value.and_then(|value| value.parse().ok()).unwrap_or(choice);
        is_value = argument == "--color";
    }
    choice
}

/// Chooses for the whole program. `auto` leaves the decision to `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, `TERM` and the
/// terminal.
pub(crate) fn choose(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// How findings are printed on a stream.
pub(crate) fn style(to: &impl RawStream) -> Style {
    match AutoStream::choice(to) {
        ColorChoice::Never => Style::Plain,
        _ => Style::Coloured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_choice_of_the_command_line_counts() {
        let choice = |arguments: &[&str]| asked_for(arguments.iter().map(OsString::from));
        assert_eq!(choice(&["sessionc", "check"]), clap::ColorChoice::Auto);
        assert_eq!(choice(&["sessionc", "--color", "always", "check"]), clap::ColorChoice::Always);
        assert_eq!(choice(&["sessionc", "check", "--color=never"]), clap::ColorChoice::Never);
        assert_eq!(choice(&["sessionc", "check", "--color", "blue"]), clap::ColorChoice::Auto);
    }
}
