//! A server's session under a peer that says anything, with time that is made up.
//!
//! The input chooses what the peer says, where the stream is cut, how much of the answers it reads, when time passes, and
//! what the program does. A model that knows nothing of the engine looks on: it reads what goes out and counts.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_runtime::driver::{
    Delivery, End, Endpoint, FrameReader, Framing, Outgoing, Outlet, OutletNotice, TransportEvent,
};
use mcp_runtime::session::Outcome;
use mcp_runtime::{CheckedSession, DisconnectReason, Error, Event, Options, RequestId, Transport};
use serde_json::{Value, json};

use crate::choices::Choices;

mod help_desk {
    mcp_runtime::protocol!("./help_desk.session", tables);
}

/// Small, so that inputs reach the limits.
const LONGEST: usize = 2048;
const OUTPUT_LIMIT: usize = 16 * 1024;
/// The ids that the peer takes for its requests.
const IDS: usize = 24;

/// Passes its endpoint to the test, and waits until the test ends it.
struct Wire(Arc<Mutex<Option<Arc<dyn Endpoint>>>>, tokio::sync::oneshot::Receiver<()>);

impl Transport for Wire {
    async fn run(self, endpoint: Arc<dyn Endpoint>) {
        *self.0.lock().unwrap() = Some(endpoint);
        let _told = self.1.await;
    }
}

/// What was written and the peer has not read, as lines.
#[derive(Clone, Debug, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Outlet for Written {
    fn take(&mut self, outgoing: Outgoing<'_>, _: &mut dyn FnMut(Waker)) -> usize {
        let mut written = self.0.lock().unwrap();
        written.extend_from_slice(outgoing.message);
        written.push(b'\n');
        written.len()
    }

    fn note(&mut self, notice: OutletNotice, _: &mut dyn FnMut(Waker)) {
        if notice == OutletNotice::Discarded {
            self.0.lock().unwrap().clear();
        }
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn routes(&self) -> bool {
        false
    }
}

/// What the model knows of a request of the peer.
#[derive(Debug, Default)]
struct Asked {
    /// How often the id was used, in whatever way.
    used: usize,
    /// Whether it was used once, in a request that was well-formed.
    plain: bool,
    answered: usize,
    cancelled: bool,
    /// Whether the program got it.
    delivered: usize,
}

struct World<'a> {
    choices: Choices<'a>,
    endpoint: Arc<dyn Endpoint>,
    input: FrameReader,
    written: Written,
    session: Option<CheckedSession>,
    /// Sub-sessions, which are read and answered like the session.
    opened: Vec<CheckedSession>,
    asked: BTreeMap<String, Asked>,
    /// Requests that the program has to answer: in which session, and by what id.
    owed: Vec<(Option<usize>, RequestId)>,
    /// The bells that came so far: they come in order.
    bells: u64,
    rung: u64,
    /// The requests of the program that were written.
    questions: Vec<String>,
    /// The session has ended before its input did, so that some requests have no answer.
    cut_short: bool,
    /// The input has ended.
    ended: bool,
    finished: bool,
}

/// What a session says: it answers each request once, sends only messages, nothing after its end, and holds no more
/// than it may.
pub fn session(input: &[u8]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let place = Arc::new(Mutex::new(None));
        let (end, ended) = tokio::sync::oneshot::channel();
        let options = Options::new()
            .max_message_bytes(LONGEST)
            .max_requests(16)
            .max_incoming(16)
            .output_high_water(2 * 1024)
            .output_limit(OUTPUT_LIMIT);
        let wire = Wire(place.clone(), ended);
        let session =
            CheckedSession::start(wire, &help_desk::PROTOCOL, mcp_runtime::protocol::Side::Server, options);
        tokio::task::yield_now().await;
        let endpoint = place.lock().unwrap().take().expect("the transport runs");
        let written = Written::default();
        endpoint.attach(Box::new(written.clone()));
        let mut world = World {
            choices: Choices::new(input),
            endpoint,
            input: FrameReader::new(Framing::Lines),
            written,
            session: Some(session),
            opened: Vec::new(),
            asked: BTreeMap::new(),
            owed: Vec::new(),
            bells: 0,
            rung: 0,
            questions: Vec::new(),
            cut_short: false,
            ended: false,
            finished: false,
        };
        if world.choices.below(4) > 0 {
            world.shake_hands().await;
        }
        while !world.choices.is_empty() && !world.finished {
            world.step().await;
        }
        world.end().await;
        drop(end);
    });
}

