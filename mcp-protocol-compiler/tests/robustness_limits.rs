//! No input makes the compiler panic, overflow its stack or take more than linear memory.
//!
//! Each input is large, and hostile in its own way. It is compiled and every finding rendered, on a thread with a
//! small stack, while an allocator counts what this thread holds: at once that may be a constant times the input, the
//! same constant for all.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they expect by panicking"
)]

use std::collections::HashMap;
use std::io;
use std::path::Path;

use allocation_counter::measure;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::{Compilation, Settings, compat, compile_with, generate};

#[path = "../benches/shapes/mod.rs"]
mod shapes;

use shapes::{Shape, Variant};

/// A quarter of the stack that Rust gives a thread, in the development profile, whose frames are the largest.
const STACK: usize = 512 << 10;
/// How much may be held at once for each byte of input.
const BYTES_FOR_EACH: usize = 1_024;
/// What may be held whatever the input.
const BYTES_FOR_ALL: usize = 2 << 20;
/// How much text all findings of an input may be together.
const LONGEST_REPORT: usize = 1 << 20;

/// How much may be held for a machine, however short the text that stands for it.
const MOST_BUILT: usize = 1 << 30;

const LARGE: usize = 10 << 20;

/// How much smaller inputs are in the development profile, where the compiler takes ten times as long. What is held
/// is counted, not what time is taken, and a size at which a thousand bytes for each byte tell the linear from the
/// quadratic is reached all the same.
const SMALLER: usize = if cfg!(debug_assertions) { 40 } else { 1 };

/// How often each habit of other languages stands there. There are so many of them that, in the development profile, they
/// would take as long as half of the other inputs together.
const HABITS: &[usize] = if cfg!(debug_assertions) { &[1_250] } else { &[1_250, 200_000] };

/// In how many parts the lines with mistakes are divided. The suggestions for long files are not tried, for short ones they
/// are: to try each of them takes most of the time, so the development profile leaves that out.
const MISTAKES: &[usize] = if cfg!(debug_assertions) { &[40] } else { &[40, 1] };

/// What was found in an input.
struct Outcome {
    codes: Vec<&'static str>,
    report: String,
    compiled: bool,
}

/// Compiles `main.session` with the other files at hand, within the limits for its size.
fn outcome(files: HashMap<String, Vec<u8>>) -> Outcome {
    let most = limit(&files);
    within(files, most, Settings::default())
}

/// How much may be held for files of this size.
fn limit(files: &HashMap<String, Vec<u8>>) -> usize {
    files.values().map(Vec::len).sum::<usize>() * BYTES_FOR_EACH + BYTES_FOR_ALL
}

/// Compiles files and holds no more than some bytes at once.
fn within(files: HashMap<String, Vec<u8>>, most: usize, settings: Settings) -> Outcome {
    let (outcome, held) = held(move || compiled_with(&files, settings));
    assert!(held <= most, "{held} bytes were held, at most {most} may be");
    assert!(outcome.report.len() <= LONGEST_REPORT, "the report is {} bytes long", outcome.report.len());
    outcome
}

/// Runs something on a thread with a small stack; returns the most that this thread held at once, too. Other tests run
/// at the same time, on threads that are counted by themselves.
fn held<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> (T, usize) {
    let counted = move || {
        let mut outcome = None;
        let counts = measure(|| outcome = Some(run()));
        (outcome.unwrap(), usize::try_from(counts.bytes_max).unwrap())
    };
    std::thread::Builder::new().stack_size(STACK).spawn(counted).unwrap().join().unwrap()
}

/// Compiles, and renders every finding.
fn compiled(files: &HashMap<String, Vec<u8>>) -> Outcome {
    compiled_with(files, Settings::default())
}

fn compiled_with(files: &HashMap<String, Vec<u8>>, settings: Settings) -> Outcome {
    let compilation = compilation(files, settings);
    let report = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
    let codes = compilation.diagnostics.iter().map(|found| found.code.0).collect();
    if let Some(compiled) = &compilation.protocol {
        generate::check(compiled);
    }
    Outcome { codes, report, compiled: compilation.protocol.is_some() }
}

