//! Writes the tables as Rust constants.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{
    Announcement, Cancels, Condition, Dialect, During, Field, Gate, GateIndex, Holder, Key, KeyIndex,
    KeyPlace, Kind, Level, Literal as Constant, Message, MessageIndex, MessageKey, Path, Payload, Protocol,
    Reports, Requirement, Rounds, ShapeIndex, Side, Strictness, Text,
};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use crate::automaton::Automaton;
use crate::plan::names::{constant, ident, snake};
use crate::plan::role_module;

mod shapes;
mod states;

/// The names by which the constants speak of messages, capabilities, keys and states.
pub(super) struct ConstantNames {
    messages: Vec<Ident>,
    capabilities: Vec<Ident>,
    /// Which of the capabilities are what requests grant.
    during: Vec<bool>,
    keys: Vec<Ident>,
    shapes: Vec<Ident>,
}

impl ConstantNames {
    pub(super) fn new(protocol: &Protocol) -> ConstantNames {
        let capability = |gate: &Gate| {
            if gate.during.is_some() {
                return "DURING".to_owned();
            }
            let plain =
                |part: &Text| snake(part).replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
            let name = gate.path.iter().map(plain).collect::<Vec<_>>().join("_").to_uppercase();
            if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
        };
        ConstantNames {
            messages: protocol.messages.iter().map(|message| ident(&constant(&message.name))).collect(),
            capabilities: distinct(protocol.gates.iter().map(capability)),
            during: protocol.gates.iter().map(|gate| gate.during.is_some()).collect(),
            keys: distinct(protocol.keys.iter().map(|key| constant(&key.name))),
            shapes: distinct(protocol.shapes.iter().map(|shape| constant(&shape.name))),
        }
    }

