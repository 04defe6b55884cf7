//! Servers over HTTP that answer each message alike, whatever it is.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::thread;

use super::http::request;

/// Starts a server that answers each message with this, whatever it is, and closes the connection.
pub(crate) fn start_refusing(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/counter", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            if request(&mut reader).is_some() {
                let length = if answer.ends_with("\r\n") { "Content-Length: 0\r\n\r\n" } else { "" };
                let _ = write!(stream, "{answer}{length}");
            }
        }
    });
    url
}

/// Starts a server that answers each message with events without end, each of which is a message.
pub(crate) fn start_endless() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/counter", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
            let events = "data: {\"jsonrpc\":\"2.0\",\"method\":\"more\"}\n\n".repeat(1000);
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            if request(&mut reader).is_some() && stream.write_all(head.as_bytes()).is_ok() {
                while stream.write_all(events.as_bytes()).is_ok() {}
            }
        }
    });
    url
}
