//! Which gates are said never to open, and which groups mix what begins something with replies.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what they expect by panicking")]

use crate::support::{compiled, rendered, split};
use mcp_protocol_compiler::Settings;
use mcp_protocol_compiler::diagnostic::Severity;

const GATED: &str = "\
request Hello \"hello\" (_) -> Welcome (_)
notification Tip \"tip\" (_) requires server.tip
notification Leave \"leave\"
request Wine \"wine\" (_) -> Bottle (_) requires server.wine
capabilities server = Welcome.capabilities
client Guest
server Waiter = dual Guest
";

/// The codes of what is wrong, warnings with a `w` in front.
#[track_caller]
fn says(text: &str, expected: &[&str]) {
    let compilation = compiled(&split(text, "main.session"), "main.session", Settings::default(), false);
    let found: Vec<String> = compilation
        .diagnostics
        .iter()
        // What a piece of a protocol does not use is not the question here.
        .filter(|found| found.severity > Severity::Note && found.code.0 != "S0114")
        .map(|found| format!("{}{}", if found.severity == Severity::Error { "" } else { "w" }, found.code.0))
        .collect();
    assert_eq!(found, expected, "{text}\n{}", rendered(&compilation));
}

#[track_caller]
fn gated(guest: &str, expected: &[&str]) {
    says(&format!("{GATED}{guest}\n"), expected);
}

#[test]
fn a_gate_that_opens_on_some_way_is_fine() {
    gated("Guest = !Hello . ?Welcome . !Tip . End", &[]);
    // Announced in one branch only: which one a session takes is known when it runs.
    gated("Guest = !Hello . ?Welcome . Next ⊕ !Leave . Next\nNext = !Tip . End", &[]);
    gated("Guest = rec x . ( !Hello . ?Welcome . x ⊕ !Tip . x ⊕ End )", &[]);
    // The announcement runs in parallel with the message that needs it.
    gated("Guest = (Greeting, Tipping)\nGreeting = !Hello . ?Welcome . End\nTipping = rec x . !Tip . x", &[]);
    gated("Guest = (*( !Hello . ?Welcome . End ), *( !Wine . ?Bottle . End ))", &[]);
    // Sub-sessions may be opened from the start, and their gate opens later.
    gated("Guest = (Greeting, *( !Wine . ?Bottle . End ))\nGreeting = !Hello . ?Welcome . End", &[]);
}

#[test]
fn a_gate_that_is_open_until_announced_can_be_passed_first() {
    let open = GATED.replace("= Welcome.capabilities", "= Welcome.capabilities open until announced");
    for guest in ["!Tip . !Hello . ?Welcome . End", "!Wine . ?Bottle . !Hello . ?Welcome . !Tip . End"] {
        says(&format!("{open}Guest = {guest}\n"), &[]);
    }
    // The other side has to announce what it can do all the same.
    let other = open.replace("server.tip", "client.tip");
    says(&format!("{other}Guest = !Tip . !Hello . ?Welcome . End\n"), &["S0113"]);
}

#[test]
fn a_gate_that_may_be_granted_can_be_passed() {
    let granted =
        GATED.replace("notification Leave \"leave\"", "notification Leave \"leave\" (_) grants can");
    // The server grants what it can do.
    says(&format!("{granted}Guest = ?Leave . !Tip . !Hello . ?Welcome . End\n"), &[]);
    let unannounced = granted.replace("capabilities server = Welcome.capabilities\n", "");
    says(&format!("{unannounced}Guest = ?Leave . !Tip . End\n"), &[]);
    // What the other side grants is its own.
    says(&format!("{unannounced}Guest = !Leave . !Tip . End\n"), &["S0113"]);
}

#[test]
fn a_gate_that_only_its_own_consequence_opens_is_an_error() {
    gated("Guest = !Tip . !Hello . ?Welcome . End", &["S0120"]);
    gated("Guest = !Tip . !Hello . ?Welcome . !Tip . End", &["S0120"]);
    gated("Guest = rec x . !Tip . !Hello . ?Welcome . x", &["S0120"]);
    gated(
        "Guest = !Leave . (Late, *( !Wine . ?Bottle . End ))\nLate = !Tip . !Hello . ?Welcome . End",
        &["S0120", "S0120"],
    );
    // The request that is replied to by the announcement.
    let own = GATED.replace("-> Welcome (_)", "-> Welcome (_) requires peer.hello");
    says(&format!("{own}Guest = !Hello . ?Welcome . End\n"), &["S0120"]);
    let other = GATED.replace("-> Welcome (_)", "-> Welcome (_) requires Waiter.hello");
    says(&format!("{other}Guest = *( !Hello . ?Welcome . End )\n"), &["S0120"]);
    // By the reply to a request that itself needs a gate of that side.
    gated("Guest = !Wine . ?Bottle . !Hello . ?Welcome . End", &["S0120"]);
    // What an empty capability announces must be announced, too.
    let default = GATED
        .replace("server.tip", "server.tip.large")
        .replace("= Welcome.capabilities", "= Welcome.capabilities default tip.large");
    says(&format!("{default}Guest = !Tip . !Hello . ?Welcome . End\n"), &["S0120"]);
    // Groups, and texts of other files.
    let group = format!("{GATED}group Any = Tip | Wine\nGuest = !Any . Next\n");
    says(&format!("{}Next = !Hello . ?Welcome . End\n", group.replace(" | Wine", "")), &["S0120"]);
    let import = format!("{GATED}import \"base.session\"\nGuest = Early\n-- in base.session:\n");
    says(&format!("{import}Early = !Tip . !Hello . ?Welcome . End\n"), &["S0120"]);
}

