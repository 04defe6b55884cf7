//! `protocols/mcp-2025-03-26.session`, held against a table of what the revision says.
//!
//! The table is written from the revision's own list of methods: who sends each, what must have been announced, in
//! which phase it belongs. The compiler's machines must say the same, method by method and state by state; and the
//! file must compile without a word.

#![allow(clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;

use mcp_protocol_compiler::automaton::Automaton;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::{Compilation, Compiled, compile};
use mcp_protocol_machine::protocol::{Action, Direction, Holder, Kind, Side, StateKind, Strictness};

/// Who sends a method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sender {
    Client,
    Server,
    Either,
}
use Sender::{Client, Either, Server};

/// One method: its name, who sends it, the capability it needs, whether it is a request, where its sender may send it
/// and where its receiver accepts it. States by their letters: `U`ninit, awaiting the `R`esult, awaiting the
/// `N`otification, `A`ctive.
type Row = (&'static str, Sender, &'static str, bool, &'static str, &'static str);

/// A client keeps quiet until it has said `initialized`, a server answers from its result on; a server says nothing
/// of its own before `initialized`, a client hears of changes from the result on.
const METHODS: &[Row] = &[
    ("initialize", Client, "", true, "U", "U"),
    ("notifications/initialized", Client, "", false, "N", "N"),
    ("ping", Either, "", true, "URNA", "URNA"),
    ("notifications/cancelled", Either, "", false, "", ""),
    ("notifications/progress", Either, "", false, "", ""),
    ("tools/list", Client, "server.tools", true, "A", "NA"),
    ("tools/call", Client, "server.tools", true, "A", "NA"),
    ("resources/list", Client, "server.resources", true, "A", "NA"),
    ("resources/templates/list", Client, "server.resources", true, "A", "NA"),
    ("resources/read", Client, "server.resources", true, "A", "NA"),
    ("resources/subscribe", Client, "server.resources.subscribe", true, "A", "NA"),
    ("resources/unsubscribe", Client, "server.resources.subscribe", true, "A", "NA"),
    ("prompts/list", Client, "server.prompts", true, "A", "NA"),
    ("prompts/get", Client, "server.prompts", true, "A", "NA"),
    ("completion/complete", Client, "server.completions", true, "A", "NA"),
    ("logging/setLevel", Client, "server.logging", true, "A", "NA"),
    ("sampling/createMessage", Server, "client.sampling", true, "A", "A"),
    ("roots/list", Server, "client.roots", true, "A", "A"),
    ("notifications/roots/list_changed", Client, "client.roots.listChanged", false, "A", "NA"),
    ("notifications/tools/list_changed", Server, "server.tools.listChanged", false, "A", "NA"),
    ("notifications/resources/list_changed", Server, "server.resources.listChanged", false, "A", "NA"),
    ("notifications/prompts/list_changed", Server, "server.prompts.listChanged", false, "A", "NA"),
    ("notifications/resources/updated", Server, "server.resources.subscribe", false, "A", "A"),
    ("notifications/message", Server, "server.logging", false, "URNA", "URNA"),
];

const STATES: [(&str, &str); 4] =
    [("U", "Uninit"), ("R", "AwaitingResult"), ("N", "AwaitingNotif"), ("A", "Active")];

fn compilation() -> Compilation {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols/mcp-2025-03-26.session");
    compile(&file, &mut |path| std::fs::read(path)).expect("the session file")
}

fn compiled() -> Compiled {
    compilation().protocol.expect("a protocol without errors")
}

fn roles(protocol: &Compiled) -> (&Automaton, &Automaton) {
    (protocol.client.as_ref().expect("a client"), protocol.server.as_ref().expect("a server"))
}

/// The letters of the states in which a role has an edge for the request or notification of this method.
fn places(protocol: &Compiled, role: &Automaton, direction: Direction, method: &str) -> String {
    let mut letters = String::new();
    for (letter, name) in STATES {
        let state = role.states.iter().find(|state| state.name == name).expect("a named state");
        let has = state.edges.iter().any(|edge| {
            let message = &protocol.declarations.message(edge.message).expect("a message").table;
            edge.direction == direction
                && message.method == method
                && matches!(message.kind, Kind::Request | Kind::Notification)
        });
        if has {
            letters.push_str(letter);
        }
    }
    letters
}

#[test]
fn it_compiles_without_a_word() {
    let done = compilation();
    let text = render_all(&done.sources, &done.diagnostics, Style::Plain);
    assert!(done.diagnostics.is_empty(), "{text}");
}

#[test]
fn both_roles_have_the_same_four_states() {
    let protocol = compiled();
    let (client, server) = roles(&protocol);
    for role in [client, server] {
        let names: Vec<&str> =
            role.states.iter().filter(|state| !state.body).map(|state| state.name.as_str()).collect();
        assert_eq!(names, STATES.map(|(_, name)| name), "{}", role.name);
    }
}

