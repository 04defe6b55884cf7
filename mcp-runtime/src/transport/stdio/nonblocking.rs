//! Pipes and sockets that tokio's reactor waits for.
//!
//! This module changes the flags of an open file. The last user of [`Flags`] restores them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// `O_NONBLOCK` of an open file, for as long as this lives.
#[derive(Debug)]
pub(super) struct Flags {
    file: OwnedFd,
    /// It was not set before.
    restore: bool,
}

impl Flags {
    pub(super) fn set(file: &OwnedFd) -> io::Result<Arc<Self>> {
        let file = file.as_fd().try_clone_to_owned()?;
        let flags = fcntl_getfl(&file)?;
        let restore = !flags.contains(OFlags::NONBLOCK);
        if restore {
            fcntl_setfl(&file, flags | OFlags::NONBLOCK)?;
        }
        Ok(Arc::new(Self { file, restore }))
    }
}

impl Drop for Flags {
    fn drop(&mut self) {
        if self.restore
            && let Ok(flags) = fcntl_getfl(&self.file)
        {
            // A failure here cannot be reported, and nothing can be done about it.
            let _set = fcntl_setfl(&self.file, flags - OFlags::NONBLOCK);
        }
    }
}

/// The reading end of a pipe, or a socket that is read.
#[derive(Debug)]
pub(super) struct ReactorSource {
    file: SourceFile,
    _flags: Arc<Flags>,
}

#[derive(Debug)]
enum SourceFile {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
}

impl ReactorSource {
    pub(super) fn pipe(file: OwnedFd, flags: Arc<Flags>) -> io::Result<Self> {
        Ok(Self { file: SourceFile::Pipe(pipe::Receiver::from_owned_fd(file)?), _flags: flags })
    }

    pub(super) fn socket(file: OwnedFd, flags: Arc<Flags>) -> io::Result<Self> {
        Ok(Self { file: SourceFile::Socket(as_stream(file)?), _flags: flags })
    }
}

impl AsyncRead for ReactorSource {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().file {
            SourceFile::Pipe(pipe) => Pin::new(pipe).poll_read(context, into),
            SourceFile::Socket(socket) => Pin::new(socket).poll_read(context, into),
        }
    }
}

/// The writing end of a pipe, or a socket that is written.
#[derive(Debug)]
pub(super) struct ReactorSink {
    file: SinkFile,
    _flags: Arc<Flags>,
}

#[derive(Debug)]
enum SinkFile {
    Pipe(pipe::Sender),
    Socket(UnixStream),
}

impl ReactorSink {
    pub(super) fn pipe(file: OwnedFd, flags: Arc<Flags>) -> io::Result<Self> {
        Ok(Self { file: SinkFile::Pipe(pipe::Sender::from_owned_fd(file)?), _flags: flags })
    }

    pub(super) fn socket(file: OwnedFd, flags: Arc<Flags>) -> io::Result<Self> {
        Ok(Self { file: SinkFile::Socket(as_stream(file)?), _flags: flags })
    }
}

impl AsyncWrite for ReactorSink {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().file {
            SinkFile::Pipe(pipe) => Pin::new(pipe).poll_write(context, bytes),
            SinkFile::Socket(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    /// Nothing is buffered on this side of the system call.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Shuts down the write side of a socket; a pipe is closed by dropping it.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().file {
            SinkFile::Pipe(_) => Poll::Ready(Ok(())),
            SinkFile::Socket(socket) => match ready!(Pin::new(socket).poll_shutdown(context)) {
                // A peer that is gone needs no telling.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
                result => Poll::Ready(result),
            },
        }
    }
}

/// A socket of any family that carries a stream: only what all of them can do is asked of it.
fn as_stream(file: OwnedFd) -> io::Result<UnixStream> {
    UnixStream::from_std(file.into())
}
