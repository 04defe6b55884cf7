//! What a text means, as tables for the oracle: each role's programs, and the steps between them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

use mcp_protocol_compiler::declarations::Resolution;
use mcp_protocol_compiler::resolve::{load, resolve};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_machine::protocol::{Direction, MessageIndex, Side};

use crate::reading::{Program, Reading, Thread};
use crate::texts::Wanted;

/// The numbers of messages, in the order in which they are met. A cancel of one request is another message than a
/// cancel of another one, and so is a message of the other side.
type Messages = HashMap<Event, usize>;

/// A message; for a cancel, with the request that it cancels.
type Said = (MessageIndex, Option<MessageIndex>);

/// A message and who sends it.
type Event = (Side, Said);

/// What the oracle is asked about a text.
pub(crate) struct Asked {
    /// Pairs of roles that have to be fine each.
    pub(crate) parts: Vec<String>,
    /// The roles as a whole, of which only the relation is asked.
    pub(crate) whole: Option<String>,
    /// Something can be cancelled.
    pub(crate) has_cancels: bool,
    /// Sub-sessions can be opened.
    pub(crate) has_sub_sessions: bool,
    /// They or the session have channels side by side.
    pub(crate) has_channels: bool,
    /// Sub-sessions can be opened within sub-sessions.
    pub(crate) nests: bool,
    /// The oracle gets channels of sub-sessions as one group that are several in one of the bodies. It gets the groups of
    /// all bodies together, for all of their states. So it does not see where a role leaves out one of these channels.
    pub(crate) is_coarse: bool,
    /// A sub-session can come to where it only opens others, and so never ends. What the other role has sent before may
    /// still end it for both, and what is opened meanwhile is late then. The oracle takes that for a race.
    pub(crate) goes_on: bool,
}

impl Asked {
    fn new(parts: Vec<String>, whole: Option<String>, graphs: &[Graph; 2], is_coarse: bool) -> Asked {
        let has_cancels = parts.iter().any(|line| line.split(' ').nth(1) != Some("0"));
        let opens = |graph: &Graph| !graph.openings.is_empty();
        let nests = |graph: &Graph| graph.openings.iter().any(|(from, _, _)| *from >= graph.session);
        let has_channels = |graph: &Graph| graph.states.iter().any(|program| program.threads.len() > 1);
        let goes_on = |graph: &Graph| {
            let opens = graph.openings.iter().map(|(from, _, _)| *from).filter(|from| *from >= graph.session);
            opens.into_iter().any(|at| graph.bodies.iter().all(|(from, _, _)| *from != at))
        };
        Asked {
            parts,
            whole,
            has_cancels,
            has_sub_sessions: graphs.iter().any(opens),
            has_channels: graphs.iter().any(has_channels),
            nests: graphs.iter().any(nests),
            is_coarse,
            goes_on: graphs.iter().any(goes_on),
        }
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &String> {
        self.parts.iter().chain(&self.whole)
    }
}

/// Asks about the roles as a whole, or about each group of channels that share messages. The client is not to be silent
/// in any group, so two roles that need not be dual are judged in groups. In their texts neither side may close. The
/// client need not use all channels of the server; where it leaves some out, it is not to be silent as a whole. Roles that
/// open sub-sessions are judged as a whole, and the oracle gets the groups.
pub(crate) fn ask(text: &str, wanted: Wanted) -> Asked {
    let resolution = resolution(text);
    let [client, server] = [Side::Client, Side::Server].map(|side| Role {
        resolution: &resolution,
        reading: Reading::new(&resolution, side),
        side,
    });
    let whole = [client.reading.start(), server.reading.start()];
    let graphs = [client.graph(whole[0].clone()), server.graph(whole[1].clone())];
    let has_sub_sessions = graphs.iter().any(|graph| !graph.openings.is_empty());
    let is_one =
        wanted == Wanted::Dual || has_sub_sessions || whole.iter().all(|role| role.threads.len() <= 1);
    let line = |[of_client, of_server]: &[Program; 2], closes: Closes| {
        let mut messages = Messages::new();
        let (client, of_client) = client.table(of_client.clone(), closes, &mut messages);
        let (server, of_server) = server.table(of_server.clone(), closes, &mut messages);
        let settling = settling(&resolution, &messages);
        let opened = [&of_client.opened, &of_server.opened];
        let apart = Apart { opened, ever: false };
        let groups = [
            apart.groups(&of_client.session, &of_server.session),
            apart.groups(&of_client.bodies, &of_server.bodies),
        ];
        let is_coarse = of_client.each_body.iter().any(|(opener, channels)| {
            let of_server = of_server.each_body.get(opener);
            let own = Apart { opened, ever: true }.groups(channels, of_server.unwrap_or(&Channels::new()));
            // Together they are one group, and here they are several.
            groups[1].iter().any(|group| own.iter().filter(|own| !own.is_disjoint(group)).count() > 1)
        });
        let groups = groups.map(|groups| numbered(&groups, 1, &messages)).concat();
        (format!("{} {settling}{groups} {client} {server}", u8::from(wanted == Wanted::Dual)), is_coarse)
    };
    if is_one {
        let (line, is_coarse) = line(&whole, Closes::AsWritten);
        return Asked::new(vec![line], None, &graphs, is_coarse);
    }
    let groups = groups(&client, &server);
    let is_unused = |group: &[Program; 2]| group.iter().any(|role| role.threads.is_empty());
    // Where both may close, neither has to send.
    let closes = |group| if is_unused(group) { Closes::Always } else { Closes::Never };
    let parts = groups.iter().map(|group| line(group, closes(group)).0).collect();
    let whole = groups.iter().any(is_unused).then(|| line(&whole, Closes::Never).0);
    Asked::new(parts, whole, &graphs, false)
}

/// What opens sub-sessions in every state of a channel could as well run next to it, and belongs to none.
struct Apart<'a> {
    opened: [&'a Opened; 2],
    /// Whether it is enough that it does from some state on.
    ever: bool,
}

impl Apart<'_> {
    fn is_so(&self, event: &Event) -> bool {
        let is_so =
            |opened: &Opened| opened.get(event).map(|(all, ever)| if self.ever { *ever } else { *all });
        let [client, server] = self.opened.map(is_so);
        client.or(server).is_some() && client != Some(false) && server != Some(false)
    }

