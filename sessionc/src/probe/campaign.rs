//! All offences in all states that a session can be brought to.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{Kind, MessageIndex, Protocol, Side, StateIndex, Strictness};
use mcp_runtime::Options;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::files::Failure;
use crate::protocol::Chosen;
use crate::terminal_line::TerminalLine;

use super::connection::Address;
use super::first_requests::FirstRequests;
use super::offence::{Act, Group, Offence, around_requests, on_the_wire, out_of_order, with_wrong_params};
use super::payload::Payloads;
use super::progress::Progress;
use super::samples::Samples;
use super::session::Question;
use super::silences::Silences;
use super::target::{Move, Target, accepted, targets};
use super::trial::{Attempt, Missed, Outcome, Scouted, Setup, Trial, Tried};
use super::unprompted::{Stray, Unprompted, gather};
use super::walk::{Obstacle, follow};

/// What to probe, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) samples: Samples,
    /// Only this state.
    pub(crate) state: Option<String>,
    /// Only offences whose name or group contains this.
    pub(crate) only: Option<String>,
    pub(crate) wait: std::time::Duration,
    pub(crate) timeout: std::time::Duration,
    /// How many sessions run at once.
    pub(crate) jobs: usize,
}

/// What a campaign has found.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) protocol: String,
    pub(crate) version: Option<String>,
    /// What there is to say of the revision that the server announces, if it is not known.
    pub(crate) unknown_revision: Option<String>,
    /// The states that were reached, in order.
    pub(crate) reached: Vec<String>,
    /// The states that were not reached, and why.
    pub(crate) not_reached: Vec<(String, String)>,
    pub(crate) trials: Vec<Trial>,
    /// What the server sent by itself that the protocol does not permit.
    pub(crate) unprompted: Vec<Unprompted>,
}

impl Results {
    /// The offences that were sent.
    pub(crate) fn tried(&self) -> impl Iterator<Item = (&Trial, &Tried)> {
        self.trials.iter().filter_map(|trial| match &trial.outcome {
            Outcome::Tried(tried) => Some((trial, &**tried)),
            Outcome::Skipped(_) | Outcome::GivenUp(_) => None,
        })
    }

    /// How many faults of a level there are.
    pub(crate) fn count(&self, strictness: Strictness) -> usize {
        let faults = self.tried().filter_map(|(_, tried)| tried.fault.as_ref().map(|fault| fault.strictness));
        let unprompted = self.unprompted.iter().map(|message| message.level);
        faults.chain(unprompted).filter(|level| *level == strictness).count()
    }
}

/// What would be probed in a state.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) state: String,
    /// The methods of the messages that lead there.
    pub(crate) way: Vec<String>,
    /// The message that the server would have to send of its own accord.
    pub(crate) needs: Option<String>,
    pub(crate) offences: Vec<(Group, String)>,
}

/// Lists what would be probed, without a server.
///
/// # Errors
/// If the state or the offence does not exist.
pub(crate) fn list(chosen: &Chosen, over_http: bool, settings: &Settings) -> Result<Vec<Listed>, Failure> {
    let protocol = chosen.protocol();
    let payloads = Payloads::new(protocol.clone(), settings.samples.clone());
    let targets = wanted(protocol, settings)?;
    let known = targets.into_iter().map(|target| (target, None)).collect::<Vec<_>>();
    let offences = offences(protocol, &payloads, &known, over_http, settings)?;
    let message = |index: MessageIndex| protocol.message(index).map(|table| table.method.to_string());
    let listed = known.iter().enumerate().map(|(place, (target, _))| Listed {
        state: target.name.clone(),
        way: target.moves.iter().filter_map(|step| Some(written(step, message(step.message)?))).collect(),
        needs: target.needs.and_then(message),
        offences: offences
            .iter()
            .filter(|(of, _)| *of == place)
            .map(|(_, offence)| (offence.group, offence.name.clone()))
            .collect(),
    });
    Ok(listed.collect())
}

fn written(step: &Move, method: String) -> String {
    if step.sender == Side::Client { method } else { format!("answer to {method}") }
}

