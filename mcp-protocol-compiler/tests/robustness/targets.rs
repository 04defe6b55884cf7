//! What must hold of any input: the bodies of the fuzz targets.
//!
//! Each takes bytes and panics if something does not hold. The fuzz targets of `fuzz/` and the replay of their corpus
//! both include this file.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::diagnostic::render::{Style, render};
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity, json};
use mcp_protocol_compiler::lexer::{self, Kind};
use mcp_protocol_compiler::source::{SourceMap, Span};
use mcp_protocol_compiler::{
    Settings, compile_with, diagram::Diagram, dual, format, generate, parser, symbols,
};

/// The lexer: tokens and comments lie in the text in order, and what lies between them is not for the parser.
pub(crate) fn lexer(bytes: &[u8]) {
    let mut sources = SourceMap::new();
    let (file, found) = sources.add_bytes("main.session", bytes.to_vec());
    assert_eq!(found.is_empty(), std::str::from_utf8(bytes).is_ok(), "bytes that are not UTF-8 are reported");
    let lexed = lexer::lex(&sources, file);
    let text = sources.text(file);
    let place = |start: u32, end: u32| {
        assert!(start <= end, "{start}..{end}");
        text.get(start as usize..end as usize).expect("a place in the text, on the boundaries of characters")
    };
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    for (index, token) in lexed.tokens.iter().enumerate() {
        let written = place(token.start, token.end);
        let last = index + 1 == lexed.tokens.len();
        assert_eq!(
            token.kind == Kind::EndOfFile,
            last,
            "the end of the file is the last token and no other is"
        );
        assert_eq!(written.is_empty(), last, "no token is empty");
        assert!(!written.contains('\n'), "{written:?}");
        pieces.push((token.start, token.end));
    }
    for comment in &lexed.comments {
        assert!(place(comment.start, comment.end).starts_with("--"));
        pieces.push((comment.start, comment.end));
    }
    for line in &lexed.documentation {
        assert!(place(line.start, line.end).starts_with("---"));
        place(line.start, line.text);
        assert!(line.next < lexed.tokens.len());
        pieces.push((line.start, line.end));
    }
    for line in &lexed.empty_lines {
        assert!(place(*line, text.len() as u32).lines().next().is_none_or(|line| line.trim().is_empty()));
    }
    pieces.sort_unstable();
    let findings = lexed.findings.finish();
    check_findings(&sources, &findings);
    let mut end = 0;
    for (start, next) in pieces {
        assert!(end <= start, "two tokens share a character");
        // What is left out is white space, a comment in the manner of another language, or has been reported.
        let skipped = place(end, start);
        assert!(skipped.trim().is_empty() || !findings.is_empty(), "{skipped:?} was skipped in silence");
        end = next;
    }
    assert_eq!(end as usize, text.len());
    assert!(lexed.unreadable_lines.is_sorted());
}

