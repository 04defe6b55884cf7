//! Standard output. A reader that stops reading, as `head` does, is no failure; a disk that is full is one.

use std::io::{self, Write};
use std::path::PathBuf;

use crate::files::Failure;

/// Prints text as it is.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Write(PathBuf::from("<stdout>"), error))
        }
        _ => Ok(()),
    }
}
