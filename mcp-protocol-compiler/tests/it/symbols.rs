//! Names: where they are declared and used, in texts with mistakes, too; and a new name in all places of the old one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests say what they expect by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::source::Span;
use mcp_protocol_compiler::symbols::{NotAName, Symbols, check_name, symbols};

use crate::support::split;

#[path = "../support/shipped.rs"]
mod shipped;

fn found(text: &str) -> Symbols {
    let files = split(text, "main.session");
    let mut read = |path: &Path| files.get(path).cloned().ok_or(io::Error::from(io::ErrorKind::NotFound));
    symbols(Path::new("main.session"), &mut read).unwrap()
}

/// Each symbol, with how often it is declared and used.
fn listed(symbols: &Symbols) -> Vec<String> {
    let line = |symbol: &mcp_protocol_compiler::symbols::Symbol| {
        format!("{} {} {}+{}", symbol.kind.word(), symbol.name, symbol.declarations.len(), symbol.uses.len())
    };
    symbols.all().iter().map(line).collect()
}

const EVERYTHING: &str = "\
protocol P \"1\"
import \"more.session\"
request Open \"open\" (Settings) -> Opened (Settings) | Busy requires Asker.open during Work
notification Stop \"stop\" (Vec<Settings>)
group Work = Open | replies More
group More += Stop
key id = Opened.id | id of Open
capabilities Asker = Open.capabilities
version = Opened.version
client Asker
server Other = dual Asker
Asker = !Open . ( ?Opened . rec α . ( !Stop . α ⊕ !Work . ?reply . Ready ) & ?OpenError . Ready )
Other::Ready only = *( ?Stop . End )
override Ready = (Ready, dual Asker)
-- in more.session:
type Settings = { size: Size, more: [Settings], ...Size }
type Size = { width: uint }
group More = Open
Ready = !Stop . End
";

#[test]
fn every_name_is_found() {
    assert_eq!(
        listed(&found(EVERYTHING)),
        [
            "type Settings 1+3",
            "type Size 1+2",
            "group More 1+2",
            "request Open 1+6",
            "session type Ready 3+3",
            "notification Stop 1+4",
            "protocol P 1+0",
            "reply Opened 1+3",
            "reply Busy 1+0",
            "role Asker 2+4",
            "group Work 1+2",
            "key id 1+0",
            "role Other 1+1",
            "loop α 1+1",
        ]
    );
}

/// What a message carries is called after it, so that another name of the message is another name of its shape.
#[test]
fn the_name_of_what_a_message_carries_is_a_use_of_the_message() {
    let text = "protocol P \"1\"\nrequest Open \"open\" ({ size: Size, again?: OpenParams }) -> Opened ({ all: [Size] })\n\
        notification Tell \"tell\" (OpenedResult)\ntype Size = { width: uint, ...OpenParams }\n\
        client C\nC = !Open . ?Opened . !Tell . End\n";
    assert_eq!(
        listed(&found(text)),
        [
            "protocol P 1+0",
            "request Open 1+3",
            "type Size 1+2",
            "reply Opened 1+2",
            "notification Tell 1+1",
            "role C 2+0"
        ]
    );
}

/// While somebody types, what stands around is known: behind the sign, before the end, in another item.
#[test]
fn a_text_with_mistakes_has_names() {
    let text = "request M \"m\" -> R (_)\nclient C\nC = rec x . ( !M . ?R . x ⊕ !\nB = !M . ?\nD = !M .\n";
    assert_eq!(
        listed(&found(text)),
        [
            "request M 1+3",
            "reply R 1+1",
            "role C 2+0",
            "loop x 1+1",
            "session type B 1+0",
            "session type D 1+0"
        ]
    );
    assert_eq!(listed(&found("")), [""; 0]);
}

