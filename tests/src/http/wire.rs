//! A client of raw bytes, so that a test can break off at any byte.

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What carries a connection.
pub trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

/// One connection.
pub struct Wire {
    pub stream: Box<dyn Bytes>,
    buffer: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug)]
pub struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    pub fn is_stream(&self) -> bool {
        self.get("content-type") == Some("text/event-stream")
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub head: Head,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

/// A request, to be changed where it should be wrong.
#[derive(Clone)]
pub struct Ask {
    method: &'static str,
    target: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Ask {
    pub fn post(body: impl ToString) -> Ask {
        Ask {
            method: "POST",
            target: "/mcp",
            headers: vec![
                ("host", "127.0.0.1".to_owned()),
                ("accept", "application/json, text/event-stream".to_owned()),
                ("content-type", "application/json".to_owned()),
            ],
            body: body.to_string(),
        }
    }

    pub fn get() -> Ask {
        let headers = vec![("host", "127.0.0.1".to_owned()), ("accept", "text/event-stream".to_owned())];
        Ask { method: "GET", target: "/mcp", headers, body: String::new() }
    }

    /// Asks for another place, or for this one in other words.
    pub fn target(self, target: &'static str) -> Ask {
        Ask { target, ..self }
    }

    pub fn method(method: &'static str) -> Ask {
        Ask { method, ..Ask::get() }
    }

    /// Sets a header.
    pub fn with(self, name: &'static str, value: &str) -> Ask {
        self.without(name).and(name, value)
    }

    /// Takes a header away.
    pub fn without(mut self, name: &str) -> Ask {
        self.headers.retain(|(known, _)| *known != name);
        self
    }

    /// Adds a header, also if there is one already.
    pub fn and(mut self, name: &'static str, value: &str) -> Ask {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Announces a body in chunks of unknown number.
    pub fn pieces(self) -> Ask {
        self.with("transfer-encoding", "chunked")
    }

    pub fn session(self, id: &str) -> Ask {
        self.with("mcp-session-id", id)
    }

    pub fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let told = |name: &str| self.headers.iter().any(|(known, _)| *known == name);
        if self.method == "POST" && !told("content-length") && !told("transfer-encoding") {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        head + "\r\n"
    }

    pub fn text(&self) -> String {
        self.head() + &self.body
    }
}

impl Wire {
    pub fn over(stream: impl Bytes + 'static) -> Wire {
        Wire { stream: Box::new(stream), buffer: Vec::new() }
    }

    pub async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads more; `false` at the end.
    async fn more(&mut self) -> bool {
        self.stream.read_buf(&mut self.buffer).await.unwrap_or(0) > 0
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).take(end).collect();
                return Some(String::from_utf8(line).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> Option<String> {
        while self.buffer.len() < length {
            if !self.more().await {
                return None;
            }
        }
        Some(String::from_utf8(self.buffer.drain(..length).collect()).unwrap())
    }

    /// The head of the next answer; `None` if the connection has ended.
    pub async fn head(&mut self) -> Option<Head> {
        let status = self.line().await?;
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Some(Head { status, headers })
    }

    /// One piece of a body in pieces; `None` at its end.
    pub async fn piece(&mut self) -> Option<String> {
        let length = usize::from_str_radix(&self.line().await?, 16).expect("the length of a piece");
        let piece = self.exactly(length).await?;
        self.line().await?;
        (length > 0).then_some(piece)
    }

    /// Sends a request and reads its whole answer.
    pub async fn ask(&mut self, ask: &Ask) -> Answer {
        self.send(&ask.text()).await;
        self.answer().await
    }

    /// The same, where the connection may be closed in place of an answer.
    pub async fn try_ask(&mut self, ask: &Ask) -> Option<Head> {
        self.stream.write_all(ask.text().as_bytes()).await.ok()?;
        self.head().await
    }

    /// Reads a whole answer.
    pub async fn answer(&mut self) -> Answer {
        let head = self.head().await.expect("an answer");
        let mut body = String::new();
        if let Some(length) = head.get("content-length") {
            body = self.exactly(length.parse().unwrap()).await.unwrap();
        } else if head.get("transfer-encoding").is_some() {
            while let Some(piece) = self.piece().await {
                body.push_str(&piece);
            }
        }
        Answer { head, body }
    }

    /// Sends a request that is answered with a stream.
    pub async fn stream(mut self, ask: &Ask) -> Stream {
        self.send(&ask.text()).await;
        let head = self.head().await.expect("an answer");
        assert!(head.status == 200 && head.is_stream(), "{head:?}");
        Stream::of(self, head)
    }
}

/// A stream of events.
pub struct Stream {
    pub wire: Wire,
    pub head: Head,
    text: String,
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub id: String,
    pub retry: String,
    pub data: Option<String>,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(self.data.as_deref().unwrap()).unwrap()
    }
}

impl Stream {
    /// What follows a head.
    pub fn of(wire: Wire, head: Head) -> Stream {
        Stream { wire, head, text: String::new() }
    }

    /// The next event, also one without data; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let mut event = Event::default();
                for line in block.lines() {
                    match line.split_once(':') {
                        Some(("id", value)) => event.id = value.trim().to_owned(),
                        Some(("retry", value)) => event.retry = value.trim().to_owned(),
                        Some(("data", value)) => event.data = Some(value.trim().to_owned()),
                        _ => {}
                    }
                }
                if event != Event::default() {
                    return Some(event);
                }
                continue;
            }
            let piece = self.wire.piece().await?;
            self.text.push_str(&piece);
        }
    }

    /// The next event that carries a message.
    pub async fn message(&mut self) -> Option<Event> {
        loop {
            let event = self.next().await?;
            if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                return Some(event);
            }
        }
    }
}