fn compilation(files: &HashMap<String, Vec<u8>>, settings: Settings) -> Compilation {
    let mut read = |path: &Path| {
        let found = path.to_str().and_then(|path| files.get(path));
        found.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    compile_with(Path::new("main.session"), &mut read, settings).unwrap()
}

fn of(text: impl Into<Vec<u8>>) -> Outcome {
    outcome(HashMap::from([("main.session".to_owned(), text.into())]))
}

/// As [`of`], but in the development profile suggestions are not tried.
fn of_one_of_many(text: impl Into<Vec<u8>>) -> Outcome {
    let files = HashMap::from([("main.session".to_owned(), text.into())]);
    let most = limit(&files);
    within(files, most, Settings::default().without_tries(cfg!(debug_assertions)))
}

/// The input is refused with this code, and among the findings is no other but those that may go with it.
fn refused(code: &str, text: impl Into<Vec<u8>>) -> Outcome {
    with_code(code, of(text))
}

fn with_code(code: &str, outcome: Outcome) -> Outcome {
    assert!(outcome.codes.contains(&code), "{:?}\n{}", outcome.codes, outcome.report);
    assert!(!outcome.compiled);
    outcome
}

/// As [`refused`], for what is small itself: the limits on what is built are what bounds the memory.
fn bounded(code: &str, text: String) -> Outcome {
    let files = HashMap::from([("main.session".to_owned(), text.into_bytes())]);
    with_code(code, within(files, MOST_BUILT, Settings::default()))
}

fn definition(body: &str) -> String {
    format!("client C\nC = {body}\n")
}

#[test]
fn ten_megabytes_of_parentheses() {
    refused("S0040", definition(&"(".repeat(LARGE / SMALLER)));
    refused("S0035", ")".repeat(LARGE / SMALLER));
    // What stands before a brace says whether it is one of a shape. That takes hours if it is read from the start for each.
    assert!(!of(definition(&"{".repeat(LARGE / SMALLER))).compiled);
}

#[test]
fn many_of_one_sign() {
    let signs =
        ["(", "[", "<", "*", "⊕", "&", "!", "?", ",", "|", "=", "-1 ", "{", "}", "$", "\"", "\\", "“", ";"];
    for sign in signs {
        let many = sign.repeat(200_000 / SMALLER / sign.len());
        assert!(!of(definition(&many)).compiled, "{sign}");
        assert!(!of(many).compiled, "{sign}");
    }
}

/// What other languages write, over and over: that is read as often as it is short, and not from the start for each.
#[test]
fn many_habits_of_other_languages() {
    HABITS.iter().for_each(|times| habits_of_other_languages(*times));
}

fn habits_of_other_languages(times: usize) {
    for habit in [
        "!A(\"x\" . ",
        "!A(x: ",
        "loop ( ",
        "if x ",
        "[ ",
        "!A || ",
        "(!A)* . ",
        "(!A)+ . ",
        "(!A)? . ",
        "(!A)* (",
        "((!A)+ . ",
        "!A+ . ",
        "A+ . ",
        "!*A . ",
        "!(A) . ",
        "!A() . ",
        "End() . ",
        "!A .. ",
        "C!A . ",
        "(!A) . ",
        "~A . ",
        "!A -> ",
        "!a/b . ",
        "!A? . ",
        "when ",
        "( !A ⊕ ",
        "rec x . (!A) . ",
        "+{ ",
        "&{ a: ",
        "+( ",
        "!A . +( !B, ",
        "!A<",
        "!A to C . ",
        "rec x { ",
        "goto ",
        "or !A . ",
        "0 . ",
    ] {
        of_one_of_many(definition(&habit.repeat(times)));
    }
    for habit in [
        "/* ",
        "/*\n",
        "/* x */ ",
        "struct A { ",
        "struct A {\n",
        "enum A { ",
        "import { ",
        "import {\n",
        "\"t\"\n",
        "use a::b\n",
        "capabilities server {\n",
        "/// x\n",
        "types = a::b\n",
        "let A = !B\n",
        "A -> B : C\n",
        "A -> B : C(",
        "export type A = b\n",
        "export export type ",
        "alias A = string\n",
        "package a;\n",
        "message A { string a = 1; }\n",
        "interface A extends B { ",
        "A -> !B . ",
        "A(x) = !B . ",
        "A ::= !B . ",
        "protocol \"a\" version \"1\" ",
        "client request A \"a\" ",
        "request \"a\" -> ",
    ] {
        of_one_of_many(habit.repeat((2 * times).min(100_000)));
    }
    for (before, habit) in [
        ("let A = ", "("),
        ("let A = ", "rec "),
        ("type X = ", "("),
        ("type X = ", "Vec<"),
        ("type X = ", "Map<string, "),
        ("type X = ", "A & "),
        ("type X = ", "{ a: A & "),
        ("type X = ", "enum("),
        ("type X = ", "optional "),
        ("type X = ", "list of "),
        ("type X = ", "?a"),
        ("type X = ", "Optional["),
        ("type X = ", "object { a: "),
        ("type X = ", "(a, "),
        ("type X = ", "a or "),
        ("type X = a", "[]"),
        ("type X = { ", "optional "),
        ("type X = { ", "string a, "),
        ("type X = { ", "string a = 1; "),
        ("type X = { ", "?a: b, "),
        ("type X = { ", "a!: b!, "),
        ("type X = ", "string("),
        ("request R \"r\" (", "a, "),
        ("request R \"r\" ", "returns "),
        ("request R \"r\"\n", "response "),
    ] {
        of_one_of_many(format!("{before}{}", habit.repeat(times)));
    }
}

#[test]
fn a_million_loops_in_one_another() {
    refused("S0040", definition(&"rec x . ".repeat(1_000_000 / SMALLER)));
    refused("S0040", definition(&"rec x . ( End, ".repeat(100_000 / SMALLER)));
    refused("S0040", definition(&"*( ".repeat(100_000 / SMALLER)));
    refused("S0040", format!("types {}", "a<".repeat(100_000 / SMALLER)));
}

#[test]
fn many_of_one_word() {
    let words = [
        "dual ",
        "reply ",
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
        "notification ",
        "capabilities ",
        "μ",
    ];
    for word in words {
        of(definition(&word.repeat(20_000 / SMALLER)));
        of(format!("{}\n", word.trim_end()).repeat(20_000 / SMALLER));
    }
}

#[test]
fn long_chains_and_wide_choices() {
    assert!(of(definition(&format!("{}End", "!A . ".repeat(20_000)))).compiled);
    refused("S0213", definition(&format!("!A . End{}", " ⊕ !A . End".repeat(20_000))));
    of(definition(&format!("End{}", " ⊕ End".repeat(20_000))));
    let names: String = (0..20_000).map(|index| format!("⊕ !M{index} . End ")).collect();
    assert!(of(definition(&names)).compiled);
}

#[test]
fn ten_megabytes_without_a_space() {
    let word = "a".repeat(LARGE / SMALLER);
    refused("S0015", definition(&word));
    refused("S0015", format!("import \"{word}\""));
    refused("S0011", format!("import \"{word}"));
    refused("S0013", format!("1{word}"));
    assert!(of(format!("-- {word}\n{}", definition("!A . End"))).compiled);
    assert!(of(format!("--- {word}\n{}", definition("!A . End"))).compiled);
}

#[test]
fn paths_without_end() {
    refused("S0015", format!("types {}b", "a::".repeat(300_000 / SMALLER)));
    refused("S0040", format!("version = A{}", ".b".repeat(500_000 / SMALLER)));
    let rest = "client C\nC = !N . End";
    refused("S0040", format!("notification N \"n\" if a{}\n{rest}", ".b".repeat(200_000 / SMALLER)));
    refused(
        "S0040",
        format!("notification N \"n\" requires server.a{}\n{rest}", ".b".repeat(200_000 / SMALLER)),
    );
    refused(
        "S0040",
        format!("notification N \"n\"\nkey k = N{}\n{rest}", ".\"b\"".repeat(200_000 / SMALLER)),
    );
    refused("S0028", format!("A [must error {}] = End", "9".repeat(1 << 20)));
}

/// What is long must not be repeated for each thing that is said about it.
#[test]
fn long_names_used_often() {
    let name = "n".repeat(255);
    let branches = " ⊕ !B . End".repeat(2_000);
    refused("S0213", format!("client C\nC = rec {name} . !A . End{branches}"));
    let word = "a".repeat(1 << 20);
    refused("S0015", definition(&format!("rec {word} . ( !A . End{branches} )")));
    let messages: String =
        (0..2_000).map(|index| format!("notification N{index} \"n{index}\" (T)\n")).collect();
    refused("S0015", format!("types {word}\n{messages}{}", definition("!N1 . End")));
    refused("S0015", format!("types {}b\n{messages}{}", "a::".repeat(300_000), definition("!N1 . End")));
}

#[test]
fn one_line_with_a_mistake_in_its_middle() {
    let half = "!A . ".repeat(LARGE / 50 / SMALLER);
    let outcome = refused("S0010", definition(&format!("{half} $ . {half} End")));
    assert!(outcome.report.len() < 5_000, "{} bytes are printed", outcome.report.len());
    let half = |first: usize| -> String {
        (first..first + 2_000).map(|index| format!("!M{index} . ?B . x ⊕ ")).collect()
    };
    let (left, right) = (half(0), half(2_000));
    refused("S0103", definition(&format!("rec x . ( {left} !Last . Missing ⊕ {right} End )")));
}

#[test]
fn a_hundred_thousand_mistakes() {
    MISTAKES.iter().for_each(|smaller| mistakes_in_lines(*smaller));
}

fn mistakes_in_lines(smaller: usize) {
    let refused = |text: String| with_code("S0003", of_one_of_many(text));
    refused("$\n%\n".repeat(50_000 / smaller));
    refused("A = ) \n".repeat(100_000 / smaller));
    let lines = |line: fn(usize) -> String| (0..20_000 / smaller).map(line).collect::<String>();
    for text in [
        lines(|index| format!("A{index} = B{index}\n")),
        lines(|_| "request R \"r\" -> A\n".to_owned()),
        lines(|index| format!("group G{index} = H{index}\n")),
        lines(|index| format!("group G{index} += H\n")),
        lines(|index| format!("import \"f{index}.session\"\n")),
        lines(|index| format!("key k{index} = M{index}.a\n")),
        lines(|index| format!("notification N{index} \"n\" requires x{index}.a\n")),
        lines(|_| "capabilities x = A.b\n".to_owned()),
        lines(|_| "client C\n".to_owned()),
    ] {
        let outcome = refused(text);
        assert!(outcome.codes.len() <= 102, "{}", outcome.codes.len());
    }
    refused(definition(&format!("End{}", lines(|index| format!(" ⊕ !M{index} . B{index}")))));
    // Defaults, each of which might be one of many gates that is misspelt.
    let gates =
        lines(|index| format!(" requires client.capability{index}.part requires client.whole{index}"));
    let defaults = lines(|index| format!(" | capability{index}.parts | whole{index} | capability1.part"));
    let gated = format!(
        "notification N \"n\" ({{ c: object }}){gates}\ncapabilities client = N.c default a.b{defaults}\n"
    );
    let outcome = refused(gated);
    assert!(outcome.report.contains("did you mean `capability0.part`?"), "{}", outcome.report);
}

#[test]
fn a_file_larger_than_any() {
    refused("S0002", " ".repeat((64 << 20) + 1));
}

/// What is small to write and large to build is refused before it is built.
#[test]
#[cfg_attr(debug_assertions, ignore = "goes to a limit, which takes long unoptimised")]
fn short_texts_that_stand_for_much() {
    let doubling = |depth: usize, end: &str| {
        let lines: String =
            (0..depth).map(|index| format!("A{index} = A{} ⊕ A{}\n", index + 1, index + 1)).collect();
        format!("client C\nserver S = dual C\nC = A0\n{lines}A{depth} = {end}\n")
    };
    bounded("S0115", doubling(60, "!M . End"));
    bounded("S0115", doubling(60, "End"));
    bounded("S0115", doubling(60, "*( !M . End )"));
}

/// The same, of groups.
#[test]
fn groups_that_stand_for_much() {
    let groups: String = (1..1_100).map(|index| format!("group G{index} = G | N{index}\n")).collect();
    let messages: String = (0..1_100).map(|index| format!("notification N{index} \"n{index}\"\n")).collect();
    let all: Vec<String> = (0..1_100).map(|index| format!("N{index}")).collect();
    bounded("S0115", format!("{messages}group G = {}\n{groups}client C\nC = !G . End", all.join(" | ")));
    // A choice of many messages, many times over.
    let steps = "!G . ".repeat(1_100);
    bounded("S0115", format!("{messages}group G = {}\nclient C\nC = {steps}End", all.join(" | ")));
}

/// Many channels that run in many states.
#[test]
fn channels_that_stand_for_much() {
    let channels: Vec<String> = (0..1_500).map(|index| format!("*( ?N{index} . End )")).collect();
    bounded("S0115", format!("client C\nC = ( {}End, {} )", "!A . ".repeat(1_500), channels.join(", ")));
}

/// What is said several times over is counted as often as it stands for something.
#[test]
#[cfg_attr(debug_assertions, ignore = "goes to a limit, which takes long unoptimised")]
fn names_channels_and_groups_without_end() {
    let lines = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    // Each of many states has each of many names.
    let aliases = lines(1_100, |index| format!("A{index} = A{}\n", index + 1));
    let branches = lines(1_100, |index| format!("!R{index} . A0 ⊕ "));
    let requests = lines(1_100, |index| format!("request R{index} \"r{index}\" -> Q{index}\n"));
    bounded("S0115", format!("{requests}client C\nC = {branches}End\n{aliases}A1100 = ?reply . End"));
    // Channels in channels, each part of them reached by itself.
    let parts = lines(1_500, |index| format!("P{index} = ( !S{index} . End, P{} )\n", index + 1));
    let branches = lines(1_500, |index| format!("!M{index} . P{index} ⊕ "));
    bounded("S0115", format!("client C\nC = {branches}End\n{parts}P1500 = !Last . End"));
    // Many ends, each with many channels in parallel.
    let channels = lines(1_100, |index| format!("*( ?N{index} . End ), "));
    let branches = lines(1_100, |index| format!("!M{index} . End ⊕ "));
    bounded("S0115", format!("client C\nC = ( {channels}D )\nD = {branches}!Last . End"));
    // A chain of groups is not a circle.
    let groups = lines(65, |index| format!("group G{index} = G{}\n", index + 1));
    let deep = format!("notification N \"n\"\n{groups}group G65 = N\nclient C\nC = !G0 . End");
    let outcome = refused("S0115", deep);
    assert_eq!(outcome.codes, ["S0115"], "{}", outcome.report);
}

#[test]
fn what_the_tables_have_no_number_for() {
    let lines = |line: fn(usize) -> String| (0..66_000).map(line).collect::<String>();
    let rest = "client C\nC = !N . End\nnotification N \"n\"";
    let gates = lines(|index| format!(" requires own.a{index}"));
    let outcome = refused("S0110", format!("capabilities client = N.c\n{rest} (T){gates}"));
    assert!(outcome.report.contains("more than 65,535 capabilities"), "{}", outcome.report);
    let outcome = refused("S0110", format!("{rest} (T)\n{}", lines(|index| format!("key k{index} = N.a\n"))));
    assert!(outcome.report.contains("more than 65,535 keys"), "{}", outcome.report);
    // A protocol that declares nothing has messages, too.
    let outcome = refused("S0110", definition(&format!("{}End", lines(|index| format!("!M{index} . ")))));
    assert_eq!(outcome.codes, ["S0110"], "{}", outcome.report);
}

/// What the code for a protocol takes grows as the protocol does.
#[test]
fn code_grows_with_its_protocol() {
    let chain = |size: usize| {
        let steps: String = (0..size).map(|index| format!("!R{index} . ?Q{index} . ")).collect();
        let requests: String =
            (0..size).map(|index| format!("request R{index} \"r{index}\" -> Q{index}\n")).collect();
        format!("{requests}client C\nserver S = dual C\nC = {steps}End")
    };
    let choice = |size: usize| {
        let branches: String = (0..size).map(|index| format!("!N{index} . again ⊕ ")).collect();
        let messages: String =
            (0..size).map(|index| format!("notification N{index} \"n{index}\"\n")).collect();
        format!("{messages}client C\nserver S = dual C\nC = rec again . ( {branches}End )")
    };
    let channels = |size: usize| {
        let bodies: String = (0..size).map(|index| format!("*( !R{index} . ?Q{index} . End ), ")).collect();
        let requests: String =
            (0..size).map(|index| format!("request R{index} \"r{index}\" -> Q{index}\n")).collect();
        format!(
            "{requests}client C\nserver S = dual C\nC = ( {bodies}*( !Last . End ) )\nnotification Last \"l\""
        )
    };
    let sub_session = |size: usize| {
        let steps: String = (0..size).map(|index| format!("!N{index} . ")).collect();
        let messages: String =
            (0..size).map(|index| format!("notification N{index} \"n{index}\" (_)\n")).collect();
        let keys: String = (0..size).map(|index| format!(" | N{index}.dish")).collect();
        format!(
            "request Watch \"w\" (_) -> Watching\n{messages}key dish = Watch.dish{keys}\n\
             client C\nserver S = dual C\nC = *Body\nBody = !Watch . ?Watching . {steps}End"
        )
    };
    let taken = |text: String| {
        let (length, held) = held(move || {
            let files = HashMap::from([("main.session".to_owned(), text.into_bytes())]);
            let compilation = compilation(&files, Settings::default());
            let compiled = compilation.protocol.as_ref().unwrap();
            generate::check(compiled);
            generate::items(compiled, &compilation.sources).to_string().len()
        });
        (length, held)
    };
    for shape in [chain as fn(usize) -> String, choice, channels, sub_session] {
        let (small, large) = (taken(shape(150)), taken(shape(600)));
        // Four times as much, and a little for longer numbers and for tables that double.
        assert!(large.0 < small.0 * 5, "{small:?} and {large:?}\n{}", shape(3));
        assert!(large.1 < small.1 * 6, "{small:?} and {large:?}\n{}", shape(3));
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "goes to a limit, which takes long unoptimised")]
fn channels_whose_product_explodes() {
    let text = |channels: usize| {
        let names: Vec<String> = (0..channels).map(|index| format!("A{index}")).collect();
        let client: String =
            names.iter().map(|name| format!("{name} = !{name}x . !{name}y . {name}\n")).collect();
        let server: Vec<String> = names.iter().map(|name| format!("?{name}x . S & ?{name}y . S")).collect();
        format!(
            "client C compatible\nserver S\nC = ( {} )\n{client}S = {}\n",
            names.join(", "),
            server.join(" & ")
        )
    };
    let outcome = bounded("S0504", text(17));
    assert!(outcome.report.contains("more than 100000 combinations"), "{}", outcome.report);
    // Of two places in each of sixteen channels there are fewer.
    let fewer = HashMap::from([("main.session".to_owned(), text(16).into_bytes())]);
    let outcome = within(fewer, MOST_BUILT, Settings::default());
    assert!(!outcome.codes.contains(&"S0504"), "{}", outcome.report);
}

#[test]
fn a_chain_of_ten_thousand_imports() {
    let name =
        |index: usize| if index == 0 { "main.session".to_owned() } else { format!("f{index}.session") };
    let chain = |last: &str| {
        let mut files: HashMap<String, Vec<u8>> = (0..10_000)
            .map(|index| (name(index), format!("import \"{}\"\n{last}", name(index + 1)).into_bytes()))
            .collect();
        files.insert(name(10_000), b"client Stranger\n".to_vec());
        files
    };
    let mut files = chain("");
    files.get_mut("main.session").unwrap().extend(b"client C\nC = !A . End\n");
    assert!(outcome(files).compiled);
    // Each of them leads back to the first.
    let outcome = outcome(chain("import \"main.session\"\n"));
    assert!(outcome.codes.contains(&"S0042"), "{:?}", outcome.codes.first());
}

fn open_requests(name: &str) -> String {
    Shape::named(name).unwrap().text(30, Variant::Dual).unwrap()
}

/// Sets of open requests are states, so a few requests that are answered in any order are too many.
#[test]
#[cfg_attr(debug_assertions, ignore = "goes to a limit, which takes long unoptimised")]
fn requests_that_are_open_in_any_order() {
    bounded("S0115", open_requests("open requests"));
}

/// The same in a sub-session.
#[test]
#[cfg_attr(debug_assertions, ignore = "goes to a limit, which takes long unoptimised")]
fn requests_that_are_open_in_any_order_within() {
    bounded("S0115", open_requests("open in an instance"));
}

/// Where the text has mistakes it is these that are reported, and not the size that they would lead to.
#[test]
fn requests_that_are_open_by_mistake() {
    let outcome = refused("S0301", open_requests("open by mistake"));
    assert_eq!(outcome.codes.iter().filter(|code| **code == "S0115").count(), 0, "{}", outcome.report);
}

/// Messages that may come late in each of many states.
#[test]
#[cfg_attr(debug_assertions, ignore = "goes to a limit, which takes long unoptimised")]
fn late_messages_that_stand_for_much() {
    let chain = Shape::named("mixed chain").unwrap();
    bounded("S0115", chain.text(1_300, Variant::Dual).unwrap());
}

/// What the requests that stay open take grows as the text does.
#[test]
fn requests_in_one_another() {
    let shape = Shape::named("nested requests").unwrap();
    for size in [200, 1_500] {
        assert!(of(shape.text(size, Variant::Dual).unwrap()).compiled);
    }
}

/// What is held for a protocol grows as its text does, whatever grows in it.
fn shapes_that_grow(variant: Variant) {
    let (short, long) = if cfg!(debug_assertions) { (20, 200) } else { (40, 400) };
    // These have quadratically many edges, which are counted and refused above a limit, or no more levels than fit.
    let others = ["mixed steps", "mixed chain", "mixed nest", "nested choice", "tree", "recursion", "groups"]
        .into_iter()
        .chain([
            "instances on the way",
            "open requests",
            "open in an instance",
            "open by mistake",
            "misspelt",
        ])
        .chain(["cancellable"]);
    let others: Vec<&str> = others.collect();
    for shape in shapes::SHAPES.iter().filter(|shape| !others.contains(&shape.name)) {
        let Some(texts) = shape.text(short, variant).zip(shape.text(long, variant)) else { continue };
        let taken = |text: String| {
            let files = shapes::files(&text);
            held(move || compiled(&files)).1
        };
        let (small, large) = (taken(texts.0), taken(texts.1));
        assert!(large < small * 20, "{}, {variant:?}: {small} and {large} bytes", shape.name);
    }
}

#[test]
fn duals_that_grow() {
    shapes_that_grow(Variant::Dual);
}

#[test]
fn compatible_roles_that_grow() {
    shapes_that_grow(Variant::Compatible);
}

#[test]
fn what_stands_there_twice_and_grows() {
    shapes_that_grow(Variant::Twice);
}

/// Pairs of places with many channels each are large themselves.
#[test]
fn many_channels_against_one() {
    let lines = |line: fn(usize) -> String| (0..700).map(line).collect::<Vec<_>>();
    let client = lines(|index| format!("rec x . ( !A{index} . !B{index} . x )")).join(", ");
    let server = lines(|index| format!("?A{index} . S & ?B{index} . S")).join(" & ");
    bounded("S0504", format!("client C compatible\nserver S\nC = ( {client} )\nS = {server}\n"));
    // Channels that the roles group alike may be as many as there are.
    let channels = Shape::named("channels").unwrap();
    assert!(of(channels.text(1_100, Variant::Dual).unwrap()).compiled);
}

/// Two versions of a union of records that `type` tells apart.
fn unions(records: usize, record: fn(usize) -> [String; 2]) -> [String; 2] {
    let names = (0..records).map(|number| format!("R{number}")).collect::<Vec<_>>().join(" | ");
    let head =
        format!("protocol P \"1\"\ntype U = {names}\nnotification N \"n\" (U)\nclient C\nC = !N . End\n");
    let body = |version: usize| {
        let record = |number| format!("type R{number} = {}\n", record(number)[version]);
        (0..records).map(record).collect::<String>()
    };
    [0, 1].map(|version| head.clone() + &body(version))
}

/// What it takes to compile unions of records and to compare two versions of them grows at most as their square: what is
/// allocated is counted, four times as many records may take little more than sixteen times as much.
#[test]
fn unions_of_many_records() {
    let kinds: [fn(usize) -> [String; 2]; 4] = [
        |number| {
            ["name", "name: string, more?"].map(|key| format!("{{ type: \"t{number}\", {key}: string }}"))
        },
        |number| ["", ", more?: int"].map(|more| format!("{{ type: \"t{number}\", next?: U{more} }}")),
        |number| ["", ", more: int"].map(|more| format!("{{ type: \"t{number}\"{more} }}")),
        |number| {
            ["string".to_owned(), format!("\"t{number}\"")]
                .map(|text| format!("{{ type: {text}, value{number}: int }}"))
        },
    ];
    for (number, kind) in kinds.into_iter().enumerate() {
        let [few, many] = [60, 240].map(|records| {
            let [old, new] = unions(records, kind);
            let mut read = |path: &Path| -> io::Result<Vec<u8>> {
                Ok(if path == Path::new("old") { old.as_bytes() } else { new.as_bytes() }.to_vec())
            };
            let counts = measure(|| {
                let comparison = compat::compare(Path::new("old"), Path::new("new"), &mut read).unwrap();
                assert!(comparison.verdict.is_some());
            });
            counts.bytes_total
        });
        assert!(many < few * 24, "kind {number}: {few} and {many} bytes");
    }
}
