//! No input makes the compiler panic, overflow its stack or take more than linear memory.
//!
//! Each input is large, and hostile in its own way. It is compiled and every finding rendered, on a thread with a
//! small stack, while an allocator counts: what is held at once may be a constant times the input, the same constant
//! for all.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they expect by panicking"
)]

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::{compile, generate};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HELD: PeakAlloc = PeakAlloc;

/// One input at a time is counted.
static COUNTING: Mutex<()> = Mutex::new(());

/// A quarter of the stack that Rust gives a thread, in the development profile, whose frames are the largest.
const STACK: usize = 512 << 10;
/// How much may be held at once for each byte of input.
const BYTES_FOR_EACH: usize = 1_024;
/// What may be held whatever the input.
const BYTES_FOR_ALL: usize = 2 << 20;
/// How much text all findings of an input may be together.
const LONGEST_REPORT: usize = 256 << 10;

const LARGE: usize = 10 << 20;

/// What was found in an input.
struct Outcome {
    codes: Vec<&'static str>,
    report: String,
    compiled: bool,
}

/// Compiles files, the first of which is the one that is named, within the limits.
fn outcome(files: HashMap<String, Vec<u8>>) -> Outcome {
    let _one = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let size: usize = files.values().map(Vec::len).sum();
    let before = HELD.current_usage();
    HELD.reset_peak_usage();
    let time = std::time::Instant::now();
    let run = move || {
        let mut read = |path: &Path| {
            let found = path.to_str().and_then(|path| files.get(path));
            found.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let compilation = compile(Path::new("main.session"), &mut read).unwrap();
        let report = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
        let codes = compilation.diagnostics.iter().map(|found| found.code.0).collect();
        if let Some(compiled) = &compilation.protocol {
            generate::check(compiled);
        }
        Outcome { codes, report, compiled: compilation.protocol.is_some() }
    };
    let outcome = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
    let held = HELD.peak_usage().saturating_sub(before);
    eprintln!(
        "{size} bytes, held {held} ({} each), report {}, {} findings, {:?}",
        held / size.max(1),
        outcome.report.len(),
        outcome.codes.len(),
        time.elapsed()
    );
    let most = size * BYTES_FOR_EACH + BYTES_FOR_ALL;
    assert!(held <= most, "{held} bytes were held for {size} bytes of input");
    assert!(outcome.report.len() <= LONGEST_REPORT, "the report is {} bytes long", outcome.report.len());
    outcome
}

fn of(text: impl Into<Vec<u8>>) -> Outcome {
    outcome(HashMap::from([("main.session".to_owned(), text.into())]))
}

/// The input is refused with this code, and among the findings is no other but those that may go with it.
fn refused(code: &str, text: impl Into<Vec<u8>>) -> Outcome {
    let outcome = of(text);
    assert!(outcome.codes.contains(&code), "{:?}\n{}", outcome.codes, outcome.report);
    assert!(!outcome.compiled);
    outcome
}

fn accepted(text: impl Into<Vec<u8>>) {
    let outcome = of(text);
    assert!(outcome.compiled, "{}", outcome.report);
}

fn definition(body: &str) -> String {
    format!("client C\nC = {body}\n")
}

#[test]
fn ten_megabytes_of_one_sign() {
    refused("S0040", definition(&"(".repeat(LARGE)));
    refused("S0020", "(".repeat(LARGE));
    refused("S0035", ")".repeat(LARGE));
    for sign in [
        "[", "]", "<", "*", "⊕", "&", "!", "?", ".", ",", "|", "=", ":", "-1 ", "{", "}", "$", "\"", "\\",
        "'", "“", ";",
    ] {
        of(definition(&sign.repeat(LARGE / 10 / sign.len())));
        of(sign.repeat(LARGE / 10 / sign.len()));
    }
}

#[test]
fn a_million_of_one_word() {
    refused("S0040", definition(&"rec x . ".repeat(1_000_000)));
    refused("S0040", definition(&"( !A . ".repeat(1_000_000)));
    refused("S0040", definition(&"*( ".repeat(1_000_000)));
    refused("S0040", definition(&"rec x . ( End, ".repeat(500_000)));
    refused("S0040", format!("types {}", "a<".repeat(1_000_000)));
    for word in [
        "dual ",
        "reply ",
        "End ",
        "request ",
        "group ",
        "import ",
        "key ",
        "override ",
        "client ",
        "version ",
        "types ",
        "protocol ",
        "open ",
        "μ",
    ] {
        of(definition(&word.repeat(100_000)));
        of(word.repeat(100_000));
        of(word.replace(' ', "\n").repeat(100_000));
    }
}

#[test]
fn long_chains_and_wide_choices() {
    accepted(definition(&format!("{}End", "!A . ".repeat(100_000))));
    of(definition(&format!("{}End", "!A . ".repeat(1_000_000))));
    of(definition(&format!("!A . End{}", " ⊕ !A . End".repeat(100_000))));
    of(definition(&format!("End{}", " ⊕ End".repeat(100_000))));
    let names: String = (0..50_000).map(|index| format!("⊕ !M{index} . End ")).collect();
    of(definition(&names));
    let names: String = (0..100_000).map(|index| format!("⊕ !M{index} . End ")).collect();
    of(definition(&names));
}

#[test]
fn long_tokens() {
    let word = "a".repeat(LARGE);
    of(definition(&word));
    of(definition(&format!("!{word} . End")));
    of(format!("{word} = End"));
    of(format!("import \"{word}\""));
    of(format!("import \"{word}"));
    of(format!("request R \"{word}\" -> A\nclient C\nC = !R . ?A . End"));
    of(format!("-- {word}\n{}", definition("!A . End")));
    of(format!("--- {word}\n{}", definition("!A . End")));
    of(format!("1{word}"));
    of(format!("types {}b", "a::".repeat(LARGE / 3)));
    of(format!("version = A{}", ".b".repeat(LARGE / 2)));
    of(format!("notification N \"n\" if a{}\nclient C\nC = !N . End", ".b".repeat(LARGE / 2)));
    of(format!("notification N \"n\" requires server.a{}\nclient C\nC = !N . End", ".b".repeat(LARGE / 2)));
    of(format!(
        "key k = A.{}\nrequest A \"a\" -> B\nclient C\nC = !A . ?B . End",
        "\"b\".".repeat(LARGE / 4)
    ));
    of(format!("A [must error {}] = End", "9".repeat(LARGE)));
}

/// What is long must not be repeated for each thing that is said about it.
#[test]
fn long_names_used_often() {
    let word = "a".repeat(1 << 20);
    of(definition(&format!("rec {word} . ( !A . End{} )", " ⊕ !B . End".repeat(10_000))));
    of(format!("client C\nC = rec {word} . !A . End{}", " ⊕ !B . End".repeat(10_000)));
    of(format!(
        "types {word}\n{}client C\nC = !N1 . End",
        (0..10_000).map(|index| format!("notification N{index} \"n{index}\" (T)\n")).collect::<String>()
    ));
    of(format!(
        "types {}b\n{}client C\nC = !N1 . End",
        "a::".repeat(300_000),
        (0..10_000).map(|index| format!("notification N{index} \"n{index}\" (T)\n")).collect::<String>()
    ));
    of(format!(
        "request {word} \"r\" -> B\n{}",
        definition(&format!("End{}", format!(" ⊕ !Undefined . End").repeat(10_000)))
    ));
    of(format!("request R \"{word}\" -> A\nclient C\nC = !R . ( End{} )", " ⊕ !R . End".repeat(10_000)));
}

#[test]
fn one_line_with_a_mistake_in_its_middle() {
    let half = "!A . ".repeat(LARGE / 10);
    of(definition(&format!("{half} $ . {half} End")));
    let half = "!A . ?B . x ⊕ ".repeat(20_000);
    of(definition(&format!("rec x . ( {half} !Undefined . Missing ⊕ {half} End )")));
}

#[test]
fn a_hundred_thousand_mistakes() {
    of("$\n".repeat(100_000));
    of("A = \n".repeat(100_000));
    of("A = ) \n".repeat(100_000));
    of("request R \"r\" -> A\n".repeat(100_000));
    of((0..100_000).map(|index| format!("A{index} = B{index}\n")).collect::<String>());
    of(format!(
        "client C\nC = End{}",
        (0..100_000).map(|index| format!(" ⊕ !M . B{index}")).collect::<String>()
    ));
    of(format!(
        "notification N \"n\"\nclient C\nC = End{}",
        (0..100_000).map(|index| format!(" ⊕ !M{index} . End")).collect::<String>()
    ));
    of((0..50_000).map(|index| format!("group G{index} = H{index}\n")).collect::<String>());
    of((0..50_000).map(|index| format!("import \"f{index}.session\"\n")).collect::<String>());
    of((0..50_000).map(|index| format!("key k{index} = M{index}.a\n")).collect::<String>());
    of((0..50_000)
        .map(|index| format!("notification N{index} \"n\" requires x{index}.a\n"))
        .collect::<String>());
    of((0..50_000).map(|index| format!("X{index}::A = End\n")).collect::<String>());
    of("client C\n".repeat(100_000));
    of("capabilities x = A.b\n".repeat(100_000));
}