    /// The channels of both roles, those as one that share messages.
    fn groups(&self, ours: &Channels, others: &Channels) -> Channels {
        let mut channels: Channels = ours.iter().chain(others).cloned().collect();
        channels.iter_mut().for_each(|channel| channel.retain(|event| !self.is_so(event)));
        together(channels)
    }
}

/// Who may close.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closes {
    AsWritten,
    Always,
    Never,
}

/// The channels of both roles, those together that share messages.
fn groups(client: &Role<'_>, server: &Role<'_>) -> Vec<[Program; 2]> {
    let mut groups: Vec<([Program; 2], HashSet<Event>)> = Vec::new();
    for (which, role) in [client, server].into_iter().enumerate() {
        for thread in role.reading.start().threads {
            let channel = Program { threads: vec![thread], ..Program::default() };
            let mut events = role.events(channel.clone());
            let mut group = [Program::default(), Program::default()];
            group[which] = channel;
            // A channel joins all groups that it shares a message with, and makes one of them.
            let own_events = events.clone();
            for (other, shared) in groups.extract_if(.., |(_, known)| !known.is_disjoint(&own_events)) {
                for (own, others) in group.iter_mut().zip(other) {
                    own.threads.extend(others.threads);
                    own.threads.sort();
                }
                events.extend(shared);
            }
            groups.push((group, events));
        }
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

/// The pairs of messages that settle one exchange: a cancel, and a reply or the refusal of the same request.
fn settling(resolution: &Resolution, messages: &Messages) -> String {
    let declarations = &resolution.declarations;
    let mut pairs = Vec::new();
    for ((side, (_, cancels)), cancel) in messages {
        let Some(request) = cancels else { continue };
        let answers = declarations.replies(*request).chain(declarations.refusal(*request));
        for answer in answers.filter_map(|answer| messages.get(&(side.other(), (answer, None)))) {
            pairs.extend([format!(" {cancel} {answer}"), format!(" {answer} {cancel}")]);
        }
    }
    pairs.sort();
    format!("{}{}", pairs.len(), pairs.concat())
}

fn resolution(text: &str) -> Resolution {
    let (mut sources, mut findings) = (SourceMap::new(), Vec::new());
    let read: load::Read<'_> = &mut |_| Ok(text.as_bytes().to_vec());
    let files = load::load(Path::new("random.session"), read, &mut sources, &mut findings).unwrap();
    resolve(&files, &mut findings)
}

/// A role, read.
struct Role<'a> {
    resolution: &'a Resolution,
    reading: Reading<'a>,
    side: Side,
}

/// The programs that are reached, and the steps between them: first those of the session, then those of sub-sessions.
#[derive(Default)]
struct Graph {
    states: Vec<Program>,
    /// How many of them are of the session.
    session: usize,
    edges: Vec<(usize, Event, usize)>,
    /// What opens sub-sessions, where, and where these are then.
    openings: Vec<(usize, Event, usize)>,
    bodies: Vec<(usize, Event, usize)>,
}

impl Role<'_> {
    fn graph(&self, start: Program) -> Graph {
        let mut graph = Graph::default();
        let mut numbers: HashMap<(bool, Program), usize> = HashMap::new();
        let mut number = |states: &mut Vec<Program>, in_body: bool, program: Program| {
            *numbers.entry((in_body, program.clone())).or_insert_with(|| {
                states.push(program);
                states.len() - 1
            })
        };
        number(&mut graph.states, false, start);
        let mut at = 0;
        while let Some(program) = graph.states.get(at).cloned() {
            for (event, next) in self.steps(&program) {
                graph.edges.push((at, event, number(&mut graph.states, false, next)));
            }
            at += 1;
        }
        graph.session = graph.states.len();
        for at in 0..graph.session {
            for (event, next) in self.openings(&graph.states[at].clone()) {
                graph.openings.push((at, event, number(&mut graph.states, true, next)));
            }
        }
        while let Some(program) = graph.states.get(at).cloned() {
            for (event, next) in self.steps(&program) {
                graph.bodies.push((at, event, number(&mut graph.states, true, next)));
            }
            for (event, next) in self.openings(&program) {
                graph.openings.push((at, event, number(&mut graph.states, true, next)));
            }
            at += 1;
        }
        graph
    }

    fn event(&self, direction: Direction, said: Said) -> Event {
        (if direction == Direction::Send { self.side } else { self.side.other() }, said)
    }

    /// What opens a sub-session, and where that leads. A request has the number of its message as its id.
    fn openings(&self, program: &Program) -> Vec<(Event, Program)> {
        let openers = self.reading.openers(program).into_iter().map(|(body, step)| {
            let id = i64::from(step.message.0).into();
            let opened = self.reading.take(&self.reading.sub_session(body), 0, &step, Some(&id), true);
            (self.event(step.direction, (step.message, None)), opened)
        });
        openers.collect()
    }

    /// What a program may do, and where that leads. A request has the number of its message as its id.
    fn steps(&self, program: &Program) -> Vec<(Event, Program)> {
        let mut steps = Vec::new();
        let declared = &self.resolution.declarations;
        let cancel =
            declared.indices().find(|index| declared.messages[usize::from(index.0)].table.cancels.is_some());
        for (place, thread) in program.threads.iter().enumerate() {
            for step in self.reading.moves(thread) {
                let id = step.id.clone().unwrap_or_else(|| i64::from(step.message.0).into());
                let next = self.reading.take(program, place, &step, Some(&id), false);
                steps.push((self.event(step.direction, (step.message, None)), next));
            }
            for asked in &thread.asked {
                let cancellable = declared.messages[usize::from(asked.request.0)].table.cancellable;
                if let (true, Some(cancel)) = (cancellable, cancel) {
                    let next = self.reading.cancel(program, asked.direction, &asked.id).unwrap();
                    // The cancel of what opened a sub-session ends it in any state (`stopped_sound`).
                    if next.threads.len() < program.threads.len() {
                        continue;
                    }
                    steps.push((self.event(asked.direction, (cancel, Some(asked.request))), next));
                }
            }
        }
        steps
    }

    fn events(&self, start: Program) -> HashSet<Event> {
        self.graph(start).edges.into_iter().map(|(_, event, _)| event).collect()
    }

    /// What is said in each channel that runs next to others in some of these programs, and what it opens; and in each
    /// channel that stays alone, as that of another body does. A role in which none run next to others has one.
    fn channels<'b>(&self, programs: impl Iterator<Item = &'b Program> + Clone) -> Channels {
        let (several, alone): (Vec<&Program>, Vec<&Program>) =
            programs.partition(|program| program.threads.len() > 1);
        if several.is_empty() {
            return Channels::new();
        }
        let graph =
            |thread: &Thread| self.graph(Program { threads: vec![thread.clone()], ..Program::default() });
        let stays_alone =
            |graph: &Graph| graph.states.iter().take(graph.session).all(|program| program.threads.len() < 2);
        let threads = |programs: &[&'b Program]| -> HashSet<&'b Thread> {
            programs.iter().flat_map(|program| &program.threads).collect()
        };
        let alone = threads(&alone).into_iter().map(graph).filter(stays_alone);
        let said = threads(&several).into_iter().map(graph).chain(alone).map(|graph| {
            let session = graph.openings.into_iter().filter(|(from, _, _)| *from < graph.session);
            graph.edges.into_iter().chain(session).map(|(_, event, _)| event).collect()
        });
        together(said.filter(|said: &HashSet<Event>| !said.is_empty()).collect())
    }

    /// What channels open: whether each that does so does it in each of its states, and always the same; and whether one
    /// does.
    fn opened<'b>(&self, programs: impl Iterator<Item = &'b Program>) -> Opened {
        let threads: HashSet<&Thread> = programs.flat_map(|program| &program.threads).collect();
        let mut opened = Opened::new();
        for thread in threads {
            let graph = self.graph(Program { threads: vec![thread.clone()], ..Program::default() });
            let mut places: HashMap<Event, (HashSet<usize>, HashSet<usize>)> = HashMap::new();
            for (from, event, to) in graph.openings.into_iter().filter(|(from, _, _)| *from < graph.session) {
                let (from_all, to_all) = places.entry(event).or_default();
                from_all.insert(from);
                to_all.insert(to);
            }
            for (event, (from, to)) in places {
                let always = from.len() == graph.session && to.len() == 1;
                let (all, ever) = opened.entry(event).or_insert((true, false));
                *all &= always;
                *ever |= always;
            }
        }
        opened
    }

    /// Of each channel whether it has ended, and which role may end it there. Where one may and others keep the session from
    /// closing, that does not show in the rights.
    fn ends(&self, program: &Program) -> Vec<[bool; 3]> {
        let of = |thread: &Thread| {
            let closing = self.reading.closing(thread);
            [closing.over, closing.own, closing.peer]
        };
        let mut ends: Vec<[bool; 3]> = program.threads.iter().map(of).collect();
        ends.sort_unstable();
        ends
    }

    /// The states, who may close in each, and its mark, the edges, the channels, the sub-sessions, and in which of their states several
    /// channels run; and what is said in each channel of the session and of sub-sessions.
    fn table(&self, start: Program, closes: Closes, messages: &mut Messages) -> (String, RoleChannels) {
        let graph = self.graph(start);
        let mut table = graph.states.len().to_string();
        let mut marks: HashMap<Vec<[bool; 3]>, usize> = HashMap::new();
        for (number, program) in graph.states.iter().enumerate() {
            let of_session = number < graph.session;
            for side in [Side::Client, Side::Server] {
                let may = of_session && may_close(&self.reading, program, side == self.side);
                let is_written = closes == Closes::AsWritten || !may || program.threads.is_empty();
                assert!(is_written, "a channel can end");
                let may = if closes == Closes::AsWritten { may } else { closes == Closes::Always };
                write!(table, " {}", u8::from(may)).unwrap();
            }
            let ends = (of_session && closes == Closes::AsWritten).then(|| self.ends(program));
            let new = 1 + marks.len();
            let mark = ends.map_or(0, |ends| *marks.entry(ends).or_insert(new));
            write!(table, " {mark}").unwrap();
        }
        let [steps, openings, of_bodies] =
            [&graph.edges, &graph.openings, &graph.bodies].map(|said| edges(said, messages));
        let openers: HashSet<Event> = graph.openings.iter().map(|(_, event, _)| *event).collect();
        let each_body = openers.into_iter().map(|opener| {
            let states = graph.body(opener);
            let channels = self.channels(states.iter().map(|number| &graph.states[*number]));
            (opener, states, channels)
        });
        let each_body: Vec<_> = each_body.collect();
        let bodies = each_body.iter().flat_map(|(_, states, channels)| match channels.is_empty() {
            // Its one channel may share messages with one of another body.
            true => graph.with_rest(Channels::new(), states),
            false => channels.clone(),
        });
        let channels = [self.channels(graph.states.iter().take(graph.session)), together(bodies.collect())];
        let [of_session, of_body] = [(&channels[0], 1), (&channels[1], 1 + channels[0].len())]
            .map(|(all, first)| numbered(all, first, messages));
        let both = numbered(&channels.concat(), 1, messages);
        let running = |program: &Program| {
            program.threads.iter().filter(|thread| !self.reading.has_ended(thread)).count()
        };
        let several: Vec<usize> = (graph.session..graph.states.len())
            .filter(|number| running(&graph.states[*number]) > 1)
            .collect();
        let several =
            several.iter().fold(format!(" {}", several.len()), |text, number| format!("{text} {number}"));
        table = format!("{table}{steps}{of_session}{openings}{of_bodies}{both}{of_body}{several}");
        let [session, bodies] = channels;
        let of_session: HashSet<usize> = (0..graph.session).collect();
        let each_body = each_body
            .into_iter()
            .map(|(opener, states, channels)| (opener, graph.with_rest(channels, &states)));
        let each_body: HashMap<Event, Channels> = each_body.collect();
        let channels = RoleChannels {
            session: graph.with_rest(session, &of_session),
            bodies: together(bodies.into_iter().chain(each_body.values().flatten().cloned()).collect()),
            each_body,
            opened: self.opened(graph.states.iter()),
        };
        (table, channels)
    }
}

