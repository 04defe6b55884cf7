//! Blocking files, with one thread each that stops when its file is not wanted any more.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::transport::channel::{Head, Tail, channel, wait};

/// How much one direction holds.
const CAPACITY: usize = 64 * 1024;

/// How much is moved at once. A pipe that is ready for writing takes this much without blocking.
const PIECE: usize = 4096;

/// Bytes that a thread reads.
#[derive(Debug)]
pub(super) struct ThreadReader {
    pub(super) head: Head,
    /// The thread ends when this is closed.
    _cancel: io::PipeWriter,
}

impl ThreadReader {
    pub(super) fn start(file: OwnedFd) -> io::Result<Self> {
        let (tail, head) = channel(CAPACITY);
        let (cancelled, cancel) = io::pipe()?;
        thread::Builder::new()
            .name("stdin reader".to_owned())
            .spawn(move || read(&file, &cancelled, tail))?;
        Ok(Self { head, _cancel: cancel })
    }
}

/// Bytes that a thread writes.
#[derive(Debug)]
pub(super) struct ThreadWriter {
    pub(super) tail: Tail,
    /// The thread ends when this is closed, also when it has bytes left.
    _cancel: io::PipeWriter,
}

impl ThreadWriter {
    pub(super) fn start(file: OwnedFd) -> io::Result<Self> {
        let (tail, head) = channel(CAPACITY);
        let (cancelled, cancel) = io::pipe()?;
        thread::Builder::new()
            .name("stdout writer".to_owned())
            .spawn(move || write(&file, &cancelled, head))?;
        Ok(Self { tail, _cancel: cancel })
    }
}

fn read(file: &OwnedFd, cancelled: &io::PipeReader, mut tail: Tail) {
    let mut buffer = [0; PIECE];
    loop {
        match await_ready(file, PollFlags::IN, cancelled).and_then(|()| rustix::io::read(file, &mut buffer)) {
            Ok(0) | Err(Errno::CANCELED) => return,
            Ok(length) => {
                let mut rest = buffer.get(..length).unwrap_or_default();
                while !rest.is_empty() {
                    let Ok(sent) = wait(|context| tail.poll_send(context, rest)) else { return };
                    rest = rest.get(sent..).unwrap_or_default();
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return tail.fail(error.into()),
        }
    }
}

fn write(file: &OwnedFd, cancelled: &io::PipeReader, mut head: Head) {
    loop {
        let piece = match wait(|context| head.poll_fill(context).map_ok(<[u8]>::len)) {
            Ok(1..) => head.at_hand(),
            Ok(0) | Err(_) => return,
        };
        let piece = piece.get(..PIECE).unwrap_or(piece);
        match await_ready(file, PollFlags::OUT, cancelled).and_then(|()| rustix::io::write(file, piece)) {
            Ok(length) => head.advance(length),
            Err(Errno::CANCELED) => return,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return head.fail(error.into()),
        }
    }
}

/// Blocks until `file` can be used without blocking; `CANCELED` if its end was dropped.
fn await_ready(file: &OwnedFd, direction: PollFlags, cancelled: &io::PipeReader) -> Result<(), Errno> {
    let mut files = [PollFd::new(file, direction), PollFd::new(cancelled, PollFlags::IN)];
    poll(&mut files, None)?;
    let [_, cancelled] = &files;
    if cancelled.revents().is_empty() { Ok(()) } else { Err(Errno::CANCELED) }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::os::fd::AsFd;
    use std::task::{Context, Poll, Waker};

    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn reads_to_the_end() {
        let (input, mut parent) = pipe().unwrap();
        let mut reader = ThreadReader::start(input.into()).unwrap();
        let text = "0123456789".repeat(20_000);
        let written = text.clone();
        let writing = thread::spawn(move || parent.write_all(written.as_bytes()).unwrap());
        let mut seen = String::new();
        reader.head.read_to_string(&mut seen).await.unwrap();
        assert_eq!(seen, text);
        writing.join().unwrap();
    }

    #[tokio::test]
    async fn writes_everything_before_it_is_flushed() {
        let (mut parent, output) = pipe().unwrap();
        let mut writer = ThreadWriter::start(output.into()).unwrap();
        let text = "0123456789".repeat(20_000);
        let length = text.len();
        let reading = thread::spawn(move || {
            let mut seen = vec![0; length];
            parent.read_exact(&mut seen).unwrap();
            (seen, parent)
        });
        tokio::io::AsyncWriteExt::write_all(&mut writer.tail, text.as_bytes()).await.unwrap();
        std::future::poll_fn(|context| writer.tail.poll_consumed(context)).await.unwrap();
        let (seen, _parent) = reading.join().unwrap();
        assert_eq!(seen, text.as_bytes());
    }

    #[tokio::test]
    async fn a_failing_write_reaches_the_session() {
        let (parent, output) = pipe().unwrap();
        drop(parent);
        let mut writer = ThreadWriter::start(output.into()).unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut writer.tail, b"x").await.unwrap();
        let error = std::future::poll_fn(|context| writer.tail.poll_consumed(context)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn dropping_the_ends_ends_the_threads() {
        // The file of a thread is closed when the thread ends, which the other end of the pipe can see.
        let (input, mut parent_output) = pipe().unwrap();
        drop(ThreadReader::start(input.into()).unwrap());
        while parent_output.write(b"x").is_ok() {}

        let (mut parent_input, output) = pipe().unwrap();
        let mut writer = ThreadWriter::start(output.into()).unwrap();
        // More than the pipe holds, so that the thread is in the middle of it.
        let context = Context::from_waker(Waker::noop());
        let mut sent = 0;
        while sent < 4 * CAPACITY {
            if let Poll::Ready(length) = writer.tail.poll_send(&context, &[b'x'; PIECE]) {
                sent += length.unwrap();
            } else if is_full(&parent_input) {
                break;
            }
            thread::yield_now();
        }
        drop(writer);
        let mut rest = Vec::new();
        parent_input.read_to_end(&mut rest).unwrap();
    }

    /// Whether as much waits in the pipe as it takes.
    fn is_full(pipe: &impl AsFd) -> bool {
        rustix::io::ioctl_fionread(pipe).unwrap() >= CAPACITY as u64
    }
}
