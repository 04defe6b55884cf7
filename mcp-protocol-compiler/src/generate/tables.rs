//! The tables as Rust constants.
//!
//! In: the tables as owned values, see [`machine`](super::machine). Out: the module that writes the same values as
//! constants. Refuses to have two sources: the code is printed from the values.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{
    Action, Announcement, Condition, Direction, Edge, Field, Gate, GateIndex, Holder, Key, KeyPlace, Kind,
    Level, List, Message, MessageIndex, MessageKey, Only, Origin, Path, Payload, Protocol, Reports,
    Requirement, Role, Side, State, StateIndex, StateKind, Strictness, Text,
};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::names::{constant, ident};
use super::plan::role_module;

/// The names by which the constants speak of messages and states.
struct Names {
    messages: Vec<Ident>,
    states: Vec<Ident>,
}

impl Names {
    fn message(&self, index: MessageIndex) -> TokenStream {
        match self.messages.get(usize::from(index.0)) {
            Some(name) => quote!(messages::#name),
            None => {
                let index = Literal::u16_unsuffixed(index.0);
                quote!(MessageIndex(#index))
            }
        }
    }

    fn state(&self, index: StateIndex) -> TokenStream {
        match usize::try_from(index.0).ok().and_then(|index| self.states.get(index)) {
            Some(name) => name.to_token_stream(),
            None => {
                let index = Literal::u32_unsuffixed(index.0);
                quote!(StateIndex(#index))
            }
        }
    }
}

/// The private module with the tables as constants.
pub(super) fn module(protocol: &Protocol) -> TokenStream {
    let names = Names {
        messages: protocol.messages.iter().map(|message| ident(&constant(&message.name))).collect(),
        states: Vec::new(),
    };
    let name = text(&protocol.name);
    let version = option(protocol.version.as_ref(), text);
    let batch = protocol.batch;
    let messages = list(&protocol.messages, |item| message(item, &names));
    let gates = list(&protocol.gates, |Gate { path: found }| {
        let found = path(found);
        quote!(Gate { path: #found })
    });
    let keys = list(&protocol.keys, |Key { name, open }| {
        let name = text(name);
        quote!(Key { name: #name, open: #open })
    });
    let announcements =
        list(&protocol.announcements, |Announcement { side: who, field: place, defaults }| {
            let (who, place) = (side(*who), field(place, &names));
            let defaults = list(defaults, gate);
            quote!(Announcement { side: #who, field: #place, defaults: #defaults })
        });
    let version_field = option(protocol.version_field.as_ref(), |place| field(place, &names));
    let mut roles = TokenStream::new();
    let mut role_name = |which: Side, role: Option<&Role>| {
        let Some(role) = role else { return quote!(None) };
        let module = ident(role_module(which));
        roles.extend(role_tables(role, which, &names));
        quote!(Some(#module::ROLE))
    };
    let client = role_name(Side::Client, protocol.client.as_ref());
    let server = role_name(Side::Server, protocol.server.as_ref());
    quote! {
        #[allow(unused_imports)]
        mod tables {
            use super::messages;
            use super::typed::*;
            use self::Action::{Spawn, Step};
            use self::Origin::{Cancel, Closure, Refusal, Written};

            pub(super) const PROTOCOL: Protocol = Protocol {
                name: #name,
                version: #version,
                batch: #batch,
                messages: MESSAGES,
                gates: #gates,
                keys: #keys,
                announcements: #announcements,
                version_field: #version_field,
                client: #client,
                server: #server,
            };
            const MESSAGES: List<Message> = #messages;
            #roles
        }
    }
}

fn role_tables(role: &Role, which: Side, names: &Names) -> TokenStream {
    let mut used = BTreeSet::from(["ROLE".to_owned()]);
    let states: Vec<Ident> = role
        .states
        .iter()
        .map(|state| {
            // Names that differ in capitals only would be one constant.
            let name = constant(&state.name);
            let free = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}_{n}") });
            let taken = |name: &String| used.contains(name) || used.contains(&format!("{name}_EDGES"));
            let name = free.into_iter().find(|name| !taken(name)).unwrap_or(name);
            used.extend([name.clone(), format!("{name}_EDGES")]);
            ident(&name)
        })
        .collect();
    let names = Names { messages: names.messages.clone(), states };
    let module = ident(role_module(which));
    let name = text(&role.name);
    // A state that nothing leads to is named nowhere, be it the first one or a fork that is gone through at once.
    let targets = role.states.iter().flat_map(|state| state.edges.iter()).map(|edge| match edge.action {
        Action::Step(target) | Action::Spawn(target) => target,
    });
    let parts = role.states.iter().flat_map(|state| state.parts.iter().copied());
    let named: BTreeSet<StateIndex> = targets.chain(parts).collect();
    let places = names.states.iter().zip(0u32..).filter(|(_, index)| named.contains(&StateIndex(*index)));
    let places = places.map(|(name, index)| {
        let index = Literal::u32_unsuffixed(index);
        quote!(const #name: StateIndex = StateIndex(#index);)
    });
    let edges = names.states.iter().zip(role.states.iter()).map(|(name, state)| {
        let constant = format_ident!("{name}_EDGES");
        let edges = state.edges.iter().map(|item| edge(item, &names));
        quote!(const #constant: &[Edge] = &[#(#edges),*];)
    });
    let states = names.states.iter().zip(role.states.iter()).map(|(name, item)| state(item, name, &names));
    quote! {
        mod #module {
            use super::*;
            pub(super) const ROLE: Role =
                Role { name: #name, states: Cow::Borrowed(&[#(#states),*]) };
            #(#places)*
            #(#edges)*
        }
    }
}

fn message(message: &Message, names: &Names) -> TokenStream {
    let name = &*message.name;
    let method = &*message.method;
    let kind = match message.kind {
        Kind::Request => quote!(Kind::Request),
        Kind::Notification => quote!(Kind::Notification),
        Kind::Reply { request } => {
            let request = names.message(request);
            quote!(Kind::Reply { request: #request })
        }
        Kind::Refusal { request } => {
            let request = names.message(request);
            quote!(Kind::Refusal { request: #request })
        }
    };
    let payload = match message.payload {
        Payload::None => quote!(Payload::None),
        Payload::Null => quote!(Payload::Null),
        Payload::Required => quote!(Payload::Required),
        Payload::Optional => quote!(Payload::Optional),
    };
    if is_plain(message) {
        return match message.kind {
            Kind::Request => quote!(Message::request(#name, #method, #payload)),
            Kind::Notification => quote!(Message::notification(#name, #method, #payload)),
            Kind::Reply { request } => {
                let request = names.message(request);
                quote!(Message::reply(#name, #request, #method, #payload))
            }
            Kind::Refusal { request } => {
                let request = names.message(request);
                quote!(Message::refusal(#name, #request, #method))
            }
        };
    }
    let condition = option(message.condition.as_ref(), condition);
    let requires = list(&message.requires, requirement);
    let (answered, cancellable) = (message.answered, message.cancellable);
    let cancels = option(message.cancels.as_ref(), path);
    let reports = option(message.reports.as_ref(), |Reports { token, of }| {
        let (token, of) = (path(token), list(of, path));
        quote!(Reports { token: #token, of: #of })
    });
    let keys = list(&message.keys, |MessageKey { key, place }| {
        let key = Literal::u16_unsuffixed(key.0);
        let place = match place {
            KeyPlace::Path(found) => {
                let found = path(found);
                quote!(KeyPlace::Path(#found))
            }
            KeyPlace::Id => quote!(KeyPlace::Id),
        };
        quote!(MessageKey { key: KeyIndex(#key), place: #place })
    });
    let level = option(message.level.as_ref(), level);
    quote! {
        Message {
            name: Cow::Borrowed(#name),
            kind: #kind,
            method: Cow::Borrowed(#method),
            payload: #payload,
            condition: #condition,
            requires: #requires,
            answered: #answered,
            cancellable: #cancellable,
            cancels: #cancels,
            reports: #reports,
            keys: #keys,
            level: #level,
        }
    }
}

/// Whether the message has no modifiers, so that a short constructor makes it.
fn is_plain(message: &Message) -> bool {
    let mut plain = match message.kind {
        Kind::Request => Message::request("", "", message.payload),
        Kind::Notification => Message::notification("", "", message.payload),
        Kind::Reply { request } => Message::reply("", request, "", message.payload),
        Kind::Refusal { request } => Message::refusal("", request, ""),
    };
    plain.name = message.name.clone();
    plain.method = message.method.clone();
    *message == plain
}

fn requirement(requirement: &Requirement) -> TokenStream {
    let holder = match requirement.holder {
        Holder::Side(who) => {
            let who = side(who);
            quote!(Holder::Side(#who))
        }
        Holder::Sender => quote!(Holder::Sender),
        Holder::Receiver => quote!(Holder::Receiver),
    };
    let (gate, unless) = (gate(&requirement.gate), requirement.unless);
    let condition = option(requirement.condition.as_ref(), condition);
    quote!(Requirement { holder: #holder, gate: #gate, condition: #condition, unless: #unless })
}

fn gate(index: &GateIndex) -> TokenStream {
    let index = Literal::u16_unsuffixed(index.0);
    quote!(GateIndex(#index))
}

fn condition(condition: &Condition) -> TokenStream {
    let at = path(&condition.path);
    let literal = option(condition.literal.as_ref(), text);
    quote!(Condition { path: #at, literal: #literal })
}

fn field(field: &Field, names: &Names) -> TokenStream {
    let (message, at) = (names.message(field.message), path(&field.path));
    quote!(Field { message: #message, path: #at })
}

fn state(state: &State, constant: &Ident, names: &Names) -> TokenStream {
    let name = &*state.name;
    let kind = match state.kind {
        StateKind::Linear => quote!(StateKind::Linear),
        StateKind::End => quote!(StateKind::End),
        StateKind::Replicated => quote!(StateKind::Replicated),
        StateKind::Fork => quote!(StateKind::Fork),
    };
    let mut plain = State::plain("", state.kind, &[]);
    plain.name = state.name.clone();
    plain.edges = state.edges.clone();
    let edges = format_ident!("{constant}_EDGES");
    if plain == *state {
        return quote!(State::plain(#name, #kind, #edges));
    }
    let parts = list(&state.parts, |part| names.state(*part));
    let (may_close, peer_may_close, reaches_end) = (state.may_close, state.peer_may_close, state.reaches_end);
    let only = match state.only {
        Only::NONE => quote!(Only::NONE),
        Only { outward, inward } => quote!(Only { outward: #outward, inward: #inward }),
    };
    let (outward, inward) = (level(&state.outward), level(&state.inward));
    let advice = list(&state.advice, |advice| {
        let direction = match advice.direction {
            Direction::Send => quote!(Direction::Send),
            Direction::Receive => quote!(Direction::Receive),
        };
        let (message, level) = (names.message(advice.message), level(&advice.level));
        quote!(Advice { direction: #direction, message: #message, level: #level })
    });
    quote! {
        State {
            name: Cow::Borrowed(#name),
            kind: #kind,
            edges: Cow::Borrowed(#edges),
            parts: #parts,
            may_close: #may_close,
            peer_may_close: #peer_may_close,
            reaches_end: #reaches_end,
            only: #only,
            outward: #outward,
            inward: #inward,
            advice: #advice,
        }
    }
}

fn edge(edge: &Edge, names: &Names) -> TokenStream {
    let message = names.message(edge.message);
    let target = names.state(edge.action.target());
    let action = match edge.action {
        Action::Step(_) => quote!(Step(#target)),
        Action::Spawn(_) => quote!(Spawn(#target)),
    };
    let origin = match edge.origin {
        Origin::Written => quote!(Written),
        Origin::Refusal => quote!(Refusal),
        Origin::Cancel => quote!(Cancel),
        Origin::Closure => quote!(Closure),
    };
    match edge.direction {
        Direction::Send => quote!(Edge::send(#message, #action, #origin)),
        Direction::Receive => quote!(Edge::receive(#message, #action, #origin)),
    }
}

fn level(level: &Level) -> TokenStream {
    match level {
        level if *level == Level::MUST => return quote!(Level::MUST),
        Level { strictness: Strictness::Must, rule: Some(rule), error: None } => {
            return quote!(Level::must(#rule));
        }
        Level { strictness: Strictness::Should, rule: Some(rule), error: None } => {
            return quote!(Level::should(#rule));
        }
        _ => {}
    }
    let strictness = match level.strictness {
        Strictness::Should => quote!(Strictness::Should),
        Strictness::Must => quote!(Strictness::Must),
    };
    let rule = option(level.rule.as_ref(), text);
    let error = option(level.error.as_ref(), |code| {
        let digits = Literal::u64_unsuffixed(code.unsigned_abs());
        if *code < 0 { quote!(-#digits) } else { quote!(#digits) }
    });
    quote!(Level { strictness: #strictness, rule: #rule, error: #error })
}

fn side(side: Side) -> TokenStream {
    match side {
        Side::Client => quote!(Side::Client),
        Side::Server => quote!(Side::Server),
    }
}

fn path(path: &Path) -> TokenStream {
    list(path, text)
}

fn text(text: &Text) -> TokenStream {
    let text = &**text;
    quote!(Cow::Borrowed(#text))
}

fn list<T: Clone>(items: &List<T>, print: impl Fn(&T) -> TokenStream) -> TokenStream {
    let items = items.iter().map(print);
    quote!(Cow::Borrowed(&[#(#items),*]))
}

fn option<T>(value: Option<&T>, print: impl Fn(&T) -> TokenStream) -> TokenStream {
    match value.map(print) {
        Some(printed) => quote!(Some(#printed)),
        None => quote!(None),
    }
}
