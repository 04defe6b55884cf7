//! One log from front to back.

use std::io::{self, Read};

use mcp_runtime::protocol::Side;

use super::beginnings::observers;
use super::direction::{Directions, FoundSender};
use super::finding::Finding;
use super::formats;
use super::formats::record::{Broken, LogReader, Place, Record, Sender};
use super::lanes::Lanes;
use super::session::Said;
use super::summary::Summary;
use crate::files::Failure;
use crate::protocol::Chosen;

/// How many parts of a log that cannot be used are listed.
const BROKEN_LISTED: u64 = 20;

/// What findings go to.
pub(crate) trait Sink {
    /// Something breaks the protocol.
    fn finding(&mut self, finding: &Finding);
    /// A part of the log cannot be used.
    fn broken(&mut self, broken: &Broken);
}

/// What the user says of a log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogHints<'a> {
    /// The state in which it begins.
    pub(crate) state: Option<&'a str>,
    /// The side that has sent what the log names no sender of.
    pub(crate) sender: Option<Side>,
}

/// Judges a log.
///
/// # Errors
/// If the state is not one of the protocol.
pub(crate) fn judge(
    from: impl Read,
    chosen: &Chosen,
    hints: LogHints<'_>,
    sink: &mut impl Sink,
) -> Result<io::Result<Summary>, Failure> {
    let directions = Directions::new(observers(chosen)?);
    let lanes = Lanes::new(chosen, hints.state)?;
    let mut log =
        Log { directions, sender: hints.sender, lanes, broken: 0, silent: None, found: Vec::new(), sink };
    if let Err(error) = formats::read(from, &mut log) {
        return Ok(Err(error));
    }
    let mut found = Vec::new();
    let mut summary = log.lanes.finish(&mut found);
    found.iter().for_each(|finding| log.sink.finding(finding));
    summary.close();
    summary.broken = log.broken;
    summary.silent = log.silent;
    if log.broken > 0 {
        summary.not_observed("what stands in the lines that cannot be read");
    }
    Ok(Ok(summary))
}

struct Log<'a, S> {
    directions: Directions,
    /// As the user says it, where the log does not.
    sender: Option<Side>,
    lanes: Lanes,
    broken: u64,
    silent: Option<&'static str>,
    /// Empty between messages; it keeps its room.
    found: Vec<Finding>,
    sink: &'a mut S,
}

impl<S: Sink> LogReader for Log<'_, S> {
    fn message(&mut self, record: Record<'_>) {
        let found = match (record.sender, self.sender) {
            (Sender::Is(side), _) | (Sender::Unsaid, Some(side)) => Some(FoundSender::Certain(side)),
            (said, _) => self.directions.sender(said, record.message),
        };
        if let Some(FoundSender::Guessed(_)) = found {
            let line = record.place.line;
            self.lanes.not_observed(format!(
                "who has sent the reply in line {line}: requests of both sides have its id, and it fits both or none"
            ));
        }
        let Some(sender) = found.map(FoundSender::side) else {
            let problem = "nothing says who has sent the message".to_owned();
            return self.broken(Broken { place: record.place, may_be_message: true, problem });
        };
        let said = Said { place: record.place, sender, kind: record.kind };
        self.lanes.take(record.session, said, record.message, &mut self.found);
        self.found.drain(..).for_each(|finding| self.sink.finding(&finding));
    }

    fn broken(&mut self, broken: Broken) {
        self.broken += 1;
        if broken.may_be_message {
            self.lanes.missed(broken.place);
        }
        if self.broken <= BROKEN_LISTED {
            self.sink.broken(&broken);
        }
    }

    fn not_sent(&mut self, place: Place, status: i64) {
        let entry = place.entry.map(|entry| format!(" (entry {entry})")).unwrap_or_default();
        let why = match status {
            0 => "which had no answer of HTTP".to_owned(),
            status => format!("which HTTP refused with the status {status}"),
        };
        self.lanes.not_observed(format!(
            "the message in line {}{entry}, {why}: it is taken as one that did not reach the session",
            place.line
        ));
    }

    fn silent(&mut self, why: &'static str) {
        self.silent = Some(why);
    }

    fn goes_both_ways(&self, list: &[u8]) -> bool {
        self.directions.go_both_ways(list)
    }
}
