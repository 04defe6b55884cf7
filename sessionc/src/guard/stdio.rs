//! A guard between the standard streams of a client and a server.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_protocol_machine::protocol::Side;
use mcp_runtime::driver::Framing;

use super::child::Server;
use super::frames::{Cut, FrameCutter};
use super::judge::{Forward, Judgement};
use super::outlet::Outlet;
use super::session::GuardedSession;
use super::streams;
use crate::framed::framed;
use crate::trace::stream_progress::StreamNumber;

/// How many bytes are read at once.
const PIECE: usize = 64 * 1024;
/// How long a process that a server has left behind may hold its output open without writing to it.
const GRACE: Duration = Duration::from_millis(500);

/// Starts the server, and passes on what the two sides write until the server has exited. Returns its exit code.
///
/// # Errors
/// If the server cannot be started.
pub(crate) fn run(
    words: &[String],
    framing: Framing,
    limit: usize,
    session: GuardedSession,
) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut server, to_server, from_server) = Server::start(words)?;
        let (from_client, to_client) = streams::take()?;
        let guarded = Arc::new(GuardedStreams {
            session: Mutex::new(session),
            to_client: Outlet::new(to_client),
            to_server: Outlet::new(to_server),
            closed_first: OnceLock::new(),
        });
        // Nothing waits for the client: it may stay silent when the server has exited.
        drop(guarded.pump(Side::Client, from_client, framing, limit));
        let from_server = guarded.pump(Side::Server, from_server, framing, limit);
        let code = server.exit_code().await?;
        from_server.finish();
        guarded.server_has_exited(code);
        Ok(code)
    })
}

/// The two sides, and what is known of their session.
#[derive(Debug)]
struct GuardedStreams {
    session: Mutex<GuardedSession>,
    to_client: Outlet,
    to_server: Outlet,
    /// The side that was the first to close its stream: a client closes its own when the server has.
    closed_first: OnceLock<Side>,
}

/// A thread that reads what one side writes.
#[derive(Debug)]
struct Pump {
    /// It waits for that side.
    is_reading: Arc<AtomicBool>,
    finished: Receiver<()>,
}

impl GuardedStreams {
    fn session(&self) -> MutexGuard<'_, GuardedSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ways to the side that receives, and back to the sender.
    fn outlets(&self, sender: Side) -> (&Outlet, &Outlet) {
        match sender {
            Side::Client => (&self.to_server, &self.to_client),
            Side::Server => (&self.to_client, &self.to_server),
        }
    }

    /// Starts to read what one side writes.
    fn pump(
        self: &Arc<Self>,
        sender: Side,
        input: impl Read + Send + 'static,
        framing: Framing,
        limit: usize,
    ) -> Pump {
        let is_reading = Arc::new(AtomicBool::new(false));
        let (finish, finished): (Sender<()>, _) = channel();
        let (guarded, reading) = (Arc::clone(self), Arc::clone(&is_reading));
        thread::spawn(move || {
            let mut passing = OneWay {
                guarded: &guarded,
                sender,
                framing,
                limit,
                piece: Vec::new(),
                is_within: false,
                long_passes: false,
                is_over: false,
            };
            let closed = passing.run(input, &reading);
            guarded.side_has_closed(sender, closed);
            // Nothing waits for the pump of the client.
            let _ = finish.send(());
        });
        Pump { is_reading, finished }
    }

    fn side_has_closed(&self, sender: Side, closed: Closed) {
        // The side that does not read any more shows in its other stream, or exits.
        if let Closed::Sender = closed {
            let _ = self.closed_first.set(sender);
            self.session().note(match sender {
                Side::Client => "client closes stdin",
                Side::Server => "server stdout EOF",
            });
        }
        let (forward, _) = self.outlets(sender);
        forward.close();
    }

    fn server_has_exited(&self, code: u8) {
        let mut session = self.session();
        session.note(&format!("server exited rc={code}"));
        session.finish();
        if self.closed_first.get() == Some(&Side::Client) {
            return;
        }
        if let Some(requests) = session.unanswered() {
            session.exited(code, &format!("the server exited with {code} and has not answered {requests}"));
        }
    }
}

