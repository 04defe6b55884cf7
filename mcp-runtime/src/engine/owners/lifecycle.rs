//! How a session began, which epoch it is in, and how far it has come to its end.
//!
//! ```text
//!            peer closes               last answer, or grace period over
//!    Open ───────────────▶ Answering ─────────────────────────────────▶ Over
//!     │                       │                                          ▲
//!     │ close, requests are   │ the same                                 │
//!     │ still worked on       ▼                                          │
//!     ├───────────────────▶ Closing ─────────────────────────────────────┤
//!     │                      last answer, or grace period over           │
//!     └──────────────────────────────────────────────────────────────────┘
//!       close with nothing to answer; abandon; disconnect
//! ```
//!
//! Nothing leads back. Within `Over` the transport goes on: it writes what is left, has written it, or was released,
//! and is gone at the end.

use std::time::{Duration, Instant};

use mcp_protocol_machine::protocol::{Direction, Kind, Message, MessageIndex};
use mcp_protocol_machine::{Capabilities, Violation};

use super::context::Caller;
use super::wakers::Waiting;
use crate::driver::Outcome;
use crate::epoch::Epoch;
use crate::error::{DisconnectReason, Error};
use crate::rules::Rules;

/// How a session began, which epoch it is in, and how far it has come to its end.
///
/// Invariant: stages follow each other as the drawing above says, and the transport goes only from writing to written
/// or released, and to gone. Epochs only grow.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    /// The session was begun elsewhere.
    resumed: bool,
    /// Changes when the transport reconnects.
    epoch: Epoch,
    stage: Stage,
    /// How many session values there are.
    values: usize,
    /// The tasks that wait for another stage, or for the end of the transport.
    waiting: Waiting,
}

#[derive(Debug, Default)]
enum Stage {
    /// Both sides may speak.
    #[default]
    Open,
    /// The peer has said everything; its requests are still answered.
    Answering {
        grace: Grace,
        /// All answers are written.
        written: bool,
    },
    /// This side has closed the session; requests that handlers work on are still answered.
    Closing { grace: Grace, written: bool },
    /// Nothing is said any more.
    Over { end: SessionEnd, transport: Remains },
}

/// How a session came to its end.
#[derive(Clone, Debug)]
pub(crate) enum SessionEnd {
    /// Not by this side's will. What was to be written is lost.
    Disconnected(DisconnectReason),
    /// This side has closed it: what is left is written.
    Closed,
    /// This side has dropped it: what is left is written within a grace period.
    Abandoned,
}

/// What remains of the transport of a session that is over.
#[derive(Debug)]
enum Remains {
    /// It writes what is left, for no longer than this if the session was abandoned.
    Writing(Grace),
    /// It knows that everything was written, or cannot write.
    Written,
    /// It was told to drop what is left.
    Released,
    Gone(Outcome),
}

/// How long a stage may last.
#[derive(Clone, Copy, Debug)]
enum Grace {
    /// Starts at the next tick and lasts for the configured grace period.
    NotStarted,
    Until(Instant),
    /// The period is longer than the clock can tell.
    Unlimited,
}

/// What a tick did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    Nothing,
    /// A grace period began: there is a deadline now.
    Started,
    /// The grace period is over.
    Expired,
}

/// The grace periods of the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GracePeriods {
    pub(crate) answering: Duration,
    pub(crate) closing: Duration,
    pub(crate) abandoned: Duration,
}

impl Grace {
    fn tick(&mut self, now: Instant, period: Duration) -> Tick {
        match *self {
            Grace::NotStarted => {
                *self = now.checked_add(period).map_or(Grace::Unlimited, Grace::Until);
                Tick::Started
            }
            Grace::Until(deadline) if deadline <= now => Tick::Expired,
            Grace::Until(_) | Grace::Unlimited => Tick::Nothing,
        }
    }
}

impl Lifecycle {
    /// The session was begun elsewhere.
    pub(crate) fn resume(&mut self) {
        self.resumed = true;
    }

    /// Whether the session was begun elsewhere.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The present epoch.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The transport has reconnected.
    pub(crate) fn reconnected(&mut self) {
        self.epoch = self.epoch.next();
    }

    /// Whether the epoch in which a caller may speak is over.
    pub(crate) fn is_lost(&self, caller: Caller) -> bool {
        caller.epoch().is_some_and(|epoch| epoch != self.epoch)
    }

    /// Why a caller can send nothing any more, if that is so.
    pub(crate) fn closed(&self, caller: Caller) -> Option<Error> {
        if self.is_live() && self.is_lost(caller) {
            return Some(Error::SessionReplaced);
        }
        self.error()
    }

    /// Whether a message can be sent at all any more. Answers can for a while after the peer has said everything.
    pub(crate) fn not_over(&self, rules: &Rules, message: MessageIndex) -> Result<(), Violation> {
        let answers = |table: &Message| matches!(table.kind, Kind::Reply { .. } | Kind::Refusal { .. });
        let may_answer = || !self.is_over() && rules.message(message).is_some_and(answers);
        if self.is_open() || may_answer() { Ok(()) } else { Err(rules.checker().over(message)) }
    }

