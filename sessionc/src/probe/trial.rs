//! One offence in one state, in a session of its own.

use std::collections::BTreeSet;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Kind, MessageIndex, Side, Strictness};
use mcp_runtime::Options;
use mcp_runtime::observer::Observer;
use tokio::time::Instant;

use super::connection::arrival::Ending;
use super::connection::{Address, Connection};
use super::listening::{Asked, Listening};
use super::misshapen::misshapen;
use super::offence::{Act, Group, Offence, some_notification};
use super::payload::Payloads;
use super::reaction::{Afterwards, Reaction};
use super::session::{Ended, Heard, Question, Sent, Session};
use super::silences::Silence;
use super::target::{Target, ends_session};
use super::unprompted::Stray;
use super::verdict::{Fault, fault, worst};
use super::walk::{Obstacle, catch_up, walk};
use super::wire::{Carrier, Parts};

/// How many notifications may be needed before a request is permitted.
const MOST_STEPS: usize = 16;
/// How long an answer may take at least where nothing else tells that the server is silent.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// What every session of a campaign shares.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) address: Address,
    pub(crate) protocol: ProtocolRef,
    pub(crate) payloads: Arc<Payloads>,
    /// How long the answer to an offence may take after the server has answered the next request.
    pub(crate) wait: Duration,
    /// How long the answer to a request that is permitted may take.
    pub(crate) timeout: Duration,
}

/// The result of one offence in one state.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) state: String,
    pub(crate) group: Group,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
}

/// What was found out about a state without an offence.
#[derive(Debug)]
pub(crate) struct Scouted {
    /// What is permitted there, or why the session did not come there.
    pub(crate) permitted: Result<BTreeSet<MessageIndex>, Missed>,
    /// What the server sent that the protocol does not permit.
    pub(crate) strays: Vec<Stray>,
}

/// Why a session did not come to a state.
#[derive(Clone, Debug)]
pub(crate) struct Missed {
    pub(crate) why: String,
    /// What the server has written on its standard error.
    pub(crate) written: String,
    /// The message to which the server was waited for until the time was over. To wait for it in another way would
    /// take as long.
    pub(crate) unanswered: Option<MessageIndex>,
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The offence was sent.
    Tried(Box<Tried>),
    /// It was not, and why.
    Skipped(String),
    /// It was not because the server no longer answered.
    GivenUp(String),
}

/// What came of an offence, and what else was seen in its session.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) outcome: Outcome,
    /// What the server sent that the protocol does not permit.
    pub(crate) strays: Vec<Stray>,
    /// Whether the server was waited for until the time was over.
    pub(crate) silence: Option<Silence>,
}

impl Outcome {
    /// Neither the offence was answered in time nor the permitted request after it.
    fn is_silence(&self) -> bool {
        matches!(self, Outcome::Tried(tried)
            if tried.reaction == Reaction::Silent && tried.afterwards == Afterwards::Unanswered)
    }
}

/// What a server did with an offence.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    /// How strictly the protocol forbids the offence; nothing if it only is hard to read.
    pub(crate) level: Option<Strictness>,
    /// What the protocol says of it.
    pub(crate) rule: Option<String>,
    pub(crate) reaction: Reaction,
    pub(crate) afterwards: Afterwards,
    pub(crate) fault: Option<Fault>,
}

