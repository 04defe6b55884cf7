//! Starting a child.
//!
//! In come a command and settings; out comes a running [`Child`] or a [`SpawnError`] that names the command and says
//! what is probably wrong. Arguments and working directory are the command's own; of this process's environment the
//! child gets a short list.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::errors::{LinesTask, OnLine};
use super::process::Process;
use super::{Child, ShutdownTimes, environment};
use crate::driver::Framing;

/// What becomes of the child's error output.
enum Errors {
    Inherit,
    Null,
    Lines(OnLine),
}

/// Settings for a child to start.
pub struct ChildBuilder {
    command: Command,
    errors: Errors,
    framing: Framing,
    times: ShutdownTimes,
    inherits_environment: bool,
}

impl std::fmt::Debug for ChildBuilder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ChildBuilder")
            .field("command", &self.command)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

impl ChildBuilder {
    /// Default settings for `command`, a `Command` of tokio's or of the standard library.
    pub fn new(command: impl Into<Command>) -> Self {
        Self {
            command: command.into(),
            errors: Errors::Inherit,
            framing: Framing::Lines,
            times: ShutdownTimes::default(),
            inherits_environment: false,
        }
    }

    /// Sets how messages are separated in the child's input and output. By default each stands on a line of its own.
    ///
    /// ```no_run
    /// # use mcp_runtime::transport::{Child, Framing};
    /// # use tokio::process::Command;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Child::builder(Command::new("rust-analyzer")).framing(Framing::ContentLength).spawn()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Sets how long each step of the shutdown may take.
    pub fn shutdown_times(mut self, times: ShutdownTimes) -> Self {
        self.times = times;
        self
    }

    /// Gives the child every environment variable of this process.
    ///
    /// By default it gets those of [`ENVIRONMENT`](super::ENVIRONMENT) and what was set with `Command::env`: the
    /// environment of a program often holds keys that its children should not see.
    ///
    /// ```no_run
    /// # use mcp_runtime::transport::Child;
    /// # use tokio::process::Command;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut command = Command::new("weather-server");
    /// command.env("WEATHER_KEY", std::env::var("WEATHER_KEY")?);
    /// let child = Child::spawn(command)?;                                             // that key and the short list
    /// let all = Child::builder(Command::new("npx")).inherit_environment().spawn()?;   // everything
    /// # Ok(())
    /// # }
    /// ```
    pub fn inherit_environment(mut self) -> Self {
        self.inherits_environment = true;
        self
    }

    /// Discards the child's error output. By default it goes where this process's own goes.
    pub fn stderr_null(mut self) -> Self {
        self.errors = Errors::Null;
        self
    }

    /// Calls `on_line` with each line of the child's error output, without its end, and with what is not UTF-8
    /// replaced. A line of more than 64 KiB comes in pieces. The callback runs on the tokio runtime: it must not
    /// block.
    pub fn on_stderr_line(mut self, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        self.errors = Errors::Lines(Box::new(on_line));
        self
    }

    /// Starts the child. Must be called on a tokio runtime with I/O and time enabled.
    pub fn spawn(self) -> Result<Child, SpawnError> {
        let Self { mut command, errors, framing, times, inherits_environment } = self;
        if !inherits_environment {
            environment::restrict(&mut command);
        }
        #[cfg(unix)]
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(match errors {
            Errors::Inherit => Stdio::inherit(),
            Errors::Null => Stdio::null(),
            Errors::Lines(_) => Stdio::piped(),
        });
        // `Process` kills and waits itself; this is for a panic between here and there.
        command.kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| SpawnError::new(&command, error))?;
        let (input, output, error_output) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process::new(child);
        let (Some(input), Some(output)) = (input, output) else {
            return Err(SpawnError::new(&command, io::Error::other("the pipes are missing")));
        };
        let errors = match (errors, error_output) {
            (Errors::Lines(on_line), Some(stream)) => Some(LinesTask::spawn(stream, on_line)),
            _ => None,
        };
        Ok(Child { process, input, output, errors, framing, times })
    }
}

/// A child could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `{command}`: {source}{hint}")]
pub struct SpawnError {
    command: String,
    hint: String,
    source: io::Error,
}

impl SpawnError {
    fn new(command: &Command, source: io::Error) -> Self {
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
    use super::*;

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
