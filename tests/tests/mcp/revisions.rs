//! `protocols/mcp-*.session`, held against a table of what each revision says.
//!
//! The table is written from the revisions' own lists of methods: who sends each, what must have been announced, in
//! which phase it belongs. The compiler's machines must say the same, method by method and state by state; and the
//! files must compile without a word, as `sessionc fmt` lays them out.

#![allow(clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::automaton::Automaton;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Compilation, Compiled, compile, format, parser};
use mcp_protocol_machine::protocol::{
    Action, Condition, Direction, Holder, Kind, Literal, Message, Requirement, Side, StateKind, Strictness,
};
use mcp_protocol_machine::shape::expected_literal;

/// Who sends a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Client,
    Server,
    Either,
}
use Sender::{Client, Either, Server};

/// The revisions by their letters.
const REVISIONS: [(char, &str); 4] =
    [('A', "2024-11-05"), ('B', "2025-03-26"), ('C', "2025-06-18"), ('D', "2025-11-25")];

/// The revisions that have it; the method, with its condition; who sends it; the capabilities it needs; where its
/// sender may send it and where its receiver accepts it. States by their letters: `U`ninit, awaiting the `R`esult,
/// awaiting the `N`otification, `A`ctive.
type Row = (&'static str, &'static str, Sender, &'static str, &'static str, &'static str);

/// A client keeps quiet until it has said `initialized`, a server answers from its result on; a server says nothing
/// of its own before `initialized`, a client hears of changes from the result on.
#[rustfmt::skip]
const METHODS: &[Row] = &[
    ("ABCD", "initialize", Client, "", "U", "U"),
    ("ABCD", "notifications/initialized", Client, "", "N", "N"),
    ("ABCD", "ping", Either, "", "URNA", "URNA"),
    ("ABCD", "notifications/cancelled", Either, "", "", ""),
    ("ABCD", "notifications/progress", Either, "", "", ""),
    ("ABCD", "tools/list", Client, "server.tools", "A", "NA"),
    ("ABCD", "tools/call", Client, "server.tools", "A", "NA"),
    ("ABCD", "resources/list", Client, "server.resources", "A", "NA"),
    ("ABCD", "resources/templates/list", Client, "server.resources", "A", "NA"),
    ("ABCD", "resources/read", Client, "server.resources", "A", "NA"),
    ("ABCD", "resources/subscribe", Client, "server.resources.subscribe", "A", "NA"),
    ("ABCD", "resources/unsubscribe", Client, "server.resources.subscribe", "A", "NA"),
    ("ABCD", "prompts/list", Client, "server.prompts", "A", "NA"),
    ("ABCD", "prompts/get", Client, "server.prompts", "A", "NA"),
    ("A",    "completion/complete", Client, "", "A", "NA"),
    ("BCD",  "completion/complete", Client, "server.completions", "A", "NA"),
    ("ABCD", "logging/setLevel", Client, "server.logging", "A", "NA"),
    ("D",    "tools/call if task", Client, "server.tools server.tasks.requests.tools.call", "A", "NA"),
    ("D",    "tasks/get", Client, "peer.tasks", "A", "NA"),
    ("D",    "tasks/result", Client, "peer.tasks", "A", "NA"),
    ("D",    "tasks/list", Client, "peer.tasks.list", "A", "NA"),
    ("D",    "tasks/cancel", Client, "peer.tasks.cancel", "A", "NA"),
    ("ABC",  "sampling/createMessage", Server, "client.sampling", "A", "A"),
    ("D",    "sampling/createMessage", Server,
     "client.sampling client.sampling.tools(tools) client.sampling.tools(toolChoice)", "A", "A"),
    ("D",    "sampling/createMessage if task", Server,
     "client.sampling client.sampling.tools(tools) client.sampling.tools(toolChoice) \
      client.tasks.requests.sampling.createMessage", "A", "A"),
    ("ABCD", "roots/list", Server, "client.roots", "A", "A"),
    ("C",    "elicitation/create", Server, "client.elicitation", "A", "A"),
    ("D",    "elicitation/create", Server,
     "client.elicitation client.elicitation.url(mode=url) client.elicitation.form(unless mode=url)", "A", "A"),
    ("D",    "elicitation/create if task", Server,
     "client.elicitation client.elicitation.url(mode=url) client.elicitation.form(unless mode=url) \
      client.tasks.requests.elicitation.create", "A", "A"),
    ("D",    "tasks/get", Server, "peer.tasks", "A", "A"),
    ("D",    "tasks/result", Server, "peer.tasks", "A", "A"),
    ("D",    "tasks/list", Server, "peer.tasks.list", "A", "A"),
    ("D",    "tasks/cancel", Server, "peer.tasks.cancel", "A", "A"),
    ("ABCD", "notifications/roots/list_changed", Client, "client.roots.listChanged", "A", "NA"),
    ("ABCD", "notifications/tools/list_changed", Server, "server.tools.listChanged", "A", "NA"),
    ("ABCD", "notifications/resources/list_changed", Server, "server.resources.listChanged", "A", "NA"),
    ("ABCD", "notifications/prompts/list_changed", Server, "server.prompts.listChanged", "A", "NA"),
    ("ABCD", "notifications/resources/updated", Server, "server.resources.subscribe", "A", "A"),
    ("ABCD", "notifications/message", Server, "server.logging", "URNA", "URNA"),
    ("D",    "notifications/elicitation/complete", Server, "client.elicitation.url", "A", "A"),
    ("D",    "notifications/tasks/status", Server, "own.tasks", "A", "A"),
    ("D",    "notifications/tasks/status", Client, "own.tasks", "A", "A"),
];

/// How many methods each revision has by its own list; two messages of one method count once.
const COUNTS: [usize; 4] = [24, 24, 25, 31];

const STATES: [(&str, &str); 4] =
    [("U", "Uninit"), ("R", "AwaitingResult"), ("N", "AwaitingNotif"), ("A", "Active")];

/// The rows of a revision.
fn methods(letter: char) -> impl Iterator<Item = &'static Row> {
    METHODS.iter().filter(move |row| row.0.contains(letter))
}