#[test]
fn a_gate_that_a_payload_need_not_pass_is_fine() {
    for condition in ["if large", "unless small"] {
        let text = GATED.replace("server.tip", &format!("server.tip {condition}"));
        says(&format!("{text}Guest = !Tip . !Hello . ?Welcome . End\n"), &[]);
    }
    // The peer's own announcement is another one.
    let own = GATED.replace("server.tip", "own.tip");
    let both = format!("{own}capabilities client = Hello.capabilities\n");
    says(&format!("{both}Guest = !Hello . ?Welcome . !Tip . End\n"), &[]);
    says(&format!("{both}Guest = !Hello . !Tip . ( ?Welcome . End & ?HelloError . End )\n"), &[]);
    says(&format!("{both}Guest = !Tip . !Hello . ?Welcome . End\n"), &["S0120"]);
}

#[test]
fn a_branch_that_is_closed_among_open_ones_is_a_warning() {
    gated("Guest = !Tip . End ⊕ !Hello . ?Welcome . !Tip . End", &["wS0120"]);
    gated("Guest = !Tip . End ⊕ !Hello . ?Welcome . End", &["S0120"]);
}

#[test]
fn an_announcement_is_its_own_side_s_to_make() {
    let of = |field: &str| GATED.replace("= Welcome.", &format!("= {field}."));
    let guest = "Guest = !Hello . ?Welcome . !Tip . End\n";
    says(&format!("{}{guest}", of("Hello")), &["S0119"]);
    // A message of both sides may be either's.
    says(
        &format!(
            "{}Guest = !Leave . (*( !Hello . ?Welcome . End ), *( ?Hello . !Welcome . End ), *( !Tip . End ))\n",
            of("Hello")
        ),
        &[],
    );
    // No role says it at all, though one session type stands alone.
    says(&format!("{}{guest}", of("Bottle")), &["S0119"]);
    says(&format!("{}{guest}", of("Bottle")).replace("server Waiter = dual Guest\n", ""), &["S0119"]);
    says(&format!("{GATED}{guest}").replace("server Waiter = dual Guest\n", ""), &[]);
}

#[test]
fn a_group_begins_something_or_answers() {
    let text = |groups: &str, guest: &str| {
        format!(
            "request Order \"order\" -> Bill\nrequest Table \"table\" -> Seat\nnotification News \"news\"\n{groups}\n\
             client Guest\nserver Waiter = dual Guest\nGuest = {guest}\n"
        )
    };
    let round = "rec x . ( !G . ?reply . x ⊕ End )";
    says(&text("group G = Order | Bill", round), &["S0118"]);
    says(&text("group G = Order | Table", round), &[]);
    says(&text("group G = Order | replies Order", round), &["S0118"]);
    says(&text("group A = replies Order\ngroup G = Order | A", round), &["S0118"]);
    says(&text("group G = Order\ngroup G += OrderError", round), &["S0118"]);
    says(&text("group G = Order | Table\ngroup A = replies G", "rec x . ( !G . ?A . x ⊕ End )"), &[]);
    says(&text("group G = Bill | News", "!Order . rec x . ( ?G . x )"), &["S0118"]);
    // It is said where the two meet, not of each group around.
    says(&text("group A = Order | Bill\ngroup G = A | Table", round), &["S0118"]);
}

const DURING: &str = "protocol Shop \"1\"\n\
    request Order \"order\" (_) -> Bill (_)\n\
    request Table \"table\" (_) -> Seat (_)\n\
    notification Log \"log\" (_) during Order\n\
    notification Trace \"trace\" (_) during Order | Table\n\
    notification Leave \"leave\"\n\
    client Guest\nserver Waiter = dual Guest\n";

