//! The sessions of a log: one after another, or side by side under their names.

use std::collections::VecDeque;

use mcp_runtime::observer::MessageText;

use super::beginnings::Beginnings;
use super::finding::Finding;
use super::formats::record::Place;
use super::lane::Lane;
use super::session::Said;
use super::summary::Summary;
use crate::files::Failure;
use crate::protocol::Chosen;

/// How many sessions may run side by side; the one that was silent for longest ends first.
const SIDE_BY_SIDE: usize = 1_024;

/// The sessions of one log.
#[derive(Debug)]
pub(crate) struct Lanes {
    beginnings: Beginnings,
    /// The one that has heard something last is the last.
    lanes: VecDeque<Box<Lane>>,
    /// The last place that could not be read.
    missed: Option<Place>,
    summary: Summary,
}

impl Lanes {
    /// Those of a log that begins with a session, unless its messages say otherwise, or in the state `from`.
    ///
    /// # Errors
    /// If the state does not exist, or the tables cannot be followed.
    pub(crate) fn new(chosen: &Chosen, from: Option<&str>) -> Result<Lanes, Failure> {
        Ok(Lanes {
            beginnings: Beginnings::new(chosen, from)?,
            lanes: VecDeque::new(),
            missed: None,
            summary: Summary::default(),
        })
    }

    /// Judges a message of the session with this name.
    pub(crate) fn take(
        &mut self,
        name: Option<&str>,
        said: Said,
        message: MessageText<'_>,
        found: &mut Vec<Finding>,
    ) {
        self.bring_last(name, found);
        if let Some(lane) = self.lanes.back_mut() {
            lane.take(&self.beginnings, said, message, found, &mut self.summary);
        }
    }

    /// A line could not be read. It may have been a message of any session.
    pub(crate) fn missed(&mut self, place: Place) {
        self.missed = Some(place);
        self.lanes.iter_mut().for_each(|lane| lane.missed(place));
    }

    /// Makes the lane with a name the last one. If there is none, it is made.
    fn bring_last(&mut self, name: Option<&str>, found: &mut Vec<Finding>) {
        // Mostly it is the last one already.
        if self.lanes.back().is_some_and(|lane| lane.name() == name) {
            return;
        }
        let place = self.lanes.iter().rposition(|lane| lane.name() == name);
        let known = place.and_then(|place| self.lanes.remove(place));
        let lane = known.unwrap_or_else(|| self.begin(name, found));
        self.lanes.push_back(lane);
    }

    /// A lane with a new name. Where there are too many, the one that was silent for longest ends.
    fn begin(&mut self, name: Option<&str>, found: &mut Vec<Finding>) -> Box<Lane> {
        if self.lanes.len() == SIDE_BY_SIDE
            && let Some(silent) = self.lanes.pop_front()
        {
            silent.end(&self.beginnings, found, &mut self.summary);
        }
        Box::new(Lane::new(name, self.missed))
    }

    /// Notes that something was not observed.
    pub(crate) fn not_observed(&mut self, what: String) {
        self.summary.not_observed(what);
    }

    /// The log is over.
    pub(crate) fn finish(mut self, found: &mut Vec<Finding>) -> Summary {
        for lane in self.lanes {
            lane.end(&self.beginnings, found, &mut self.summary);
        }
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mcp_runtime::protocol::Side;

    use super::*;
    use crate::arguments::Shipped;
    use crate::protocol::choose;
    use crate::trace::formats::record::RecordKind;

    const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

    #[test]
    fn the_session_that_was_silent_for_longest_ends() {
        let mut lanes = Lanes::new(&choose(None, Some(Shipped::Mcp)).unwrap(), None).unwrap();
        let place = Place { line: 1, entry: None };
        let said = Said { place, sender: Side::Client, kind: RecordKind::Sent };
        let mut take =
            |name: usize| lanes.take(Some(&name.to_string()), said, INITIALIZE.into(), &mut Vec::new());
        (0..SIDE_BY_SIDE).for_each(&mut take);
        // The first one goes on, so the second one has to make room.
        take(0);
        take(SIDE_BY_SIDE);
        let names: BTreeSet<&str> = lanes.lanes.iter().filter_map(|lane| lane.name()).collect();
        assert_eq!((lanes.lanes.len(), names.len()), (SIDE_BY_SIDE, SIDE_BY_SIDE));
        assert!(!names.contains("1") && names.contains("0"));
        assert_eq!(lanes.summary.sessions, 1);
    }
}
