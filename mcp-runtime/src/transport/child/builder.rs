//! Configures and starts a child process.

use std::io;
use std::process::Stdio;

use tokio::process::Command;

use super::environment::restrict;
use super::errors::{LinesTask, OnLine};
use super::process::Process;
use super::running::Child;
use super::shutdown::ShutdownTimes;
use super::spawn_error::SpawnError;
use crate::driver::Framing;

/// What becomes of the child's error output.
enum Errors {
    Inherit,
    Null,
    Lines(OnLine),
}

impl Child {
    /// Starts `command` with default settings: its error output is this process's own, and of this process's
    /// environment it gets the variables of [`ENVIRONMENT`](super::ENVIRONMENT) alone.
    ///
    /// Must be called on a tokio runtime with I/O and time enabled.
    ///
    /// ```no_run
    /// use mcp_runtime::transport::{Child, SpawnError};
    /// use tokio::process::Command;
    ///
    /// # async fn example() -> Result<(), SpawnError> {
    /// let transport = Child::spawn(Command::new("weather-server"))?;
    /// // let client = WeatherClient::new(transport);
    /// # drop(transport);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A [`SpawnError`] that names the command and says what is probably wrong, if the operating system cannot start it.
    pub fn spawn(command: impl Into<Command>) -> Result<Child, SpawnError> {
        ChildBuilder::new(command).spawn()
    }

    /// Settings for a child to start.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use mcp_runtime::transport::{Child, ShutdownTimes, SpawnError};
    /// use tokio::process::Command;
    ///
    /// # async fn example() -> Result<(), SpawnError> {
    /// let server = Child::builder(Command::new("notes-server"))
    ///     .shutdown_times(ShutdownTimes::new().after_eof(Duration::from_secs(30)))
    ///     .on_stderr_line(|line| println!("notes-server: {line}"))
    ///     .spawn()?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(command: impl Into<Command>) -> ChildBuilder {
        ChildBuilder::new(command)
    }
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
    ///
    /// ```
    /// use mcp_runtime::transport::{Child, ChildBuilder, SpawnError};
    /// use tokio::process::Command;
    ///
    /// fn start() -> Result<Child, SpawnError> {
    ///     let server = ChildBuilder::new(Command::new("weather-server"));
    ///     server.on_stderr_line(|line| println!("weather-server: {line}")).spawn()
    /// }
    /// ```
    pub fn on_stderr_line(mut self, on_line: impl FnMut(&str) + Send + 'static) -> Self {
        self.errors = Errors::Lines(Box::new(on_line));
        self
    }

    /// Starts the child. Must be called on a tokio runtime with I/O and time enabled.
    ///
    /// # Errors
    /// A [`SpawnError`] that names the command and says what is probably wrong, if the operating system cannot start it.
    pub fn spawn(self) -> Result<Child, SpawnError> {
        let Self { mut command, errors, framing, times, inherits_environment } = self;
        if !inherits_environment {
            restrict(&mut command);
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
