//! How the compiler's work grows with the protocol: `cargo bench -p mcp-protocol-compiler --bench scale`.
//!
//! Each shape is compiled at growing sizes, each in a process of its own: the text parsed, the roles built, related and
//! closed, and the code generated. The table gives milliseconds of processor time for each stage and the most memory that the process
//! held. Name shapes behind `--` to run these only, and numbers for sizes of one's own; `compatible` relates the
//! roles so, `written` has the server written out besides, `twice` puts two of the shape side by side; `text` prints the text.
#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark prints its table, and stops where it cannot run"
)]

mod shapes;

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use mcp_protocol_compiler::diagram::Diagram;
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Compilation, compile, generate, parser, relation};
use shapes::{SHAPES, Shape, Variant};

/// With more states than this the code is not generated: it would take gigabytes.
const MOST_GENERATED: usize = 10_001;

/// What the command line asks for.
struct Asked {
    shapes: Vec<&'static Shape>,
    sizes: Vec<usize>,
    variant: Variant,
    text: bool,
    /// Measure in this process, and print one line.
    here: bool,
}

fn main() {
    let mut asked =
        Asked { shapes: Vec::new(), sizes: Vec::new(), variant: Variant::Dual, text: false, here: false };
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "compatible" => asked.variant = Variant::Compatible,
            "written" => asked.variant = Variant::Written,
            "twice" => asked.variant = Variant::Twice,
            "text" => asked.text = true,
            "--here" => asked.here = true,
            other if other.starts_with('-') => {}
            other => match (other.parse(), Shape::named(other)) {
                (Ok(size), _) => asked.sizes.push(size),
                (_, Some(shape)) => asked.shapes.push(shape),
                _ => panic!("unknown shape {other}"),
            },
        }
    }
    if asked.shapes.is_empty() {
        asked.shapes = SHAPES.iter().collect();
    }
    if !asked.here && !asked.text {
        println!(
            "{:<18} {:>8} {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}",
            "shape",
            "size",
            "text B",
            "states",
            "parse ms",
            "check ms",
            "relate",
            "close",
            "races",
            "code ms",
            "draw ms",
            "MiB"
        );
    }
    for shape in &asked.shapes {
        for size in if asked.sizes.is_empty() { shape.sizes } else { &asked.sizes } {
            let Some(text) = shape.text(*size, asked.variant) else { continue };
            match (asked.text, asked.here) {
                (true, _) => print!("{text}"),
                (_, true) => measure(shape, *size, &text),
                _ => apart(shape, *size, asked.variant),
            }
        }
    }
}

/// Measures in a process of its own.
fn apart(shape: &Shape, size: usize, variant: Variant) {
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new(program);
    command.args([shape.name, &size.to_string(), "--here"]);
    match variant {
        Variant::Dual => {}
        Variant::Compatible => _ = command.arg("compatible"),
        Variant::Written => _ = command.arg("written"),
        Variant::Twice => _ = command.arg("twice"),
    }
    match command.status() {
        Ok(status) if status.success() => {}
        _ => println!("{:<18} {size:>8} is killed", shape.name),
    }
}

fn measure(shape: &Shape, size: usize, text: &str) {
    let files = shapes::files(text);
    let (parse, _) = timed(|| {
        let mut sources = SourceMap::new();
        for (name, file) in &files {
            let file = sources.add(name.as_str(), String::from_utf8_lossy(file).as_ref());
            std::hint::black_box(parser::parse(&sources, file));
        }
    });
    let (whole, compilation) = timed(|| compiled(&files));
    let memory = most_held();
    let check = whole.saturating_sub(parse);
    let start = format!("{:<18} {size:>8} {:>9}", shape.name, text.len());
    let Some(protocol) = &compilation.protocol else {
        let codes: Vec<_> = compilation.diagnostics.iter().map(|found| found.code.0).take(3).collect();
        println!(
            "{start} {:>8} {:>9} {:>9} {:>50} {memory:>8}",
            codes.join(","),
            milliseconds(parse),
            milliseconds(check),
            ""
        );
        return;
    };
    let (Some(client), Some(server)) = (&protocol.client, &protocol.server) else { return };
    let wanted = relation::Wanted::Dual;
    let messages = &protocol.declarations.messages;
    let (relate, _) = timed(|| relation::relate(client, server, messages, wanted, relation::PRODUCT_LIMIT));
    let (close, crossings) = timed(|| relation::close(client, server, messages));
    let (races, _) = timed(|| crossings.races(messages));
    let edges: usize = client.states.iter().map(|state| state.edges.len()).sum();
    let generates = edges <= 4 * MOST_GENERATED;
    let code = generates.then(|| timed(|| generate::items(protocol, &compilation.sources)).0);
    let draw = (edges <= MOST_GENERATED / 20)
        .then(|| timed(|| Diagram::new(client, &protocol.declarations).svg()).0);
    let optional = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), milliseconds);
    println!(
        "{start} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {memory:>8}",
        client.states.len(),
        milliseconds(parse),
        milliseconds(check),
        milliseconds(relate),
        milliseconds(close),
        milliseconds(races),
        optional(code),
        optional(draw),
    );
}

fn compiled(files: &std::collections::HashMap<String, Vec<u8>>) -> Compilation {
    let mut read = |path: &Path| {
        let found = path.to_str().and_then(|path| files.get(path));
        found.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    compile(Path::new("main.session"), &mut read).unwrap_or_else(|error| panic!("{error}"))
}

/// The most memory that this process held, in MiB, where the system says it.
fn most_held() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    kibibytes.map_or_else(|| "?".to_owned(), |kibibytes| (kibibytes / 1024).to_string())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

fn timed<T>(run: impl FnOnce() -> T) -> (Duration, T) {
    let (start, started) = (processor_time(), Instant::now());
    let result = run();
    let spent = processor_time().zip(start).map(|(end, start)| end.saturating_sub(start));
    (spent.unwrap_or_else(|| started.elapsed()), result)
}

/// How long this thread has run on a processor, where the system says it: other programs do not count.
fn processor_time() -> Option<Duration> {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(status.split_whitespace().next()?.parse().ok()?))
}
