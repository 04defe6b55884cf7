//! The examples, as programs and as code.

mod cash_machine;
mod coding_agent;
mod console;
mod counter;
mod eras;
mod file_transfer;
mod gateway;
mod language_server;
mod notes;
#[cfg(unix)]
mod observer;
#[cfg(unix)]
mod quickstart;
mod rounds;
mod todos;