/// A method without the condition of a message.
fn bare(method: &str) -> &str {
    method.split(' ').next().unwrap_or(method)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols")
}

fn compilation(revision: &str) -> Compilation {
    let file = folder().join(format!("mcp-{revision}.session"));
    compile(&file, &mut |path| std::fs::read(path)).expect("the session file")
}

/// Every revision by its letter.
fn compiled() -> impl Iterator<Item = (char, &'static str, Compiled)> {
    REVISIONS.into_iter().map(|(letter, revision)| {
        (letter, revision, compilation(revision).protocol.expect("a protocol without errors"))
    })
}

fn roles(protocol: &Compiled) -> (&Automaton, &Automaton) {
    (protocol.client.as_ref().expect("a client"), protocol.server.as_ref().expect("a server"))
}

fn shown_condition(condition: &Condition) -> String {
    match &condition.literal {
        Some(Literal::Text(text)) => format!("{}={text}", condition.path.join(".")),
        Some(other) => format!("{}={}", condition.path.join("."), expected_literal(other)),
        None => condition.path.join("."),
    }
}

/// The method of a message, with its condition.
fn method_of(message: &Message) -> String {
    match &message.condition {
        Some(condition) => format!("{} if {}", message.method, shown_condition(condition)),
        None => message.method.to_string(),
    }
}

/// The letters of the states in which a role has an edge for the request or notification of this method.
fn places(protocol: &Compiled, role: &Automaton, direction: Direction, method: &str) -> String {
    let mut letters = String::new();
    for (letter, name) in STATES {
        let state = role.states.iter().find(|state| state.name == name).expect("a named state");
        let has = state.edges.iter().any(|edge| {
            let message = &protocol.declarations.message(edge.message).expect("a message").table;
            edge.direction == direction
                && matches!(message.kind, Kind::Request | Kind::Notification)
                && method_of(message) == method
        });
        if has {
            letters.push_str(letter);
        }
    }
    letters
}

