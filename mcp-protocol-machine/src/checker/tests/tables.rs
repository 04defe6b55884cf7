//! Tables made by hand, for tests.

use std::collections::HashMap;

use crate::protocol::{
    Action, Advice, Cancels, Condition, Dialect, Direction, Edge, Gate, GateIndex, Holder, Key, KeyIndex,
    KeyPlace, Kind, Level, Message, MessageIndex, MessageKey, Only, Origin, Payload, Protocol, Reports,
    Requirement, Role, Side, State, StateIndex, StateKind, Strictness, Text,
};

/// A request with its reply and its refusal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) request: MessageIndex,
    pub(super) reply: MessageIndex,
    pub(super) refusal: MessageIndex,
}

/// What an edge does, with the state by name.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    Step(&'static str),
    Spawn(&'static str),
}

pub(super) type EdgeTo = (Direction, MessageIndex, To);

#[derive(Default)]
pub(super) struct Tables {
    messages: Vec<Message>,
    gates: Vec<Gate>,
    keys: Vec<Key>,
    states: Vec<State>,
    names: HashMap<&'static str, StateIndex>,
    edges: Vec<Vec<EdgeTo>>,
    parts: Vec<Vec<&'static str>>,
}

pub(super) fn level(strictness: Strictness, rule: Option<&'static str>, error: Option<i64>) -> Level {
    Level { strictness, rule: rule.map(Text::Borrowed), error }
}

impl Tables {
    fn message(&mut self, name: String, kind: Kind, method: &str) -> MessageIndex {
        let index = MessageIndex(u16::try_from(self.messages.len()).unwrap());
        self.messages.push(Message {
            name: name.into(),
            kind,
            method: method.to_owned().into(),
            payload: Payload::Optional,
            shape: None,
            condition: None,
            requires: vec![].into(),
            answered: false,
            cancellable: false,
            until_reply: false,
            cancels: None,
            reports: None,
            rounds: None,
            grants: None,
            revokes: None,
            keys: vec![].into(),
            level: None,
        });
        index
    }

    pub(super) fn request(&mut self, method: &str) -> Exchange {
        self.request_named(method, method)
    }

    pub(super) fn request_named(&mut self, name: &str, method: &str) -> Exchange {
        let request = self.message(name.to_owned(), Kind::Request, method);
        let reply = self.message(format!("{name}Result"), Kind::Reply { request }, method);
        let refusal = self.message(format!("{name}Error"), Kind::Refusal { request }, method);
        Exchange { request, reply, refusal }
    }

    pub(super) fn another_reply(&mut self, exchange: &Exchange, name: &str) -> MessageIndex {
        let request = exchange.request;
        let method = self.edit(request).method.to_string();
        self.message(name.to_owned(), Kind::Reply { request }, &method)
    }

    pub(super) fn notification(&mut self, method: &str) -> MessageIndex {
        self.message(method.to_owned(), Kind::Notification, method)
    }

    pub(super) fn cancels(&mut self, method: &str) -> MessageIndex {
        let index = self.notification(method);
        self.edit(index).cancels = Some(Cancels::new(vec!["requestId".into()].into(), None));
        index
    }

    /// The same where the reply follows.
    pub(super) fn cancels_with_reply(&mut self, method: &str) -> MessageIndex {
        let index = self.notification(method);
        self.edit(index).cancels = Some(Cancels::new(vec!["id".into()].into(), Some(-32_800)));
        index
    }

    pub(super) fn reports(&mut self, method: &str) -> MessageIndex {
        let index = self.notification(method);
        self.edit(index).reports = Some(Reports {
            token: vec!["progressToken".into()].into(),
            of: vec![vec!["_meta".into(), "progressToken".into()].into()].into(),
        });
        index
    }

    pub(super) fn edit(&mut self, index: MessageIndex) -> &mut Message {
        &mut self.messages[usize::from(index.0)]
    }