impl World<'_> {
    async fn step(&mut self) {
        match self.choices.below(16) {
            0..=6 => {
                let mut text = self.message();
                text.push(b'\n');
                self.feed(&text);
            }
            7 => {
                let count = self.choices.below(4);
                let messages: Vec<Vec<u8>> = (0..count).map(|_| self.message()).collect();
                let mut text = b"[".to_vec();
                text.extend(messages.join(&b","[..]));
                text.extend_from_slice(b"]\n");
                if text.len() > LONGEST {
                    // It is refused as a whole, and its ids are unknown.
                    self.note_odd(&text);
                }
                self.feed(&text);
            }
            8 => {
                // An unknown number of ids may stand in it.
                let bytes = self.choices.bytes(64).to_vec();
                self.note_odd(&bytes);
                self.feed(&bytes);
                self.feed(b"\n");
            }
            9..=11 => drop(self.take().await),
            12 => self.answer().await,
            13 => self.say().await,
            14 => self.read(),
            _ => {
                let pause = Duration::from_millis(1 << self.choices.below(16));
                tokio::time::advance(pause).await;
                self.tick();
            }
        }
    }

    /// The handshake as it should be.
    async fn shake_hands(&mut self) {
        let mut hello = self.request(IDS, "hello", json!({}));
        hello.push(b'\n');
        self.feed(&hello);
        let _goes_on = self.take().await;
        let session = self.session.as_mut().unwrap();
        let (_, id) = self.owed.pop().expect("`hello` has reached the program");
        session.respond(&id, &json!({})).await.unwrap();
        let mut ready = notification("ready", &Value::Null);
        ready.push(b'\n');
        self.feed(&ready);
        let _goes_on = self.take().await;
    }

    /// Something that the peer says: mostly a message of the protocol, in or out of order.
    fn message(&mut self) -> Vec<u8> {
        let id = self.choices.below(IDS);
        let topic = json!({ "topic": self.choices.below(3) });
        match self.choices.below(12) {
            0 => self.request(id, "hello", json!({})),
            1 => notification("ready", &Value::Null),
            2 | 3 => self.request(id, "ask", json!({ "token": id })),
            4 => self.request(id, "count", json!({})),
            5 => notification("note", &json!({ "n": id })),
            6 => {
                self.bells += 1;
                notification("bell", &json!({ "n": self.bells }))
            }
            7 => self.request(id, "watch", topic),
            8 => self.request(id, "forget", topic),
            9 => {
                if let Some(asked) = self.asked.get_mut(&id.to_string()) {
                    asked.cancelled = true;
                }
                notification("cancelled", &json!({ "id": id }))
            }
            10 => match self.questions.pop() {
                Some(question) => {
                    let result = [
                        r#""result":true"#,
                        r#""error":{"code":1,"message":"no"}"#,
                        r#""result":1,"error":2"#,
                    ];
                    let result = result[self.choices.below(result.len())];
                    format!(r#"{{"jsonrpc":"2.0","id":{question},{result}}}"#).into_bytes()
                }
                None => self.request(id, "nothing/known", json!({})),
            },
            _ => {
                let filler = "x".repeat(self.choices.below(256) * 16);
                self.request(id, "ask", json!({ "filler": filler }))
            }
        }
    }

    fn request(&mut self, id: usize, method: &str, params: Value) -> Vec<u8> {
        let text = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        let asked = self.asked.entry(id.to_string()).or_default();
        asked.used += 1;
        asked.plain = asked.used == 1;
        text.into_bytes()
    }

    /// What stands in some bytes that may be ids.
    fn note_odd(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let numbers =
            text.split(|character: char| !character.is_ascii_digit()).filter(|number| !number.is_empty());
        for number in numbers {
            let asked = self.asked.entry(number.to_owned()).or_default();
            asked.used += 1;
            asked.plain = false;
        }
    }

    /// Hands bytes to the session, in pieces.
    fn feed(&mut self, bytes: &[u8]) {
        let now = tokio::time::Instant::now().into_std();
        let length = 1 + self.choices.below(64);
        for piece in bytes.chunks(length) {
            self.endpoint.receive(Delivery::bytes(&mut self.input, piece), now);
        }
    }

    fn tick(&mut self) {
        let now = tokio::time::Instant::now().into_std();
        for _ in 0..64 {
            match self.endpoint.status(&mut Context::from_waker(Waker::noop())).deadline {
                Some(deadline) if deadline <= now => self.endpoint.tick(now),
                _ => return,
            }
        }
        panic!("the session asks for the same time without end");
    }

    /// Takes one event of the session and one of each sub-session, as far as there are any. Returns whether there may be
    /// more of them.
    async fn take(&mut self) -> bool {
        let Some(mut session) = self.session.take() else { return false };
        let event = once(&mut session).await;
        self.session = Some(session);
        let mut goes_on = matches!(event, Some(Ok(_)));
        self.came(None, event);
        for place in 0..self.opened.len() {
            let event = once(&mut self.opened[place]).await;
            goes_on |= matches!(event, Some(Ok(_)));
            self.came(Some(place), event);
        }
        goes_on
    }

    fn came(&mut self, place: Option<usize>, event: Option<Result<Event, Error>>) {
        match event {
            Some(Ok(Event::Request { id, .. })) => {
                self.delivered(&id);
                self.owed.push((place, id));
            }
            Some(Ok(Event::Opened { id, session, .. })) => {
                self.opened.push(session);
                if let Some(id) = id {
                    self.delivered(&id);
                    self.owed.push((Some(self.opened.len() - 1), id));
                }
            }
            Some(Ok(Event::Notification { method, params, .. })) if method == "bell" => {
                let number = params.read::<Value>().unwrap()["n"].as_u64().unwrap();
                assert!(number > self.rung, "bell {number} came after bell {}", self.rung);
                self.rung = number;
            }
            Some(Ok(Event::Cancelled { id })) => self.owed.retain(|(_, owed)| *owed != id),
            // A peer that does not read ends the session, also if the program learns of it only after the input's end.
            Some(Err(Error::Disconnected { reason: DisconnectReason::OutputFull(_) })) => {
                self.cut_short = true
            }
            Some(Ok(Event::Closed) | Err(_)) if place.is_none() && !self.ended => self.cut_short = true,
            _ => {}
        }
    }

    fn delivered(&mut self, id: &RequestId) {
        let asked = self.asked.get_mut(&id.to_string()).expect("the peer has asked what the program gets");
        asked.delivered += 1;
        assert!(
            asked.delivered <= asked.used,
            "request {id} reached the program more often than it was sent"
        );
    }

    /// The program answers something that it owes.
    async fn answer(&mut self) {
        if self.owed.is_empty() {
            return;
        }
        let (place, id) = self.owed.swap_remove(self.choices.below(self.owed.len()));
        let refuse = self.choices.below(4) == 0;
        let session = match place {
            None => self.session.as_mut(),
            Some(place) => self.opened.get_mut(place),
        };
        let Some(session) = session else { return };
        // It may have been cancelled, or its session be over; then there is nothing to answer.
        if refuse {
            let _refused = session.refuse(&id, &mcp_runtime::RpcError::internal_error("not now"));
        } else {
            let result = json!({ "filler": "y".repeat(200) });
            // If the peer does not read, the queue is still full.
            if finished(session.respond(&id, &result)).await.is_none() {
                self.owed.push((place, id));
            }
        }
    }

    /// The program says something of its own.
    async fn say(&mut self) {
        let topic = json!({ "topic": self.choices.below(3) });
        let choice = self.choices.below(4);
        let Some(session) = self.session.as_mut() else { return };
        if choice == 0 {
            if let Some(id) =
                finished(session.request("approve", &json!({ "token": 1 }))).await.and_then(Result::ok)
            {
                self.questions.push(id.to_string());
            }
        } else if let Some(session) = self.opened.last_mut() {
            let _said = finished(session.notify("news", &topic)).await;
        }
    }

    /// The peer reads what was written.
    fn read(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let mut bytes = Vec::new();
        loop {
            let written = std::mem::take(&mut *self.written.0.lock().unwrap());
            let (is_dry, was_finished) = (written.is_empty(), self.finished);
            assert!(is_dry || !was_finished, "something was written after the end");
            bytes.extend(written);
            self.endpoint.notify(TransportEvent::Wrote);
            self.finished = self.endpoint.status(&mut context).finish.is_some();
            if is_dry {
                break;
            }
        }
        // What is owed to a full peer is bounded: the limit, and the message that went beyond it.
        assert!(bytes.len() <= OUTPUT_LIMIT + 2 * LONGEST, "{} bytes were held for the peer", bytes.len());
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let message: Value = serde_json::from_slice(line).expect("what goes out is JSON");
            match message {
                Value::Array(messages) => {
                    assert!(!messages.is_empty(), "an empty batch went out");
                    messages.iter().for_each(|message| self.went_out(message));
                }
                message => self.went_out(&message),
            }
        }
    }

    fn went_out(&mut self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        if message.get("method").is_some() {
            return;
        }
        let has = |member: &str| message.get(member).is_some();
        assert!(has("result") != has("error"), "a reply has one of the two: {message}");
        let id = &message["id"];
        if id.is_null() {
            assert!(has("error"), "{message}");
            return;
        }
        let id = id.to_string();
        let asked = self
            .asked
            .get_mut(id.trim_matches('"'))
            .unwrap_or_else(|| panic!("reply without a request: {message}"));
        asked.answered += 1;
        assert!(asked.answered <= asked.used, "answered more often than asked: {message}");
    }

    /// The peer ends its input; everything that is owed is answered, and time passes until the session is over.
    async fn end(mut self) {
        self.read();
        self.endpoint.notify(TransportEvent::InputEnded(End::Eof));
        self.ended = true;
        // What the program has not taken is bounded, so there is an end.
        for rounds in 0.. {
            assert!(rounds < 4096, "the session hands out events without end");
            let goes_on = self.take().await;
            for _ in 0..self.owed.len() {
                self.answer().await;
                self.read();
            }
            self.read();
            // A reply may have made room for what waits behind it.
            if rounds > 64 && !goes_on {
                break;
            }
        }
        drop(self.session.take());
        self.opened.clear();
        for _ in 0..16 {
            self.read();
            tokio::time::advance(Duration::from_secs(600)).await;
            self.tick();
        }
        self.read();
        assert!(self.finished, "the session does not come to its end");
        self.endpoint.notify(TransportEvent::Terminated(Outcome::Closed));
        if self.cut_short {
            return;
        }
        for (id, asked) in &self.asked {
            let once = asked.answered == 1 || (asked.cancelled && asked.answered == 0);
            assert!(!asked.plain || once, "request {id} was answered {} times: {asked:?}", asked.answered);
        }
    }
}

/// The next event, if there is one now.
async fn once(session: &mut CheckedSession) -> Option<Result<Event, Error>> {
    finished(session.next()).await
}

/// What a future gives, if it gives it at once.
async fn finished<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

fn notification(method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message.to_string().into_bytes()
}