/// The parser: it gives a tree whatever the text, and without an error the formatted tree reads back as itself.
pub(crate) fn parser(bytes: &[u8]) {
    let mut sources = SourceMap::new();
    let (file, broken) = sources.add_bytes("main.session", bytes.to_vec());
    check_findings(&sources, &broken);
    let (tree, findings) = parser::parse(&sources, file);
    check_findings(&sources, &findings);
    if broken.iter().chain(&findings).any(|finding| finding.severity == Severity::Error) {
        return;
    }
    let written = format::file(&tree);
    let mut sources = SourceMap::new();
    let file = sources.add("main.session", written.as_str());
    assert_eq!(sources.text(file), written, "what is written is normal");
    let (again, findings) = parser::parse(&sources, file);
    let errors: Vec<_> = findings.iter().filter(|found| found.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{written}\n{errors:?}");
    assert_eq!(again.items.len(), tree.items.len(), "{written}");
    assert_eq!(again.comments.len(), tree.comments.len(), "{written}");
    assert_eq!(format::file(&again), written);
}

/// The whole front end on one or more files: every finding is rendered, and without an error code and diagrams are
/// made. A line `-- file: NAME` begins a further file, which imports can then name.
pub(crate) fn compiler(bytes: &[u8]) {
    let files = files(bytes);
    let first = outcome(&files, Settings::default());
    assert_eq!(first, outcome(&files, Settings::default()), "equal input gives equal output");
    outcome(&files, Settings::default().without_closure(true));
    let mut read = |path: &Path| read(&files, path);
    let answer = dual::dual(Path::new(FIRST), &mut read, None).expect("the first file is there");
    check_findings(&answer.sources, &answer.diagnostics);
    check_symbols(&symbols::symbols(Path::new(FIRST), &mut read).expect("the first file is there"));
}

/// Each place of a name is where the name stands, and is the place of that name alone.
fn check_symbols(symbols: &symbols::Symbols) {
    for symbol in symbols.all() {
        for place in symbol.places() {
            assert_eq!(symbols.sources().slice(place), symbol.name);
            let (found, other) = symbols.at(place.file, place.start).expect("a name is where it is");
            assert_eq!((found, other), (place, symbol));
        }
        for declaration in &symbol.declarations {
            let Span { file, start, end } = declaration.item;
            assert!(symbols.sources().text(file).get(start as usize..end as usize).is_some());
        }
    }
}

/// A protocol of which the bytes choose the parts, so that most of it can be read; then as [`compiler`].
pub(crate) fn protocol(bytes: &[u8]) {
    compiler(super::grammar::text(bytes).as_bytes());
}

/// The name of the first file.
const FIRST: &str = "main.session";

/// The files that the bytes stand for.
fn files(bytes: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut files = HashMap::new();
    let mut name = FIRST.to_owned();
    let mut text = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(b"-- file: ") {
            Some(next) => {
                let next = String::from_utf8_lossy(next).trim().to_owned();
                files.insert(std::mem::replace(&mut name, next), std::mem::take(&mut text));
            }
            None => text.extend_from_slice(line),
        }
    }
    files.entry(name).or_insert(text);
    files
}

fn read(files: &HashMap<String, Vec<u8>>, path: &Path) -> io::Result<Vec<u8>> {
    let found = path.to_str().and_then(|path| files.get(path));
    found.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Everything that is made of some files, one text after the other.
fn outcome(files: &HashMap<String, Vec<u8>>, settings: Settings) -> String {
    let mut reader = |path: &Path| read(files, path);
    let compilation = compile_with(Path::new(FIRST), &mut reader, settings).expect("the first file is there");
    assert_eq!(compilation.protocol.is_none(), compilation.has_errors());
    let sources = &compilation.sources;
    let mut out = check_findings(sources, &compilation.diagnostics);
    let failure = quote::quote!(compile_error!("wrong"));
    out.push_str(&generate::stubs::stubs(&compilation.outline, &failure).to_string());
    let Some(compiled) = &compilation.protocol else { return out };
    for automaton in [&compiled.client, &compiled.server].into_iter().flatten() {
        let diagram = Diagram::new(automaton, &compiled.declarations);
        for diagram in [diagram, diagram.without_refusals()] {
            out.push_str(&diagram.mermaid());
            out.push_str(&diagram.dot());
            out.push_str(&diagram.svg());
        }
    }
    let findings = generate::check(compiled);
    out.push_str(&check_findings(sources, &findings));
    if findings.iter().all(|finding| finding.severity < Severity::Error) {
        let code = generate::items(compiled, sources);
        out.push_str(&code.to_string());
        assert!(syn::parse2::<syn::File>(code).is_ok(), "the code that was made cannot be read");
    }
    out
}

/// Renders findings, and minds that each is one that a reader can find.
fn check_findings(sources: &SourceMap, findings: &[Diagnostic]) -> String {
    let mut out = String::new();
    for finding in findings {
        assert!(!finding.message.contains('\n'), "{}", finding.message);
        for label in &finding.labels {
            let Span { file, start, end } = label.span;
            let there = sources.text(file).get(start as usize..end as usize);
            assert!(there.is_some(), "{}: a place that is not there: {start}..{end}", finding.message);
        }
        let rendered = render(sources, finding, Style::Plain);
        assert!(rendered.contains(finding.code.0), "{rendered}");
        out.push_str(&rendered);
        let line = json::line(sources, finding);
        assert!(!line.contains('\n'), "{line}");
        out.push_str(&line);
    }
    out
}
