//! Why a child could not be started.

use std::fmt;
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

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl fmt::Debug for SpawnError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SpawnError").field(&self.to_string()).finish()
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

/// What is probably wrong, and what to do about it.
fn hint(command: &std::process::Command, error: &io::Error) -> Option<String> {
    let program = command.get_program();
    let (path, text) = (Path::new(program), program.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => Some(not_found(command, path, &text)),
        io::ErrorKind::PermissionDenied if path.is_dir() => {
            Some(format!("`{text}` is a directory: name the program in it"))
        }
        io::ErrorKind::PermissionDenied if path.is_file() => {
            Some(format!("`{text}` is not executable: make it so with `chmod +x {text}`"))
        }
        _ => None,
    }
}

/// The operating system says *not found* of several things.
fn not_found(command: &std::process::Command, path: &Path, text: &str) -> String {
    if let Some(folder) = command.get_current_dir()
        && !folder.is_dir()
    {
        return format!("the working directory `{}` does not exist", folder.display());
    }
    if text.is_empty() {
        return "the name of the program is empty".to_owned();
    }
    if path.is_file() {
        return format!("`{text}` exists: check that the interpreter in its first line exists, too");
    }
    if text.contains(char::is_whitespace) {
        return format!(
            "the whole of `{text}` was taken as the name of the program: pass its arguments with `Command::arg`"
        );
    }
    if path.components().count() == 1 {
        return format!("no directory in `PATH` has a program `{text}`: install it, or write the path to it");
    }
    format!("the file `{text}` does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(
            text.ends_with(
                "(no directory in `PATH` has a program `no-such-program-here`: install it, or write the path to it)"
            ),
            "{text}"
        );
    }

    #[test]
    fn an_error_that_main_returns_is_a_sentence() {
        let error = SpawnError::new(&Command::new("weather"), io::ErrorKind::PermissionDenied.into());
        assert_eq!(format!("{error:?}"), format!("SpawnError({:?})", error.to_string()));
    }

    #[test]
    fn knows_a_command_line_given_as_a_program() {
        let text = refusal(std::process::Command::new("no-such-program --flag"));
        assert!(text.ends_with("pass its arguments with `Command::arg`)"), "{text}");
    }

    #[test]
    fn knows_a_path_that_leads_nowhere() {
        let text = refusal(std::process::Command::new("/no/such/folder/server"));
        assert!(text.ends_with("(the file `/no/such/folder/server` does not exist)"), "{text}");
        let text = refusal(std::process::Command::new(""));
        assert!(text.ends_with("(the name of the program is empty)"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn knows_what_is_not_executable() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let text = refusal(std::process::Command::new(manifest));
        assert!(
            text.ends_with(&format!(
                "(`{manifest}` is not executable: make it so with `chmod +x {manifest}`)"
            ))
        );
        let folder = env!("CARGO_MANIFEST_DIR");
        let text = refusal(std::process::Command::new(folder));
        assert!(text.ends_with(&format!("(`{folder}` is a directory: name the program in it)")), "{text}");
    }

    #[test]
    fn knows_a_missing_working_directory() {
        let mut command = std::process::Command::new("cat");
        command.current_dir("/no/such/folder");
        let text = refusal(command);
        assert!(text.ends_with("(the working directory `/no/such/folder` does not exist)"), "{text}");
    }
}
