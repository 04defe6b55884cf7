//! What is generated for small protocols, read as a reviewer would read it.

// The functions that tests share are tests, too.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::{Compilation, compile, generate};

/// Compiles one file and expects no errors.
fn compiled(text: &str) -> Compilation {
    let compilation = compile(Path::new("small.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    assert!(compilation.protocol.is_some(), "{:#?}", compilation.diagnostics);
    compilation
}

fn expanded(text: &str) -> String {
    let compilation = compiled(text);
    let protocol = compilation.protocol.as_ref().unwrap();
    assert_eq!(generate::check(protocol), []);
    generate::expand(protocol, &compilation.sources, &Default::default()).unwrap()
}

/// The public items alone, for protocols whose code is long.
fn signatures(text: &str) -> String {
    let compilation = compiled(text);
    let protocol = compilation.protocol.as_ref().unwrap();
    assert_eq!(generate::check(protocol), []);
    generate::signatures(protocol, &compilation.sources).unwrap()
}

/// Every kind of linear step: combined forms, choices, refusals, closing.
const LINEAR: &str = include_str!("../generate/linear.session");

/// Replicated channels, notifications, progress, gates, cancelling, two linear channels.
const REPLICATED: &str = include_str!("../generate/replicated.session");

/// Messages and replies that conditions tell apart.
const CONDITIONS: &str = include_str!("../generate/conditions.session");

/// The protocol of the note that the project started from, in both its forms.
const NOTE: &str = include_str!("../generate/note.session");
const CHANNELS: &str = include_str!("../generate/channels.session");

/// A shipped protocol. Its code is checked in, in `protocols/src`.
const MCP: &str = "../protocols/mcp-2025-03-26.session";

#[test]
fn note() {
    insta::assert_snapshot!(signatures(NOTE));
}

#[test]
fn channels() {
    insta::assert_snapshot!(signatures(CHANNELS));
}

#[test]
fn mcp() {
    let compilation = compile(Path::new(MCP), &mut |path| std::fs::read(path)).unwrap();
    let protocol = compilation.protocol.as_ref().unwrap();
    assert_eq!(generate::check(protocol), []);
    insta::assert_snapshot!(generate::signatures(protocol, &compilation.sources).unwrap());
}

#[test]
fn linear() {
    insta::assert_snapshot!(expanded(LINEAR));
}

#[test]
fn replicated() {
    insta::assert_snapshot!(expanded(REPLICATED));
}

#[test]
fn conditions() {
    insta::assert_snapshot!(expanded(CONDITIONS));
}

/// What keeps a protocol from being generated, as text.
fn refused(text: &str) -> String {
    let compilation = compile(Path::new("small.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
    let mut found = compilation.diagnostics;
    found.retain(|diagnostic| diagnostic.severity == Severity::Error);
    found.extend(compilation.protocol.iter().flat_map(generate::check));
    render_all(&compilation.sources, &found, Style::Plain)
}

/// A protocol of one role, its messages declared by the test.
fn with(messages: &str, body: &str) -> String {
    format!("protocol P \"1\"\ntypes    wire\n{messages}\nclient Role\nRole = {body}\n")
}

#[test]
fn two_calls_of_one_name() {
    let messages = "request A \"a\" -> AResult as go\nrequest B \"b\" -> BResult as go";
    let body = "(*( !A . ?reply . End ), *( !B . ?reply . End ))";
    insta::assert_snapshot!(refused(&with(messages, body)));
}

#[test]
fn methods_that_sessions_have() {
    let messages = "request Close \"close\" -> Closed\nrequest Split \"split\" -> Parts";
    let body = "(*( !Close . ?reply . End ), *( !Split . ?reply . End ))";
    insta::assert_snapshot!(refused(&with(messages, body)));
}

#[test]
fn messages_that_differ_in_spelling_only() {
    let messages = "notification ToolsList \"a\"\nnotification tools_list \"b\"";
    insta::assert_snapshot!(refused(&with(messages, "rec on . ( !ToolsList . on ⊕ !tools_list . on )")));
}

#[test]
fn states_with_names_that_are_taken() {
    let body = "Result\nResult = !A . PError\nPError = !B . End";
    insta::assert_snapshot!(refused(&with("notification A \"a\"\nnotification B \"b\"", body)));
}

#[test]
fn a_step_and_a_call_that_meet() {
    // The combined form of `SendIt` and the step of `It` are both `send_it`.
    let messages = "request SendIt \"a\" -> Sent\nnotification It \"b\"";
    let body = "rec on . ( !SendIt . ?reply . on ⊕ !It . on ⊕ End )";
    insta::assert_snapshot!(refused(&with(messages, body)));
}

/// Two requests are open at once, and each refusal leads to a state of its own.
const TWO_OPEN: &str = r#"
protocol P "1"
request A "a" -> AResult
request B "b" -> BResult cancellable
notification Cancel "cancel" (_) cancels id with reply error -32800
client Role
server Other = dual Role
Role = !A . !B . Both
Both = ?AResult . OnlyB & ?AError . OnlyB & ?BResult . OnlyA & ?BError . OnlyA
OnlyA = ?AResult . End & ?AError . End
OnlyB = ?BResult . End & ?BError . End
"#;

#[test]
fn refusals_of_two_requests_are_told_apart() {
    let code = signatures(TWO_OPEN);
    let methods = |of: &str| -> Vec<String> {
        let (_, after) = code.split_once(of).unwrap();
        let lines = after.lines().skip(1).take_while(|line| *line != "}");
        lines.map(|line| line.split('(').next().unwrap().trim().to_owned()).collect()
    };
    let refusing = ["pub fn send_a_result", "pub fn refuse_a", "pub fn send_b_result", "pub fn refuse_b"];
    assert_eq!(methods("impl Other<Both>"), [&refusing[..], &["pub async fn cancelled_b"]].concat());
    // Each reply is received in a state of its own, and so is its refusal.
    for (reply, state) in [("a", "OnlyB"), ("b", "OnlyA")] {
        let next = format!(
            "pub fn recv_{reply}_result(self) -> typed::Step<Role<{state}>, typed::StepError<Role<{state}>>>"
        );
        assert!(code.contains(&next), "{code}");
    }
}

#[test]
fn every_name_is_free_in_the_protocols_of_this_folder() {
    for text in [LINEAR, REPLICATED, CONDITIONS, NOTE, CHANNELS] {
        assert_eq!(refused(text), "");
    }
}

#[test]
fn keywords_are_written_raw() {
    let code = expanded(&with("request Type \"type\" -> Typed", "*( !Type . ?reply . End )"));
    assert!(code.contains("pub fn r#type(&self) -> client::Call<'_, ()>"), "{code}");
}

#[test]
fn the_same_text_gives_the_same_code() {
    assert_eq!(expanded(REPLICATED), expanded(REPLICATED));
}

/// How many lines of either text the other does not have.
fn differing(one: &str, other: &str) -> usize {
    let mut counts: std::collections::HashMap<&str, isize> = std::collections::HashMap::new();
    one.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    other.lines().for_each(|line| *counts.entry(line).or_default() -= 1);
    counts.values().map(|count| count.unsigned_abs()).sum()
}

/// The code of the shipped protocol, whose files are edited before they are read.
fn shipped(edit: impl Fn(String) -> String) -> String {
    let mut read = |path: &Path| std::fs::read_to_string(path).map(|text| edit(text).into_bytes());
    let compilation = compile(Path::new(MCP), &mut read).unwrap();
    let rendered = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
    assert!(compilation.protocol.is_some(), "{rendered}");
    generate::expand(compilation.protocol.as_ref().unwrap(), &compilation.sources, &Default::default())
        .unwrap()
}

#[test]
fn a_comment_line_changes_nothing() {
    let commented = shipped(|text| format!("-- A comment of two\n-- lines.\n{text}"));
    assert_eq!(differing(&shipped(|text| text), &commented), 0);
}

#[test]
fn a_new_request_changes_what_speaks_of_it() {
    let extended = shipped(|text| {
        let request = "request Forecast \"weather/forecast\" (CallToolParams) -> Weather (CallToolResult)\n    \
                       requires server.tools cancellable\n\n--- Calls a tool.";
        text.replacen("--- Calls a tool.", request, 1)
            .replace("ToolsList | ToolsCall", "ToolsList | Forecast | ToolsCall")
    });
    let changed = differing(&shipped(|text| text), &extended);
    assert!((1..60).contains(&changed), "{changed} lines");
}

#[test]
fn tables_hold_every_edge_in_order() {
    let compilation = compiled(REPLICATED);
    let tables = generate::machine(compilation.protocol.as_ref().unwrap());
    assert_eq!(tables.name, "Desk");
    for role in [tables.client.unwrap(), tables.server.unwrap()] {
        for state in role.states.iter() {
            let keys: Vec<_> = state.edges.iter().map(|edge| (edge.direction, edge.message)).collect();
            assert!(keys.is_sorted_by(|one, other| one < other), "{}: {keys:?}", state.name);
        }
        assert_eq!(role.states[0].name, "Greeting");
    }
}

/// Sub-sessions with session types of their own and correlation keys.
const SUB_SESSIONS: &str = include_str!("../generate/sub_sessions.session");

#[test]
fn sub_sessions() {
    insta::assert_snapshot!(expanded(SUB_SESSIONS));
}

/// The methods of the client's handle of `Talk`, whose body this is.
fn handle_steps(body: &str) -> Vec<String> {
    let text = format!(
        "protocol Talks \"1\"\n\
         request Open \"open\" (_) -> Opened\n\
         notification Hear \"hear\" (_)\nnotification Say \"say\" (_)\nnotification Turn \"turn\" (_)\n\
         request Ask \"ask\" (_) -> Answer\nrequest Stop \"stop\" (_) -> Stopped\n\
         key talk = Open.talk | Hear.talk | Say.talk | Turn.talk | Ask.talk | Stop.talk\n\
         client Guest\nserver Host = dual Guest\nGuest = *Talk\nTalk = !Open . ?Opened . Going\n{body}"
    );
    let signatures = signatures(&text);
    let client = signatures.split("pub struct Host").next().unwrap();
    let handle = client.split("TalkHandle of super::client::Talk, TalksError;").nth(1).unwrap_or_default();
    let handle = handle.split("\n    }").next().unwrap();
    let methods = handle.lines().filter(|line| line.contains("=>"));
    methods.filter_map(|line| Some(line.trim().split_once('(')?.0.to_owned())).collect()
}

#[test]
fn a_handle_takes_the_steps_after_which_a_waiting_value_is_still_right() {
    // Nothing waits while it may say something.
    assert_eq!(handle_steps("Going = !Say . Going ⊕ !Stop . ?reply . End"), Vec::<String>::new());
    // What keeps the state, what ends the talk, and a question whose reply goes to the task that asked.
    let all = "Going = ?Hear . Going & !Say . Going & !Ask . ?reply . Going & !Stop . ?reply . End";
    assert_eq!(handle_steps(all), ["send_say", "ask", "stop"]);
    // After the turn something comes that the value does not expect.
    let turns = "Going = ?Hear . Going & !Say . Going & !Turn . Turned\nTurned = ?Turn . End";
    assert_eq!(handle_steps(turns), ["send_say"]);
    // After a step that is taken from elsewhere, too, it may be right again.
    let back =
        "Going = ?Hear . Going & !Say . Quiet\nQuiet = ?Hear . Quiet & !Turn . Going & !Stop . ?reply . End";
    assert_eq!(handle_steps(back), ["send_say", "send_turn", "stop"]);
    // After the turn the host may ask, and the value does not expect a question.
    let asked = "Going = ?Hear . Going & !Say . Going & !Turn . Asked\nAsked = ?Hear . Asked & *( ?Ask . !reply . End )";
    assert_eq!(handle_steps(asked), ["send_say"]);
    // Each channel has a value of its own.
    let channels = "Going = (Hearing, Saying)\nHearing = ?Hear . Hearing & ?Turn . End\nSaying = !Say . Saying ⊕ !Stop . ?reply . End";
    assert_eq!(handle_steps(channels), Vec::<String>::new());
}

#[test]
fn a_call_of_a_sub_session_that_handles_have_already() {
    let inner = "protocol Talks \"1\"\n\
        request Open \"open\" (_) -> Opened\nrequest Restrict \"restrict\" (_) -> Restricted\n\
        notification Close \"close\" (_)\nkey talk = Open.talk | Restrict.talk | Close.talk\n\
        client Guest\nserver Host = dual Guest\nGuest = *Talk\n\
        Talk = !Open . ?Opened . (!Close . End, *( !Restrict . ?reply . End ))\n";
    insta::assert_snapshot!(refused(inner));
}

/// Talks in which the host may ask and say something at any time; `name` is that of other sub-sessions.
fn asking(name: &str) -> String {
    format!(
        "protocol Talks \"1\"\n\
         request Open \"open\" (_) -> Opened\nnotification Say \"say\" (_)\nnotification Close \"close\" (_)\n\
         request Ask \"ask\" (_) -> Answer (_)\nnotification Call \"call\" (_)\nnotification Hang \"hang\" (_)\n\
         key talk = Open.talk | Say.talk | Close.talk | Ask.talk\nkey call = Call.call | Hang.call\n\
         client Guest\nserver Host = dual Guest\nGuest = (*Talk, *{name})\n\
         Talk = !Open . ?Opened . (!Close . End, *( ?Say . End ), *( ?Ask . !reply . End ))\n\
         {name} = !Call . !Hang . End\n"
    )
}

#[test]
fn a_sub_session_has_a_queue_and_a_handler_of_its_own() {
    let signatures = signatures(&asking("Chat"));
    let client = signatures.split("pub struct Host").next().unwrap();
    let own: Vec<&str> = client.lines().map(str::trim).filter(|line| line.contains("Talk")).collect();
    insta::assert_snapshot!(own.join("\n"));
    // The session has none, and the context is for the handlers of its sub-sessions.
    assert!(!client.contains("trait Handler") && client.contains("context! {"), "{client}");
}

#[test]
fn where_the_peer_has_no_step_next_has_no_empty_session_type() {
    let code = expanded(&asking("Chat"));
    assert!(!code.contains("/// ``,"), "{code}");
    let next =
        "/// Waits for whatever the peer sends next. It has no step here, only what it may send at any time.";
    assert!(code.contains(next), "{code}");
}

#[test]
fn reports_of_one_type_are_of_that_type() {
    let progress = |ends: &str| {
        let text = format!(
            "protocol Search \"1\"\ntypes wire\n\
             request Find \"find\" (_) -> Found (_)\n\
             notification Ended \"progress\" if end ({ends}) reports token of token\n\
             notification Going \"progress\" (Progress) reports token of token\n\
             client Guest\nserver Host = dual Guest\nGuest = *( !Find . ?reply . End )\n"
        );
        let code = signatures(&text);
        let alias = code.lines().find(|line| line.contains("typed::Uncancellable,")).unwrap();
        alias.split(", ").last().unwrap().to_owned()
    };
    assert_eq!(progress("Progress"), "types::Progress>;");
    assert_eq!(progress("Summary"), "typed::Value>;");
}

#[test]
fn sub_sessions_whose_names_meet_that_of_a_handler() {
    insta::assert_snapshot!(refused(&asking("TalkHandler")));
}

#[test]
fn one_message_of_a_key_may_be_open() {
    let text = |keys: &str| {
        format!(
            "protocol Kitchen \"1\"\nrequest Watch \"watch\" (_) -> Watching (_)\n\
             notification Cooked \"cooked\" (_)\nrequest Forget \"forget\" (_) -> Forgotten\n{keys}\n\
             client Guest\nserver Waiter = dual Guest\nGuest = *Watched\n\
             Watched = !Watch . ?Watching . Cooking\nCooking = ?Cooked . Cooking & !Forget . ?reply . End\n"
        )
    };
    let alone = |keys: &str| {
        let signatures = signatures(&text(keys));
        let guest = signatures.split("impl Guest<Start> {").nth(1).unwrap().split("\n}").next().unwrap();
        (guest.contains("fn forget"), signatures.contains("async fn cooked("))
    };
    let carried = "Watch.dish | Cooked.dish | Forget.dish";
    assert_eq!(alone(&format!("key dish = {carried}")), (false, false));
    assert_eq!(alone(&format!("open key dish = {carried}")), (true, true));
    assert_eq!(alone("key dish = Watch.dish | open Cooked.dish | Forget.dish"), (false, true));
    assert_eq!(alone("key dish = Watch.dish | Cooked.dish | open Forget.dish"), (true, false));
    let tables = expanded(&text("key dish = Watch.dish | open Cooked.dish | Forget.dish"));
    assert!(tables.contains("MessageKey::at(keys::DISH, path![\"dish\"]).open()"), "{tables}");
}

/// A protocol whose later revision says what it changes.
const SHAPES: &str = "
    protocol Desk
    import \"first.session\"
    override type Tool = { ...Tool, title?: string }
    client Guest
    server Waiter = dual Guest
    Guest = !Show . End
";

/// What it imports.
const FIRST: &str = "
    --- A tool of the desk.
    type Tool = { name: string }
    notification Show \"show\" (Tool)
";

fn placed(placement: &generate::Placement<'_>) -> String {
    let mut read = |path: &Path| {
        let text = if path.ends_with("first.session") { FIRST } else { SHAPES };
        Ok(text.as_bytes().to_vec())
    };
    let compilation = compile(Path::new("desk.session"), &mut read).unwrap();
    generate::expand(compilation.protocol.as_ref().unwrap(), &compilation.sources, placement).unwrap()
}

#[test]
fn an_overridden_shape_keeps_its_documentation() {
    let code = placed(&generate::Placement::default());
    assert!(code.contains("/// A tool of the desk.\n"), "{code}");
    assert!(code.contains("title: String"), "{code}");
}

#[test]
fn shapes_have_types_here_or_elsewhere() {
    let own = placed(&generate::Placement { feature: Some("latest"), ..Default::default() });
    assert!(own.contains("pub mod types {"), "{own}");
    assert!(!own.contains("#[cfg(feature = \"latest\")]\n/// What messages carry."), "{own}");
    let shared = placed(&generate::Placement { shapes: Some("super::latest::types"), ..Default::default() });
    assert!(shared.contains("pub use super::latest::types as types;"), "{shared}");
    assert!(!shared.contains("pub mod types {"), "{shared}");
}
