//! The whole front of the compiler on files that live in memory.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests say what they expect by panicking"
)]

use std::collections::HashMap;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};
use mcp_protocol_compiler::{Compilation, Settings, compile, compile_with, generate};
use mcp_protocol_machine::protocol::{Direction, Level};

/// Compiles the first of some files.
fn compile_files(files: &[(&str, &str)]) -> Compilation {
    let texts: HashMap<&str, &str> = files.iter().copied().collect();
    compile(Path::new(files[0].0), &mut |path| match texts.get(path.to_str().unwrap()) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(io::Error::from(io::ErrorKind::NotFound)),
    })
    .unwrap()
}

fn findings(files: &[(&str, &str)]) -> String {
    let compilation = compile_files(files);
    render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
}

const BASE: &str = "
types base::types
request Ask \"ask\" (Question) -> Answer (String)
notification Told \"told\"
group Asked = Ask
Loop = rec x . ( !Asked . ?reply . x ⊕ !Told . End )
";

#[test]
fn an_import_brings_messages_groups_and_definitions() {
    let main = "import \"base.session\"\nclient C\nserver S = dual C\nC = Loop";
    assert_eq!(findings(&[("main.session", main), ("base.session", BASE)]), "");
}

#[test]
fn an_import_brings_no_roles_and_no_protocol() {
    let base = "protocol Base \"1\"\nclient B\nnotification N \"n\"\nB = !N . End";
    let main = "protocol Main \"2\"\nimport \"base.session\"\nclient C\nC = B";
    let compilation = compile_files(&[("main.session", main), ("base.session", base)]);
    let compiled = compilation.protocol.unwrap();
    assert_eq!(compiled.declarations.name.as_ref().unwrap().text, "Main");
    assert_eq!(compiled.client.unwrap().name, "C");
}

/// A file that changes another protocol has the roles of the other one, with the same names.
#[test]
fn the_roles_of_an_imported_file_may_be_declared_again() {
    let base =
        "protocol Base\nclient B\nserver S = dual B\nnotification N \"n\"\ngroup Said = N\nB = !Said . End";
    let main = "protocol Main\nimport \"base.session\"\nclient B\nserver S = dual B\n\
                notification More \"more\"\ngroup Said += More";
    let compilation = compile_files(&[("main.session", main), ("base.session", base)]);
    assert!(compilation.diagnostics.is_empty(), "{:?}", compilation.diagnostics);
    let compiled = compilation.protocol.unwrap();
    assert_eq!(compiled.server.unwrap().states[0].edges.len(), 2, "`N` and `More` are received");
    // Without a session type of its own it has none: that of the other file is not imported.
    let without = main.replace("server S = dual B", "server S");
    let found = findings(&[("main.session", without.as_str()), ("base.session", base)]);
    assert!(found.contains("S0104"), "{found}");
}

#[test]
fn payloads_keep_the_module_of_their_own_file() {
    let main = "types main::types\nimport \"base.session\"\nnotification Mine \"mine\" (Question)\nclient C\n\
                C = !Mine . Loop";
    let compilation = compile_files(&[("main.session", main), ("base.session", BASE)]);
    let messages = &compilation.protocol.unwrap().declarations.messages;
    let payload = |name: &str| {
        let message = messages.iter().find(|message| message.table.name == name).unwrap();
        format!("{:?}", message.payload)
    };
    assert!(payload("Ask").contains("base::types::Question"));
    assert!(payload("Mine").contains("main::types::Question"));
}

#[test]
fn an_override_replaces_for_the_imported_definitions_too() {
    let main = "import \"base.session\"\noverride notification Told \"farewell\"\ngroup Asked += More\n\
                request More \"more\" -> Enough\nclient C\nC = Loop";
    let compilation = compile_files(&[("main.session", main), ("base.session", BASE)]);
    let compiled = compilation.protocol.unwrap_or_else(|| panic!("{:?}", compilation.diagnostics));
    let told = compiled.declarations.messages.iter().find(|message| message.table.name == "Told").unwrap();
    assert_eq!(told.table.method, "farewell");
    let edges = &compiled.client.unwrap().states[0].edges;
    assert_eq!(edges.len(), 3, "`Ask`, `More` and `Told` can be sent: {edges:?}");
}

