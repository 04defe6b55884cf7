//! The sessions of a log: one after another, or side by side under their names.

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
    lanes: Vec<Lane>,
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
            lanes: Vec::new(),
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
        let place = self.place(name, found);
        if let Some(lane) = self.lanes.get_mut(place) {
            lane.take(&self.beginnings, said, message, found, &mut self.summary);
        }
    }

    /// A line could not be read. It may have been a message of any session.
    pub(crate) fn missed(&mut self, place: Place) {
        self.missed = Some(place);
        self.lanes.iter_mut().for_each(|lane| lane.missed(place));
    }

    /// Where the lane with a name is: the last place from here on. If there is none, it is made.
    fn place(&mut self, name: Option<&str>, found: &mut Vec<Finding>) -> usize {
        match self.lanes.iter().rposition(|lane| lane.name() == name) {
            // Mostly it is the last one already.
            Some(place) => self.lanes.get_mut(place..).unwrap_or_default().rotate_left(1),
            None => {
                if self.lanes.len() == SIDE_BY_SIDE {
                    let silent = self.lanes.remove(0);
                    silent.end(&self.beginnings, found, &mut self.summary);
                }
                self.lanes.push(Lane::new(name, self.missed));
            }
        }
        self.lanes.len().saturating_sub(1)
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
