//! Sets the environment variables of a child.

use std::env;
use std::ffi::{OsStr, OsString};

use tokio::process::Command;

/// The variables of this process that a child gets by default: those with which programs find their home, their tools,
/// a folder for temporary files, and the user's language.
#[cfg(not(windows))]
pub const ENVIRONMENT: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// The variables of this process that a child gets by default: those with which programs find their home, their tools,
/// and a folder for temporary files.
#[cfg(windows)]
pub const ENVIRONMENT: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Leaves a command the variables of [`ENVIRONMENT`] and those that were set on it.
pub(super) fn restrict(command: &mut Command) {
    let own: Vec<(OsString, Option<OsString>)> = command
        .as_std()
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(OsStr::to_owned)))
        .collect();
    command.env_clear();
    for name in ENVIRONMENT {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    for (name, value) in own {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}
