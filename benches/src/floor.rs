//! The floor: the JSON of each call and a stream, and nothing else. No ids to look up, no tasks, no checks.
//!
//! A library can come close to this and not below it, but by doing less input and output.

use std::io::{BufRead, Write};
use std::process::Stdio;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use crate::contest::{Contestant, Done, InProcess, Plan, itself};
use crate::payload::{Call, Told, Tool};

/// With tokio's streams.
pub struct Floor;

/// With blocking streams; a child process only.
pub struct Blocking;

#[derive(Deserialize, Serialize)]
struct Request<'a> {
    jsonrpc: &'a str,
    id: usize,
    method: &'a str,
    params: Call,
}

#[derive(Deserialize, Serialize)]
struct Reply<'a> {
    jsonrpc: &'a str,
    id: usize,
    result: Told,
}

/// Writes a request, as a line.
pub fn write_request(id: usize, tool: Tool, into: &mut Vec<u8>) {
    let request = Request { jsonrpc: "2.0", id, method: "tools/call", params: Call::of(tool) };
    serde_json::to_writer(&mut *into, &request).expect("a request can be written");
    into.push(b'\n');
}

/// Answers a request, which is a line.
pub fn answer(line: &str, into: &mut Vec<u8>) {
    let request: Request<'_> = serde_json::from_str(line).expect("a request comes in");
    let reply = Reply { jsonrpc: "2.0", id: request.id, result: Told::by(request.params) };
    serde_json::to_writer(&mut *into, &reply).expect("a reply can be written");
    into.push(b'\n');
}

/// Reads a reply to a call of that tool, and gives its id.
pub fn read_reply(line: &str, tool: Tool) -> usize {
    let reply: Reply<'_> = serde_json::from_str(line).expect("a reply comes in");
    assert_eq!(reply.result.length(), tool.length());
    reply.id
}

async fn serve(reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin) {
    let mut reader = BufReader::new(reader);
    let (mut line, mut out) = (String::new(), Vec::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).await.expect("the stream can be read") == 0 {
            return;
        }
        out.clear();
        answer(&line, &mut out);
        // What has come in one piece is answered in one piece.
        while reader.buffer().contains(&b'\n') {
            line.clear();
            reader.read_line(&mut line).await.expect("the buffer can be read");
            answer(&line, &mut out);
        }
        writer.write_all(&out).await.expect("the stream can be written");
        writer.flush().await.expect("the stream can be flushed");
    }
}

async fn call(reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin, plan: Plan) -> Done {
    let mut reader = BufReader::new(reader);
    let (mut line, mut out) = (String::new(), Vec::new());
    let mut sent: Vec<Instant> = Vec::with_capacity(plan.all());
    let mut done = Done::new(plan);
    while !done.is_full() {
        out.clear();
        while sent.len() < plan.all() && sent.len() - done.finished() < plan.in_flight {
            sent.push(Instant::now());
            write_request(sent.len() - 1, plan.tool, &mut out);
        }
        writer.write_all(&out).await.expect("the stream can be written");
        writer.flush().await.expect("the stream can be flushed");
        loop {
            line.clear();
            reader.read_line(&mut line).await.expect("the stream can be read");
            done.add(sent[read_reply(&line, plan.tool)].elapsed());
            if !reader.buffer().contains(&b'\n') {
                break;
            }
        }
    }
    done
}

impl Contestant for Floor {
    async fn child(plan: Plan) -> Done {
        let mut command = tokio::process::Command::from(itself("floor"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child starts");
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let done = call(stdout, stdin, plan).await;
        child.wait().await.expect("the child ends with its input");
        done
    }

    async fn serve_stdio() {
        serve(tokio::io::stdin(), tokio::io::stdout()).await;
    }
}

impl InProcess for Floor {
    async fn duplex(plan: Plan) -> Done {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(far);
        let serving = tokio::spawn(serve(reader, writer));
        let (reader, writer) = tokio::io::split(near);
        let done = call(reader, writer, plan).await;
        serving.abort();
        done
    }

    async fn idle(connections: usize) -> Vec<Box<dyn Send>> {
        let mut kept: Vec<Box<dyn Send>> = Vec::new();
        for _ in 0..connections {
            let (near, far) = tokio::io::duplex(64 * 1024);
            let (reader, writer) = tokio::io::split(far);
            tokio::spawn(serve(reader, writer));
            let (reader, mut writer) = tokio::io::split(near);
            let mut reader = BufReader::new(reader);
            let (mut line, mut out) = (String::new(), Vec::new());
            write_request(0, Tool::Echo, &mut out);
            writer.write_all(&out).await.expect("the stream can be written");
            reader.read_line(&mut line).await.expect("the stream can be read");
            kept.push(Box::new((reader, writer, line, out)));
        }
        kept
    }
}

impl Contestant for Blocking {
    async fn child(plan: Plan) -> Done {
        let mut child =
            itself("blocking").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a child");
        let (mut stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut stdout = std::io::BufReader::new(stdout);
        let (mut line, mut out) = (String::new(), Vec::new());
        let mut done = Done::new(plan);
        for id in 0..plan.all() {
            let start = Instant::now();
            out.clear();
            write_request(id, plan.tool, &mut out);
            stdin.write_all(&out).expect("the pipe can be written");
            line.clear();
            stdout.read_line(&mut line).expect("the pipe can be read");
            read_reply(&line, plan.tool);
            done.add(start.elapsed());
        }
        drop(stdin);
        child.wait().expect("the child ends with its input");
        done
    }

    async fn serve_stdio() {
        let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
        let (mut line, mut out) = (String::new(), Vec::new());
        while stdin.read_line(&mut line).expect("the pipe can be read") > 0 {
            out.clear();
            answer(&line, &mut out);
            stdout.write_all(&out).and_then(|()| stdout.flush()).expect("the pipe can be written");
            line.clear();
        }
    }
}