#[test]
fn a_message_stands_where_a_request_runs_during_which_it_is_permitted() {
    for guest in [
        "!Order . rec x . ( ?Log . x & ?Bill . End )",
        "!Table . rec x . ( ?Trace . x & ?Seat . !Order . ?Bill . End )",
        // Side by side, it may run at any time.
        "(*( !Order . ?Bill . End ), *( ?Log . End ))",
        "(rec x . ?Log . x, *( !Order . ?Bill . End ))",
        "(!Order . ?Bill . End, ?Log . End)",
        "!Order . Running ⊕ !Leave . End\nRunning = ?Log . Running & ?Bill . Guest",
    ] {
        says(&format!("{DURING}Guest = {guest}\n"), &[]);
    }
}

#[test]
fn a_message_stands_where_none_of_its_requests_runs() {
    for (guest, findings) in [
        ("?Log . !Order . ?Bill . End", 1),
        ("!Order . ?Bill . ?Log . End", 1),
        ("!Table . rec x . ( ?Log . x & ?Seat . !Order . ?Bill . End )", 1),
        // What lies behind it does not come, so it opens nothing, and nothing is said of that.
        ("?Log . !Order . ?Bill . ?Log . End", 1),
        ("!Order . ?Bill . rec x . ( ?Log . !Leave . x & ?Trace . !Table . ?Seat . x )", 2),
    ] {
        says(&format!("{DURING}Guest = {guest}\n"), &vec!["S0120"; findings]);
    }
}

#[test]
fn what_comes_late_while_the_request_runs_was_not_sent_there() {
    // `Log` is late for the client that waits for the bill, and stands nowhere in that place.
    let guest = "Guest = !Order . ?Bill . Guest ⊕ ?Log . Guest ⊕ !Leave . End\n";
    let exchanged = DURING.replace("client Guest", "server Guest").replace("server Waiter", "client Waiter");
    for declarations in [DURING, &exchanged] {
        says(&format!("{declarations}{guest}"), &["S0120"]);
    }
}

#[test]
fn a_gate_changes_no_relation() {
    let guest = "Guest = !Order . Running ⊕ !Leave . End\nRunning = ?Log . Running & ?Bill . Guest\n";
    let waiter = "Waiter = rec x . ( ?Order . !Bill . x & ?Leave . End )\n";
    let written = DURING.replace("server Waiter = dual Guest", "server Waiter");
    let text = format!("{written}{guest}{waiter}");
    for text in [text.clone(), text.replace(" during Order\n", "\n")] {
        says(&text, &["S0501"]);
    }
}

/// Two messages of one method between which a gate of the other side may decide: what stands behind each of them.
#[track_caller]
fn of_one_method(hit: &str, note: &str, expected: &[&str]) {
    let text = "\
request Hello \"hello\" (_) -> Welcome ({ capabilities: { score?: object } })
notification Hit \"hit\" if kind ({ kind?: string, score?: uint }) {hit}
notification Note \"hit\" {note}
capabilities server = Welcome.capabilities
client Guest
server Waiter = dual Guest
Guest = (Greeting, *( !Hit . End ), *( !Note . End ))
Greeting = !Hello . ?Welcome . End
";
    says(&text.replace("{hit}", hit).replace("{note}", note), expected);
}

#[test]
fn a_gate_with_a_condition_of_its_own_decides_for_the_payloads_that_need_it() {
    let scored = "({ kind?: string, score?: uint })";
    let when_scored = "requires server.score if score";
    // What has a score is `Note` before the announcement, and `Hit` behind it.
    of_one_method(when_scored, scored, &["wS0128"]);
    of_one_method("requires server.score", &format!("{scored} {when_scored}"), &["wS0128"]);
    of_one_method("requires server.score unless score", &format!("{scored} {when_scored}"), &["wS0128"]);
    // `Note` is not sent either while the gate is closed.
    of_one_method(when_scored, &format!("{scored} {when_scored}"), &[]);
    of_one_method(when_scored, &format!("{scored} requires server.score"), &[]);
    // No payload of `Note` needs the capability as `Hit`.
    of_one_method(when_scored, "({ kind?: string })", &[]);
    of_one_method("requires server.score unless kind", scored, &[]);
}

#[test]
fn a_gate_of_requests_with_a_condition_is_open_where_another_one_has_the_same() {
    let text = "\
request Search \"search\" ({ fast?: bool, deep?: bool }) -> Found
notification Hit \"hit\" if score ({ score?: uint }) during Search if fast
notification Note \"hit\" ({ score?: uint }) during Search if fast
client Reader
server Index = dual Reader
Reader = (*( !Search . ?reply . End ), *( ?Hit . End ), *( ?Note . End ))
";
    says(text, &[]);
    says(
        &text.replace(
            "({ score?: uint }) during Search if fast\nclient",
            "({ score?: uint }) during Search\nclient",
        ),
        &["wS0128"],
    );
    says(&text.replace("if fast\nclient", "if deep\nclient"), &["wS0128"]);
}
