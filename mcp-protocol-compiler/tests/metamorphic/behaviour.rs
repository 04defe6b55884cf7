//! What the compiler makes of a text, and whether two of these are one behaviour.
//!
//! Names of states, their order, and which refusals are written do not count. What a machine does, its number of
//! states, and what the checker says do count.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;

use mcp_protocol_compiler::automaton::Automaton;
use mcp_protocol_compiler::checks::unused;
use mcp_protocol_compiler::declarations::Resolution;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::diagnostic::{Code, Severity};
use mcp_protocol_compiler::findings::{choices, declarations, recursion};
use mcp_protocol_compiler::generate::machine;
use mcp_protocol_compiler::resolve::{load, resolve};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Compilation, Settings, compile_with, format};
use mcp_protocol_machine::protocol::{Action, Direction, Origin, Protocol, Side};
use mcp_protocol_machine::{Checker, StepKind};

use crate::event::{Event, kind_of};
use crate::mistakes::plant;
use crate::parties::{Seat, talk};
use crate::random::Random;
use crate::reading::Reading;
use crate::texts::one_file;
use crate::tree::Files;

/// What is found in how a text is written: a definition that nothing uses any more, messages that only such a
/// definition has, and parentheses that a reader may miss.
const OF_WRITING: &[Code] =
    &[declarations::UNUSED_DEFINITION, unused::UNUSED_MESSAGE, unused::UNUSED_KEY, recursion::BRANCH_OF_LOOP];

/// Says only that there are more findings than are shown.
const MORE_FINDINGS: &str = "S0003";

/// Who looks at a session, and whose machine each of them follows.
pub(crate) const SEATS: [(Seat, Side); 3] =
    [(Seat::Client, Side::Client), (Seat::Middle, Side::Server), (Seat::Server, Side::Server)];

/// How much of what a checker says is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    /// Sessions with a mistake in them, too, and what may come next.
    pub(crate) everything: bool,
    /// So many messages of a side, and none behind these.
    pub(crate) messages: usize,
}

impl Compared {
    /// All of it.
    pub(crate) const ALL: Compared = Compared { everything: true, messages: usize::MAX };
}

/// A compiled text.
pub(crate) struct Behaviour {
    pub(crate) text: String,
    compilation: Compilation,
    /// For a protocol with both roles, its tables and its tree.
    sessions: Option<(Protocol, Resolution)>,
}

impl Behaviour {
    /// Of a protocol in one file.
    pub(crate) fn of(text: String) -> Behaviour {
        let (files, entry) = one_file(text);
        Behaviour::new(&files, &entry)
    }

    pub(crate) fn new(files: &Files, entry: &Path) -> Behaviour {
        let texts: BTreeMap<&Path, String> =
            files.iter().map(|(path, file)| (path.as_path(), format::file(file))).collect();
        let mut read = |path: &Path| match texts.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        let compilation = compile_with(entry, &mut read, Settings::default().without_tries(true)).unwrap();
        let sessions = compilation.protocol.as_ref().and_then(|compiled| {
            compiled.client.as_ref().and(compiled.server.as_ref())?;
            let (mut sources, mut findings) = (SourceMap::new(), Vec::new());
            let loaded = load::load(entry, &mut read, &mut sources, &mut findings).unwrap();
            Some((machine(compiled), resolve(&loaded, &mut findings)))
        });
        let text = match texts.len() {
            1 => texts.into_values().collect(),
            _ => texts.iter().map(|(path, text)| format!("-- {}\n{text}\n", path.display())).collect(),
        };
        Behaviour { text, compilation, sessions }
    }

    pub(crate) fn is_accepted(&self) -> bool {
        self.compilation.protocol.is_some()
    }

    pub(crate) fn has_sessions(&self) -> bool {
        self.sessions.is_some()
    }

    /// The tables and the tree, for a protocol with both roles.
    pub(crate) fn sessions(&self) -> Option<(&Protocol, &Resolution)> {
        self.sessions.as_ref().map(|(protocol, resolution)| (protocol, resolution))
    }