    /// Whether a message may be sent now, by the wire's state, with no more than these capabilities.
    pub(crate) fn permits(
        &self,
        rules: &Rules,
        message: MessageIndex,
        within: Option<&Capabilities>,
    ) -> Result<(), Violation> {
        self.not_over(rules, message)?;
        let all = Capabilities::unknown();
        rules.checker().permits_if(Direction::Send, message, within.unwrap_or(&all), |_| false)
    }

    /// There is one more session value.
    pub(crate) fn value_made(&mut self) {
        self.values += 1;
    }

    /// A session value is gone. Returns whether it was the last one.
    pub(crate) fn value_gone(&mut self) -> bool {
        self.values = self.values.saturating_sub(1);
        self.values == 0
    }

    /// The tasks that wait for another stage, or for the end of the transport.
    pub(crate) fn waiting(&mut self) -> &mut Waiting {
        &mut self.waiting
    }

    /// Whether both sides may speak.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open)
    }

    /// Whether the peer has said everything, and is still answered.
    pub(crate) fn is_answering(&self) -> bool {
        matches!(self.stage, Stage::Answering { .. })
    }

    /// Whether this side has closed the session, and still answers the peer.
    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. })
    }

    /// Whether nothing is said any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over { .. })
    }

    /// Whether the session is neither closed by this side nor over.
    pub(crate) fn is_live(&self) -> bool {
        self.is_open() || self.is_answering()
    }

    /// Whether this side has closed the session, and everything is answered.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.stage, Stage::Over { end: SessionEnd::Closed, .. })
    }

    /// Whether the session came to its end, and not by this side's will.
    pub(crate) fn is_disconnected(&self) -> bool {
        matches!(self.stage, Stage::Over { end: SessionEnd::Disconnected(_), .. })
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        matches!(self.stage, Stage::Over { end: SessionEnd::Abandoned, .. })
    }

    /// Whether the transport of an abandoned session still has its time to write what is left.
    pub(crate) fn is_parting(&self) -> bool {
        matches!(self.stage, Stage::Over { end: SessionEnd::Abandoned, transport: Remains::Writing(_) })
    }

    /// Whether the transport was told to drop what is left.
    #[cfg(test)]
    fn is_released(&self) -> bool {
        matches!(self.stage, Stage::Over { transport: Remains::Released, .. })
    }

    /// Whether the transport has written everything, or writes nothing any more.
    pub(crate) fn is_written(&self) -> bool {
        match &self.stage {
            Stage::Open => false,
            Stage::Answering { written, .. } | Stage::Closing { written, .. } => *written,
            Stage::Over { transport, .. } => !matches!(transport, Remains::Writing(_)),
        }
    }

    /// How the transport came to its end, once it is gone.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match &self.stage {
            Stage::Over { transport: Remains::Gone(outcome), .. } => Some(outcome),
            _ => None,
        }
    }

    /// Why nothing can be sent any more, if that is so. Replies can for a while.
    pub(crate) fn error(&self) -> Option<Error> {
        match &self.stage {
            Stage::Open => None,
            Stage::Answering { .. } => Some(Error::Disconnected { reason: DisconnectReason::PeerClosed }),
            Stage::Over { end: SessionEnd::Disconnected(reason), .. } => {
                Some(Error::Disconnected { reason: reason.clone() })
            }
            Stage::Closing { .. } | Stage::Over { .. } => Some(Error::Closed),
        }
    }

    /// The peer has said everything.
    pub(crate) fn peer_closed(&mut self) {
        if self.is_open() {
            self.stage = Stage::Answering { grace: Grace::NotStarted, written: false };
        }
    }

    /// This side closes the session, and still answers what handlers work on.
    pub(crate) fn close(&mut self) {
        if self.is_live() {
            self.stage = Stage::Closing { grace: Grace::NotStarted, written: self.is_written() };
        }
    }

    /// Nothing is said any more. The first end counts.
    pub(crate) fn end(&mut self, end: SessionEnd) {
        if self.is_over() {
            return;
        }
        let transport =
            if self.is_written() { Remains::Written } else { Remains::Writing(Grace::NotStarted) };
        self.stage = Stage::Over { end, transport };
    }

    /// The transport has written everything, or cannot write any more.
    pub(crate) fn written(&mut self) {
        match &mut self.stage {
            Stage::Open => {}
            Stage::Answering { written, .. } | Stage::Closing { written, .. } => *written = true,
            Stage::Over { transport: transport @ Remains::Writing(_), .. } => *transport = Remains::Written,
            Stage::Over { .. } => {}
        }
    }

    /// The transport is to drop what is left of an abandoned session.
    pub(crate) fn release(&mut self) {
        if let Stage::Over {
            end: SessionEnd::Abandoned,
            transport: transport @ (Remains::Writing(_) | Remains::Written),
        } = &mut self.stage
        {
            *transport = Remains::Released;
        }
    }

    /// The transport of a session that is over is gone.
    pub(crate) fn gone(&mut self, outcome: Outcome) {
        if let Stage::Over { transport, .. } = &mut self.stage {
            *transport = Remains::Gone(outcome);
        }
    }

    /// When the grace period of the present stage is over; before it has started, the time of the last tick, so that
    /// the transport ticks at once.
    pub(crate) fn deadline(&self, now: Option<Instant>) -> Option<Instant> {
        let grace = match &self.stage {
            Stage::Answering { grace, .. } | Stage::Closing { grace, .. } => grace,
            Stage::Over { end: SessionEnd::Abandoned, transport: Remains::Writing(grace) } => grace,
            Stage::Open | Stage::Over { .. } => return None,
        };
        match grace {
            Grace::NotStarted => now,
            Grace::Until(deadline) => Some(*deadline),
            Grace::Unlimited => None,
        }
    }

    /// Takes note of the time.
    pub(crate) fn tick(&mut self, now: Instant, periods: GracePeriods) -> Tick {
        match &mut self.stage {
            Stage::Answering { grace, .. } => grace.tick(now, periods.answering),
            Stage::Closing { grace, .. } => grace.tick(now, periods.closing),
            Stage::Over { end: SessionEnd::Abandoned, transport: Remains::Writing(grace) } => {
                grace.tick(now, periods.abandoned)
            }
            Stage::Open | Stage::Over { .. } => Tick::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const PERIODS: GracePeriods =
        GracePeriods { answering: SECOND, closing: SECOND, abandoned: Duration::MAX };

    #[test]
    fn a_session_that_the_peer_closes_answers_until_its_grace_period_is_over() {
        let now = Instant::now();
        let mut life = Lifecycle::default();
        assert!(life.is_open() && life.is_live() && life.error().is_none());
        life.peer_closed();
        assert!(life.is_answering() && life.is_live() && !life.is_open());
        assert!(matches!(life.error(), Some(Error::Disconnected { reason: DisconnectReason::PeerClosed })));
        assert_eq!(life.deadline(Some(now)), Some(now), "the transport ticks at once");
        assert_eq!(life.tick(now, PERIODS), Tick::Started);
        assert_eq!(life.deadline(Some(now)), Some(now + SECOND));
        assert_eq!(life.tick(now, PERIODS), Tick::Nothing);
        assert_eq!(life.tick(now + SECOND, PERIODS), Tick::Expired);
        life.end(SessionEnd::Disconnected(DisconnectReason::PeerClosed));
        assert!(life.is_over() && life.is_disconnected() && life.deadline(Some(now)).is_none());
    }

    #[test]
    fn a_caller_of_an_earlier_epoch_can_say_nothing() {
        let mut life = Lifecycle::default();
        let caller = Caller::new(Some(life.epoch()), None);
        assert!(!life.is_lost(caller) && life.closed(caller).is_none());
        life.reconnected();
        assert!(life.is_lost(caller) && !life.is_lost(Caller::ANY));
        assert!(matches!(life.closed(caller), Some(Error::SessionReplaced)));
        assert!(life.closed(Caller::ANY).is_none());
        life.end(SessionEnd::Closed);
        assert!(matches!(life.closed(caller), Some(Error::Closed)), "the end of the session weighs more");
    }

    #[test]
    fn a_session_that_is_closed_stays_closed() {
        let mut life = Lifecycle::default();
        life.close();
        assert!(life.is_closing() && !life.is_live());
        life.peer_closed();
        assert!(life.is_closing(), "nothing leads back");
        life.end(SessionEnd::Closed);
        life.end(SessionEnd::Disconnected(DisconnectReason::PeerClosed));
        assert!(life.is_closed() && !life.is_disconnected(), "the first end counts");
        life.close();
        assert!(life.is_closed());
        assert!(matches!(life.error(), Some(Error::Closed)));
    }

    #[test]
    fn the_transport_writes_is_done_and_is_gone() {
        let mut life = Lifecycle::default();
        life.written();
        life.gone(Outcome::Closed);
        assert!(life.is_open() && !life.is_written(), "a session that lives always has a transport");
        life.peer_closed();
        life.written();
        assert!(life.is_written());
        life.end(SessionEnd::Disconnected(DisconnectReason::PeerClosed));
        assert!(life.is_written(), "what was written stays written");
        life.gone(Outcome::Closed);
        assert!(life.is_written() && matches!(life.outcome(), Some(Outcome::Closed)));
    }

    #[test]
    fn an_abandoned_session_is_released_once() {
        let now = Instant::now();
        let mut life = Lifecycle::default();
        life.release();
        assert!(life.is_open());
        life.end(SessionEnd::Abandoned);
        assert!(life.is_abandoned() && life.is_parting() && !life.is_released());
        assert_eq!(life.tick(now, PERIODS), Tick::Started);
        assert_eq!(life.deadline(Some(now)), None, "the period is longer than the clock can tell");
        life.release();
        assert!(life.is_released() && life.is_written() && !life.is_parting());
        life.gone(Outcome::Dropped);
        life.release();
        assert!(!life.is_released() && life.outcome().is_some());
    }
}
