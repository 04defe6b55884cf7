//! Automata as text, from session types as text.

use std::path::Path;

use mcp_protocol_machine::protocol::{Action, Direction, Origin, StateKind};

use super::Automaton;
use crate::declarations::Declarations;
use crate::diagnostic::render::{Style, render_all};
use crate::{Compilation, compile};

fn compile_text(text: &str) -> Compilation {
    compile(Path::new("test.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap()
}

/// The findings as a user reads them.
fn findings(text: &str) -> String {
    let mut compilation = compile_text(text);
    // Several small types share their declarations.
    compilation.diagnostics.retain(|finding| finding.code != crate::checks::unused::UNUSED_MESSAGE);
    render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
}

/// The client's automaton, a state a line and its edges below it.
fn client(text: &str) -> String {
    let compilation = compile_text(text);
    let compiled = compilation.protocol.unwrap_or_else(|| panic!("{}", findings(text)));
    describe(&compiled.client.unwrap(), &compiled.declarations)
}

fn server(text: &str) -> String {
    let compilation = compile_text(text);
    let compiled = compilation.protocol.unwrap_or_else(|| panic!("{}", findings(text)));
    describe(&compiled.server.unwrap(), &compiled.declarations)
}

fn describe(automaton: &Automaton, declarations: &Declarations) -> String {
    let mut text = String::new();
    let name = |index: mcp_protocol_machine::protocol::StateIndex| {
        let state = &automaton.states[index.0 as usize];
        if state.body { format!("[{}]", state.name) } else { state.name.clone() }
    };
    for (number, state) in automaton.states.iter().enumerate() {
        text += &name(mcp_protocol_machine::protocol::StateIndex(number as u32));
        match state.kind {
            StateKind::Linear => {}
            StateKind::End => text += " end",
            StateKind::Replicated => text += " replicated",
            StateKind::Fork => {
                let parts: Vec<String> = state.parts.iter().map(|part| name(*part)).collect();
                text += &format!(" = ({})", parts.join(", "));
            }
        }
        if !state.aliases.is_empty() {
            text += &format!(" also {}", state.aliases.join(", "));
        }
        if state.may_close {
            text += " ⊕End";
        }
        if state.peer_may_close {
            text += " &End";
        }
        text.push('\n');
        for edge in &state.edges {
            let sign = if edge.direction == Direction::Send { '!' } else { '?' };
            let arrow = match edge.action {
                Action::Step(target) => format!("→ {}", name(target)),
                Action::Spawn(target) => format!("* {}", name(target)),
            };
            let origin = match edge.origin {
                Origin::Written => "",
                Origin::Refusal => " (refusal)",
                Origin::Cancel => " (cancel)",
                Origin::Closure => " (closure)",
            };
            text += &format!("  {sign}{} {arrow}{origin}\n", declarations.message_name(edge.message));
        }
    }
    text
}

const SEED: &str = "
request Initialize \"initialize\" -> InitializeResult
notification Initialized \"notifications/initialized\"
request ToolsCall \"tools/call\" -> ToolsResult
request ResourcesRead \"resources/read\" -> ResourcesResult
notification ToolsListChanged \"notifications/tools/list_changed\"
notification ResourcesListChanged \"notifications/resources/list_changed\"
client McpClient
server McpServer

McpClient =
!Initialize .
?InitializeResult .
!Initialized .
ActiveClient
ActiveClient = rec α .
( !ToolsCall . ?ToolsResult . α -- client-initiated tool invocation
⊕ !ResourcesRead . ?ResourcesResult . α -- client-initiated resource read
⊕ ?ToolsListChanged . α -- server-pushed notification
⊕ ?ResourcesListChanged . α -- server-pushed notification
⊕ End ) -- client initiates shutdown
McpServer =
?Initialize .
!InitializeResult .
?Initialized .
ActiveServer
ActiveServer = rec α .
( ?ToolsCall . !ToolsResult . α
& ?ResourcesRead . !ResourcesResult . α
& !ToolsListChanged . α
& !ResourcesListChanged . α
& End )
";

#[test]
fn the_first_note_as_it_stands() {
    insta::assert_snapshot!(client(SEED));
    insta::assert_snapshot!(server(SEED));
    insta::assert_snapshot!(findings(SEED));
}

const TWO_CHANNELS: &str = "
request Initialize \"initialize\" -> InitializeResult
notification Initialized \"notifications/initialized\"
request ToolsCall \"tools/call\" -> ToolsResult
request ResourcesRead \"resources/read\" -> ResourcesResult
notification ToolsListChanged \"notifications/tools/list_changed\"
group AnyRequest = ToolsCall | ResourcesRead
group AnyResponse = replies AnyRequest
group AnyNotification = ToolsListChanged
client McpSession
server McpServer = dual McpSession

McpSession = (RequestChannel, NotificationChannel)
RequestChannel =
!Initialize . ?InitializeResult . !Initialized .
rec α . ( !AnyRequest . ?AnyResponse . α ) ⊕ End
NotificationChannel = rec α . ?AnyNotification . α
";

#[test]
fn two_linear_channels_and_groups() {
    insta::assert_snapshot!(client(TWO_CHANNELS));
    insta::assert_snapshot!(findings(TWO_CHANNELS));
}

#[test]
fn an_unfolded_loop_is_the_same_state() {
    let text = "notification A \"a\"\nnotification B \"b\"\nclient C\nC = !A . rec x . !A . rec y . !A . x";
    assert_eq!(client(text), "Start\n  !A → Start\n");
}

#[test]
fn every_sender_waits_in_a_state_of_its_own() {
    let text = "request A \"a\" -> R\nnotification N \"n\"\nclient C\n\
                C = !N . !A . Wait ⊕ !A . Wait\nWait = ?R . End";
    assert_eq!(
        client(text),
        "Start\n  !N → BeforeA\n  !A → Wait2\nBeforeA\n  !A → Wait\nWait\n  ?R → End\n  ?AError → BeforeA \
         (refusal)\nEnd end\nWait2\n  ?R → End\n  ?AError → Start (refusal)\n"
    );
}

#[test]
fn self_loops_may_lie_between_a_request_and_its_refusal() {
    let text = "request A \"a\" -> R\nnotification N \"n\"\nclient C\n\
                C = rec x . ( !A . ( rec y . ( ?N . y & ?R . x ) ) ⊕ End )";
    let text = client(text);
    assert!(text.contains("?AError → Start (refusal)"), "{text}");
}

#[test]
fn a_cancel_edge_stands_where_reply_and_refusal_meet() {
    let text = "request A \"a\" -> R cancellable\nnotification Cancelled \"c\" (_) cancels id\nclient C\n\
                C = rec x . ( !A . ?reply . x ⊕ End )";
    let text = client(text);
    assert!(text.contains("!Cancelled → Start (cancel)"), "{text}");
}

const SERVING: &str = "
request Ask \"ask\" -> Answer
notification Log \"log\"
notification Stop \"stop\"
notification Bye \"bye\"
client C
server S = dual C
C = Serving
Serving = *( !Ask . ?reply . End ) ⊕ *( ?Log . End ) ⊕ !Stop . Stopping
Stopping = ?Bye . End
";

#[test]
fn sub_sessions_start_as_long_as_their_choice_stands() {
    let text = client(SERVING);
    assert!(
        text.starts_with("Serving\n  !Stop → Stopping\n  !Ask * [AwaitingAnswer]\n  ?Log * [End]\n"),
        "{text}"
    );
    let stopping = text.split("\nStopping\n").nth(1).unwrap();
    assert!(!stopping.contains("!Ask"), "no new instances after `Stop`: {text}");
    // What was on its way when `Stop` was said still arrives.
    assert!(stopping.contains("?Log * [End] (closure)"), "{text}");
}

#[test]
fn the_dual_turns_the_direction_of_levels_round() {
    let text =
        "request A \"a\" -> B\nclient X\nserver Y = dual X\nX [must \"R\" out error -32002] = !A . ?B . End";
    let compiled = compile_text(text).protocol.unwrap();
    let levels =
        |automaton: &Automaton| (automaton.states[0].outward.error, automaton.states[0].inward.error);
    assert_eq!(levels(&compiled.client.unwrap()), (Some(-32002), None));
    assert_eq!(levels(&compiled.server.unwrap()), (None, Some(-32002)));
}

#[test]
fn an_end_is_called_end_however_it_is_reached() {
    let text = "request Ask \"ask\" -> Answer\nnotification Log \"log\"\nnotification Bye \"bye\"\n\
                notification Quit \"quit\"\nclient C\nserver S = dual C\n\
                C = (Talk, *( ?Log . End ), *( !Ask . ?reply . End ))\nTalk = !Bye . End ⊕ !Quit . End";
    let compiled = compile_text(text).protocol.unwrap();
    for automaton in [compiled.client.unwrap(), compiled.server.unwrap()] {
        let ends = automaton.states.iter().filter(|state| state.kind == StateKind::End);
        let names: Vec<(&str, bool)> = ends.map(|state| (state.name.as_str(), state.body)).collect();
        assert_eq!(names, [("End", false), ("End", true)]);
    }
}

/// Sub-sessions are suspended in the direction of what leads to the mark, in the text of the definition and not beyond
/// it.
#[test]
fn only_suspends_sub_sessions_in_one_direction() {
    let text = "notification Open \"open\" (_)\nnotification Change \"change\" (_)\nkey uri = Open.uri | Change.uri\n\
                request Stop \"stop\" -> Stopped\nnotification Log \"log\"\nnotification Exit \"exit\"\n\
                notification Wake \"wake\"\nclient C\nserver S = dual C\n\
                C = *D ⊕ !Stop . Stopping\nStopping only = rec log . ( ?Log . log & ?Stopped . ( !Exit . End ⊕ !Wake . C ) )\n\
                D = !Open . rec on . !Change . on";
    let compiled = compile_text(text).protocol.unwrap();
    let suspended = |automaton: &Automaton| -> Vec<(String, bool, bool)> {
        let states = automaton.states.iter().filter(|state| !state.body);
        states.map(|state| (state.name.clone(), state.only.outward, state.only.inward)).collect()
    };
    let named =
        |names: [(&str, bool, bool); 4]| names.map(|(name, out, inward)| (name.to_owned(), out, inward));
    let client = named([
        ("Start", false, false),
        ("Stopping", true, false),
        ("AfterStopped", true, true),
        ("End", true, true),
    ]);
    assert_eq!(suspended(&compiled.client.unwrap()), client);
    let server = named([
        ("Start", false, false),
        ("Stopping", false, true),
        ("AfterStopped", true, true),
        ("End", true, true),
    ]);
    assert_eq!(suspended(&compiled.server.unwrap()), server);
    // With its direction, the mark holds in that one alone, whatever led there; `dual` turns it round.
    for (mark, outward) in [("only out", true), ("only in", false)] {
        let compiled =
            compile_text(&text.replace("Stopping only", &format!("Stopping {mark}"))).protocol.unwrap();
        let client = suspended(&compiled.client.unwrap());
        let marked = |name: &str| client.iter().find(|(known, ..)| known == name).unwrap();
        assert_eq!(marked("Stopping"), &("Stopping".to_owned(), outward, false));
        assert_eq!(marked("AfterStopped"), &("AfterStopped".to_owned(), outward, !outward));
        let server = suspended(&compiled.server.unwrap());
        let turned = client.iter().map(|(name, out, inward)| (name.clone(), *inward, *out));
        assert_eq!(server, turned.collect::<Vec<_>>());
    }
}

#[test]
fn what_the_language_does_not_allow() {
    let declarations = "request A \"a\" -> R\nrequest B \"b\" -> S cancellable\nnotification M \"m\"\n\
                        notification N \"n\"\nnotification Cancelled \"c\" (_) cancels id\nclient C\n";
    for (name, body) in [
        ("unbound", "C = !M . Nowhere"),
        ("unguarded", "C = rec x . x"),
        ("unguarded definition", "C = D  D = E  E = D"),
        ("unguarded branch", "C = rec x . (!M . x ⊕ x)"),
        ("across channels", "C = rec x . !M . (x, *( !N . End ))"),
        ("across a star", "C = rec x . !M . *( !N . x )"),
        ("across channels by name", "C = !M . (C, *( !N . End ))"),
        ("two operators", "C = !M . End ⊕ !N . End & End"),
        ("no first action", "C = (!M . End, *( !N . End )) ⊕ End"),
        ("same first action", "C = !M . End ⊕ !M . !N . End"),
        ("against the operator", "C = ?M . End ⊕ ?N . End"),
        ("against the other operator", "C = !M . End & !N . End"),
        ("reply without request", "C = ?R . End"),
        ("reply the wrong way", "C = !A . !R . End"),
        ("reply word without request", "C = !M . ?reply . End"),
        ("ambiguous reply", "C = !A . !B . ?reply . ?reply . End"),
        ("never answered", "C = !A . End"),
        ("never answered in a loop", "C = !A . rec x . !M . x"),
        ("open already", "C = !A . !A . ?R . ?R . End"),
        ("open across channels", "C = !A . (?R . End, !N . End)"),
        ("refusal would undo", "C = !A . !M . ?R . End"),
        ("states could part", "C = !B . ?S . !M . End"),
        ("overlap", "C = (rec x . !M . x, *( !M . End ))"),
        ("body starts with reply", "C = *( ?R . End )"),
        ("body may be empty", "C = *( !M . End ⊕ End )"),
        ("body is nothing", "C = (!N . End, *End)"),
        ("misspelt message", "C = !Cancelld . End"),
        ("branch of the loop", "C = rec x . ( !M . x ) ⊕ !N . End"),
        ("long instance", "C = *( !A . ?R . !M . End )"),
        ("star branch like another", "C = *( !M . End ) ⊕ !M . !N . End"),
        ("star branch with its like in parallel", "C = (*( !M . End ) ⊕ !N . End, *( !M . End ))"),
        ("body without end", "C = *( !A . ?R )"),
        ("end in small letters", "C = !M . end"),
        ("never answered before the end", "C = !A . !M . End"),
        ("unused", "C = !M . End  D = !N . End"),
        ("server without type", "C = !M . End  server S"),
        ("not dual", "C = !M . !N . End  server S = ?M . ?Cancelled . End"),
    ] {
        insta::assert_snapshot!(
            format!("findings_{}", name.replace(' ', "_")),
            findings(&format!("{declarations}{body}\n"))
        );
    }
}

#[test]
fn an_undefined_channel_hides_nothing_and_adds_nothing() {
    let text = findings(
        "request Ask \"ask\" -> Answer\nclient C\nserver S = dual C\n\
         C = !Ask . ?reply . Active\nActive = (*( !Pang . End ), Missing)\n",
    );
    assert_eq!(text.matches("error[").count(), 2, "{text}");
    assert!(text.contains("`Pang`") && text.contains("`Missing`"), "{text}");
}

#[test]
fn what_ties_the_steps_of_a_sub_session() {
    let declarations = "request A \"a\" (_) -> R (_)\nrequest B \"b\" (_) -> S\nnotification M \"m\" (_)\n\
                        notification N \"n\" (_)\nnotification P \"p\" (_) reports t of u\n\
                        notification Q \"q\" (_) cancels id\nclient C\n";
    for (name, body) in [
        ("tied by path", "key k = A.x | M.y  C = *D  D = !A . ?R . rec w . ( ?M . w & !N . End )"),
        ("tied by id", "key k = id of A | M.y | N.y  C = *D  D = !A . ?R . rec w . ( ?M . w & !N . End )"),
        (
            "tied by the reply",
            "key k = R.x | M.y | B.x  C = *D  D = !A . ?R . rec w . ( ?M . w & !B . ?reply . End )",
        ),
        (
            "tied on one way only",
            "key k = R.x | M.y  C = *D  D = !A . ( ?R . Go & ?AError . Go )  Go = ?M . End",
        ),
        ("tied by another key", "key k = A.x  key l = M.x  C = *D  D = !A . ?R . ?M . End"),
        ("goes on and opens", "key k = A.x | M.x  C = *D  D = ?M . rec w . ?M . w"),
        ("stops in silence", "key k = A.x | M.x  C = *D  D = !A . ?R . rec w . ( ?M . w & End )"),
        ("reports in an instance", "key k = A.x | P.x  C = *D  D = !A . ?R . ?P . End"),
        ("cancel in an instance", "key k = A.x | M.x  C = *D  D = !A . ?R . !Q . End"),
        ("report in a channel", "C = !A . rec w . ( ?P . w & ?R . End )"),
        (
            "refusal of the opener",
            "key k = A.x | M.x  C = *D  D = !A . ( ?R . ?M . End & ?AError . ?M . End )",
        ),
        (
            "uncorrelated wherever instances open",
            "open key k = A.x | M.x | B.x  C = (E, *D)  E = !N . End  D = !A . ?R . rec w . ( ?M . w & !B . ?S . End )",
        ),
        (
            "uncorrelated on either side",
            "open key k = A.x | B.x  C = *D  D = !A . ?R . To  To = !B . ?S . From  From = ?B . !S . To",
        ),
        (
            "uncorrelated where it is written",
            "open key k = A.x | M.x  C = (E, *D)  E = !N . F  F = *( ?M . End )  D = !A . ?R . rec w . ?M . w",
        ),
        (
            "uncorrelated twice",
            "open key k = A.x | M.x  C = (*( ?M . End ), *D, *( ?M . End ))  D = !A . ?R . rec w . ?M . w",
        ),
        (
            "uncorrelated and in a channel",
            "open key k = A.x | M.x  C = (rec x . ?M . x, *D)  D = !A . ?R . rec w . ?M . w",
        ),
        (
            "uncorrelated with a key that is not open",
            "key k = A.x | M.x  C = (*( ?M . End ), *D)  D = !A . ?R . rec w . ?M . w",
        ),
        (
            "opened in a sub-session and outside with a key that is not open",
            "key k = A.x | B.x | M.x  C = (*( !B . ?S . End ), *D)  D = !A . ?R . (E, *( !B . ?S . End ))  E = ?M . E",
        ),
        ("goes on or opens", "key k = A.x | M.x  C = *D  D = !A . ?R . rec w . ( ?M . w & !A . ?R . w )"),
        (
            "goes on where it may be over",
            "key k = A.x | M.x  C = *D  D = !A . ?R . rec w . ( ?M . End & !A . ?R . w )",
        ),
        ("could be meant for another", "open key k = A.x | M.x  C = *D  D = !A . ?M . ?R . End"),
        ("key of nothing", "key k = A.x | Nothing.x | id of Neither  C = !N . End"),
        ("key twice", "key k = A.x  key k = B.x  C = !N . End"),
    ] {
        let text = format!("{declarations}{body}\n");
        let shown = match compile_text(&text).protocol {
            Some(protocol) => describe(&protocol.client.unwrap(), &protocol.declarations) + &findings(&text),
            None => findings(&text),
        };
        insta::assert_snapshot!(format!("sub_sessions_{}", name.replace(' ', "_")), shown);
    }
}

#[test]
fn the_ids_of_a_group_are_those_of_its_requests() {
    let text = |ids: &str| {
        format!(
            "request A \"a\" (_) -> R (_)\nrequest B \"b\" (_) -> S (_)\nnotification M \"m\" (_)\ngroup G = A | B\n\
             key k = {ids} | M.k\nclient C\nC = (*First, *Second)\n\
             First = !A . ?R . rec w . ?M . w\nSecond = !B . ?S . End\n"
        )
    };
    let keys = |text: &str| {
        let declarations = compile_text(text).protocol.unwrap().declarations;
        declarations.messages.iter().map(|message| message.table.keys.to_vec()).collect::<Vec<_>>()
    };
    let expected = keys(&text("id of A | id of B"));
    assert_eq!(keys(&text("id of G")), expected);
    assert_eq!(keys(&text("id of A | id of G")), expected);
    assert_eq!(findings(&text("id of G")), "");
}

#[test]
fn an_open_key_is_open_in_its_own_body_alone() {
    let text = |open: &str| {
        format!(
            "request A \"a\" (_) -> R (_)\nrequest B \"b\" (_) -> S (_)\nnotification M \"m\" (_)\n\
             {open}key k = A.x | B.x | M.x\nkey i = B.i | M.i\nclient C\nC = *Outer\n\
             Outer = !A . ( ?R . End & *Inner )\nInner = !B . ?S . rec w . ?M . w\n"
        )
    };
    assert_eq!(client(&text("open ")), client(&text("")));
}
