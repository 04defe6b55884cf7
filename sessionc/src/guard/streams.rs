//! The standard streams of this process, so that each can be closed by itself.

#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::io::{Read, Write};

/// A file that is read and written in full, also where it is not to be waited for by reading: a process that has the same
/// terminal or socket may have said so.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct Stream(File);

/// Takes the standard input and the standard output. To the rest of the program they are empty from here on.
///
/// # Errors
/// If they are not open.
#[cfg(unix)]
pub(super) fn take() -> io::Result<(Stream, Stream)> {
    use std::os::fd::AsFd;

    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // A peer sees that a stream is closed when no descriptor is left.
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok((Stream(input), Stream(output)))
}

/// The standard input and the standard output, which stay open until the program ends.
#[cfg(not(unix))]
pub(super) fn take() -> io::Result<(io::Stdin, io::Stdout)> {
    Ok((io::stdin(), io::stdout()))
}

#[cfg(unix)]
impl Stream {
    fn wait(&self, events: rustix::event::PollFlags) -> io::Result<()> {
        use rustix::event::{PollFd, poll};

        poll(&mut [PollFd::new(&self.0, events)], None)?;
        Ok(())
    }
}

#[cfg(unix)]
impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(rustix::event::PollFlags::IN)?;
                }
                result => return result,
            }
        }
    }
}

#[cfg(unix)]
impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wait(rustix::event::PollFlags::OUT)?;
                }
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
