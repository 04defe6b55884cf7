//! The same servers over HTTP: a POST is answered with JSON, or with an event where the message is a request.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::server::Session;

type Sessions = Arc<Mutex<HashMap<String, Session>>>;

/// What a server has to know whose sessions have streams: how many POSTs each session had, which have replied to what
/// the server has asked in its stream, and which are deleted.
#[derive(Default)]
struct Streams {
    /// It asks when the session is deleted, and not before.
    is_late: bool,
    deleted: Mutex<HashSet<String>>,
    delete: Condvar,
    posts: Mutex<HashMap<String, usize>>,
    replied: Mutex<HashSet<String>>,
    reply: Condvar,
}

impl Streams {
    /// The server asks in the stream until the client goes, or until the session is deleted.
    fn serve(&self, session: &str, stream: &mut TcpStream, reader: &mut BufReader<TcpStream>) {
        let asked = r#"{"jsonrpc":"2.0","id":"in the stream","method":"counter/total"}"#;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        // The session may be over already.
        let _ = write!(stream, "{head}");
        if self.is_late {
            let is_open = |deleted: &mut HashSet<String>| !deleted.contains(session);
            let deleted = self.deleted.lock().unwrap();
            drop(self.delete.wait_timeout_while(deleted, Duration::from_secs(20), is_open).unwrap());
        }
        let _ = write!(stream, "event: message\ndata: {asked}\n\n");
        if !self.is_late {
            let _ = reader.read(&mut [0]);
        }
    }

    fn delete(&self, session: &str) {
        self.deleted.lock().unwrap().insert(session.to_owned());
        self.delete.notify_all();
    }

    /// A POST that names its session. The second one, which is the third of the session, has its answer when the client has
    /// replied in between.
    fn take(&self, session: &str, body: &[u8]) {
        if String::from_utf8_lossy(body).contains("in the stream") {
            self.replied.lock().unwrap().insert(session.to_owned());
            self.reply.notify_all();
            return;
        }
        let count = {
            let mut posts = self.posts.lock().unwrap();
            let count = posts.entry(session.to_owned()).or_default();
            *count += 1;
            *count
        };
        if count == 2 {
            let is_silent = |replied: &mut HashSet<String>| !replied.contains(session);
            let replied = self.replied.lock().unwrap();
            drop(self.reply.wait_timeout_while(replied, Duration::from_secs(20), is_silent).unwrap());
        }
    }
}

/// Starts a server on a free port of the loopback, for as long as this program runs. Returns its address.
pub(crate) fn start(manner: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/counter", listener.local_addr().unwrap());
    let is_late = manner == "streams late";
    let (sessions, streams) = (Sessions::default(), Arc::new(Streams { is_late, ..Streams::default() }));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (sessions, streams) = (Arc::clone(&sessions), Arc::clone(&streams));
            let streams = manner.starts_with("streams").then_some(streams);
            let answers_text = manner == "as text";
            let manner = if streams.is_some() || answers_text { "correct" } else { manner };
            let answer = if answers_text { AnswerForm::Text } else { AnswerForm::Events };
            thread::spawn(move || {
                connection(stream.unwrap(), (manner, answer), &sessions, streams.as_deref())
            });
        }
    });
    url
}

/// What an answer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerForm {
    Events,
    /// A message with the content type of a text.
    Text,
}

fn connection(
    mut stream: TcpStream,
    (manner, form): (&'static str, AnswerForm),
    sessions: &Sessions,
    streams: Option<&Streams>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some((method, headers, body)) = request(&mut reader) {
        if method == "GET" {
            if let (Some(streams), Some(session)) = (streams, headers.get("mcp-session-id")) {
                return streams.serve(session, &mut stream, &mut reader);
            }
            write!(stream, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n").unwrap();
            continue;
        }
        let session = headers.get("mcp-session-id").filter(|_| method == "POST");
        if let (Some(streams), Some(session)) = (streams.filter(|streams| !streams.is_late), session) {
            streams.take(session, &body);
        }
        let mut sessions = sessions.lock().unwrap();
        let fresh = sessions.len().to_string();
        let id = headers.get("mcp-session-id").cloned().unwrap_or(fresh);
        if method == "DELETE" {
            streams.iter().for_each(|streams| streams.delete(&id));
            // The id stays taken, so that the next session has another one.
            write!(stream, "HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            continue;
        }
        // As those of the SDKs do, the server gives a session only to the request that opens one.
        let opens = String::from_utf8_lossy(&body).contains("counter/open");
        if !opens && !sessions.contains_key(&id) {
            write!(stream, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").unwrap();
            continue;
        }
        let session = sessions.entry(id.clone()).or_insert_with(|| Session::new(manner));
        let answers = session.take(&body);
        let is_malformed = answers.iter().any(|answer| answer["id"].is_null());
        let (status, kind, text) = match answers.as_slice() {
            [] => ("202 Accepted", "application/json", String::new()),
            [answer] if form == AnswerForm::Text && !is_malformed => {
                ("200 OK", "text/plain", answer.to_string())
            }
            [answer] if is_malformed => ("400 Bad Request", "application/json", answer.to_string()),
            answers => {
                let event = |answer: &Value| format!("event: message\ndata: {answer}\n\n");
                ("200 OK", "text/event-stream", answers.iter().map(event).collect())
            }
        };
        let length = text.len();
        // The client may be gone already.
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nMcp-Session-Id: {id}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{text}"
        );
    }
}

type Request = (String, HashMap<String, String>, Vec<u8>);

pub(crate) fn request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let fields = lines.iter().skip(1).filter_map(|line| line.split_once(':'));
    let headers: HashMap<String, String> =
        fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let method = lines.first()?.split(' ').next()?.to_owned();
    Some((method, headers, body))
}
