//! A child process whose standard input and output carry the session.
//!
//! In comes a [`Command`](tokio::process::Command); out comes a running [`Child`], a transport. At the end of the session it goes through the
//! shutdown that the lifecycle document asks for: close its input, wait, `SIGTERM`, wait, `SIGKILL`. It refuses to
//! leave a process behind: whatever happens to the session or to the future that carries it, the child is made to
//! exit and is waited for. On Unix the child leads a process group of its own, which ends with it.

mod builder;
mod environment;
mod errors;
mod group;
mod process;
mod running;
mod shutdown;
mod spawn_error;

pub use builder::ChildBuilder;
pub use environment::ENVIRONMENT;
pub use running::Child;
pub use shutdown::ShutdownTimes;
pub use spawn_error::SpawnError;
