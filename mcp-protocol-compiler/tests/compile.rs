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
use mcp_protocol_compiler::{Compilation, compile};

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
    assert_eq!(compiled.declarations.name.unwrap().text, "Main");
    assert_eq!(compiled.client.unwrap().name, "C");
}

#[test]
fn payloads_keep_the_module_of_their_own_file() {
    let main = "types main::types\nimport \"base.session\"\nnotification Mine \"mine\" (Question)\nclient C\n\
                C = !Mine . Loop";
    let compilation = compile_files(&[("main.session", main), ("base.session", BASE)]);
    let messages = compilation.protocol.unwrap().declarations.messages;
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
