//! Chooses how the bytes of a standard stream are moved: through the reactor or with a thread.
//!
//! `O_NONBLOCK` is not set on a file that the error output shares, because an ordinary `eprintln!` would then fail, nor
//! on files that the reactor cannot wait for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, Stat};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::nonblocking::{Flags, ReactorSink, ReactorSource};
use super::threads::{ThreadReader, ThreadWriter};
use crate::driver::ReadBuffer;

/// The two files of a session.
#[derive(Debug)]
pub(super) enum StdioStreams {
    /// Those of this process.
    Own,
    /// Two others.
    Given(OwnedFd, OwnedFd),
}

impl StdioStreams {
    pub(super) fn own() -> Self {
        Self::Own
    }

    /// Decides on the way of each stream and prepares it. Must be called on a tokio runtime.
    pub(super) fn open(self) -> io::Result<(StdinReader, StdoutWriter)> {
        // The session works on duplicates, so that the numbers 0 and 1 stay taken and no other file gets them.
        let (input, output, own) = match self {
            Self::Own => {
                let input = io::stdin().as_fd().try_clone_to_owned()?;
                (input, io::stdout().as_fd().try_clone_to_owned()?, true)
            }
            Self::Given(input, output) => (input, output, false),
        };
        // A closed error output is not shared.
        let errors = rustix::fs::fstat(rustix::stdio::stderr()).ok();
        open(input, output, own, errors.as_ref())
    }
}

/// How the bytes of a stream are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamKind {
    /// A pipe, without blocking, when the reactor says so.
    Pipe,
    /// The same for a socket.
    Socket,
    /// Anything else, and what must stay blocking, by a thread that blocks.
    Thread,
}

impl StreamKind {
    fn of(file: &Stat, shared: bool) -> Self {
        match FileType::from_raw_mode(file.st_mode) {
            _ if shared => Self::Thread,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            _ => Self::Thread,
        }
    }
}

/// Whether two files are one, however they were opened.
fn is_same(one: &Stat, other: &Stat) -> bool {
    one.st_dev == other.st_dev && one.st_ino == other.st_ino
}

fn open(
    input: OwnedFd,
    output: OwnedFd,
    own: bool,
    errors: Option<&Stat>,
) -> io::Result<(StdinReader, StdoutWriter)> {
    let (input_stat, output_stat) = (rustix::fs::fstat(&input)?, rustix::fs::fstat(&output)?);
    let shared = |file| errors.is_some_and(|errors| is_same(file, errors));
    let input_way = StreamKind::of(&input_stat, shared(&input_stat));
    let output_way = StreamKind::of(&output_stat, shared(&output_stat));

    let input_flags = match input_way {
        StreamKind::Pipe | StreamKind::Socket => Some(Flags::set(&input)?),
        StreamKind::Thread => None,
    };
    // One socket may be both streams; its flags are set back when both are done with.
    let flags = input_flags.as_ref().filter(|_| is_same(&input_stat, &output_stat)).cloned();
    let output_flags = || flags.map_or_else(|| Flags::set(&output), Ok);
    let writer = match output_way {
        StreamKind::Pipe => {
            let flags = output_flags()?;
            StdoutWriter::Pipe { sink: ReactorSink::pipe(output, flags)?, own }
        }
        StreamKind::Socket => {
            let flags = output_flags()?;
            StdoutWriter::Socket(ReactorSink::socket(output, flags)?)
        }
        StreamKind::Thread => StdoutWriter::Thread(ThreadWriter::start(output)?),
    };
    let reader = match (input_way, input_flags) {
        (StreamKind::Pipe, Some(flags)) => {
            StdinReader::Reactor(ReadBuffer::new(ReactorSource::pipe(input, flags)?))
        }
        (StreamKind::Socket, Some(flags)) => {
            StdinReader::Reactor(ReadBuffer::new(ReactorSource::socket(input, flags)?))
        }
        _ => StdinReader::Thread(ThreadReader::start(input)?),
    };
    Ok((reader, writer))
}

/// The incoming stream.
#[derive(Debug)]
pub(super) enum StdinReader {
    Reactor(ReadBuffer<ReactorSource>),
    Thread(ThreadReader),
}

impl AsyncRead for StdinReader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Reactor(stream) => Pin::new(stream).poll_read(context, into),
            Self::Thread(thread) => Pin::new(&mut thread.head).poll_read(context, into),
        }
    }
}

impl AsyncBufRead for StdinReader {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        match self.get_mut() {
            Self::Reactor(stream) => Pin::new(stream).poll_fill_buf(context),
            Self::Thread(thread) => thread.head.poll_fill(context),
        }
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        match self.get_mut() {
            Self::Reactor(stream) => Pin::new(stream).consume(amount),
            Self::Thread(thread) => thread.head.advance(amount),
        }
    }
}