#[test]
fn every_method_stands_where_the_revision_has_it() {
    let protocol = compiled();
    let (client, server) = roles(&protocol);
    for (method, sender, _, _, sent, received) in METHODS {
        let none = "";
        let (by_client, by_server) = (matches!(sender, Client | Either), matches!(sender, Server | Either));
        let expect = |is: bool, letters: &'static str| if is { letters } else { none };
        for (role, direction, letters) in [
            (client, Direction::Send, expect(by_client, sent)),
            (server, Direction::Receive, expect(by_client, received)),
            (server, Direction::Send, expect(by_server, sent)),
            (client, Direction::Receive, expect(by_server, received)),
        ] {
            let found = places(&protocol, role, direction, method);
            assert_eq!(found, letters, "`{method}`: {direction:?} of {}", role.name);
        }
    }
}

#[test]
fn every_method_is_declared_as_the_revision_has_it() {
    let protocol = compiled();
    let declarations = &protocol.declarations;
    let mut declared = BTreeSet::new();
    for message in &declarations.messages {
        let message = &message.table;
        let request = match message.kind {
            Kind::Request => true,
            Kind::Notification => false,
            Kind::Reply { .. } | Kind::Refusal { .. } => continue,
        };
        let method = message.method.as_ref();
        assert!(declared.insert(method.to_owned()), "`{method}` is declared twice");
        let row = METHODS.iter().find(|row| row.0 == method);
        let (_, _, gate, is_request, _, _) = row.unwrap_or_else(|| panic!("`{method}` is no method of it"));
        assert_eq!(request, *is_request, "`{method}`: whether it is a request");
        let gates: Vec<String> = message
            .requires
            .iter()
            .map(|requirement| {
                let holder = match requirement.holder {
                    Holder::Side(Side::Client) => "client",
                    Holder::Side(Side::Server) => "server",
                    other => panic!("`{method}` asks for a capability of {other:?}"),
                };
                let gate = declarations.gates.get(usize::from(requirement.gate.0)).expect("a gate");
                format!("{holder}.{}", gate.path.join("."))
            })
            .collect();
        assert_eq!(gates.join(" "), *gate, "`{method}`: its capability");
        // Whatever is asked may be taken back, the handshake alone may not.
        assert_eq!(message.cancellable, request && method != "initialize", "`{method}`: whether cancellable");
        assert_eq!(message.answered, method == "ping", "`{method}`: whether answered by itself");
        assert_eq!(message.cancels.is_some(), method == "notifications/cancelled");
        assert_eq!(message.reports.is_some(), method == "notifications/progress");
    }
    let all: BTreeSet<String> = METHODS.iter().map(|row| row.0.to_owned()).collect();
    assert_eq!(declared, all);
    assert!(declarations.batch, "this one revision has batches");
    assert_eq!(declarations.version.as_deref(), Some("2025-03-26"));
}

#[test]
fn rules_and_their_levels() {
    let protocol = compiled();
    let (client, server) = roles(&protocol);
    let rules = |role: &Automaton| -> Vec<String> {
        let named = role.states.iter().filter(|state| !state.body);
        named
            .map(|state| {
                assert!(
                    state.outward.strictness == Strictness::Should
                        && state.inward.strictness == Strictness::Should,
                    "the rules on phases and capabilities are all advice: `{}`",
                    state.name,
                );
                let name = |rule: &Option<_>| -> String {
                    rule.as_ref()
                        .map_or_else(String::new, |rule: &std::borrow::Cow<'_, str>| rule.to_string())
                };
                format!("out {} in {}", name(&state.outward.rule), name(&state.inward.rule))
            })
            .collect()
    };
    assert_eq!(rules(client), ["out L5 in L6", "out L5 in L6", "out L4 in L6", "out L7 in L7"]);
    assert_eq!(rules(server), ["out L6 in L5", "out L6 in L5", "out L6 in L7", "out L7 in L7"]);
}

#[test]
fn who_may_close_where() {
    let protocol = compiled();
    let (client, server) = roles(&protocol);
    // Before `initialized` the client may part by the declared branch; in `Active` nothing linear is left, and so
    // either may. Everywhere else a session can only be abandoned.
    for (role, mine, peers) in [(client, "N", ""), (server, "", "N")] {
        for (letter, name) in STATES {
            let state = role.states.iter().find(|state| state.name == name).expect("a named state");
            assert_eq!(state.may_close, letter == mine, "{} in `{name}`", role.name);
            assert_eq!(state.peer_may_close, letter == peers, "the peer of {} in `{name}`", role.name);
            assert_eq!(state.kind == StateKind::Replicated, letter == "A", "{} in `{name}`", role.name);
        }
    }
}

#[test]
fn a_refused_handshake_may_be_tried_again() {
    let protocol = compiled();
    let (client, server) = roles(&protocol);
    for role in [client, server] {
        let waiting = role.states.iter().find(|state| state.name == "AwaitingResult").expect("the state");
        let refusal = waiting.edges.iter().find(|edge| {
            let message = protocol.declarations.message(edge.message).expect("a message");
            matches!(message.table.kind, Kind::Refusal { .. })
        });
        let Action::Step(back) = refusal.expect("a refusal of `initialize`").action else {
            panic!("a refusal opens no channel")
        };
        let state = role.states.get(usize::try_from(back.0).expect("small")).expect("a state");
        assert_eq!(state.name, "Uninit");
    }
}
