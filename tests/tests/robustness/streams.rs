//! An HTTP server under clients that send anything and cut their connections anywhere, with time that is made up.
//!
//! The input chooses requests, where they are cut, which connections are read or dropped, and when time passes. In the end
//! a client that does everything right must be served, and nothing may be left behind.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::choices::Choices;
use crate::test_server::{TestServer, call, initialize, initialized};
use crate::wire::Bytes;

/// How many connections are open at once.
const CONNECTIONS: usize = 4;
/// What a server may answer. An error of the server's own is not part of it, but for *busy*.
const STATUSES: [u16; 17] =
    [100, 200, 202, 204, 400, 403, 404, 405, 406, 408, 409, 410, 413, 415, 429, 431, 503];

/// What a server says: it answers what it was asked or says why not, lives on whatever a client does, and keeps nothing of
/// a client that has gone.
pub fn streams(input: &[u8]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let host = TestServer::start();
        let mut world =
            World { host: &host, choices: Choices::new(input), open: Vec::new(), sessions: Vec::new() };
        while !world.choices.is_empty() {
            world.step().await;
        }
        world.open.clear();
        world.serve_well().await;
        // No client returns: the remaining sessions end, and their code returns.
        tokio::time::sleep(Duration::from_secs(48 * 60 * 60)).await;
        assert_eq!((host.server.session_count(), host.running()), (0, 0), "sessions are left behind");
    });
}

struct World<'a> {
    host: &'a TestServer,
    choices: Choices<'a>,
    open: Vec<Connection>,
    /// The ids of sessions that were seen in answers.
    sessions: Vec<String>,
}

struct Connection {
    stream: Box<dyn Bytes>,
    /// What has come and was not looked at.
    received: Vec<u8>,
    /// Whether only whole requests were written, so that each answer can be held against the rules.
    orderly: bool,
}

impl World<'_> {
    async fn connect(&self) -> Connection {
        Connection { stream: self.host.wire().await.stream, received: Vec::new(), orderly: true }
    }

    async fn step(&mut self) {
        if self.open.len() < CONNECTIONS && (self.open.is_empty() || self.choices.below(4) == 0) {
            let connection = self.connect().await;
            self.open.push(connection);
        }
        let place = self.choices.below(self.open.len());
        match self.choices.below(10) {
            0..=4 => {
                let text = self.request();
                self.write(place, &text, true).await;
            }
            5 => {
                let text = self.request();
                let end = self.choices.below(256).min(text.len());
                self.write(place, &text[..end], end == text.len()).await;
                if self.choices.below(2) == 0 {
                    drop(self.open.swap_remove(place));
                }
            }
            6 => {
                let bytes = self.choices.bytes(64).to_vec();
                self.write(place, &bytes, false).await;
            }
            7 => self.read(place).await,
            8 => drop(self.open.swap_remove(place)),
            _ => tokio::time::sleep(Duration::from_millis(1 << self.choices.below(20))).await,
        }
    }

    /// A request, mostly one that a client would make.
    fn request(&mut self) -> Vec<u8> {
        let session = match self.choices.below(4) {
            0 => None,
            1 => Some("unknown".to_owned()),
            _ => self.sessions.last().cloned(),
        };
        let mut head = String::new();
        if let Some(session) = &session {
            head.push_str(&format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-03-26\r\n"));
        }
        let accept =
            ["application/json, text/event-stream", "application/json", "text/event-stream", "text/plain"];
        head.push_str(&format!("accept: {}\r\n", accept[self.choices.below(8).min(3) % 4]));
        match self.choices.below(12) {
            0 | 1 => format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\n{head}\r\n").into_bytes(),
            2 => {
                let event = self.choices.below(8);
                format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\n{head}last-event-id: {event}\r\n\r\n")
                    .into_bytes()
            }
            3 => format!("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\n{head}\r\n").into_bytes(),
            _ => {
                let body = self.body();
                let kind = if self.choices.below(16) == 0 { "text/plain" } else { "application/json" };
                format!(
                    "POST /mcp HTTP/1.1\r\nhost: localhost\r\n{head}content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
                .into_bytes()
            }
        }
    }

    fn body(&mut self) -> String {
        let id = i64::try_from(self.choices.below(16)).unwrap();
        let message = match self.choices.below(10) {
            0 | 1 => initialize(id),
            2 => initialized(),
            3 => call(id, "echo"),
            4 => call(id, "slow"),
            5 => json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }),
            6 => {
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
            }
            7 => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            8 => json!([call(id, "echo")]),
            _ => return String::from_utf8_lossy(self.choices.bytes(64)).into_owned(),
        };
        message.to_string()
    }

    async fn write(&mut self, place: usize, bytes: &[u8], whole: bool) {
        let Some(connection) = self.open.get_mut(place) else { return };
        connection.orderly &= whole;
        // A server may close the connection, or stop reading.
        let written = connection.stream.write_all(bytes);
        if tokio::time::timeout(Duration::from_millis(1), written).await.is_err() {
            connection.orderly = false;
        }
        self.read(place).await;
    }

    /// Reads what there is now.
    async fn read(&mut self, place: usize) {
        let Some(connection) = self.open.get_mut(place) else { return };
        let mut buffer = [0; 4096];
        while let Ok(Ok(count @ 1..)) =
            tokio::time::timeout(Duration::from_millis(1), connection.stream.read(&mut buffer)).await
        {
            connection.received.extend_from_slice(&buffer[..count]);
        }
        if !connection.orderly {
            return;
        }
        let text = String::from_utf8_lossy(&connection.received).into_owned();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                let status: u16 = rest.split(' ').next().and_then(|status| status.parse().ok()).unwrap_or(0);
                assert!(STATUSES.contains(&status), "the server says {line}");
            }
            if let Some(id) = line.strip_prefix("mcp-session-id: ")
                && !self.sessions.iter().any(|known| known == id)
            {
                self.sessions.push(id.to_owned());
            }
        }
    }

    /// A whole session of a client that does everything right.
    async fn serve_well(&mut self) {
        let first = self.exchange("", &initialize(1)).await;
        assert!(first.starts_with("HTTP/1.1 200"), "{first}");
        let id = first
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "))
            .expect("a session has an id");
        let head = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-03-26\r\n");
        let told = initialized();
        let second = self.exchange(&head, &told).await;
        assert!(second.starts_with("HTTP/1.1 202"), "{second}");
        let third = self.exchange(&head, &call(2, "slow")).await;
        assert!(third.starts_with("HTTP/1.1 200") && third.contains("slow"), "{third}");
    }

    async fn exchange(&self, head: &str, message: &Value) -> String {
        let mut connection = self.connect().await;
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
             {head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.stream.write_all(request.as_bytes()).await.expect("the server takes a request");
        let mut answer = Vec::new();
        connection.stream.read_to_end(&mut answer).await.expect("the server answers");
        String::from_utf8(answer).expect("an answer is text")
    }
}