#[test]
fn a_group_loses_a_message_for_the_imported_definitions_too() {
    let more = "request More \"more\" -> Enough\n";
    let base = BASE.replace("group Asked = Ask", &format!("{more}group Asked = Ask | More"));
    let main = "import \"base.session\"\ngroup Asked -= More\nclient C\nserver S = dual C\nC = Loop";
    let sent = |main: &str| sent_first(&[("main.session", main), ("base.session", &base)]);
    assert_eq!(sent(&main.replace("group Asked -= More\n", "")), ["Ask", "More", "Told"]);
    assert_eq!(sent(main), ["Ask", "Told"]);
}

#[test]
fn an_override_replaces_a_group_and_a_definition() {
    let more = "request More \"more\" -> Enough\n";
    let roles = "client C\nserver S = dual C\nC = Loop";
    for (item, expected) in [
        ("override group Asked = More\n", ["More", "Told"].as_slice()),
        ("override Loop = !Told . !Asked . ?reply . End\n", &["Told"]),
    ] {
        let main = format!("import \"base.session\"\n{more}{item}{roles}");
        let sent = sent_first(&[("main.session", &main), ("base.session", BASE)]);
        assert_eq!(sent, expected, "{item}");
    }
}

#[test]
fn an_override_replaces_a_key() {
    let base = "
request Watch \"watch\" (_) -> Watching
notification Cooked \"cooked\" (_)
key dish = Watch.dish | Cooked.dish
Watched = !Watch . ?Watching . Cooking
Cooking = ?Cooked . Cooking & ?Cooked2 . End
notification Cooked2 \"cooked/last\" (_)
";
    let roles = "client C\nserver S = dual C\nC = *Watched";
    // The key of the imported file says nothing of `Cooked2`; the one that replaces it does.
    let short = format!("import \"base.session\"\n{roles}");
    let found = findings(&[("main.session", &short), ("base.session", base)]);
    assert!(found.contains("S0406") && found.contains("Cooked2"), "{found}");
    let key = "override key dish = Watch.dish | Cooked.dish | Cooked2.dish\n";
    let main = format!("import \"base.session\"\n{key}{roles}");
    assert_eq!(findings(&[("main.session", &main), ("base.session", base)]), "");
}

/// What the client may send in its first state.
fn sent_first(files: &[(&str, &str)]) -> Vec<String> {
    let compilation = compile_files(files);
    let compiled = compilation.protocol.unwrap_or_else(|| panic!("{:?}", compilation.diagnostics));
    let messages = &compiled.declarations.messages;
    let client = compiled.client.unwrap();
    let sent = client.states[0].edges.iter().filter(|edge| edge.direction == Direction::Send);
    let mut names: Vec<String> =
        sent.map(|edge| messages[usize::from(edge.message.0)].table.name.to_string()).collect();
    names.sort_unstable();
    names
}

#[test]
fn files_that_two_others_import_are_read_once() {
    let main = "import \"left.session\"\nimport \"right.session\"\nclient C\nC = Loop";
    let files = [
        ("main.session", main),
        ("left.session", "import \"base.session\""),
        ("right.session", "import \"./base.session\""),
        ("base.session", BASE),
    ];
    assert_eq!(findings(&files), "");
}

#[test]
fn what_can_be_wrong_with_files() {
    insta::assert_snapshot!("missing_import", findings(&[("main.session", "import \"gone.session\"\n")]));
    insta::assert_snapshot!(
        "cyclic_import",
        findings(&[
            ("main.session", "import \"other.session\"\n"),
            ("other.session", "import \"main.session\"\n")
        ])
    );
    insta::assert_snapshot!(
        "declared_in_both_files",
        findings(&[
            ("main.session", "import \"base.session\"\nnotification Told \"t\"\n"),
            ("base.session", BASE)
        ])
    );
    insta::assert_snapshot!(
        "nothing_to_override",
        findings(&[("main.session", "override notification Told \"t\"\n")])
    );
}

#[test]
fn session_types_without_declarations_are_checked_as_they_stand() {
    let fits = "client C\nserver S = dual C\nC = !Hello . rec x . (!Ask . ?Answer . x (+) End)";
    assert_eq!(findings(&[("bare.session", fits)]), "");
    let apart = "client C\nserver S = ?Hello . ?Bye . End\nC = !Hello . !By . End";
    insta::assert_snapshot!("bare_types_apart", findings(&[("bare.session", apart)]));
}

