//! How the compiler's work grows with the protocol: `cargo bench -p mcp-protocol-compiler --bench scale`.
//!
//! Each shape is compiled at growing sizes: the text parsed, both roles checked and related, and the code generated.
//! The table gives milliseconds (the best of several runs) and microseconds a state; where the latter stays level the
//! work grows linearly. Name a shape behind `--` to run that one only, and numbers for sizes of one's own.
#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark prints its table, and stops where it cannot run"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Compilation, compile, generate, parser};

/// What one shape is called, how it is written at a size, and at which sizes.
struct Shape {
    name: &'static str,
    write: fn(usize) -> String,
    sizes: &'static [usize],
}

const SHAPES: &[Shape] = &[
    Shape { name: "chain", write: chain, sizes: &[100, 1_000, 10_000, 100_000] },
    Shape { name: "wide choice", write: wide, sizes: &[100, 1_000, 10_000, 50_000] },
    Shape { name: "nested choice", write: nested, sizes: &[1, 2, 3, 4, 5, 6] },
    Shape { name: "long copy", write: copy, sizes: &[100, 1_000, 10_000] },
    Shape { name: "streaming", write: streaming, sizes: &[10, 50, 100, 1_000, 10_000] },
    Shape { name: "binary tree", write: tree, sizes: &[6, 9, 12, 16] },
    Shape { name: "definitions", write: definitions, sizes: &[100, 1_000, 10_000, 100_000] },
];

/// With more states than this the code is not generated: it would take gigabytes.
const MOST_GENERATED: usize = 100_001;

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let only: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<usize>().is_err()).collect();
    println!(
        "{:<14} {:>8} {:>9} {:>10} {:>10} {:>10} {:>10}",
        "shape", "size", "states", "parse ms", "check ms", "code ms", "µs/state"
    );
    for shape in SHAPES
        .iter()
        .filter(|shape| only.is_empty() || only.iter().any(|name| shape.name.contains(name.as_str())))
    {
        for size in if sizes.is_empty() { shape.sizes } else { &sizes } {
            measure(shape, *size);
        }
    }
}

fn measure(shape: &Shape, size: usize) {
    let text = (shape.write)(size);
    let parse = best(|| {
        let mut sources = SourceMap::new();
        let file = sources.add("bench.session", text.as_str());
        parser::parse(&sources, file)
    });
    let whole = best(|| compiled(&text));
    let compilation = compiled(&text);
    let Some(protocol) = &compilation.protocol else {
        println!("{:<14} {size:>8}  does not compile: {:?}", shape.name, compilation.diagnostics.first());
        return;
    };
    let states = protocol.client.as_ref().map_or(0, |client| client.states.len());
    let code = (states <= MOST_GENERATED).then(|| best(|| generate::items(protocol, &compilation.sources)));
    let check = whole.saturating_sub(parse);
    println!(
        "{:<14} {size:>8} {states:>9} {:>10} {:>10} {:>10} {:>10.2}",
        shape.name,
        milliseconds(parse),
        milliseconds(check),
        code.map_or_else(|| "-".to_owned(), milliseconds),
        whole.as_secs_f64() * 1e6 / states.max(1) as f64,
    );
}

fn compiled(text: &str) -> Compilation {
    compile(Path::new("bench.session"), &mut |_| Ok(text.as_bytes().to_vec()))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

/// The best of a few runs, fewer where one takes long.
fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let mut best = Duration::MAX;
    let started = Instant::now();
    for _ in 0..10 {
        let start = Instant::now();
        std::hint::black_box(run());
        best = best.min(start.elapsed());
        if started.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    best
}

const HEAD: &str = "client C\nserver S = dual C\n";

fn notifications(count: usize) -> String {
    (0..count).fold(String::from(HEAD), |mut text, number| {
        let _ = writeln!(text, "notification M{number} \"m/{number}\"");
        text
    })
}

/// `!M0 . ?M1 . !M2 . …`
fn chain(size: usize) -> String {
    let mut text = notifications(4) + "C = ";
    for number in 0..size {
        let _ = write!(text, "{}M{} . ", if number % 2 == 0 { '!' } else { '?' }, number % 4);
    }
    text + "End\n"
}

/// One choice of many branches.
fn wide(size: usize) -> String {
    let branches: Vec<String> = (0..size).map(|number| format!("!M{number} . x")).collect();
    format!("{}C = rec x . ( {} ⊕ End )\n", notifications(size), branches.join(" ⊕ "))
}

/// Choices in choices, four branches each, no two alike.
fn nested(level: usize) -> String {
    fn choice(level: usize, leaf: &mut usize) -> String {
        if level == 0 {
            *leaf += 1;
            return format!("!M{} . !M{} . End", *leaf % 5, *leaf % 7);
        }
        let (sign, operator) = if level.is_multiple_of(2) { ('!', " ⊕ ") } else { ('?', " & ") };
        let branches: Vec<String> =
            (0..4).map(|branch| format!("{sign}M{branch} . ({})", choice(level - 1, leaf))).collect();
        branches.join(operator)
    }
    format!("{}C = {}\n", notifications(8), choice(level, &mut 0))
}

/// A copy with so many steps, which a key ties to it.
fn copy(size: usize) -> String {
    let mut text = String::from("protocol Copy\nrequest Watch \"watch\" (String) -> Watching\n");
    let mut keys = String::from("key dish = Watch.dish");
    let mut steps = String::new();
    for index in 0..size {
        let _ = writeln!(text, "notification Step{index} \"step/{index}\" (String)");
        let _ = write!(keys, " | Step{index}.dish");
        let _ = write!(steps, "!Step{index} . ");
    }
    text + &keys
        + "\nclient Guest\nserver Waiter = dual Guest\nGuest = *Watched\nWatched = !Watch . ?Watching . "
        + &steps
        + "End\n"
}

/// A stream whose first steps are unrolled.
fn streaming(size: usize) -> String {
    let mut text = notifications(4) + "C = ";
    for _ in 0..size {
        text += "!M0 . ?M1 . ";
    }
    text + "rec x . ( !M0 . ?M1 . x ⊕ !M2 . End )\n"
}

/// A tree of choices, with leaves that differ so that it stays a tree.
fn tree(depth: usize) -> String {
    fn branch(depth: usize, leaf: &mut usize) -> String {
        if depth == 0 {
            *leaf += 1;
            let digits =
                [*leaf % 8, (*leaf / 8) % 8, (*leaf / 64) % 8, (*leaf / 512) % 8, (*leaf / 4096) % 8];
            return digits.iter().fold(String::new(), |text, digit| text + &format!("!M{digit} . ")) + "End";
        }
        format!("!M0 . ({}) ⊕ !M1 . ({})", branch(depth - 1, leaf), branch(depth - 1, leaf))
    }
    format!("{}C = {}\n", notifications(8), branch(depth, &mut 0))
}

/// A chain in which every step is a definition.
fn definitions(size: usize) -> String {
    let mut text = notifications(4) + "C = D0\n";
    for number in 0..size {
        let _ = writeln!(text, "D{number} = !M{} . D{}", number % 4, number + 1);
    }
    text + &format!("D{size} = End\n")
}