impl Graph {
    /// The states of the sub-sessions that a message opens.
    fn body(&self, opener: Event) -> HashSet<usize> {
        let starts = self.openings.iter().filter(|(_, event, _)| *event == opener);
        let mut waiting: Vec<usize> = starts.map(|(_, _, to)| *to).collect();
        let mut states = HashSet::new();
        while let Some(at) = waiting.pop() {
            if states.insert(at) {
                waiting.extend(self.bodies.iter().filter(|(from, _, _)| *from == at).map(|(_, _, to)| *to));
            }
        }
        states
    }

    /// The channels that run in these states, and what is said before channels start side by side, and where there is one
    /// alone: that belongs together.
    fn with_rest(&self, mut channels: Channels, states: &HashSet<usize>) -> Channels {
        let said = self.edges.iter().chain(&self.bodies).chain(&self.openings);
        let said = said.filter(|(from, _, _)| states.contains(from)).map(|(_, event, _)| *event);
        let rest = said.filter(|event| !channels.iter().any(|channel| channel.contains(event))).collect();
        channels.push(rest);
        channels
    }
}

/// What is said in each channel.
type Channels = Vec<HashSet<Event>>;

/// What the channels of a role open: whether all of them that do so do it in each of their states, and always the same;
/// and whether one does, perhaps from some state on.
type Opened = HashMap<Event, (bool, bool)>;

