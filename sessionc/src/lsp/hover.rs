//! What is known of a name: its declaration, its dual, and the Rust that it becomes.

use std::path::Path;

use lsp_protocols::types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};
use mcp_protocol_compiler::dual::dual;
use mcp_protocol_compiler::generate::TypedMethod;
use mcp_protocol_compiler::source::Span;
use mcp_protocol_compiler::symbols::{Symbol, SymbolKind, symbols};
use mcp_runtime::RpcError;

use super::analysis::Analysis;
use super::snapshot::{AskedPlace, Snapshot, file_at};

/// How many lines of a text are shown, and how many methods.
const MOST_LINES: usize = 40;
const MOST_METHODS: usize = 24;

/// What is shown for the name at a position.
pub(super) fn hover(snapshot: &Snapshot, params: &HoverParams) -> Result<Option<Hover>, RpcError> {
    let at = &params.text_document_position_params;
    let asked = snapshot.asked(&at.text_document.uri, at.position)?;
    let Some((span, symbol)) = asked.symbols.at(asked.file, asked.offset) else { return Ok(None) };
    let sources = asked.symbols.sources();
    let mut page = Page::default();
    match symbol.declarations.as_slice() {
        [] => page.text(&format!("{} `{}`, which is not declared", symbol.kind.word(), symbol.name)),
        declarations => {
            for declaration in declarations {
                page.code("session", sources.slice(declaration.item));
            }
            for declaration in declarations {
                page.text(&declaration.documentation.join("\n"));
            }
        }
    }
    if let Ok(analysis) = snapshot.analysis(&asked.entry) {
        match symbol.kind {
            SymbolKind::Role | SymbolKind::Definition => {
                if let Some(other) = dual_of(snapshot, &asked.entry, symbol) {
                    page.title("The other side");
                    page.code("session", &other);
                }
                rust_of_state(&mut page, symbol, &analysis);
            }
            SymbolKind::Protocol | SymbolKind::Key | SymbolKind::Shape | SymbolKind::Loop => {}
            _ => rust_of_message(&mut page, &asked, symbol, &analysis),
        }
    }
    let (kind, value) = match snapshot.editor.markdown {
        true => (MarkupKind::Markdown, page.markdown),
        false => (MarkupKind::PlainText, plain(&page.markdown)),
    };
    let contents = HoverContents::Markup(MarkupContent { kind, value });
    Ok(Some(Hover { contents, range: Some(snapshot.range(sources, span)) }))
}

/// The definition of the dual, without the definitions that it leads to.
fn dual_of(snapshot: &Snapshot, entry: &Path, symbol: &Symbol) -> Option<String> {
    let text = dual(entry, &mut |path| snapshot.read(path), Some(&symbol.name)).ok()?.text.ok()?;
    let names = symbols(entry, &mut |_| Ok(text.clone().into_bytes())).ok()?;
    let declarations = names.all().iter().filter(|symbol| symbol.kind != SymbolKind::Loop);
    let items = declarations.flat_map(|symbol| &symbol.declarations).map(|declaration| declaration.item);
    // The role's name comes first, and then what was asked for.
    let is_definition = |item: &Span| names.sources().slice(*item).contains('=');
    let first = items.filter(is_definition).min_by_key(|item| item.start)?;
    Some(names.sources().slice(first).to_owned())
}

/// The methods of the values that are in a state.
fn rust_of_state(page: &mut Page, symbol: &Symbol, analysis: &Analysis) {
    let all = analysis.methods();
    // A role begins in the first of its states.
    let start = all.iter().find(|first| first.owner == symbol.name).map(|first| &first.states);
    let is_start = |method: &TypedMethod| {
        symbol.kind == SymbolKind::Role && method.owner == symbol.name && Some(&method.states) == start
    };
    page.methods(all.iter().filter(|method| method.states.contains(&symbol.name) || is_start(method)));
}

/// The methods that send or receive a message: those of the step that was asked about, or all.
fn rust_of_message(page: &mut Page, asked: &AskedPlace, symbol: &Symbol, analysis: &Analysis) {
    let file = file_at(&analysis.compilation().sources, &asked.path);
    let is_here = |method: &&TypedMethod| {
        let Span { start, end, .. } = method.step;
        method.message.is_some() && Some(method.step.file) == file && (start..=end).contains(&asked.offset)
    };
    let all = || analysis.methods().iter();
    if all().any(|method| is_here(&method)) {
        return page.methods(all().filter(is_here));
    }
    page.methods(all().filter(|method| method.message.as_ref() == Some(&symbol.name)));
}

/// Markdown, part by part.
#[derive(Default)]
struct Page {
    markdown: String,
}

impl Page {
    fn part(&mut self, text: &str) {
        if !self.markdown.is_empty() {
            self.markdown.push_str("\n\n");
        }
        self.markdown.push_str(text);
    }

    fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.part(text.trim());
        }
    }

    fn title(&mut self, text: &str) {
        self.part(&format!("**{text}**"));
    }

    fn code(&mut self, language: &str, code: &str) {
        let mut lines: Vec<&str> = code.lines().take(MOST_LINES).collect();
        if code.lines().nth(MOST_LINES).is_some() {
            lines.push("…");
        }
        self.part(&format!("```{language}\n{}\n```", lines.join("\n")));
    }

    /// Methods below the values that have them.
    fn methods<'m>(&mut self, methods: impl Iterator<Item = &'m TypedMethod>) {
        let mut lines = Vec::new();
        let mut last = None;
        let mut more = 0usize;
        for (number, method) in methods.enumerate() {
            if number >= MOST_METHODS {
                more += 1;
                continue;
            }
            let block = method.block();
            if last.as_ref() != Some(&block) {
                lines.extend(last.is_some().then(|| "}".to_owned()));
                lines.push(format!("{block} {{"));
                last = Some(block);
            }
            lines.push(format!("    {};", method.signature));
        }
        if last.is_none() {
            return;
        }
        if more > 0 {
            lines.push(format!("    // … and {more} more"));
        }
        lines.push("}".to_owned());
        self.title("In Rust");
        self.part(&format!("```rust\n{}\n```", lines.join("\n")));
    }
}

/// The page without its marks, for editors that do not read Markdown.
fn plain(markdown: &str) -> String {
    let lines = markdown.lines().filter(|line| !line.starts_with("```"));
    lines.map(|line| line.trim_matches('*')).collect::<Vec<_>>().join("\n")
}
