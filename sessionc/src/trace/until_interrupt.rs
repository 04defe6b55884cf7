//! Standard input, which Ctrl-C ends, too: what `tail -f LOG` has shown until then is judged.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{process, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::ctrl_c;

use crate::files::open;

/// How many bytes are read at once.
const CHUNK: usize = 256 * 1024;
/// How many pieces may be read ahead.
const AHEAD: usize = 4;
/// The exit code that shells show for a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// A part of the input, of which an empty one is the end.
type Piece = io::Result<Vec<u8>>;

/// Reads up to the end of the input, or up to Ctrl-C. A second Ctrl-C ends the program.
pub(crate) struct UntilInterrupt {
    pieces: Receiver<Piece>,
    piece: Cursor<Vec<u8>>,
    at_end: bool,
}

impl UntilInterrupt {
    /// # Errors
    /// If the system lets the program wait for no signals. What is wrong with the input is an error of reading.
    pub(crate) fn open(path: &Path) -> io::Result<UntilInterrupt> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (sender, pieces) = sync_channel(AHEAD);
        let (path, input) = (path.to_owned(), sender.clone());
        thread::spawn(move || end_with_interrupt(&runtime, &sender));
        thread::spawn(move || read_on(&path, &input));
        Ok(UntilInterrupt { pieces, piece: Cursor::default(), at_end: false })
    }
}

/// Once nothing more is read of the input, Ctrl-C ends the program as it would without this.
fn end_with_interrupt(runtime: &Runtime, pieces: &SyncSender<Piece>) {
    let interrupt = || runtime.block_on(ctrl_c());
    if interrupt().is_ok() && (pieces.send(Ok(Vec::new())).is_err() || interrupt().is_ok()) {
        process::exit(INTERRUPTED);
    }
}

/// A read that waits cannot be stopped, so that a thread of its own waits.
fn read_on(path: &Path, pieces: &SyncSender<Piece>) {
    let mut input = match open(path) {
        Ok(input) => input,
        Err(error) => return drop(pieces.send(Err(error))),
    };
    loop {
        let mut piece = vec![0; CHUNK];
        let read = input.read(&mut piece).map(|count| {
            piece.truncate(count);
            piece
        });
        let goes_on = match &read {
            Ok(piece) => !piece.is_empty(),
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        };
        if pieces.send(read).is_err() || !goes_on {
            return;
        }
    }
}

impl Read for UntilInterrupt {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let read = self.piece.read(room)?;
        if read > 0 || self.at_end || room.is_empty() {
            return Ok(read);
        }
        // Both threads are gone only after an end.
        self.piece = Cursor::new(self.pieces.recv().unwrap_or_else(|_| Ok(Vec::new()))?);
        self.at_end = self.piece.get_ref().is_empty();
        self.piece.read(room)
    }
}