/// Probes a server.
///
/// # Errors
/// If no session with the server comes anywhere, or if the state or the offence does not exist.
pub(crate) async fn run(chosen: &Chosen, address: Address, settings: &Settings) -> Result<Results, Failure> {
    let line = Arc::new(TerminalLine::on_stderr());
    line.show("looking for the states of the server");
    let results = run_with(chosen, address, settings, &line).await;
    line.clear();
    results
}

async fn run_with(
    chosen: &Chosen,
    address: Address,
    settings: &Settings,
    line: &Arc<TerminalLine>,
) -> Result<Results, Failure> {
    let protocol = chosen.protocol().clone();
    let payloads = Arc::new(Payloads::new(protocol.clone(), settings.samples.clone()));
    let (wait, timeout) = (settings.wait, settings.timeout);
    let over_http = matches!(address, Address::Url(_));
    let mut setup = Setup { address, protocol, payloads, wait, timeout };
    let unknown_revision = settle_revision(chosen, &mut setup, settings).await?;
    let protocol = setup.protocol.clone();
    let payloads = Arc::clone(&setup.payloads);
    let setup = Arc::new(setup);
    let Found { known, not_reached, strays } =
        scout_all(&setup, wanted(&protocol, settings)?, settings).await?;
    let offences = offences(&protocol, &payloads, &known, over_http, settings)?;
    let progress = Progress::new(offences.len(), Arc::clone(line));
    let silences = Arc::new(Silences::default());
    let work = offences.iter().map(|(place, offence)| {
        let place = *place;
        let target = known.get(place).map(|(target, _)| target.clone());
        let (setup, offence, progress) = (Arc::clone(&setup), offence.clone(), progress.clone());
        let silences = Arc::clone(&silences);
        async move {
            let Some(target) = target else { return (Outcome::Skipped(String::new()), Vec::new()) };
            progress.begins(&target.name, &offence.name);
            let (outcome, strays) = match silences.reason(place, offence.group) {
                Some(why) => (Outcome::GivenUp(why.to_owned()), Vec::new()),
                None => {
                    let given_up = silences.given_up(place, offence.group);
                    let Attempt { outcome, strays, silence } =
                        setup.attempt(&target, &offence, given_up).await;
                    // One that was broken off says nothing of the server.
                    if !matches!(outcome, Outcome::GivenUp(_)) {
                        silences.note(place, offence.group, silence);
                    }
                    (outcome, strays)
                }
            };
            progress.ends();
            (outcome, strays)
        }
    });
    let outcomes = side_by_side(settings.jobs, work).await;
    let state = |place: usize| known.get(place).map(|(target, _)| target.name.clone()).unwrap_or_default();
    let (outcomes, after): (Vec<Outcome>, Vec<_>) = outcomes.into_iter().unzip();
    let names = offences.iter().map(|(_, offence)| offence.name.clone());
    let after = names
        .zip(after)
        .flat_map(|(name, strays)| strays.into_iter().map(move |it| (Some(name.clone()), it)));
    let unprompted = gather(strays.into_iter().map(|stray| (None, stray)).chain(after));
    let trials = offences.into_iter().zip(outcomes).map(|((place, offence), outcome)| Trial {
        state: state(place),
        group: offence.group,
        name: offence.name,
        outcome,
    });
    Ok(Results {
        protocol: protocol.name.to_string(),
        version: protocol.version.as_ref().map(ToString::to_string),
        unknown_revision,
        trials: trials.collect(),
        unprompted,
        reached: known.into_iter().map(|(target, _)| target.name).collect(),
        not_reached,
    })
}

/// A state with what is permitted there, where that is known.
type Known = (Target, Option<BTreeSet<MessageIndex>>);

/// What is known of the server before the first offence.
struct Found {
    known: Vec<Known>,
    /// The states that no session comes to, and why.
    not_reached: Vec<(String, String)>,
    strays: Vec<Stray>,
}

/// The states to probe.
fn wanted(protocol: &Protocol, settings: &Settings) -> Result<Vec<Target>, Failure> {
    let all = targets(protocol);
    let Some(name) = &settings.state else { return Ok(all) };
    let known: Vec<String> = all.iter().map(|target| target.name.clone()).collect();
    let chosen: Vec<Target> = all.into_iter().filter(|target| target.name == *name).collect();
    if chosen.is_empty() {
        let role = protocol.role(Side::Server).map(|role| role.name.to_string()).unwrap_or_default();
        return Err(Failure::NoState(role, name.clone(), known));
    }
    Ok(chosen)
}