    pub(super) fn gate(&mut self, path: &[&'static str]) -> GateIndex {
        self.gates.push(Gate::new(path.iter().map(|key| Text::Borrowed(*key)).collect()));
        GateIndex(u16::try_from(self.gates.len() - 1).unwrap())
    }

    pub(super) fn key(&mut self, name: &'static str, open: bool, carried: &[MessageIndex]) -> KeyIndex {
        let key = KeyIndex(u16::try_from(self.keys.len()).unwrap());
        self.keys.push(Key { name: name.into(), open });
        for message in carried {
            let place = KeyPlace::Path(vec![name.into()].into());
            self.edit(*message).keys.to_mut().push(MessageKey::new(key, place));
        }
        key
    }

    pub(super) fn requires(
        &mut self,
        message: MessageIndex,
        holder: Holder,
        gate: GateIndex,
        literal: Option<&'static str>,
    ) {
        self.requires_when(message, holder, gate, literal, false);
    }

    pub(super) fn requires_when(
        &mut self,
        message: MessageIndex,
        holder: Holder,
        gate: GateIndex,
        literal: Option<&'static str>,
        unless: bool,
    ) {
        let condition = literal
            .map(|literal| Condition { path: vec!["mode".into()].into(), literal: Some(literal.into()) });
        self.edit(message).requires.to_mut().push(Requirement { holder, gate, condition, unless });
    }

    pub(super) fn state(&mut self, name: &'static str, kind: StateKind, edges: &[EdgeTo]) -> &mut State {
        let index = StateIndex(u32::try_from(self.states.len()).unwrap());
        assert!(self.names.insert(name, index).is_none(), "{name} is there twice");
        self.edges.push(edges.to_vec());
        self.parts.push(Vec::new());
        self.states.push(State {
            name: name.into(),
            kind,
            edges: vec![].into(),
            parts: vec![].into(),
            may_close: false,
            peer_may_close: false,
            reaches_end: kind == StateKind::End,
            only: Only::NONE,
            outward: level(Strictness::Must, None, None),
            inward: level(Strictness::Must, None, None),
            advice: vec![].into(),
        });
        self.states.last_mut().unwrap()
    }

    pub(super) fn fork(&mut self, name: &'static str, parts: &[&'static str]) {
        self.state(name, StateKind::Fork, &[]);
        *self.parts.last_mut().unwrap() = parts.to_vec();
    }

    /// A state of a sub-session that awaits, or owes, the reply of a request.
    pub(super) fn answer(&mut self, name: &'static str, direction: Direction, exchange: Exchange) {
        let edges =
            [(direction, exchange.reply, To::Step("End")), (direction, exchange.refusal, To::Step("End"))];
        self.state(name, StateKind::Linear, &edges);
    }

    pub(super) fn advise(&mut self, name: &str, direction: Direction, message: MessageIndex, level: Level) {
        let index = usize::try_from(self.names[name].0).unwrap();
        self.states[index].advice.to_mut().push(Advice { direction, message, level });
    }

    /// The same, and closing the diamond has added what these states have of these messages.
    pub(super) fn build_closed(self, side: Side, added: &[(&str, MessageIndex)]) -> Protocol {
        let added: Vec<_> = added.iter().map(|(state, message)| (self.names[state], *message)).collect();
        let mut protocol = self.build(side);
        let role = if side == Side::Client { &mut protocol.client } else { &mut protocol.server };
        let states = role.as_mut().unwrap().states.to_mut();
        for (state, message) in added {
            let state = &mut states[usize::try_from(state.0).unwrap()];
            let edge = state.edges.to_mut().iter_mut().find(|edge| edge.message == message);
            edge.unwrap().origin = Origin::Closure;
        }
        protocol
    }

