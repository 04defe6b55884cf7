//! Why a child could not be started.

use std::io;
use std::path::Path;

use tokio::process::Command;

use crate::error_texts::error_texts;

/// A child could not be started.
///
/// ```
/// use mcp_runtime::transport::ChildBuilder;
/// use tokio::process::Command;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let error = ChildBuilder::new(Command::new("no-such-weather-server")).spawn().unwrap_err();
/// assert_eq!(error.command(), "no-such-weather-server");
/// assert_eq!(error.io_error().kind(), std::io::ErrorKind::NotFound);
/// # }
/// ```
#[derive(Debug)]
pub struct SpawnError {
    command: String,
    hint: String,
    source: io::Error,
}

error_texts! {
    SpawnError {
        Self { command, hint, source } => ("cannot start `{command}`: {source}{hint}") from source,
    }
}

impl SpawnError {
    pub(super) fn new(command: &Command, source: io::Error) -> Self {
        let command = command.as_std();
        let mut line = command.get_program().to_string_lossy().into_owned();
        for argument in command.get_args() {
            line.push(' ');
            line.push_str(&argument.to_string_lossy());
        }
        let hint = hint(command, &source).map(|hint| format!(" ({hint})")).unwrap_or_default();
        Self { command: line, hint, source }
    }

    /// The program and its arguments.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// What the operating system said.
    pub fn io_error(&self) -> &io::Error {
        &self.source
    }
}

/// What is probably meant by *not found*, which the operating system says of several things.
fn hint(command: &std::process::Command, error: &io::Error) -> Option<String> {
    if error.kind() != io::ErrorKind::NotFound {
        return None;
    }
    if let Some(folder) = command.get_current_dir()
        && !folder.is_dir()
    {
        return Some(format!("the working directory `{}` does not exist", folder.display()));
    }
    let program = command.get_program();
    let text = program.to_string_lossy();
    if Path::new(program).is_file() {
        return Some(format!("`{text}` exists; the interpreter that its first line names may not"));
    }
    if text.contains(char::is_whitespace) {
        return Some(format!("`{text}` was taken as the name of one program; arguments are given apart"));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::transport::Child;

    fn refusal(command: std::process::Command) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        Child::spawn(command).unwrap_err().to_string()
    }

    #[test]
    fn names_the_command_that_is_not_there() {
        let mut command = std::process::Command::new("no-such-program-here");
        command.args(["--flag", "value"]);
        let text = refusal(command);
        assert!(text.starts_with("cannot start `no-such-program-here --flag value`: "), "{text}");
        assert!(!text.contains("taken as the name"), "{text}");
    }

    #[test]
    fn knows_a_command_line_given_as_a_program() {
        let text = refusal(std::process::Command::new("no-such-program --flag"));
        assert!(text.ends_with("arguments are given apart)"), "{text}");
    }

    #[test]
    fn knows_a_missing_working_directory() {
        let mut command = std::process::Command::new("cat");
        command.current_dir("/no/such/folder");
        let text = refusal(command);
        assert!(text.ends_with("(the working directory `/no/such/folder` does not exist)"), "{text}");
    }
}
