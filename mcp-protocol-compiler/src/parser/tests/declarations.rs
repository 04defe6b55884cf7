//! Mistakes in declarations, as they are shown.

use super::shown;

#[test]
fn items() {
    insta::assert_snapshot!(shown(&[
        "reqest Ping \"ping\" -> Pong",
        "A = End\nnotifcation N \"n\"\nB = End",
        "protocl Mcp \"1\"",
        "A : !X . End",
        "A := !X . End",
        "A B",
        "!X . End",
        "⊕ !X . End",
        "key = !X . End",
        "version = Reply",
        "types foo.bar",
        "types\nrequest Ping \"ping\" -> Pong",
        "import other.session",
        "import",
        "override\nA = End",
        "protocol \"2025-03-26\"",
        "protocol Mcp 2025-03-26",
        "capabilities Initialize.capabilities",
        "capabilities client = Initialize",
        "client = End",
        "open task = A.b",
        "G += A | B",
    ]));
}

#[test]
fn groups_and_keys() {
    insta::assert_snapshot!(shown(&[
        "group G =",
        "group G = A, B & C",
        "group G = A B",
        "group G = A |",
        "group G = A |\nB = End",
        "group G A | B",
        "group = A | B",
        "group G = replies",
        "key task = A",
        "key task = A.b | id B",
        "key task = A.2nd",
        "key task = A.0",
        "key task = A._meta.x-y",
    ]));
}

#[test]
fn messages() {
    insta::assert_snapshot!(shown(&[
        "request Ping -> Pong",
        "request Ping ping -> Pong",
        "request ToolsCall tools/call (Params) -> Result",
        "request Ping \"ping\"",
        "request \"ping\" -> Pong",
        "request request \"ping\" -> Pong",
        "request Ping \"ping -> Pong",
        "request Ping “ping” -> Pong",
        "request Ping 'ping' -> Pong",
        "request Ping \"ping\" → Pong",
        "request Ping \"ping\" answered -> Pong",
        "request Ping \"ping\" -> Pong, Other",
        "request Ping \"ping\" ->",
        "notification N \"n\" -> Pong",
        "notification N \"n\" if",
        "notification N \"n\" if mode = url",
        "notification N \"n\" (P) if mode",
        "notification N \"a\\qb\"",
    ]));
}

#[test]
fn payloads() {
    insta::assert_snapshot!(shown(&[
        "notification N \"n\" ()",
        "notification N \"n\" (P)?",
        "notification N \"n\" (A, B)",
        "notification N \"n\" (&str)",
        "notification N \"n\" (P",
        "notification N \"n\" (P\nA = End",
        "notification N \"n\" (null?)",
        "notification N \"n\" (a.b.C)",
        "notification N \"n\" (Vec<u8)",
        "notification N \"n\" (\"P\")",
    ]));
}

#[test]
fn modifiers_and_levels() {
    insta::assert_snapshot!(shown(&[
        "notification N \"n\" cancelable",
        "notification N \"n\" require server.tools",
        "notification N \"n\" banana",
        "notification N \"n\" as",
        "notification N \"n\" as open",
        "notification N \"n\" requires server",
        "notification N \"n\" requires",
        "notification N \"n\" requires server.x unless",
        "notification N \"n\" requires server.x unless mode = url",
        "notification N \"n\" requires server.x if mode != \"url\"",
        "notification N \"n\" requires server.x unles mode",
        "notification N \"n\" unless mode = \"url\"",
        "notification N \"n\" (P) unless mode",
        "notification N \"n\" requires server.x default",
        "notification N \"n\" cancels\nrequest R \"r\" -> S",
        "notification N \"n\" reports token",
        "request R \"r\" (_) -> S (_) pages",
        "request R \"r\" (_) -> S (_) pages cursor",
        "request R \"r\" (_) -> S (_) pages cursor of next",
        "request R \"r\" (_) -> S (_) page cursor from next",
        "request R \"r\" (_) -> S (_) rounds",
        "request R \"r\" (_) -> S (_) rounds S state of state",
        "request R \"r\" (_) -> S (_) rounds S state from state",
        "request R \"r\" (_) -> S (_) rounds S state from state, answers from questions",
        "A [L5] = End",
        "A [\"L5\"] = End",
        "A [shuold \"L5\"] = End",
        "A [should \"L5\" ouut] = End",
        "A [should \"L5\" \"L6\"] = End",
        "A [should \"L5\" = End",
        "A [should \"L5\"\nB = End",
        "A [] = End",
        "A [must error x] = End",
        "A [must error 99999999999999999999] = End",
        "A [must error −32002] = End",
        "A = !X [should \"L5] . End",
    ]));
}

#[test]
fn comments_and_characters() {
    insta::assert_snapshot!(shown(&[
        "// a comment\nA = End",
        "# a comment\nA = End",
        "— a comment\nA = End",
        "A = End --- documents nothing",
        "A = ( !X . A\n   --- documents nothing\n   --- either\n   ⊕ !Y . A )\n--- nor this",
        "A = End -- \u{202E}dne\nB = \u{2066}End",
        "A = Fo\u{200B}o",
        "A = $$$$ . End\nB = !X",
        "A = \u{7}",
        "1A = End",
    ]));
}