    /// What the compiler says, as a user reads it.
    pub(crate) fn findings(&self) -> String {
        render_all(&self.compilation.sources, &self.compilation.diagnostics, Style::Plain)
    }

    /// The codes of what was found, but for advice about how a text is written.
    pub(crate) fn codes(&self) -> BTreeSet<String> {
        let findings = self.compilation.diagnostics.iter();
        let counted = findings.filter(|found| {
            !OF_WRITING.contains(&found.code)
                && found.code.0 != MORE_FINDINGS
                && (self.is_accepted() || found.severity == Severity::Error)
        });
        counted.map(|found| found.code.0.to_owned()).collect()
    }

    /// What else is found in another one, if anything is.
    pub(crate) fn finds_otherwise(&self, other: &Behaviour) -> Option<String> {
        let (one, two) = (self.codes(), other.codes());
        // A loop without an action means nothing, nor does one that an instance of its body would start again; what else
        // is found depends on where it is met. Of two branches that start alike only the first is followed.
        let meaningless = [recursion::UNGUARDED.0, recursion::ACROSS.0, choices::SAME_FIRST_ACTION.0];
        let counts = !meaningless.iter().any(|code| one.contains(*code) && two.contains(*code));
        (counts && one != two).then(|| {
            format!("the findings were {one:?} and are {two:?}\n{}{}", self.findings(), other.findings())
        })
    }

    /// What is different in the machines of another one, whose client is this one's server where the sides are
    /// exchanged.
    pub(crate) fn differs(&self, other: &Behaviour, sides_are_exchanged: bool) -> Option<String> {
        let (one, two) = (self.compilation.protocol.as_ref()?, other.compilation.protocol.as_ref()?);
        let (client, server) = match sides_are_exchanged {
            true => (&two.server, &two.client),
            false => (&two.client, &two.server),
        };
        let roles = [(&one.client, client), (&one.server, server)];
        roles.into_iter().find_map(|(one, two)| apart(one.as_ref()?, two.as_ref()?))
    }

    /// What the checker says otherwise of some random sessions, if it does.
    pub(crate) fn judges_otherwise(
        &self,
        other: &Behaviour,
        random: &mut Random,
        compared: Compared,
        count: &mut u64,
    ) -> Option<String> {
        let ((protocol, resolution), (others, _)) = (self.sessions.as_ref()?, other.sessions.as_ref()?);
        let kinds = |protocol: &Protocol| -> Vec<_> {
            protocol.messages.iter().map(|message| (message.kind, message.keys.len())).collect()
        };
        assert_eq!(kinds(protocol), kinds(others));
        let readings = [Side::Client, Side::Server].map(|side| Reading::new(resolution, side));
        let steps = 10 + random.below(40);
        let talk = talk(random, [&readings[0], &readings[1]], protocol, steps);
        for (seat, side) in SEATS {
            let seen = talk.seen(seat);
            let mistaken = compared.everything.then(|| plant(random, protocol, seen));
            for seen in std::iter::once(seen).chain(mistaken.as_deref()) {
                *count += seen.len() as u64;
                if let Some(what) = judged(seen, side, [protocol, others], compared) {
                    return Some(what);
                }
            }
        }
        None
    }
}

/// The first message of a session of which two checkers say different things.
fn judged(seen: &[Event], side: Side, protocols: [&Protocol; 2], compared: Compared) -> Option<String> {
    let mut checkers = protocols.map(|protocol| (Checker::new(protocol.clone(), side).unwrap(), protocol));
    let mut left = [compared.messages; 2];
    for (place, event) in seen.iter().enumerate() {
        let left = &mut left[usize::from(event.from == Side::Client)];
        *left = left.checked_sub(1)?;
        let [one, other] = checkers.each_mut().map(|(checker, protocol)| match compared.everything {
            true => judgement(event, checker, protocol),
            false => said(event, checker, protocol),
        });
        if one != other {
            let lines: Vec<String> =
                seen.iter().take(place + 1).map(|event| format!("  {}", event.show(checkers[0].1))).collect();
            return Some(format!("the {side:?} said {one}\nand now says {other}\nof\n{}", lines.join("\n")));
        }
    }
    None
}

