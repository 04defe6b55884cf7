//! What the tests drive: one engine and a peer of raw text, or two engines and the wire between them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{MessageIndex, Side};
use serde_json::{Value, json};

use super::desk;
use crate::driver::{
    Delivery, End as InputEnd, Endpoint, Finish, FrameReader, Framing, Outgoing, Outlet, OutletNotice,
    SharedLimits, TransportEvent,
};
use crate::engine::{Arrived, Caller, Engine, LinearInput, Link, Sent, Verdict, Waiter};
use crate::options::Options;
use crate::report::Report;

/// One side: its engine, its clock, its reports.
pub(super) struct End {
    pub(super) link: Link,
    pub(super) now: Instant,
    reports: Arc<Mutex<Vec<String>>>,
    input: Mutex<FrameReader>,
    written: Lines,
    attached: AtomicBool,
}

/// What waits to be written, as lines.
#[derive(Clone, Debug, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Outlet for Lines {
    fn take(&mut self, outgoing: Outgoing<'_>, _: &mut dyn FnMut(Waker)) -> usize {
        let mut lines = self.0.lock().unwrap();
        lines.extend_from_slice(outgoing.message);
        lines.push(b'\n');
        lines.len()
    }

    fn note(&mut self, notice: OutletNotice, _: &mut dyn FnMut(Waker)) {
        assert_eq!(notice, OutletNotice::Discarded, "a stream has no names for its messages");
        self.0.lock().unwrap().clear();
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn routes(&self) -> bool {
        false
    }
}

impl End {
    pub(super) fn new(side: Side, options: Options) -> End {
        End::over(&desk::PROTOCOL, side, options)
    }

    pub(super) fn over(protocol: impl Into<ProtocolRef>, side: Side, options: Options) -> End {
        let protocol = protocol.into();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        let options =
            Arc::new(options.on_report(move |report: &Report| seen.lock().unwrap().push(report.to_string())));
        let mut engine = Engine::new(protocol.clone(), side, Arc::clone(&options)).unwrap();
        engine.value_made();
        let link = Link::new(engine, protocol, side, options, SharedLimits::default());
        let now = Instant::now();
        link.tick(now);
        let input = Mutex::new(FrameReader::new(Framing::Lines));
        End { link, now, reports, input, written: Lines::default(), attached: AtomicBool::new(false) }
    }

    /// A client of a protocol whose first step is this request, which has been answered.
    pub(super) fn past_hello(protocol: impl Into<ProtocolRef>, hello: MessageIndex) -> End {
        let client = End::over(protocol, Side::Client, Options::default());
        client.link.speak(|engine, caller| engine.request(caller, hello, "null", false, false)).unwrap();
        client.feed(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
        client.linear().unwrap();
        client
    }

    /// A server that handles what comes, in its start state.
    pub(super) fn server() -> End {
        End::server_with(Options::default())
    }

    pub(super) fn server_with(options: Options) -> End {
        let server = End::new(Side::Server, options);
        server.link.with(|engine| engine.attend(None));
        server
    }

    /// A server that has shaken hands and was told that the client is ready.
    pub(super) fn ready_server(options: Options) -> End {
        let server = End::server_with(options);
        server.welcome_client();
        server
    }

    /// Has a server at a desk shake hands with a client that is ready then.
    pub(super) fn welcome_client(&self) {
        self.feed(
            r#"{"jsonrpc":"2.0","id":"hello","method":"hello","params":{"capabilities":{"approval":{}}}}"#,
        );
        let hello = self.linear().unwrap();
        let welcome = r#"{"capabilities":{"questions":true}}"#;
        self.link.speak(|engine, caller| engine.reply_result(caller, &hello.id.unwrap(), welcome)).unwrap();
        self.feed(r#"{"jsonrpc":"2.0","method":"ready"}"#);
        assert_eq!(self.linear().unwrap().message, desk::messages::READY);
        assert_eq!(
            self.said(),
            [json!({"jsonrpc":"2.0","id":"hello","result":{"capabilities":{"questions":true}}})]
        );
    }

    /// A client that has shaken hands and has said that it is ready.
    pub(super) fn ready_client(options: Options) -> End {
        let client = End::new(Side::Client, options);
        client.shake_hands();
        client
    }

    /// Has a client at a desk shake hands.
    pub(super) fn shake_hands(&self) {
        let hello = r#"{"capabilities":{"approval":{}}}"#;
        self.link
            .speak(|engine, caller| engine.request(caller, desk::messages::HELLO, hello, false, false))
            .unwrap();
        self.feed(r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"questions":true}}}"#);
        assert_eq!(self.linear().unwrap().message, desk::messages::WELCOME);
        let ready = mcp_protocol_machine::About::Nothing;
        self.link
            .speak(|engine, caller| engine.notification(caller, desk::messages::READY, "null", ready))
            .unwrap();
        assert_eq!(self.said().len(), 2);
    }