impl Pump {
    /// Waits until everything is passed on.
    fn finish(&self) {
        while let Err(RecvTimeoutError::Timeout) = self.finished.recv_timeout(GRACE) {
            if self.is_reading.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// Why a pump has ended.
#[derive(Clone, Copy, Debug)]
enum Closed {
    /// The side has closed its stream.
    Sender,
    /// The other side does not read any more, or nothing more may pass.
    Receiver,
}

/// What one side writes, on its way to the other.
struct OneWay<'a> {
    guarded: &'a GuardedStreams,
    sender: Side,
    framing: Framing,
    limit: usize,
    /// What is to be written next.
    piece: Vec<u8>,
    /// It ends within a message.
    is_within: bool,
    /// What is not judged, and goes by, is passed on.
    long_passes: bool,
    /// Where the next message begins is not known, and nothing more may pass.
    is_over: bool,
}

impl OneWay<'_> {
    /// Passes on until one side has closed.
    fn run(&mut self, mut input: impl Read, is_reading: &AtomicBool) -> Closed {
        let mut cutter = FrameCutter::new(self.framing, self.limit);
        let mut buffer = vec![0; PIECE];
        loop {
            is_reading.store(true, Ordering::Relaxed);
            let read = input.read(&mut buffer);
            is_reading.store(false, Ordering::Relaxed);
            let read = match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(read) => read,
            };
            let guarded = self.guarded;
            let mut session = guarded.session();
            cutter.feed(buffer.get(..read).unwrap_or_default(), |cut| self.take(&mut session, cut));
            drop(session);
            if let Err(error) = self.write() {
                self.not_written(&error);
                return Closed::Receiver;
            }
            if self.is_over {
                return Closed::Receiver;
            }
        }
        let guarded = self.guarded;
        let mut session = guarded.session();
        let is_open = cutter.is_within_line();
        cutter.finish(|cut| self.take(&mut session, cut));
        if is_open {
            let sender = self.sender.word();
            let what = format!("the last line of the {sender} has no line feed: end each message with one");
            session.mistake(self.sender, &what);
        }
        drop(session);
        // The side has closed, whether or not this can be written.
        if let Err(error) = self.write() {
            self.not_written(&error);
        }
        Closed::Sender
    }

    /// Reports why the other side gets nothing more. That it does not read any more is not a failure.
    fn not_written(&self, error: &io::Error) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            let receiver = self.sender.other().word();
            let problem = format!("nothing more passes to the {receiver}: cannot write to it: {error}");
            self.guarded.session().event(&problem);
        }
    }

    /// Writes what was passed, after it was judged: no answer can come before that.
    fn write(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let (forward, _) = self.guarded.outlets(self.sender);
        let written = forward.pass(&self.piece, self.is_within);
        self.piece.clear();
        self.piece.shrink_to(PIECE);
        written
    }

    fn take(&mut self, session: &mut GuardedSession, cut: Cut<'_>) {
        match cut {
            Cut::Frame { bytes, message } => {
                let judgement = session.take(self.sender, StreamNumber::default(), message);
                self.pass(session, bytes, judgement);
            }
            Cut::Long { bytes, begins, ends } => {
                if begins {
                    let problem = format!(
                        "a message is longer than {} bytes and is not judged: allow more with `--max-message`",
                        self.limit
                    );
                    let judgement = session.unjudged(self.sender, bytes, &problem);
                    self.long_passes = judgement.forward == Forward::Whole;
                    self.pass(session, &[], judgement);
                }
                self.go_by(bytes, !ends);
            }
            Cut::Unframed { bytes, problem } => {
                if let Some(problem) = problem {
                    let problem = format!("{problem}; nothing more of this side is judged");
                    let judgement = session.unjudged(self.sender, &[], &problem);
                    self.long_passes = judgement.forward == Forward::Whole;
                    self.is_over = !self.long_passes;
                    self.pass(session, &[], judgement);
                }
                self.go_by(bytes, true);
            }
        }
    }

    /// Passes on what a judgement permits, and the errors that stand for the rest.
    fn pass(&mut self, session: &mut GuardedSession, bytes: &[u8], judgement: Judgement) {
        match judgement.forward {
            Forward::Whole => self.piece.extend_from_slice(bytes),
            Forward::Part(batch) => self.piece.extend(framed(self.framing, &batch)),
            Forward::Nothing => {}
        }
        for replacement in judgement.replacements {
            self.piece.extend(framed(self.framing, &replacement));
        }
        let (_, back) = self.guarded.outlets(self.sender);
        for answer in judgement.answers {
            if !back.answer(framed(self.framing, &answer)) {
                session.event("an error was dropped, because its receiver does not read");
            }
        }
    }

    /// Lets bytes go by that are not judged.
    fn go_by(&mut self, bytes: &[u8], is_within: bool) {
        if self.long_passes {
            self.piece.extend_from_slice(bytes);
            self.is_within = is_within;
        }
    }
}