/// Finds out which revision the server speaks, and goes on with that one.
async fn settle_revision(
    chosen: &Chosen,
    setup: &mut Setup,
    settings: &Settings,
) -> Result<Option<String>, Failure> {
    let protocol = setup.protocol.clone();
    let Some(announces) = protocol.announced_version().map(|field| field.message) else { return Ok(None) };
    let announced = |target: Target| {
        let end = target.moves.iter().position(|step| step.message == announces)?;
        target.moves.get(..=end).map(<[Move]>::to_vec)
    };
    let Some(moves) = targets(&protocol).into_iter().find_map(announced) else { return Ok(None) };
    let observer = chosen.observer(Options::new())?;
    let mut session = setup.open_with(observer).map_err(Failure::Start)?;
    let followed = follow(&mut session, &moves, setup.timeout).await;
    let governing = session.protocol().clone();
    let unknown = session.unknown_revision().map(str::to_owned);
    let has_heard = session.has_heard();
    let written = session.end().await.written;
    if let Err(Obstacle { why, unanswered }) = followed {
        // A server without a handshake refuses the request that begins one, or at worst passes over it. One that says
        // something else would be waited for twice.
        let Some(stateless) = chosen.stateless().filter(|_| !(unanswered.is_some() && has_heard)) else {
            return Err(Failure::NoSession(why, written));
        };
        let payloads = Arc::new(Payloads::new(stateless.clone(), settings.samples.clone()));
        let alone = Setup { protocol: stateless.clone(), payloads, ..setup.clone() };
        if !answers(&alone, &BTreeSet::new()).await {
            return Err(Failure::NoSession(why, written));
        }
        *setup = alone;
        return Ok(None);
    }
    if governing.version != protocol.version {
        setup.protocol = ProtocolRef::from(governing);
        setup.payloads = Arc::new(Payloads::new(setup.protocol.clone(), settings.samples.clone()));
    }
    Ok(unknown)
}

/// Whether the server answers a request with a result, without anything before it. It is not asked what it is known
/// not to answer.
async fn answers(setup: &Setup, unanswered: &BTreeSet<MessageIndex>) -> bool {
    let Ok(mut session) = setup.open() else { return false };
    let answered = match session.question_without(unanswered) {
        Question::Ask(request) => {
            let mut tables = (0..).map(MessageIndex).zip(setup.protocol.messages.iter());
            let reply = tables.find(|(_, table)| table.kind == Kind::Reply { request });
            match reply {
                Some((reply, _)) => {
                    let moves = [(Side::Client, request), (Side::Server, reply)]
                        .map(|(sender, message)| Move { sender, message });
                    follow(&mut session, &moves, setup.timeout).await.is_ok()
                }
                None => false,
            }
        }
        _ => false,
    };
    session.end().await;
    answered
}