#[test]
fn a_garbled_declaration_is_one_mistake() {
    let text = "request A \"a -> R\nnotification N \"n\"\nclient C\nC = !A . ?R . !N . !M . Gone\n";
    let text = findings(&[("garbled.session", text)]);
    assert!(!text.contains("called `A`") && !text.contains("called `R`"), "{text}");
    assert!(text.contains("called `M`") && text.contains("called `Gone`"), "{text}");
}

#[test]
fn a_level_of_one_direction_wins_over_one_of_both() {
    for levels in ["should \"both\", must \"sent\" out", "must \"sent\" out, should \"both\""] {
        let text = format!("client C\nserver S = dual C\nC [{levels}] = !A . ?B . End");
        let compiled = compile_files(&[("levels.session", &text)]).protocol.unwrap();
        let client = &compiled.client.unwrap().states[0];
        assert_eq!((&client.outward, &client.inward), (&Level::must("sent"), &Level::should("both")));
        let server = &compiled.server.unwrap().states[0];
        assert_eq!((&server.inward, &server.outward), (&Level::must("sent"), &Level::should("both")));
    }
}

/// Two written types, and whether the second is the first one's dual: as texts, so that all from the parser to the
/// relation has to agree.
#[test]
fn written_types_are_compared_by_what_they_say() {
    let pairs = [
        // Only what follows one of the branches differs.
        ("!A . ?X . End ⊕ !B . ?Y . End", "?A . !X . End & ?B . !Y . End", true),
        ("!A . ?X . End ⊕ !B . ?Y . End", "?A . !X . End & ?B . !X . End", false),
        ("!A . ?X . End ⊕ !B . ?Y . End", "?A . !X . End & ?B . !Y . !X . End", false),
        ("!A . ?X . End ⊕ !B . ?Y . End", "?A . !X . End & ?B . End", false),
        // A loop and itself, under the same name and another.
        ("rec x . ( !A . x ⊕ !B . End )", "rec x . ( ?A . x & ?B . End )", true),
        ("rec x . ( !A . x ⊕ !B . End )", "rec other . ( ?A . other & ?B . End )", true),
        // A loop and what it unfolds to, on either side; and a loop that turns half as often.
        ("rec x . ( !A . x ⊕ !B . End )", "?A . ( rec x . ( ?A . x & ?B . End ) ) & ?B . End", true),
        ("!A . ( rec x . ( !A . x ⊕ !B . End ) ) ⊕ !B . End", "rec x . ( ?A . x & ?B . End )", true),
        ("rec x . !A . x", "rec x . ?A . ?A . x", true),
        ("rec x . !A . x", "?A . rec x . ?A . ?A . ?A . x", true),
        ("rec x . ( !A . x ⊕ !B . End )", "?A . rec x . ( ?A . x & ?B . End )", false),
        ("rec x . !A . !B . x", "rec x . ?A . ?B . ?A . x", false),
        // The branches in another order, nested or not.
        ("!A . End ⊕ !B . ?X . End ⊕ !C . ?Y . End", "?C . !Y . End & ?A . End & ?B . !X . End", true),
        ("!A . End ⊕ ( !B . ?X . End ⊕ !C . ?Y . End )", "?C . !Y . End & ?A . End & ?B . !X . End", true),
        ("!A . End ⊕ !B . ?X . End ⊕ !C . ?Y . End", "?C . !X . End & ?A . End & ?B . !Y . End", false),
        // The inner `x` hides the outer one, and the outer one is back where the inner one ends.
        ("rec x . !A . rec x . !B . x", "rec y . ?A . rec z . ?B . z", true),
        ("rec x . !A . rec x . !B . x", "?A . rec z . ?B . z", true),
        ("rec x . !A . rec x . !B . x", "rec y . ?A . rec z . ?B . y", false),
        (
            "rec x . ( !A . ( rec x . ( !B . x ⊕ !C . End ) ) ⊕ !D . x )",
            "rec y . ( ?A . ( rec z . ( ?B . z & ?C . End ) ) & ?D . y )",
            true,
        ),
        (
            "rec x . ( !A . ( rec x . ( !B . x ⊕ !C . End ) ) ⊕ !D . x )",
            "rec y . ( ?A . ( rec z . ( ?B . y & ?C . End ) ) & ?D . y )",
            false,
        ),
    ];
    for (client, server, fits) in pairs {
        let text = format!("client C\nserver S\nC = {client}\nS = {server}\n");
        let compilation = compile_files(&[("pair.session", &text)]);
        let codes: Vec<&str> = compilation
            .diagnostics
            .iter()
            // That some of these loops are never started again is what makes them alike.
            .filter(|found| found.severity > Severity::Note && found.code.0 != "S0205")
            .map(|found| found.code.0)
            .collect();
        let expected: &[&str] = if fits { &[] } else { &["S0501"] };
        assert_eq!(
            codes,
            expected,
            "{text}{}",
            render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
        );
    }
}