#[test]
fn they_compile_without_a_word() {
    for (_, revision) in REVISIONS {
        let done = compilation(revision);
        let text = render_all(&done.sources, &done.diagnostics, Style::Plain);
        assert!(done.diagnostics.is_empty(), "{text}");
    }
}

#[test]
fn they_are_laid_out_as_fmt_lays_them_out() {
    let mut files = Vec::new();
    for folder in [folder(), folder().join("mcp"), folder().join("mcp/payloads")] {
        let entries = std::fs::read_dir(folder).expect("the folder");
        files.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "session"));
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a session file");
        let mut sources = SourceMap::new();
        let source = sources.add(&file, text.as_str());
        let (tree, findings) = parser::parse(&sources, source);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(format::file(&tree), text, "{}", file.display());
    }
}

#[test]
fn both_roles_have_the_same_four_states() {
    for (_, revision, protocol) in compiled() {
        let (client, server) = roles(&protocol);
        for role in [client, server] {
            let names: Vec<&str> =
                role.states.iter().filter(|state| !state.body).map(|state| state.name.as_str()).collect();
            assert_eq!(names, STATES.map(|(_, name)| name), "{revision} {}", role.name);
        }
    }
}

#[test]
fn every_method_stands_where_the_revision_has_it() {
    for (letter, revision, protocol) in compiled() {
        let (client, server) = roles(&protocol);
        for (_, method, ..) in methods(letter) {
            let by = |side| {
                let mut rows = methods(letter).filter(|row| row.1 == *method);
                rows.find(|row| row.2 == side || row.2 == Either).map_or(("", ""), |row| (row.4, row.5))
            };
            let (by_client, by_server) = (by(Client), by(Server));
            for (role, direction, letters) in [
                (client, Direction::Send, by_client.0),
                (server, Direction::Receive, by_client.1),
                (server, Direction::Send, by_server.0),
                (client, Direction::Receive, by_server.1),
            ] {
                let found = places(&protocol, role, direction, method);
                assert_eq!(found, letters, "{revision} `{method}`: {direction:?} of {}", role.name);
            }
        }
    }
}

/// A capability that a message needs: `client.roots`, `client.elicitation.url(mode=url)`.
fn gate(protocol: &Compiled, requirement: &Requirement) -> String {
    let holder = match requirement.holder {
        Holder::Side(Side::Client) => "client",
        Holder::Side(Side::Server) => "server",
        Holder::Sender => "own",
        Holder::Receiver => "peer",
    };
    let gate = protocol.declarations.gates.get(usize::from(requirement.gate.0)).expect("a gate");
    let unless = if requirement.unless { "unless " } else { "" };
    let condition =
        requirement.condition.as_ref().map(|condition| format!("({unless}{})", shown_condition(condition)));
    format!("{holder}.{}{}", gate.path.join("."), condition.unwrap_or_default())
}

