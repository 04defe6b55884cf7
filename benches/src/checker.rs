//! The checker alone, of the shipped protocol: messages are judged, nothing is read or written.
//!
//! A client in its working phase, with several parallel linear channels and everything announced. Like every reader of
//! a wire, it looks up the request of a reply before it judges the reply; ids are numbers.

use std::hint::black_box;
use std::time::Instant;

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};
use mcp_protocol_machine::{About, Awaiting, Capabilities, Checker, RequestId};
use mcp_protocols::mcp_2025_03_26::PROTOCOL;

use crate::measure::{Figures, allocations};

/// A log line of the server.
pub const NOTIFICATION: &str = "notification";
/// A request and then its reply.
pub const EXCHANGE: &str = "exchange";
/// The same while many others run: as many requests, then their replies.
pub const CROWD: &str = "1000 running";

/// A reading of the clock takes longer than a message does, so this many messages are timed together.
const BATCH: usize = 2_000;

/// The figures of so many messages, for one kind of traffic; nothing for a kind that is unknown.
pub fn measure(traffic: &str, messages: usize) -> Option<Figures> {
    let mut session = Session::new();
    let batch: fn(&mut Session) = match traffic {
        NOTIFICATION => |session| (0..BATCH).for_each(|_| session.notification()),
        EXCHANGE => |session| session.exchanges(1),
        CROWD => |session| session.exchanges(1_000),
        _ => return None,
    };
    let batches = (messages / BATCH).max(1);
    for _ in 0..(batches / 10).max(2) {
        batch(&mut session);
    }
    let mut latencies = Vec::with_capacity(batches);
    let (begun, before) = (Instant::now(), allocations());
    for _ in 0..batches {
        let start = Instant::now();
        batch(&mut session);
        latencies.push(start.elapsed());
    }
    let figures = Figures::of(latencies, begun.elapsed(), allocations() - before);
    let each = BATCH as f64;
    Some(Figures {
        rate: figures.rate * each,
        p50: figures.p50 / each,
        p99: figures.p99 / each,
        allocations: figures.allocations / each,
        memory: 0.0,
    })
}

struct Session {
    checker: Checker,
    log: MessageIndex,
    call: MessageIndex,
    result: MessageIndex,
    id: i64,
}

impl Session {
    fn new() -> Session {
        let named = |name| PROTOCOL.by_name(name).expect("the protocol has the message").0;
        let role = PROTOCOL.role(Side::Client).expect("the protocol has a client");
        let active = role.by_name("Active").expect("the client has a working phase");
        let mut checker = Checker::resume(&PROTOCOL, Side::Client, active).expect("the tables are sound");
        checker.announce(Side::Client, Capabilities::unknown());
        checker.announce(Side::Server, Capabilities::unknown());
        Session {
            checker,
            log: named("LogMessage"),
            call: named("ToolsCall"),
            result: named("ToolsResult"),
            id: 0,
        }
    }

    fn notification(&mut self) {
        let message = black_box(self.log);
        let step = self.checker.notification(Direction::Receive, message, About::Nothing, |_| false);
        black_box(step.expect("it is permitted"));
    }

    /// As many messages as make a batch: so many requests, their replies, and again.
    fn exchanges(&mut self, running: usize) {
        for _ in 0..BATCH / (2 * running) {
            let first = self.id;
            for _ in 0..running {
                let id = black_box(RequestId::Number(self.id));
                let step = self.checker.request(Direction::Send, self.call, &id, None, |_| false);
                black_box(step.expect("it is permitted"));
                self.id += 1;
            }
            for number in first..self.id {
                let id = black_box(RequestId::Number(number));
                let awaiting = self.checker.awaiting(Direction::Receive, &id);
                assert_eq!(awaiting, Awaiting::Request(self.call));
                let step = self.checker.reply(Direction::Receive, &id, self.result);
                black_box(step.expect("it is permitted"));
            }
        }
    }
}