/// The states that a session comes to, and the others with the reason.
async fn scout_all(setup: &Arc<Setup>, targets: Vec<Target>, settings: &Settings) -> Result<Found, Failure> {
    let method = |index: MessageIndex| setup.protocol.message(index).map(|table| table.method.to_string());
    let (mut known, mut not_reached, mut all_strays) = (Vec::new(), Vec::new(), Vec::new());
    let (mut open, blocked): (Vec<Target>, Vec<Target>) =
        targets.into_iter().partition(|target| target.needs.is_none());
    let first_requests = Arc::new(FirstRequests::default());
    let work = open.iter().cloned().map(|target| {
        let (setup, first_requests) = (Arc::clone(setup), Arc::clone(&first_requests));
        async move {
            if let Some(missed) = first_requests.missed(&setup.protocol, &target) {
                return Scouted { permitted: Err(missed), strays: Vec::new() };
            }
            let scouted = setup.scout(&target).await;
            first_requests.note(&setup.protocol, &target, &scouted);
            scouted
        }
    });
    let mut scouted = side_by_side(settings.jobs, work).await;
    // A state in which the server has answered nothing yet is easy to reach.
    let is_answered = |target: &Target| target.moves.iter().any(|step| step.sender == Side::Server);
    let mut waited_for = open.iter().zip(&scouted).filter(|(target, _)| is_answered(target)).peekable();
    // Where a server was waited for each time, it would be waited for again on other ways.
    let is_mute = waited_for.peek().is_some()
        && waited_for.all(|(_, it)| it.permitted.as_ref().is_err_and(|missed| missed.unanswered.is_some()));
    let failures = scouted.iter().filter_map(|it| it.permitted.as_ref().err());
    let unanswered: BTreeSet<MessageIndex> = failures.filter_map(|missed| missed.unanswered).collect();
    if !is_mute {
        all_strays.extend(by_shorter_ways(setup, &mut open, &mut scouted, settings).await);
    }
    // What the server has to do with is said first.
    let over_http = matches!(setup.address, Address::Url(_));
    let is_tried = |target: &Target| !(over_http && target.hindered_by_http(&setup.protocol).is_some());
    let (mut failure, mut hindered) = (None, None);
    for (target, scouted) in open.into_iter().zip(scouted) {
        let Scouted { permitted, strays } = scouted;
        all_strays.extend(strays);
        match permitted {
            Ok(permitted) => known.push((target, Some(permitted))),
            Err(Missed { why, written, .. }) => {
                let place = if is_tried(&target) { &mut failure } else { &mut hindered };
                place.get_or_insert_with(|| Failure::NoSession(why.clone(), written));
                not_reached.push((target.name, why));
            }
        }
    }
    let came_nowhere = settings.state.is_none() && !known.iter().any(|(target, _)| is_answered(target));
    if let Some(failure) = failure.or(hindered).filter(|_| came_nowhere) {
        // A server that refuses what opens each sub-session, or says nothing to it, may answer other requests.
        let at_first = known.iter().find(|(target, _)| target.moves.is_empty());
        let may_ask = at_first.and_then(|(_, permitted)| permitted.as_ref()).is_none_or(|permitted| {
            let kind = |index: &MessageIndex| setup.protocol.message(*index).map(|table| table.kind);
            permitted.difference(&unanswered).any(|index| kind(index) == Some(Kind::Request))
        });
        if !may_ask || !answers(setup, &unanswered).await {
            return Err(failure);
        }
    }
    for target in blocked {
        let needs = target.needs.and_then(method).unwrap_or_default();
        not_reached.push((target.name, format!("the server would have to send `{needs}` of its own accord")));
    }
    Ok(Found { known, not_reached, strays: all_strays })
}

/// Tries the shortest ways to the states of a sub-session of which one was not reached: where the last state that opens it is
/// one in which the server ends, an earlier one leads there. Returns what the server sent meanwhile that the protocol does
/// not permit.
async fn by_shorter_ways(
    setup: &Arc<Setup>,
    targets: &mut [Target],
    scouted: &mut [Scouted],
    settings: &Settings,
) -> Vec<Stray> {
    let is_missed = |(_, scouted): &(&Target, &Scouted)| scouted.permitted.is_err();
    let missed = targets.iter().zip(scouted.iter()).filter(is_missed);
    let bodies: BTreeSet<StateIndex> = missed.filter_map(|(target, _)| target.body).collect();
    let again: Vec<_> = targets
        .iter_mut()
        .zip(scouted)
        .filter(|(target, _)| target.body.is_some_and(|body| bodies.contains(&body)))
        .filter_map(|(target, scouted)| Some((target.shorter.take()?, target, scouted)))
        .collect();
    let work: Vec<Target> = again.iter().map(|(shorter, ..)| Target::clone(shorter)).collect();
    let work = work.into_iter().map(|shorter| {
        let setup = Arc::clone(setup);
        async move { setup.scout(&shorter).await }
    });
    let second = side_by_side(settings.jobs, work).await;
    let mut all_strays = Vec::new();
    for ((shorter, target, first), second) in again.into_iter().zip(second) {
        all_strays.extend(second.strays);
        match (&mut first.permitted, second.permitted) {
            (permitted, Ok(found)) => {
                *target = *shorter;
                *permitted = Ok(found);
            }
            (Err(Missed { why, .. }), Err(Missed { why: other, .. })) if *why != other => {
                why.push_str(&format!("; by the shortest way: {other}"));
            }
            _ => {}
        }
    }
    all_strays
}

