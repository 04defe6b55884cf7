//! Diagnostics for people: rustc's layout, plain or in colour.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::finding::{Diagnostic, Label, Severity};
use crate::source::{SourceMap, Span};

/// A line longer than this in bytes is shown in part, so that a file of one line costs what other files cost.
const LONGEST_LINE: u32 = 2_000;
/// Marks of one file that are further apart than this in bytes are shown in snippets of their own, and a mark that is
/// longer is shown by its first line. In a line that is shown in part, the length of such a part counts instead.
const FURTHEST: u32 = 20_000;
/// How much of such a line is shown on either side of what is marked.
const AROUND: u32 = 200;

/// Whether the text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// Text alone, for files, tests and `compile_error!`.
    Plain,
    /// With colours for a terminal.
    Coloured,
}

/// One finding as text.
pub fn render(sources: &SourceMap, diagnostic: &Diagnostic, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.0));
    for snippet in snippets(sources, &diagnostic.labels) {
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    for help in &diagnostic.helps {
        group = group.element(Level::HELP.message(help.text()));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let mut text = renderer.render(&[group]);
    // The renderer shows what ASCII has of controls; those above it would still steer some terminals.
    let steers = |character: char| matches!(character, '\u{80}'..='\u{9F}');
    if text.contains(steers) {
        text = text.replace(steers, "\u{FFFD}");
    }
    text.push('\n');
    text
}

/// Several findings as text, an empty line after each.
///
/// ```
/// # use std::{io, path::Path};
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(b"client Teller\n".to_vec()) };
/// let compilation = mcp_protocol_compiler::compile(Path::new("counter.session"), &mut read)?;
/// use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
///
/// let text = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
/// assert!(text.starts_with("error[S0104]: the role `Teller` has no session type"));
/// # Ok::<(), io::Error>(())
/// ```
///
/// ```
/// use std::{io, path::Path};
/// use mcp_protocol_compiler::compile;
/// use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
///
/// let text = "client Asker\nserver Calculator = dual Asker\nAsker = !Sum . ?Total . Ready\n";
/// let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("calculator.session"), &mut read)?;
/// let page = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
/// assert!(page.contains("calculator.session:3"));
/// # Ok::<(), io::Error>(())
/// ```
pub fn render_all(sources: &SourceMap, diagnostics: &[Diagnostic], style: Style) -> String {
    diagnostics.iter().map(|diagnostic| render(sources, diagnostic, style) + "\n").collect()
}

/// One snippet per file, in the order in which the labels name the files. The first label is the primary one.
fn snippets<'a>(
    sources: &'a SourceMap,
    labels: &'a [Label],
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut clusters: Vec<(Span, Vec<Mark<'a>>)> = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let span = short(sources, label.span);
        let mark = Mark { kind, span, text: &label.text };
        let near = clusters.iter_mut().find(|(all, _)| {
            let length = all.end.max(span.end).saturating_sub(all.start.min(span.start));
            let furthest = if has_long_line(sources, *all) || has_long_line(sources, span) {
                LONGEST_LINE
            } else {
                FURTHEST
            };
            all.file == span.file && length <= furthest
        });
        match near {
            Some((all, marks)) => {
                *all = Span { start: all.start.min(span.start), end: all.end.max(span.end), ..*all };
                marks.push(mark);
            }
            None => clusters.push((span, vec![mark])),
        }
    }
    clusters.into_iter().map(|(all, marks)| snippet(sources, all, &marks)).collect()
}

/// Whether the first or the last line of a place is shown in part.
fn has_long_line(sources: &SourceMap, span: Span) -> bool {
    [span.start, span.end].into_iter().any(|offset| {
        let line = sources.line(span.file, sources.line_number(span.file, offset));
        line.end.saturating_sub(line.start) > LONGEST_LINE
    })
}

/// A label with its place cut to what can be shown.
struct Mark<'a> {
    kind: AnnotationKind,
    span: Span,
    text: &'a str,
}

/// A place, or its first line if it is too long.
fn short(sources: &SourceMap, span: Span) -> Span {
    if span.end.saturating_sub(span.start) <= FURTHEST {
        return span;
    }
    let line = sources.line(span.file, sources.line_number(span.file, span.start));
    Span { end: line.end.clamp(span.start, span.start.saturating_add(LONGEST_LINE)), ..span }
}

fn snippet<'a>(
    sources: &'a SourceMap,
    all: Span,
    marks: &[Mark<'a>],
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let window = window(sources, all);
    let source = sources.slice(window);
    let snippet = Snippet::source(source)
        .path(sources.path(all.file).to_string_lossy())
        .line_start(sources.line_number(all.file, window.start) as usize);
    snippet.annotations(marks.iter().map(|mark| {
        let length = source.len();
        let start = (mark.span.start.saturating_sub(window.start) as usize).min(length);
        let end = (mark.span.end.saturating_sub(window.start) as usize).clamp(start, length);
        let text = if mark.text.is_empty() { None } else { Some(mark.text) };
        mark.kind.span(boundary(source, start)..boundary(source, end)).label(text)
    }))
}