/// The channels of a role.
struct RoleChannels {
    session: Channels,
    bodies: Channels,
    /// Those of the sub-sessions that each message opens.
    each_body: HashMap<Event, Channels>,
    opened: Opened,
}

/// The channels, those as one that share messages.
fn together(channels: Channels) -> Channels {
    let mut groups = Channels::new();
    for mut channel in channels {
        let own = channel.clone();
        for other in groups.extract_if(.., |known| !known.is_disjoint(&own)) {
            channel.extend(other);
        }
        groups.push(channel);
    }
    groups
}

/// How many messages there are, and each with the number of its channel; the first channel has this one.
fn numbered(channels: &[HashSet<Event>], first: usize, messages: &Messages) -> String {
    let said = channels.iter().enumerate().flat_map(|(number, channel)| {
        channel.iter().map(move |event| format!(" {} {}", messages[event], first + number))
    });
    let mut said: Vec<String> = said.collect();
    said.sort();
    format!(" {}{}", said.len(), said.concat())
}

/// How many there are, and each.
fn edges(edges: &[(usize, Event, usize)], messages: &mut Messages) -> String {
    let mut text = format!(" {}", edges.len());
    for (from, event, to) in edges {
        let known = messages.len();
        let message = *messages.entry(*event).or_insert(known);
        write!(text, " {from} {} {message} {to}", u8::from(event.0 == Side::Server)).unwrap();
    }
    text
}

/// Whether this role, or the other, may close: each channel that can end has ended or offers it, and there is one, or
/// no channel at all.
fn may_close(reading: &Reading<'_>, program: &Program, own: bool) -> bool {
    let channels: Vec<_> = program.threads.iter().map(|thread| reading.closing(thread)).collect();
    let mut able = channels.iter().filter(|channel| channel.reaches || channel.over).peekable();
    if able.peek().is_none() {
        return channels.is_empty();
    }
    able.all(|channel| channel.over || if own { channel.own } else { channel.peer })
}