/// What to try, with the place of its state.
fn offences(
    protocol: &Protocol,
    payloads: &Payloads,
    known: &[Known],
    over_http: bool,
    settings: &Settings,
) -> Result<Vec<(usize, Offence)>, Failure> {
    let mut offences: Vec<(usize, Offence)> = Vec::new();
    for (place, (target, permitted)) in
        known.iter().enumerate().filter(|(_, (target, _))| target.needs.is_none())
    {
        let found = out_of_order(protocol, target, permitted.as_ref());
        offences.extend(found.into_iter().map(|offence| (place, offence)));
    }
    offences.extend(wrong_params_once(protocol, payloads, known));
    if let Some(place) = busiest(protocol, known) {
        let around = around_requests(protocol, over_http);
        offences.extend(on_the_wire(protocol).into_iter().chain(around).map(|offence| (place, offence)));
    }
    offences.sort_by_key(|(place, offence)| (*place, offence.group));
    if let Some(pattern) = &settings.only {
        offences
            .retain(|(_, offence)| offence.name.contains(pattern) || offence.group.to_string() == *pattern);
        if offences.is_empty() {
            return Err(Failure::NoOffence(pattern.clone()));
        }
    }
    Ok(offences)
}

/// Each request with each flaw of its params once, in the last state that permits it.
fn wrong_params_once(protocol: &Protocol, payloads: &Payloads, known: &[Known]) -> Vec<(usize, Offence)> {
    let linear = known.iter().enumerate().filter(|(_, (target, _))| {
        target.body.is_none() && target.needs.is_none() && !target.awaits_reply(protocol)
    });
    let mut linear: Vec<_> = linear.collect();
    linear.sort_by_key(|(_, (target, _))| std::cmp::Reverse(target.moves.len()));
    let (mut offences, mut seen) = (Vec::new(), BTreeSet::new());
    for (place, (target, permitted)) in linear {
        for offence in with_wrong_params(protocol, target, payloads) {
            let Act::Misshapen(message, flaw) = offence.act else { continue };
            if permitted.as_ref().is_none_or(|permitted| permitted.contains(&message))
                && seen.insert((message, flaw))
            {
                offences.push((place, offence));
            }
        }
    }
    offences
}

/// The state in which most requests are permitted, and of several the last.
fn busiest(protocol: &Protocol, known: &[Known]) -> Option<usize> {
    let role = protocol.role(Side::Server)?;
    let is_request =
        |message: &MessageIndex| protocol.message(*message).is_some_and(|table| table.kind == Kind::Request);
    let count = |(target, permitted): &Known| match permitted {
        Some(permitted) => permitted.iter().filter(|message| is_request(message)).count(),
        None => accepted(role, target.state).iter().filter(|message| is_request(message)).count(),
    };
    let open = known
        .iter()
        .enumerate()
        .filter(|(_, (target, _))| target.needs.is_none() && !target.awaits_reply(protocol));
    // In a sub-session only if the user has asked for no other state.
    open.max_by_key(|(_, known)| (known.0.body.is_none(), count(known), known.0.moves.len()))
        .map(|(place, _)| place)
}

/// Runs futures side by side, so many at once. The results are in the order of the futures.
async fn side_by_side<T: Send + 'static>(
    jobs: usize,
    work: impl Iterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let room = Arc::new(Semaphore::new(jobs.max(1)));
    let mut tasks = JoinSet::new();
    for (place, work) in work.enumerate() {
        let room = Arc::clone(&room);
        tasks.spawn(async move {
            // The semaphore is never closed.
            let _permit = room.acquire().await;
            (place, work.await)
        });
    }
    let mut results = Vec::new();
    while let Some(result) = tasks.join_next().await {
        match result {
            Ok(result) => results.push(result),
            // Only a panic ends a task early, and a panic is passed on.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs a future to its end.
///
/// # Errors
/// If the runtime cannot be made.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work))
}