/// The lines from the first marked one to the last, not the whole file, which may be large; of a line that is very
/// long, what surrounds the marks.
fn window(sources: &SourceMap, all: Span) -> Span {
    let Span { file, start, end } = all;
    let end = end.max(start);
    let first = sources.line(file, sources.line_number(file, start));
    let last = sources.line(file, sources.line_number(file, end));
    let text = sources.text(file);
    let mut window = Span { file, start: first.start, end: last.end.max(first.end) };
    if start.saturating_sub(window.start) > LONGEST_LINE {
        window.start = boundary(text, start.saturating_sub(AROUND) as usize) as u32;
    }
    if window.end.saturating_sub(end) > LONGEST_LINE {
        window.end = boundary(text, end.saturating_add(AROUND) as usize) as u32;
    }
    window
}

/// The next place at or before `offset` where a character starts.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::FileId;

    fn place(sources: &SourceMap, file: FileId, needle: &str) -> Span {
        let start = sources.text(file).find(needle).expect("it is there") as u32;
        Span { file, start, end: start + needle.len() as u32 }
    }

    #[test]
    fn labels_in_several_files_with_notes_and_helps() {
        let mut sources = SourceMap::new();
        let base = sources.add("base.session", "-- the base\nrequest Ping \"ping\"\n");
        let main = sources
            .add("main.session", "import \"base.session\"\n\n\nrequest Ping \"ping\"\nA = !Ping . α\n");
        let diagnostic =
            Diagnostic::error(Code("S0102"), place(&sources, main, "Ping"), "`Ping` is declared twice")
                .label("declared here")
                .also(place(&sources, base, "Ping"), "and first here")
                .also(place(&sources, main, "import \"base.session\""), "imported here")
                .with_note("an imported item is replaced by `override`")
                .help("write `override request Ping \"ping\"`");
        insta::assert_snapshot!(render(&sources, &diagnostic, Style::Plain));
        assert!(render(&sources, &diagnostic, Style::Coloured).contains("\u{1b}["));
    }

    #[test]
    fn places_that_do_not_exist_render_all_the_same() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.session", "α");
        for (start, end) in [(0, 0), (0, 1), (1, 1), (2, 2), (3, 9), (9, 3), (u32::MAX, u32::MAX)] {
            let diagnostic = Diagnostic::error(Code("S0001"), Span { file, start, end }, "m");
            assert!(render(&sources, &diagnostic, Style::Plain).contains("a.session"));
        }
        let empty = sources.add("empty.session", "");
        let diagnostic =
            Diagnostic::error(Code("S0001"), Span { file: empty, start: 0, end: 0 }, "m").label("here");
        assert!(render(&sources, &diagnostic, Style::Plain).contains("empty.session"));
        let nowhere = Diagnostic::error(Code("S0001"), Span { file: FileId(99), start: 4, end: 5 }, "m");
        assert!(render(&sources, &nowhere, Style::Plain).contains("m"));
        let mut unplaced = Diagnostic::error(Code("S0001"), Span::default(), "m");
        unplaced.labels.clear();
        assert_eq!(render(&sources, &unplaced, Style::Plain), "error[S0001]: m\n");
    }

    #[test]
    fn a_very_long_line_is_shown_in_part() {
        let mut sources = SourceMap::new();
        let text = format!("{}wrong{}", "α ".repeat(500_000), " β".repeat(500_000));
        let file = sources.add("long.session", text);
        let diagnostic = Diagnostic::error(Code("S0001"), place(&sources, file, "wrong"), "m");
        let rendered = render(&sources, &diagnostic, Style::Plain);
        assert!(rendered.contains("wrong") && rendered.len() < 2_000, "{rendered}");
    }

    #[test]
    fn marks_that_are_far_apart_in_one_line_are_shown_by_themselves() {
        let mut sources = SourceMap::new();
        let text = format!("{}one{}other{}", "α ".repeat(5_000), "β ".repeat(5_000), " γ".repeat(5_000));
        let file = sources.add("long.session", text);
        let diagnostic = Diagnostic::error(Code("S0102"), place(&sources, file, "other"), "m")
            .label("declared again here")
            .also(place(&sources, file, "one"), "first declared here");
        let rendered = render(&sources, &diagnostic, Style::Plain);
        assert!(rendered.contains("one") && rendered.contains("other"), "{rendered}");
        assert!(rendered.len() < 5_000, "{} bytes", rendered.len());
    }
}