    pub(super) fn feed(&self, line: &str) {
        self.feed_bytes(line.as_bytes());
        self.feed_bytes(b"\n");
    }

    pub(super) fn feed_bytes(&self, bytes: &[u8]) {
        self.link.receive(Delivery::bytes(&mut self.input.lock().unwrap(), bytes), self.now);
    }

    /// Ends the input, also in the middle of a line.
    pub(super) fn end_input(&self, why: InputEnd) {
        self.link.receive(Delivery::end_of(&mut self.input.lock().unwrap()), self.now);
        self.link.notify(TransportEvent::InputEnded(why));
    }

    pub(super) fn later(&mut self, wait: Duration) {
        self.now += wait;
        self.link.tick(self.now);
    }

    /// What the engine has written since it was last asked.
    pub(super) fn said(&self) -> Vec<Value> {
        let (bytes, _) = self.output();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Attaches the outlet of the transport.
    pub(super) fn attach(&self, outlet: Box<dyn Outlet>) {
        self.attached.store(true, Ordering::Relaxed);
        self.link.attach(outlet);
    }

    /// What waits to be written.
    fn outlet(&self) -> MutexGuard<'_, Vec<u8>> {
        if !self.attached.load(Ordering::Relaxed) {
            self.attach(Box::new(self.written.clone()));
        }
        self.written.0.lock().unwrap()
    }

    /// Whether the session is over for its transport, of which nothing was written since.
    pub(super) fn finish(&self) -> Option<Finish> {
        drop(self.outlet());
        self.link.with(|engine| engine.finish(&Context::from_waker(Waker::noop())))
    }

    /// When the session wants to be told the time.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.link.status(&mut Context::from_waker(Waker::noop())).deadline
    }

    /// The bytes, and what came after the last of them.
    pub(super) fn output(&self) -> (Vec<u8>, Option<Finish>) {
        let bytes = std::mem::take(&mut *self.outlet());
        self.link.notify(TransportEvent::Wrote);
        (bytes, self.finish())
    }

    /// Feeds a line and gives what the engine answers.
    pub(super) fn ask(&self, line: &str) -> Vec<Value> {
        self.feed(line);
        self.said()
    }

    pub(super) fn reports(&self) -> Vec<String> {
        std::mem::take(&mut self.reports.lock().unwrap())
    }

    pub(super) fn linear(&self) -> Option<LinearInput> {
        let context = Context::from_waker(Waker::noop());
        match self.link.with(|engine| {
            engine.inbox().poll_input(Caller::ANY, &context, &mut Waiter::default(), None, |_| Verdict::Take)
        }) {
            Poll::Ready(Ok(input)) => input,
            _ => None,
        }
    }

    pub(super) fn incoming(&self) -> Option<Arrived> {
        let context = Context::from_waker(Waker::noop());
        match self.link.with(|engine| engine.inbox().poll_incoming(&context, &mut Waiter::default(), None)) {
            Poll::Ready(arrived) => arrived,
            Poll::Pending => None,
        }
    }

    pub(super) fn call(&self, message: MessageIndex, params: &str) -> i64 {
        self.link.speak(|engine, caller| engine.request(caller, message, params, false, true)).unwrap()
    }

    /// What became of a call; nothing if it runs.
    pub(super) fn outcome(&self, id: i64) -> Option<Result<String, String>> {
        let context = Context::from_waker(Waker::noop());
        match self.link.speak(|engine, caller| engine.calls().poll_call(caller, &context, id)) {
            Poll::Ready(Sent::Done(result)) => {
                Some(result.map(|answer| answer.text.into()).map_err(|error| error.to_string()))
            }
            Poll::Ready(Sent::Progress(report)) => Some(Ok(format!("progress {report}"))),
            Poll::Pending => None,
        }
    }
}

/// Moves everything that either engine has to say, until both are silent.
pub(super) fn settle(one: &End, two: &End) {
    loop {
        let (there, _) = one.output();
        let (back, _) = two.output();
        if there.is_empty() && back.is_empty() {
            return;
        }
        // Odd pieces, as a transport might deliver them.
        there.chunks(7).for_each(|piece| two.feed_bytes(piece));
        back.chunks(5).for_each(|piece| one.feed_bytes(piece));
    }
}