impl Setup {
    /// A session that begins.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub(crate) fn open(&self) -> io::Result<Session> {
        let observer = Observer::new(self.protocol.clone(), Options::new().judge_payloads(true));
        self.open_with(observer.map_err(io::Error::other)?)
    }

    /// The same with an observer that follows several revisions.
    ///
    /// # Errors
    /// If the server cannot be started.
    pub(crate) fn open_with(&self, observer: Observer) -> io::Result<Session> {
        Ok(Session::new(Connection::open(&self.address)?, observer, Arc::clone(&self.payloads)))
    }

    /// Finds out what is permitted in a state, if the session comes there.
    pub(crate) async fn scout(&self, target: &Target) -> Scouted {
        let mut session = match self.open() {
            Ok(session) => session,
            Err(error) => {
                let missed = Missed { why: error.to_string(), written: String::new(), unanswered: None };
                return Scouted { permitted: Err(missed), strays: Vec::new() };
            }
        };
        let walked = walk(&mut session, target, self.timeout).await;
        let permitted = session.permitted().into_iter().collect();
        let Ended { written, strays } = session.end().await;
        let missed = |Obstacle { why, unanswered }| Missed { why, written, unanswered };
        Scouted { permitted: walked.map(|()| permitted).map_err(missed), strays }
    }

    /// Commits an offence in a state, unless `given_up` says first why it is not waited for.
    pub(crate) async fn attempt(
        &self,
        target: &Target,
        offence: &Offence,
        given_up: impl Future<Output = &'static str>,
    ) -> Attempt {
        let mut session = match self.open() {
            Ok(session) => session,
            Err(error) => {
                let outcome = Outcome::Skipped(format!("the server cannot be started: {error}"));
                return Attempt { outcome, strays: Vec::new(), silence: None };
            }
        };
        let mut given_up = pin!(given_up);
        let is_given_up = |why: &str| (Outcome::GivenUp(why.to_owned()), None);
        let (outcome, silence) = match unless(given_up.as_mut(), self.reach(&mut session, target)).await {
            Ok(Ok(())) => {
                // A request that is refused for its params has not moved the session.
                if matches!(offence.act, Act::Misshapen(..)) {
                    session = session.refuse_misshapen();
                }
                session.begin_offence();
                match unless(given_up, self.commit(&mut session, target, offence)).await {
                    Ok(outcome) => {
                        let silence = outcome.is_silence().then_some(Silence::InState);
                        (outcome, silence)
                    }
                    Err(why) => is_given_up(why),
                }
            }
            Ok(Err(obstacle)) => {
                let silence = if session.has_heard() { Silence::InState } else { Silence::FromBeginning };
                (Outcome::Skipped(obstacle.why), obstacle.unanswered.map(|_| silence))
            }
            Err(why) => is_given_up(why),
        };
        let mut strays = session.end().await.strays;
        // What follows from an offence that was not refused is not another fault.
        if matches!(&outcome, Outcome::Tried(tried) if tried.fault.is_some()) {
            strays.retain(|stray| !stray.is_after_offence);
        }
        Attempt { outcome, strays, silence }
    }

    async fn reach(&self, session: &mut Session, target: &Target) -> Result<(), Obstacle> {
        walk(session, target, self.timeout).await?;
        catch_up(session, self.timeout).await
    }

    async fn commit(&self, session: &mut Session, target: &Target, offence: &Offence) -> Outcome {
        let Some(committed) = send(session, offence.act) else {
            return Outcome::Skipped("nothing is permitted here of which it could be made".to_owned());
        };
        let is_load = offence.group == Group::Load;
        let (level, rule) = match offence.act {
            _ if is_load => (None, None),
            Act::Head(head) => (Some(head.strictness()), Some(head.rule().to_owned())),
            _ => judged(&committed.sent, self.most(target, offence)),
        };
        if level.is_none() && !is_load {
            return Outcome::Skipped("the protocol permits it here".to_owned());
        }
        let asked = Asked { number: committed.sent.number, id: committed.sent.id };
        let listening =
            Listening::new(asked, committed.wants_answer, committed.is_nameless, session.is_http());
        let may_exit = matches!(offence.act, Act::Message(message) if ends_session(&self.protocol, message));
        let (reaction, afterwards) = self.listen(session, listening, may_exit).await;
        let fault = fault(level, committed.wants_answer, &reaction, &afterwards);
        Outcome::Tried(Box::new(Tried { level, rule, reaction, afterwards, fault }))
    }

    /// How strictly a message can be forbidden because of the state: where a message does not belong to a sub-session that
    /// runs, the checker says so without the level of the state.
    fn most(&self, target: &Target, offence: &Offence) -> Strictness {
        let state = self.protocol.role(Side::Server).and_then(|role| role.state(target.state));
        let is_of_state = offence.group == Group::Order && target.body.is_none();
        state.filter(|_| is_of_state).map_or(Strictness::Must, |state| state.inward.strictness)
    }

    /// Asks whether the server works, and listens until it is known what it did. It may exit if the offence asks for that.
    async fn listen(
        &self,
        session: &mut Session,
        mut listening: Listening,
        may_exit: bool,
    ) -> (Reaction, Afterwards) {
        let deadline = Instant::now() + self.timeout;
        // An HTTP answer that goes on and on is not waited for.
        let patience = Instant::now() + self.timeout / 2;
        let (mut asked_at, mut steps) = (None, 0);
        while !listening.is_over() {
            if listening.may_ask() {
                match session.question() {
                    Question::Ask(message) => match session.send(message) {
                        Some(sent) => listening.ask(Asked { number: sent.number, id: sent.id }),
                        None => listening.cannot_ask(),
                    },
                    Question::Proceed(message) if steps < MOST_STEPS => {
                        session.send(message);
                        steps += 1;
                        continue;
                    }
                    Question::Wait => {}
                    Question::Proceed(_) | Question::Nothing => listening.cannot_ask(),
                }
            }
            let until = match listening.is_asked() {
                true => {
                    let wait = match listening.awaits_answer_alone() {
                        true => self.wait.max(LEAST_WAIT),
                        false => self.wait,
                    };
                    deadline.min(*asked_at.get_or_insert_with(Instant::now) + wait)
                }
                false => deadline,
            };
            let waits = listening.waits_for_answer();
            let heard = session.hear(if waits { patience } else { until }).await;
            match heard.as_slice() {
                [Heard::Nothing] if waits => listening.wait_no_longer(),
                [Heard::Nothing] => break,
                heard => {
                    for heard in heard {
                        match heard {
                            Heard::Message(message, _) if session.explains(message) => {
                                listening.hear_complaint(message);
                            }
                            // With 1 it says that the session was not at its end, as LSP asks for.
                            Heard::Ended(ending @ Ending::Exited(0 | 1)) if may_exit => {
                                listening.hear_exit(ending);
                            }
                            Heard::Ended(ending) if session.has_ended() => {
                                listening.hear_end_of_session(ending);
                            }
                            heard => listening.hear(heard),
                        }
                    }
                }
            }
        }
        listening.results()
    }
}

