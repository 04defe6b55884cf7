//! Random protocols become code that compiles without a warning.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{compile, generate};

use crate::protocols;
use crate::random::Random;
use crate::rustc::{Dependencies, Rustc};

/// How many protocols with random sessions, and how many with random shapes.
const SESSIONS: usize = 6;
const SHAPES: usize = 10;

/// Names of shapes, most of which are something in Rust.
const NAMES: [&str; 24] = [
    "Root",
    "Box",
    "Value",
    "Number",
    "Object",
    "BTreeMap",
    "Result",
    "Ok",
    "Some",
    "None",
    "Default",
    "Send",
    "Clone",
    "Debug",
    "Future",
    "Call",
    "Context",
    "Handler",
    "Error",
    "Deserialize",
    "Serialize",
    "Arc",
    "C",
    "S",
];
/// Keys of fields, most of which are not identifiers.
const KEYS: [&str; 20] = [
    "a",
    "b",
    "type",
    "_meta",
    "self",
    "Self",
    "gen",
    "async",
    "new",
    "rest",
    "default",
    "fooBar",
    "foo_bar",
    "\"x-y\"",
    "\"x/y\"",
    "\"1st\"",
    "\"é\"",
    "\"²\"",
    "\"日本\"",
    "\"a b\"",
];
const LEAVES: [&str; 18] = [
    "string", "int", "uint", "number", "bool", "null", "any", "object", "\"x\"", "\"y\"", "\"Self\"",
    "\"a-b\"", "\"\"", "0", "1", "-1", "true", "false",
];

