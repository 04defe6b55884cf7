//! Standard input and output on systems without `poll`: blocking streams with a thread each.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use tokio::io::AsyncWrite;

use crate::transport::channel::{Head, Tail, channel, wait};

/// How much one direction holds.
const CAPACITY: usize = 64 * 1024;

/// The streams of this process.
#[derive(Debug)]
pub(super) struct StdioStreams;

impl StdioStreams {
    pub(super) fn own() -> Self {
        Self
    }

    pub(super) fn open(self) -> io::Result<(Head, StdoutWriter)> {
        let (input_tail, input_head) = channel(CAPACITY);
        let (output_tail, output_head) = channel(CAPACITY);
        thread::Builder::new().name("stdin reader".to_owned()).spawn(move || read(input_tail))?;
        thread::Builder::new().name("stdout writer".to_owned()).spawn(move || write(output_head))?;
        Ok((input_head, StdoutWriter(output_tail)))
    }
}

/// The outgoing stream; flushed once the thread has written everything.
#[derive(Debug)]
pub(super) struct StdoutWriter(Tail);

impl AsyncWrite for StdoutWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_consumed(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.0.poll_consumed(context))?;
        self.0.close();
        Poll::Ready(Ok(()))
    }
}

fn read(mut tail: Tail) {
    let mut buffer = [0; 4096];
    loop {
        match io::stdin().lock().read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                let mut rest = buffer.get(..length).unwrap_or_default();
                while !rest.is_empty() {
                    let Ok(sent) = wait(|context| tail.poll_send(context, rest)) else { return };
                    rest = rest.get(sent..).unwrap_or_default();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return tail.fail(error),
        }
    }
}

fn write(mut head: Head) {
    loop {
        let length = match wait(|context| head.poll_fill(context).map_ok(<[u8]>::len)) {
            Ok(length @ 1..) => length,
            Ok(0) | Err(_) => return,
        };
        let mut stdout = io::stdout().lock();
        match stdout.write_all(head.at_hand()).and_then(|()| stdout.flush()) {
            Ok(()) => head.advance(length),
            Err(error) => return head.fail(error),
        }
    }
}