/// Runs work to its end, unless it is given up first. Returns why in that case.
async fn unless<T>(
    given_up: impl Future<Output = &'static str>,
    work: impl Future<Output = T>,
) -> Result<T, &'static str> {
    tokio::select! {
        // What is done counts, also if it is given up at the same time.
        biased;
        done = work => Ok(done),
        why = given_up => Err(why),
    }
}

/// An offence that was sent.
struct Committed {
    sent: Sent,
    wants_answer: bool,
    /// The answer may be an error without an id.
    is_nameless: bool,
}

fn send(session: &mut Session, act: Act) -> Option<Committed> {
    match act {
        Act::Message(message) => {
            let is_request = session.protocol().message(message)?.kind == Kind::Request;
            let sent = session.send(message)?;
            Some(Committed { sent, wants_answer: is_request, is_nameless: !is_request })
        }
        Act::Misshapen(message, flaw) => {
            let of = (message, session.keys());
            let made = misshapen(session.payloads(), of, flaw)?;
            let sent = session.send_with(message, Some(made.params))?;
            Some(Committed { sent, wants_answer: true, is_nameless: false })
        }
        Act::Head(head) => {
            let Question::Ask(message) = session.question() else { return None };
            let sent = session.send_wrong(message, head)?;
            Some(Committed { sent, wants_answer: true, is_nameless: false })
        }
        Act::Wire(wire) => {
            let carrier = match session.question() {
                Question::Ask(message) => {
                    let method = Payloads::method(session.protocol().message(message)?);
                    let params = session.payloads().params(message, session.keys());
                    let members = session.payloads().members(message, session.keys());
                    Some(Carrier { method, params, members })
                }
                _ => None,
            };
            let used = session.used_id();
            let notification = some_notification(session.protocol());
            let parts = Parts { carrier, notification, id: session.new_id(), used };
            let written = wire.write(session.protocol(), &parts)?;
            // A head repeats what a message says, also where that cannot be read.
            let like = wire.like(session.protocol(), &parts);
            let mut sent = session.send_bytes(written.bytes, like.as_deref());
            sent.id = written.id;
            let is_nameless = wire.hides_its_id();
            Some(Committed { sent, wants_answer: written.wants_answer, is_nameless })
        }
    }
}

/// How strictly the protocol forbids what was sent, and what it says. A message that belongs to nothing is not forbidden
/// more strictly than `most`.
fn judged(sent: &Sent, most: Strictness) -> (Option<Strictness>, Option<String>) {
    let reports = sent.observed.iter().flat_map(|observed| &observed.reports);
    worst(reports, most).map_or((None, None), |(level, report)| (Some(level), Some(report.to_string())))
}