    fn message(&self, index: MessageIndex) -> TokenStream {
        match self.messages.get(usize::from(index.0)) {
            Some(name) => name.to_token_stream(),
            None => {
                let index = Literal::u16_unsuffixed(index.0);
                quote!(MessageIndex(#index))
            }
        }
    }

    fn capability(&self, index: GateIndex) -> TokenStream {
        match self.capabilities.get(usize::from(index.0)) {
            Some(name) => quote!(capabilities::#name),
            None => {
                let index = Literal::u16_unsuffixed(index.0);
                quote!(GateIndex(#index))
            }
        }
    }

    fn key(&self, index: KeyIndex) -> TokenStream {
        match self.keys.get(usize::from(index.0)) {
            Some(name) => quote!(keys::#name),
            None => {
                let index = Literal::u16_unsuffixed(index.0);
                quote!(KeyIndex(#index))
            }
        }
    }

    /// The constant of a shape, as the module of the shapes has it.
    fn shape(&self, index: ShapeIndex) -> TokenStream {
        match self.shapes.get(usize::from(index.0)) {
            Some(name) => name.to_token_stream(),
            None => {
                let index = Literal::u16_unsuffixed(index.0);
                quote!(ShapeIndex(#index))
            }
        }
    }
}

/// Names that differ only in what a constant's name cannot have get a number, in order of appearance.
pub(super) fn distinct(names: impl Iterator<Item = String>) -> Vec<Ident> {
    let mut used = BTreeSet::new();
    names
        .map(|name| {
            let mut free = name.clone();
            for number in 2.. {
                if used.insert(free.clone()) {
                    break;
                }
                free = format!("{name}_{number}");
            }
            ident(&free)
        })
        .collect()
}

/// The module with the messages, each with its documentation.
pub(super) fn messages(
    protocol: &Protocol,
    allow: &TokenStream,
    documented: impl Fn(MessageIndex) -> TokenStream,
) -> TokenStream {
    let names = ConstantNames::new(protocol);
    let rows = protocol.indexed().zip(&names.messages).map(|((index, item), name)| {
        let (documentation, row) = (documented(index), message(item, &names));
        quote!(#documentation #name = #row;)
    });
    let gated = protocol.messages.iter().any(|message| !message.requires.is_empty());
    let keyed = protocol.messages.iter().any(|message| !message.keys.is_empty());
    let shaped = protocol.messages.iter().any(|message| message.shape.is_some());
    let mut imports = vec![quote!(typed)];
    imports.splice(0..0, gated.then(|| quote!(capabilities)));
    imports.splice(0..0, keyed.then(|| quote!(tables::keys)));
    imports.splice(0..0, shaped.then(|| quote!(tables::shapes)));
    imports.sort_by_key(ToString::to_string);
    quote! {
        /// The messages, by the names that tables and reports have for them.
        #allow
        pub mod messages {
            use super::{#(#imports),*};

            typed::tables::messages! {
                #(#rows)*
            }
        }
    }
}

/// The module with the capabilities that messages need; nothing where there are none.
pub(super) fn capabilities(
    protocol: &Protocol,
    allow: &TokenStream,
    documented: impl Fn(GateIndex) -> TokenStream,
) -> Option<TokenStream> {
    if protocol.gates.is_empty() {
        return None;
    }
    let names = ConstantNames::new(protocol);
    let rows =
        (0..=u16::MAX).zip(protocol.gates.iter()).zip(&names.capabilities).map(|((index, gate), name)| {
            if let Some(During { requests, condition: when, .. }) = &gate.during {
                let requests = requests.iter().map(|request| names.message(*request));
                let requests = quote!(const { &[#(messages::#requests),*] });
                return match when.as_ref().map(condition) {
                    Some(when) => quote!(@during #name = Gate::during_if(#requests, #when);),
                    None => quote!(@during #name = Gate::during(#requests);),
                };
            }
            let documentation = documented(GateIndex(index));
            let (shown, parts) = (gate.to_string(), gate.path.iter().map(|part| &**part));
            quote!(#documentation #name = #shown, [#(#parts),*];)
        });
    let during = |gate: &Gate| gate.during.is_some();
    let imports = match protocol.gates.iter().any(during) {
        true => quote!(
            use super::{messages, typed};
        ),
        false => quote!(
            use super::typed;
        ),
    };
    let head = match protocol.gates.iter().all(during) {
        true => quote! {
            /// What messages are permitted during.
            #allow
            mod capabilities
        },
        false => quote! {
            /// What a side can announce that it can do, and messages may require.
            #allow
            pub mod capabilities
        },
    };
    Some(quote! {
        #head {
            #imports

            typed::tables::capabilities! {
                #(#rows)*
            }
        }
    })
}

/// The private module with the machine.
pub(super) fn module(protocol: &Protocol) -> TokenStream {
    let names = ConstantNames::new(protocol);
    let name = &*protocol.name;
    let mut table = quote!(Protocol::table(#name, m::rows));
    if let Some(version) = protocol.version.as_deref() {
        table.extend(match protocol.numeric_version {
            true => quote!(.numeric_version(#version)),
            false => quote!(.version(#version)),
        });
    }
    if protocol.batch {
        table.extend(quote!(.batch()));
    }
    table.extend(match protocol.dialect {
        Dialect::Standard => quote!(),
        Dialect::WithoutJsonrpc => quote!(.without_jsonrpc()),
        Dialect::Version1 => quote!(.jsonrpc_1()),
    });
    if protocol.reuses_ids {
        table.extend(quote!(.reuses_ids()));
    }
    if !protocol.gates.is_empty() {
        table.extend(quote!(.gates(capabilities::rows)));
    }
    if !protocol.keys.is_empty() {
        table.extend(quote!(.keys(keys::rows)));
    }
    if !protocol.shapes.is_empty() {
        table.extend(quote!(.shapes(shapes::rows)));
    }
    if !protocol.announcements.is_empty() {
        let announcements = protocol.announcements.iter().map(|item| announcement(item, &names));
        table.extend(quote!(.announcements(const { &[#(#announcements),*] })));
    }
    if let Some(place) = protocol.announced_version() {
        let place = field(place, &names);
        table.extend(quote!(.version_field(#place)));
    }
    if let Some(place) = protocol.version_of_each_request() {
        let at = path(&place.path);
        let error = with_error(place.error);
        table.extend(quote!(.request_version(RequestVersion::at(#at)#error)));
    }
    let mut roles = TokenStream::new();
    for (which, role) in [(Side::Client, &protocol.client), (Side::Server, &protocol.server)] {
        let Some(role) = role else { continue };
        let (module, name) = (ident(role_module(which)), &*role.name);
        roles.extend(states::role(role, &module, &names));
        table.extend(quote!(.#module(Role::table(#name, #module::rows))));
    }
    let keys = (!protocol.keys.is_empty()).then(|| {
        let rows = protocol.keys.iter().zip(&names.keys).map(|(Key { name, open, .. }, constant)| {
            let open = open.then(|| quote!(.open()));
            let name = &**name;
            quote!(#constant = Key::named(#name)#open;)
        });
        quote! {
            pub(super) mod keys {
                use super::tables;

                tables::keys! {
                    #(#rows)*
                }
            }
        }
    });
    let shapes = shapes::module(protocol, &names);
    let gated = (!protocol.gates.is_empty()).then(|| quote!(capabilities,));
    quote! {
        #[allow(unused_imports)]
        mod tables {
            use super::typed::tables;
            use super::{#gated messages as m};

            tables::protocol! {
                PROTOCOL = #table;
            }

            #keys
            #shapes
            #roles
        }
    }
}

/// The code of the error that refuses a request.
fn with_error(code: Option<i64>) -> Option<TokenStream> {
    code.map(Literal::i64_unsuffixed).map(|code| quote!(.with_error(#code)))
}

fn announcement(announcement: &Announcement, names: &ConstantNames) -> TokenStream {
    let (who, at) = (side(announcement.side), path(&announcement.path));
    let defaults = (!announcement.defaults.is_empty()).then(|| {
        let gates = announcement.defaults.iter().map(|gate| names.capability(*gate));
        quote!(.defaults(&[#(#gates.gate),*]))
    });
    let open = announcement.open.then(|| quote!(.open_until_announced()));
    match announcement.message {
        Some(message) => {
            let message = names.message(message);
            quote!(Announcement::new(#who, Field::of(m::#message, #at))#defaults #open)
        }
        None => {
            let error = with_error(announcement.error);
            quote!(Announcement::in_each_request_at(#who, #at)#defaults #error)
        }
    }
}

fn message(message: &Message, names: &ConstantNames) -> TokenStream {
    let (name, method) = (&*message.name, &*message.method);
    let mut row = match message.kind {
        Kind::Request => quote!(Message::request(#name, #method)),
        Kind::Notification => quote!(Message::notification(#name, #method)),
        Kind::Reply { request } => {
            let request = names.message(request);
            quote!(Message::reply(#name, #request))
        }
        Kind::Refusal { request } => {
            let request = names.message(request);
            quote!(Message::refusal(#name, #request))
        }
    };
    row.extend(match message.payload {
        Payload::None if matches!(message.kind, Kind::Refusal { .. }) => quote!(),
        Payload::Required => quote!(),
        Payload::None => quote!(.payload(Payload::None)),
        Payload::Null => quote!(.payload(Payload::Null)),
        Payload::Optional => quote!(.payload(Payload::Optional)),
    });
    if let Some(shape) = message.shape {
        let shape = names.shape(shape);
        row.extend(quote!(.shape(shapes::#shape)));
    }
    if let Some(found) = &message.condition {
        let found = condition(found);
        row.extend(quote!(.when(#found)));
    }
    if let Some(Rounds { reply, state, given, answers, questions, .. }) = &message.rounds {
        let reply = names.message(*reply);
        let (state, given) = (path(state), path(given));
        let (answers, questions) = (path(answers), path(questions));
        row.extend(quote!(.rounds(#reply, (#state, #given), (#answers, #questions))));
    }
    for (word, place) in [("grants", &message.grants), ("revokes", &message.revokes)] {
        let Some(place) = place else { continue };
        let (word, at) = (ident(word), path(place));
        row.extend(quote!(.#word(#at)));
    }
    if !message.requires.is_empty() {
        let requires = message.requires.iter().map(|item| requirement(item, names));
        row.extend(quote!(.requires(const { &[#(#requires),*] })));
    }
    if message.answered {
        row.extend(quote!(.answered()));
    }
    if message.cancellable {
        row.extend(match message.until_reply {
            true => quote!(.cancellable_until_reply()),
            false => quote!(.cancellable()),
        });
    }
    if let Some(Cancels { id, reply_error, .. }) = &message.cancels {
        let id = path(id);
        row.extend(match reply_error {
            // With its sign it is a literal, as it is in the file.
            Some(code) => {
                let code = Literal::i64_unsuffixed(*code);
                quote!(.cancels_with_reply(#id, #code))
            }
            None => quote!(.cancels(#id)),
        });
    }
    if let Some(Reports { token, of, .. }) = &message.reports {
        let (token, of) = (path(token), of.iter().map(parts));
        row.extend(quote!(.reports(#token, paths![#(#of),*])));
    }
    if !message.keys.is_empty() {
        let keys = message.keys.iter().map(|MessageKey { key, place, open, .. }| {
            let key = names.key(*key);
            let open = open.then(|| quote!(.open()));
            match place {
                KeyPlace::Path(at) => {
                    let at = path(at);
                    quote!(MessageKey::at(#key, #at)#open)
                }
                KeyPlace::Id => quote!(MessageKey::id(#key)#open),
                KeyPlace::Member(name) => quote!(MessageKey::member(#key, #name)#open),
            }
        });
        row.extend(quote!(.keys(const { &[#(#keys),*] })));
    }
    if let Some(found) = &message.level {
        let found = level(found);
        row.extend(quote!(.level(#found)));
    }
    row
}

fn requirement(requirement: &Requirement, names: &ConstantNames) -> TokenStream {
    let holder = match requirement.holder {
        Holder::Side(Side::Client) => format_ident!("client"),
        Holder::Side(Side::Server) => format_ident!("server"),
        Holder::Sender => format_ident!("own"),
        Holder::Receiver => format_ident!("peer"),
    };
    let capability = names.capability(requirement.gate);
    if names.during.get(usize::from(requirement.gate.0)) == Some(&true) {
        return quote!(Requirement::during(#capability));
    }
    let when = requirement.condition.as_ref().map(|found| {
        let found = condition(found);
        if requirement.unless { quote!(.unless(#found)) } else { quote!(.only_if(#found)) }
    });
    quote!(Requirement::#holder(#capability)#when)
}

fn condition(condition: &Condition) -> TokenStream {
    let at = path(&condition.path);
    match &condition.literal {
        Some(Constant::Text(text)) => quote!(Condition::is(#at, #text)),
        Some(Constant::Int(number)) => {
            let number = Literal::i64_unsuffixed(*number);
            quote!(Condition::is_int(#at, #number))
        }
        Some(Constant::Bool(value)) => quote!(Condition::is_bool(#at, #value)),
        None => quote!(Condition::present(#at)),
    }
}

fn field(field: &Field, names: &ConstantNames) -> TokenStream {
    let (message, at) = (names.message(field.message), path(&field.path));
    quote!(Field::of(m::#message, #at))
}

fn level(level: &Level) -> TokenStream {
    let mut row = match (level.strictness, level.rule.as_deref()) {
        (Strictness::Must, None) => quote!(Level::MUST),
        (Strictness::Should, None) => quote!(Level::SHOULD),
        (Strictness::Must, Some(rule)) => quote!(Level::must(#rule)),
        (Strictness::Should, Some(rule)) => quote!(Level::should(#rule)),
    };
    if let Some(code) = level.error {
        let digits = Literal::u64_unsuffixed(code.unsigned_abs());
        let code = if code < 0 { quote!(-#digits) } else { quote!(#digits) };
        row.extend(quote!(.error(#code)));
    }
    row
}

fn side(side: Side) -> TokenStream {
    match side {
        Side::Client => quote!(Side::Client),
        Side::Server => quote!(Side::Server),
    }
}

fn path(path: &Path) -> TokenStream {
    let parts = parts(path);
    quote!(path! #parts)
}

fn parts(path: &Path) -> TokenStream {
    let parts = path.iter().map(|part| &**part);
    quote!([#(#parts),*])
}

/// The names of the states' constants, in the module of their role.
pub(super) fn states(automaton: &Automaton) -> Vec<Ident> {
    distinct(automaton.states.iter().map(|state| constant(&state.name)))
}