/// Everything that a checker says of a message, and of what may come after it.
fn judgement(event: &Event, checker: &mut Checker, protocol: &Protocol) -> String {
    let said = said(event, checker, protocol);
    let permitted = [Direction::Send, Direction::Receive].map(|direction| checker.permitted(direction));
    format!("{said}, closing {:?}, then {permitted:?}", [checker.quiescent(), checker.peer_may_close()])
}

/// What a checker says of a message. States have other numbers in another machine.
fn said(event: &Event, checker: &mut Checker, protocol: &Protocol) -> String {
    match event.feed(checker, protocol) {
        Ok(step) => {
            let kind = match step.kind {
                // States have other numbers in another text.
                StepKind::Late(late) => format!("Late crossing {:?}, over {}", late.crossed, late.over),
                StepKind::Linear { from, to } => format!("linear, moved {}", from != to),
                StepKind::Spawned { .. } => "spawned".to_owned(),
                other => format!("{other:?}"),
            };
            let advice = step.advice.map(|advice| (advice.strictness(), advice.rule().map(str::to_owned)));
            format!("{kind} {:?} {advice:?}", step.sub_session)
        }
        Err(violation) => {
            let (kind, sender) = (kind_of(&violation), violation.sender);
            format!("{kind} by {sender:?} {:?} {:?}", violation.strictness(), violation.rule())
        }
    }
}

/// What is different between two machines: their behaviour from the start, or how many states they have for it.
fn apart(one: &Automaton, other: &Automaton) -> Option<String> {
    let classes = classes(&[one, other]);
    let counts = [one.states.len(), other.states.len()];
    if classes[0] != classes[counts[0]] {
        return Some(format!("the {:?} behaves otherwise\n{one:#?}\n{other:#?}", one.side));
    }
    let names = |role: &Automaton| role.states.iter().map(|state| state.name.clone()).collect::<Vec<_>>();
    (counts[0] != counts[1])
        .then(|| format!("the {:?} has {counts:?} states:\n{:?}\n{:?}", one.side, names(one), names(other)))
}

/// The class of each state of some machines, one machine after the other, by the definition: states differ by what they
/// offer, then by where it leads, until nothing changes.
fn classes(machines: &[&Automaton]) -> Vec<usize> {
    let mut first = 0;
    let mut places = Vec::new();
    for machine in machines {
        let number = |state: mcp_protocol_machine::protocol::StateIndex| first + state.0 as usize;
        for state in &machine.states {
            let look = format!(
                "{:?}",
                (
                    (state.kind, state.may_close, state.peer_may_close, state.reaches_end, state.only),
                    (&state.outward, &state.inward, state.body, state.parts.len())
                )
            );
            let edges: Vec<(String, usize)> = state
                .edges
                .iter()
                .map(|edge| {
                    let late = edge.origin == Origin::Closure;
                    let spawns = matches!(edge.action, Action::Spawn(_));
                    let label = format!(
                        "{:?}",
                        (edge.direction, edge.message, edge.cancels, spawns, late, &edge.level)
                    );
                    (label, number(edge.action.target()))
                })
                .chain(state.parts.iter().map(|part| (String::new(), number(*part))))
                .collect();
            places.push((look, edges));
        }
        first += machine.states.len();
    }
    let mut classes = vec![0; places.len()];
    let mut count = 1;
    loop {
        let mut numbers = HashMap::new();
        let signed: Vec<_> = places
            .iter()
            .map(|(look, edges)| {
                let edges: BTreeSet<(&str, usize)> =
                    edges.iter().map(|(label, target)| (label.as_str(), classes[*target])).collect();
                (look, edges)
            })
            .collect();
        let next: Vec<usize> = signed
            .into_iter()
            .map(|signature| {
                let number = numbers.len();
                *numbers.entry(signature).or_insert(number)
            })
            .collect();
        classes = next;
        if numbers.len() == count {
            return classes;
        }
        count = numbers.len();
    }
}
