//! Files that a command writes: they are written whole, or stay as they were. A full disk does not cost a protocol.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

use crate::files::Failure;

/// Writes a file, in place of the one that is there. If that fails, what was there is there still, and no half file is.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    replace(path, text.as_ref()).map_err(|error| Failure::Write(path.to_owned(), error))
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // A device or a pipe. Of a folder the error says what it is.
        return fs::write(path, text);
    }
    if old.is_some() {
        // A file that may not be written may not be replaced either.
        OpenOptions::new().write(true).open(path)?;
    }
    let new = match create_next_to(path) {
        // The file may be written, and the folder takes no other.
        Err(error) if old.is_some() && is_forbidden(&error) => return fs::write(path, text),
        new => new?,
    };
    let written = fill(&new, text).and_then(|()| {
        old.map_or(Ok(()), |old| fs::set_permissions(&new, old.permissions()))?;
        fs::rename(&new, path)
    });
    if written.is_err() {
        // It says what was wrong already.
        let _ = fs::remove_file(&new);
    }
    written
}

/// Makes an empty file in the folder of another.
fn create_next_to(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}.new", process::id()));
    OpenOptions::new().write(true).create_new(true).open(&new)?;
    Ok(new)
}

/// Some file systems say only in the end that there is no room.
fn fill(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}