/// What did not compile once, or had a warning.
const KNOWN: [&str; 4] = [
    "type Box = { gen?: Box, self: string, Self?: int, of: [Box] }
type Guest = { aLongName: { \"another/long-name\"?: map ([number, { \"a-third-long-name\": string }]) } }
notification Gen \"gen\" (Box)
request Async \"async\" (Guest) -> Self_ (Guest)
client Guest
server Waiter = dual Guest
Guest = (*( !Gen . End ), *( !Async . ?Self_ . End ))
",
    "type Order = { dish: string | Value }
type Value = { value: int }
notification Tell \"tell\" (Order)
client Guest
server Waiter = dual Guest
Guest = *( !Tell . End )
",
    "type P = { k: int }
notification A \"a\" (P)
notification B \"b\" (P)
request R \"r\" (P) -> RR (P)
key k = A.k | B.k | R.k
client C
server S = dual C
C = *K
K = ( !A . End, !B . ?R . !reply . End )
",
    "notification Clone \"clone\" ({ n: uint })
request Into \"into\" -> Made ({ n: uint })
client Guest
server Waiter = dual Guest
Guest = (*( ?Clone . End ), *( ?Into . !Made . End ))
",
];

/// Writes a random shape, which may contain the ones with these names.
fn shape(random: &mut Random, depth: usize, names: &[&str]) -> String {
    let inner = |random: &mut Random| shape(random, depth.saturating_sub(1), names);
    match random.below(if depth == 0 { 10 } else { 20 }) {
        0..=7 => (*random.one(&LEAVES).unwrap()).to_owned(),
        8 | 9 => (*random.one(names).unwrap()).to_owned(),
        10 | 11 => format!("[{}]", inner(random)),
        12 => format!("map ({})", inner(random)),
        13 | 14 => {
            let many = random.below(4);
            let positions = (0..many).map(|_| format!("{},", inner(random))).collect::<String>();
            let has_rest = many > 0 && random.percent(40);
            let rest = if has_rest { format!("...({})", inner(random)) } else { String::new() };
            format!("[{positions}{rest}]")
        }
        15 | 16 => {
            let parts: Vec<String> = (0..2 + random.below(2)).map(|_| inner(random)).collect();
            format!("({})", parts.join(" | "))
        }
        _ => record(random, depth, names),
    }
}

fn record(random: &mut Random, depth: usize, names: &[&str]) -> String {
    let mut fields = Vec::new();
    for key in KEYS {
        if random.percent(18) {
            let mark = if random.percent(40) { "?" } else { "" };
            fields.push(format!("{key}{mark}: {}", shape(random, depth.saturating_sub(1), names)));
        }
    }
    fields.extend(random.percent(20).then(|| "..rest".to_owned()));
    format!("{{ {} }}", fields.join(", "))
}

/// Writes a protocol with random shapes.
pub(crate) fn with_shapes(random: &mut Random) -> String {
    let first = random.below(NAMES.len());
    let many = 1 + random.below(3);
    let names: Vec<&str> = (0..many).map(|other| NAMES[(first + 7 * other) % NAMES.len()]).collect();
    let mut text = "protocol Random \"1\"\n".to_owned();
    for name in &names {
        writeln!(text, "type {name} = {}", record(random, 3, &names)).unwrap();
    }
    let (first, last) = (names[0], names[names.len() - 1]);
    writeln!(text, "notification Tell \"tell\" ({first})").unwrap();
    writeln!(text, "request Gen \"ask\" ({first}) -> Told ({last})").unwrap();
    text + "client Guest\nserver Waiter = dual Guest\nGuest = (*( !Tell . End ), *( !Gen . ?Told . End ))\n"
}

/// The code of a protocol, if it has no errors.
pub(crate) fn code(text: &str) -> Option<String> {
    let mut read = |_: &Path| io::Result::Ok(text.as_bytes().to_vec());
    let compilation = compile(Path::new("random.session"), &mut read).unwrap();
    let compiled = compilation.protocol.as_ref()?;
    // A name of Rust that a shape cannot have is an error of the file, which the compiler reports.
    if generate::check(compiled).iter().any(|found| found.severity == Severity::Error) {
        return None;
    }
    Some(generate::expand(compiled, &compilation.sources, &Default::default()).unwrap())
}

/// The code of so many protocols, each behind its text. A text with errors is passed over.
pub(crate) fn codes(
    random: &mut Random,
    many: usize,
    write: impl Fn(&mut Random) -> String,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for _ in 0..50 * many {
        let text = write(random);
        found.extend(code(&text).map(|code| (text, code)));
        if found.len() == many {
            return found;
        }
    }
    panic!("only {} of {many} protocols have no errors", found.len());
}

/// A folder of this name for a crate, with nothing in it.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// `UI_SEED` chooses other protocols, and `UI_CASES` multiplies them.
pub(crate) fn seed_and_cases() -> (usize, usize) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<usize>().unwrap());
    (number("UI_SEED").unwrap_or(1), number("UI_CASES").unwrap_or(1))
}

#[test]
fn random_protocols_become_code_without_a_warning() {
    let (seed, cases) = seed_and_cases();
    let mut random = Random::new(u64::try_from(seed).unwrap());
    let mut all = codes(&mut random, SESSIONS * cases, |random| {
        protocols::write(random).replace("types wire\n", "types crate::wire\n")
    });
    all.extend(codes(&mut random, SHAPES * cases, with_shapes));
    all.extend(KNOWN.map(|text| (text.to_owned(), code(text).unwrap())));
    let folder = empty_folder("random");
    let mut main = "//! Random protocols.\n#![deny(warnings)]\n\npub mod wire {\n    \
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]\n    pub struct P {}\n}\n"
        .to_owned();
    for (number, (text, code)) in all.iter().enumerate() {
        writeln!(main, "pub mod p{number};").unwrap();
        fs::write(folder.join(format!("p{number}.session")), text).unwrap();
        fs::write(folder.join(format!("p{number}.rs")), code).unwrap();
    }
    let main_file = folder.join("lib.rs");
    fs::write(&main_file, main).unwrap();
    let said =
        Rustc::installed("tests/ui").check(&main_file, &Dependencies::of_the_workspace(&crate::CRATES));
    assert!(said.is_empty(), "seed {seed}, in {}:\n{said}", folder.display());
}