/// The outgoing stream.
#[derive(Debug)]
pub(super) enum StdoutWriter {
    /// If it is also this process's own standard output, closing it means to replace that by the null device.
    Pipe { sink: ReactorSink, own: bool },
    /// Closed by shutting its write side down, no matter who else holds it.
    Socket(ReactorSink),
    /// A file or device, which has no end to be told, or one that the error output goes on using.
    Thread(ThreadWriter),
}

impl AsyncWrite for StdoutWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Pipe { sink, .. } | Self::Socket(sink) => Pin::new(sink).poll_write(context, bytes),
            Self::Thread(thread) => thread.tail.poll_send(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe { sink, .. } | Self::Socket(sink) => Pin::new(sink).poll_flush(context),
            Self::Thread(thread) => thread.tail.poll_consumed(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        match self.get_mut() {
            Self::Pipe { own: true, .. } => Poll::Ready(replace_stdout()),
            Self::Pipe { own: false, .. } | Self::Thread(_) => Poll::Ready(Ok(())),
            Self::Socket(sink) => Pin::new(sink).poll_shutdown(context),
        }
    }
}

/// Lets go of this process's standard output, so that the parent sees its end although the process lives on.
fn replace_stdout() -> io::Result<()> {
    let null = std::fs::File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(null)?)
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, PipeWriter, pipe};
    use std::os::unix::net::UnixStream;

    use rustix::fs::{OFlags, fcntl_getfl, fstat};

    use super::*;

    fn is_nonblocking(file: impl AsFd) -> bool {
        fcntl_getfl(file).unwrap().contains(OFlags::NONBLOCK)
    }

    fn pipes() -> ((PipeReader, PipeWriter), (PipeReader, PipeWriter)) {
        (pipe().unwrap(), pipe().unwrap())
    }

    #[tokio::test]
    async fn pipes_go_through_the_reactor_and_get_their_flags_back() {
        let ((input, _parent_output), (_parent_input, output)) = pipes();
        let (kept_input, kept_output) = (input.try_clone().unwrap(), output.try_clone().unwrap());
        let (reader, writer) = open(input.into(), output.into(), false, None).unwrap();
        assert!(matches!(reader, StdinReader::Reactor(_)));
        assert!(matches!(writer, StdoutWriter::Pipe { .. }));
        assert!(is_nonblocking(&kept_input) && is_nonblocking(&kept_output));
        drop((reader, writer));
        assert!(!is_nonblocking(&kept_input) && !is_nonblocking(&kept_output));
    }

    #[tokio::test]
    async fn flags_that_were_set_before_stay_set() {
        let ((input, _parent_output), (_parent_input, output)) = pipes();
        let kept = input.try_clone().unwrap();
        rustix::fs::fcntl_setfl(&kept, fcntl_getfl(&kept).unwrap() | OFlags::NONBLOCK).unwrap();
        drop(open(input.into(), output.into(), false, None).unwrap());
        assert!(is_nonblocking(&kept));
    }

    #[tokio::test]
    async fn a_stream_that_the_error_output_shares_stays_blocking() {
        let ((input, _parent_output), (_parent_input, output)) = pipes();
        let kept = output.try_clone().unwrap();
        let errors = fstat(&output).unwrap();
        let (reader, writer) = open(input.into(), output.into(), true, Some(&errors)).unwrap();
        assert!(matches!(reader, StdinReader::Reactor(_)));
        assert!(matches!(writer, StdoutWriter::Thread(_)));
        assert!(!is_nonblocking(&kept));
    }

    #[tokio::test]
    async fn one_socket_may_be_both_streams() {
        let (near, _far) = UnixStream::pair().unwrap();
        let kept = near.try_clone().unwrap();
        let output = near.try_clone().unwrap();
        let (reader, writer) = open(near.into(), output.into(), false, None).unwrap();
        assert!(matches!(writer, StdoutWriter::Socket(_)));
        drop(writer);
        assert!(is_nonblocking(&kept), "the reader still relies on it");
        drop(reader);
        assert!(!is_nonblocking(&kept));
    }

    #[tokio::test]
    async fn files_and_devices_go_through_threads() {
        let null = || std::fs::File::options().read(true).write(true).open("/dev/null").unwrap();
        let (reader, writer) = open(null().into(), null().into(), true, None).unwrap();
        assert!(matches!(reader, StdinReader::Thread(_)));
        assert!(matches!(writer, StdoutWriter::Thread(_)));
    }
}
