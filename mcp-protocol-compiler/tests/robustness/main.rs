//! What the fuzz targets were given and have found, on every run of the tests, without a fuzzer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they expect by panicking"
)]

mod grammar;
mod targets;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};

/// The inputs of one target, in the order of their names.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Runs a target on its corpus, on a thread with a stack as small as the smallest that a compiler runs on.
fn replay(target: &str, body: fn(&[u8])) {
    let corpus = corpus(target);
    assert!(corpus.len() > 5, "the corpus of `{target}` is not where it should be");
    for (path, bytes) in corpus {
        let run = move || body(&bytes);
        let ended = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join();
        assert!(ended.is_ok(), "`{target}` fails on {}", path.display());
    }
}

/// Half of what the main thread has on the poorest of the platforms that rustc runs on.
const STACK: usize = 512 << 10;

#[test]
fn the_lexer_s_corpus() {
    replay("lexer", targets::lexer);
}

#[test]
fn the_parser_s_corpus() {
    replay("parser", targets::parser);
}

#[test]
fn the_compiler_s_corpus() {
    replay("compiler", targets::compiler);
}

#[test]
fn the_corpus_of_protocols() {
    replay("protocol", targets::protocol);
}

/// A protocol made of bytes can mostly be read; otherwise this target would not find more than the compiler's.
#[test]
fn protocols_of_bytes_can_be_read() {
    let mut sources = mcp_protocol_compiler::source::SourceMap::new();
    let mut seed = 1u64;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..200)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let text = grammar::text(&bytes);
        let file = sources.add("main.session", text.as_str());
        let (_, findings) = mcp_protocol_compiler::parser::parse(&sources, file);
        assert_eq!(findings, [], "{text}");
    }
}