#[test]
fn stars_in_a_star_are_stars() {
    let code = |session: &str| {
        let text = format!(
            "notification Tip \"tip\"\nrequest Ask \"ask\" -> Answer\nclient Guest\nserver Host = dual Guest\n\
             Guest = {session}\nTips = *( !Tip . End )\n"
        );
        let compilation = compile_files(&[("shop.session", &text)]);
        let shown = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
        let protocol = compilation.protocol.unwrap_or_else(|| panic!("{session}: {shown}"));
        let code = generate::signatures(&protocol, &compilation.sources).unwrap();
        // The documentation quotes the text.
        code.lines().filter(|line| !line.trim_start().starts_with("///")).collect::<Vec<_>>().join("\n")
    };
    let flat = code("(*( !Tip . End ), *( ?Ask . !reply . End ), !Ask . ?reply . End)");
    for nested in [
        "(*( (*( !Tip . End ), *( ?Ask . !reply . End )) ), !Ask . ?reply . End)",
        "(*( *( *( !Tip . End ) ) ), *( *( ?Ask . !reply . End ) ), !Ask . ?reply . End)",
        "(*Tips, *( *( ?Ask . !reply . End ) ), !Ask . ?reply . End)",
    ] {
        assert_eq!(code(nested), flat, "{nested}");
    }
}

/// An inner sub-session that the client opens and the server moves, in an outer one that the client ends.
fn nested(outer: &str, inner: &str) -> Vec<String> {
    let text = format!(
        "request Open \"open\" (_) -> Opened (_)\nnotification Begin \"begin\" (_)\nnotification Close \"close\" (_)\n\
         notification Track \"track\" (_)\nnotification Untrack \"untrack\" (_)\nnotification Moved \"moved\" (_)\n\
         notification Gone \"gone\" (_)\n\
         key doc = Open.doc | Begin.doc | Close.doc | Track.doc | Untrack.doc | Moved.doc | Gone.doc\n\
         key mark = Track.mark | Untrack.mark | Moved.mark | Gone.mark\n\
         client Editor\nserver Hub = dual Editor\nEditor = *Doc\nDoc = {outer}\nEditing = !Close . End\n\
         Mark = {inner}\n"
    );
    let compilation = compile_files(&[("nested.session", &text)]);
    let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| found.code.0.to_owned()).collect()
}

/// What was meant for an inner sub-session may come when its outer one has ended, and one of another kind has been opened
/// with the same value: that the next one of its own kind begins with an answer does not help.
#[test]
fn a_step_of_an_inner_sub_session_may_come_late_for_that_of_the_next_outer_one() {
    let moved = "!Track . ?Moved . ?Gone . End";
    assert_eq!(nested("!Open . ?Opened . (Editing, *Mark)", moved), ["S0407"]);
    assert_eq!(nested("!Begin . (Editing, *Mark)", moved), ["S0407"]);
}

/// The findings are the same, and a suggestion that has to be tried is made without an edit, as in a long file.
#[test]
fn a_caller_may_do_without_tries() {
    let text = "notification Tip \"tip\"\nnotification News \"news\"\nclient Guest\nserver Shop\n\
                Guest = !Tip . !News . End\nShop = ?News . End\n";
    let found = |settings: Settings| {
        let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
        compile_with(Path::new("shop.session"), &mut read, settings).unwrap().diagnostics
    };
    let (tried, untried) = (found(Settings::default()), found(Settings::default().without_tries(true)));
    let said = |found: &[Diagnostic]| -> Vec<String> {
        found.iter().map(|one| format!("{}: {}", one.code.0, one.message)).collect()
    };
    let edits = |found: &[Diagnostic]| -> usize {
        found.iter().flat_map(|one| &one.helps).map(|help| help.edits().len()).sum()
    };
    assert_eq!(said(&untried), said(&tried));
    assert!(said(&tried).iter().any(|one| one.starts_with("S0501")), "{:?}", said(&tried));
    assert!(edits(&tried) > 0);
    assert_eq!(edits(&untried), 0);
    assert_eq!(found(Settings::default().without_tries(true).without_tries(false)), tried);
}