#[test]
fn every_method_is_declared_as_the_revision_has_it() {
    for ((letter, revision, protocol), count) in compiled().zip(COUNTS) {
        let mut declared = BTreeSet::new();
        for message in &protocol.declarations.messages {
            let message = &message.table;
            let request = match message.kind {
                Kind::Request => true,
                Kind::Notification => false,
                Kind::Reply { .. } | Kind::Refusal { .. } => continue,
            };
            let method = method_of(message);
            assert!(declared.insert(method.clone()), "{revision} `{method}` is declared twice");
            let row = methods(letter).find(|row| row.1 == method);
            let row = row.unwrap_or_else(|| panic!("`{method}` is not a method of {revision}"));
            assert_eq!(request, !method.starts_with("notifications/"), "{revision} `{method}`");
            let gates: Vec<String> =
                message.requires.iter().map(|requirement| gate(&protocol, requirement)).collect();
            assert_eq!(gates.join(" "), row.3, "{revision} `{method}`: its capabilities");
            // Every request may be cancelled, except for the handshake and requests that become tasks.
            let cancellable = request && method != "initialize" && !method.ends_with("if task");
            assert_eq!(message.cancellable, cancellable, "{revision} `{method}`: whether cancellable");
            assert_eq!(message.answered, method == "ping", "{revision} `{method}`: answered by itself");
            assert_eq!(message.cancels.is_some(), method == "notifications/cancelled");
            assert_eq!(message.reports.is_some(), method == "notifications/progress");
        }
        let all: BTreeSet<String> = methods(letter).map(|row| row.1.to_owned()).collect();
        assert_eq!(declared, all, "{revision}");
        let bare: BTreeSet<&str> = declared.iter().map(|method| bare(method)).collect();
        assert_eq!(bare.len(), count, "{revision}");
        assert_eq!(protocol.declarations.batch, letter == 'B', "one revision has batches");
        assert_eq!(protocol.declarations.version.as_deref(), Some(revision));
    }
}

#[test]
fn rules_and_their_levels() {
    for (letter, revision, protocol) in compiled() {
        let (client, server) = roles(&protocol);
        let rules = |role: &Automaton| -> Vec<String> {
            let shown = |level: &mcp_protocol_machine::protocol::Level| {
                let word = if level.strictness == Strictness::Must { "must" } else { "should" };
                format!("{word} {}", level.rule.as_deref().unwrap_or_default())
            };
            let named = role.states.iter().filter(|state| !state.body);
            named.map(|state| format!("out {}, in {}", shown(&state.outward), shown(&state.inward))).collect()
        };
        // Phases are advice in every revision; that nothing is used unannounced has become a must.
        let must = if letter < 'C' { "should" } else { "must" };
        let active = format!("out {must} L7, in {must} L7");
        let early = "out should L5, in should L6";
        let expected = [early, early, "out should L4, in should L6", &active];
        assert_eq!(rules(client), expected, "{revision}");
        let answering = format!("out should L6, in {must} L7");
        let early = "out should L6, in should L5";
        assert_eq!(rules(server), [early, early, &answering, &active], "{revision}");
    }
}

#[test]
fn the_states_in_which_each_side_may_close() {
    for (_, revision, protocol) in compiled() {
        let (client, server) = roles(&protocol);
        // Before `initialized` the client may part by the declared branch; in `Active` nothing linear is left, and so
        // either may. Everywhere else a session can only be abandoned.
        for (role, mine, peers) in [(client, "N", ""), (server, "", "N")] {
            for (letter, name) in STATES {
                let state = role.states.iter().find(|state| state.name == name).expect("a named state");
                let place = format!("{revision}: {} in `{name}`", role.name);
                assert_eq!(state.may_close, letter == mine, "{place}");
                assert_eq!(state.peer_may_close, letter == peers, "the peer, {place}");
                assert_eq!(state.kind == StateKind::Replicated, letter == "A", "{place}");
            }
        }
    }
}

#[test]
fn a_refused_handshake_may_be_tried_again() {
    for (_, _, protocol) in compiled() {
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
}

#[test]
fn what_lives_on_after_its_reply_is_a_session_type_of_its_own() {
    for (letter, revision, protocol) in compiled() {
        let (client, server) = roles(&protocol);
        let expected: &[&str] =
            if letter == 'D' { &["ClientTask", "ServerTask", "Subscription"] } else { &["Subscription"] };
        for role in [client, server] {
            let sub_sessions: BTreeSet<&str> =
                role.sub_sessions.iter().map(|sub_session| sub_session.name.as_str()).collect();
            assert_eq!(sub_sessions.into_iter().collect::<Vec<_>>(), expected, "{revision} {}", role.name);
        }
    }
}