    pub(super) fn build(mut self, side: Side) -> Protocol {
        for (place, state) in self.states.iter_mut().enumerate() {
            let mut edges: Vec<Edge> = self.edges[place]
                .iter()
                .map(|(direction, message, to)| Edge {
                    direction: *direction,
                    message: *message,
                    action: match to {
                        To::Step(name) => Action::Step(self.names[name]),
                        To::Spawn(name) => Action::Spawn(self.names[name]),
                    },
                    origin: match self.messages[usize::from(message.0)].kind {
                        Kind::Refusal { .. } => Origin::Refusal,
                        _ => Origin::Written,
                    },
                })
                .collect();
            edges.sort_by_key(|edge| (edge.direction, edge.message));
            state.edges = edges.into();
            state.parts = self.parts[place].iter().map(|name| self.names[name]).collect();
        }
        let role = Role { name: "Tester".into(), states: self.states.into() };
        let (client, server) = match side {
            Side::Client => (Some(role), None),
            Side::Server => (None, Some(role)),
        };
        Protocol {
            name: "Test".into(),
            version: Some("1".into()),
            numeric_version: false,
            batch: false,
            dialect: Dialect::Standard,
            reuses_ids: false,
            messages: self.messages.into(),
            gates: self.gates.into(),
            announcements: vec![].into(),
            keys: self.keys.into(),
            shapes: vec![].into(),
            version_field: None,
            client,
            server,
        }
    }
}

/// A small relative of the Model Context Protocol, from the client's side.
pub(super) struct Small {
    pub(super) protocol: Protocol,
    pub(super) initialize: Exchange,
    pub(super) initialized: MessageIndex,
    pub(super) call: Exchange,
    pub(super) sample: Exchange,
    pub(super) ping: Exchange,
    pub(super) log: MessageIndex,
    pub(super) cancelled: MessageIndex,
    pub(super) progress: MessageIndex,
    pub(super) tools: GateIndex,
    pub(super) sampling: GateIndex,
    pub(super) sampling_tools: GateIndex,
}

pub(super) fn small() -> Small {
    use Direction::{Receive, Send};
    use To::{Spawn, Step};
    let mut tables = Tables::default();
    let initialize = tables.request("initialize");
    let initialized = tables.notification("initialized");
    let call = tables.request("tools/call");
    let sample = tables.request("sampling/createMessage");
    let ping = tables.request("ping");
    let log = tables.notification("log");
    let cancelled = tables.cancels("cancelled");
    let progress = tables.reports("progress");
    let tools = tables.gate(&["tools"]);
    let sampling = tables.gate(&["sampling"]);
    let sampling_tools = tables.gate(&["sampling", "io.x/tools"]);
    tables.requires(call.request, Holder::Side(Side::Server), tools, None);
    tables.requires(sample.request, Holder::Receiver, sampling, None);
    tables.requires(sample.request, Holder::Receiver, sampling_tools, Some("tools"));
    tables.edit(call.request).cancellable = true;
    tables.edit(sample.request).cancellable = true;
    let pings = [(Send, ping.request, Spawn("Pinging")), (Receive, ping.request, Spawn("Pinged"))];
    let with = |more: &[EdgeTo]| [&pings[..], more].concat();
    let uninit =
        tables.state("Uninit", StateKind::Linear, &with(&[(Send, initialize.request, Step("Waiting"))]));
    uninit.outward = level(Strictness::Should, Some("L5"), Some(-32_002));
    tables.state(
        "Waiting",
        StateKind::Linear,
        &with(&[(Receive, initialize.reply, Step("Told")), (Receive, initialize.refusal, Step("Uninit"))]),
    );
    let told = tables.state("Told", StateKind::Linear, &with(&[(Send, initialized, Step("Active"))]));
    told.may_close = true;
    told.reaches_end = true;
    tables.state(
        "Active",
        StateKind::Replicated,
        &with(&[
            (Send, call.request, Spawn("Calling")),
            (Receive, sample.request, Spawn("Sampled")),
            (Receive, log, Spawn("End")),
        ]),
    );
    tables.answer("Pinging", Receive, ping);
    tables.answer("Pinged", Send, ping);
    tables.answer("Calling", Receive, call);
    tables.answer("Sampled", Send, sample);
    tables.state("End", StateKind::End, &[]);
    let protocol = tables.build(Side::Client);
    Small {
        protocol,
        initialize,
        initialized,
        call,
        sample,
        ping,
        log,
        cancelled,
        progress,
        tools,
        sampling,
        sampling_tools,
    }
}