#[test]
fn a_loop_hides_what_has_its_name_outside() {
    let text = "A = rec A . (!M . A ⊕ !N . rec A . !O . A)\nB = A\n";
    let symbols = found(text);
    assert_eq!(
        listed(&symbols),
        [
            "session type A 1+1",
            "loop A 1+1",
            "message M 0+1",
            "message N 0+1",
            "loop A 1+1",
            "message O 0+1",
            "session type B 1+0"
        ]
    );
    let file = symbols.sources().files().next().unwrap();
    let (place, inner) = symbols.at(file, text.find(". A)").unwrap() as u32 + 2).unwrap();
    assert_eq!(symbols.sources().slice(place), "A");
    assert_eq!(inner.declarations[0].name.start as usize, text.find("rec A . !O").unwrap() + 4);
    assert!(symbols.at(file, text.find("= rec").unwrap() as u32).is_none());
}

#[test]
fn a_name_that_is_taken_clashes() {
    let symbols = found(
        "request M \"m\" -> R (_)\nnotification N \"n\"\nA = rec x . ( !M . ?R . rec y . !N . y & ?N . x )\nB = rec z . !N . z\n",
    );
    let clash = |of: &str, name: &str| {
        let symbol = symbols.all().iter().find(|symbol| symbol.name == of).unwrap();
        symbols.clash(symbol, name).map(|other| other.name.clone())
    };
    for (of, name, expected) in [
        ("M", "R", Some("R")),
        ("M", "A", None),
        ("N", "MError", Some("M")),
        // The refusal of the renamed request would be `RError`, which is free.
        ("M", "Q", None),
        ("x", "A", Some("A")),
        ("A", "x", Some("x")),
        ("x", "y", Some("y")),
        ("y", "x", Some("x")),
        ("x", "z", None),
        ("M", "M", None),
    ] {
        assert_eq!(clash(of, name).as_deref(), expected, "{of} as {name}");
    }
    assert_eq!(check_name("Größe_1"), Ok(()));
    assert_eq!(check_name("1a"), Err(NotAName::NotAWord));
    assert_eq!(check_name("End"), Err(NotAName::Reserved));
}

/// The files of a protocol with other names in all places.
fn renamed(symbols: &Symbols) -> BTreeMap<PathBuf, String> {
    let sources = symbols.sources();
    let mut places: Vec<(Span, String)> = symbols
        .all()
        .iter()
        .flat_map(|symbol| symbol.places().map(|place| (place, format!("{}ʹ", symbol.name))))
        .collect();
    places.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    let mut texts: BTreeMap<PathBuf, String> =
        sources.files().map(|file| (sources.path(file).to_owned(), sources.text(file).to_owned())).collect();
    for (place, name) in places {
        let text = texts.get_mut(sources.path(place.file)).unwrap();
        text.replace_range(place.start as usize..place.end as usize, &name);
    }
    texts
}

/// Every name of every protocol of the project gets another name, all at once: then each is found again in as many
/// places, and the protocol has no error that it did not have.
#[test]
fn with_other_names_a_protocol_is_the_same() {
    let mut count = 0;
    for path in shipped::session_files() {
        let before = symbols(&path, &mut |path| fs::read(path)).unwrap();
        let texts = renamed(&before);
        let mut read = |path: &Path| match texts.get(path) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        let after = symbols(&path, &mut read).unwrap();
        let old: Vec<_> =
            before.all().iter().map(|found| (format!("{}ʹ", found.name), found.places().count())).collect();
        let new: Vec<_> =
            after.all().iter().map(|found| (found.name.clone(), found.places().count())).collect();
        assert_eq!(old, new, "{}", path.display());
        let file = before.sources().files().next().unwrap();
        // A part of a protocol has errors by itself, and the largest protocols take long to be compiled in a test.
        if !before.declares_role(file) || before.all().len() > 150 {
            continue;
        }
        let errors = |compilation: mcp_protocol_compiler::Compilation| {
            let errors =
                compilation.diagnostics.into_iter().filter(|found| found.severity == Severity::Error);
            errors.map(|found| found.code).collect::<Vec<_>>()
        };
        let expected = errors(compile(&path, &mut |path| fs::read(path)).unwrap());
        assert_eq!(errors(compile(&path, &mut read).unwrap()), expected, "{}", path.display());
        count += 1;
    }
    assert!(count > 20, "{count}");
}
