//! Programs that live in memory: texts of one or several files, compiled and rendered.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::ast::{File, ItemKind};
use mcp_protocol_compiler::diagnostic::Diagnostic;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::dual::{Undefined, dual};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Compilation, Settings, compile_with, format, generate, parser};

/// Files by their names.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files of a text in which `-- in NAME:` in a line of its own begins another file. `first` names the first one.
pub(crate) fn split(text: &str, first: &str) -> Files {
    let mut files = Files::new();
    let mut name = first.to_owned();
    let mut text_so_far = String::new();
    for line in text.split_inclusive('\n') {
        match line.trim_end().strip_prefix("-- in ").and_then(|line| line.strip_suffix(':')) {
            Some(other) => {
                let before = std::mem::replace(&mut name, other.to_owned());
                files.insert(PathBuf::from(before), std::mem::take(&mut text_so_far).into_bytes());
            }
            None => text_so_far += line,
        }
    }
    files.insert(PathBuf::from(name), text_so_far.into_bytes());
    files
}

/// Compiles the file named `first`; with `expand` also what only the making of code would find.
pub(crate) fn compiled(files: &Files, first: &str, settings: Settings, expand: bool) -> Compilation {
    let mut read = |path: &Path| files.get(path).cloned().ok_or(io::Error::from(io::ErrorKind::NotFound));
    let mut compilation = compile_with(Path::new(first), &mut read, settings).unwrap();
    if let Some(protocol) = compilation.protocol.as_ref().filter(|_| expand) {
        let found = generate::check(protocol);
        let news: Vec<Diagnostic> =
            found.into_iter().filter(|one| !compilation.diagnostics.contains(one)).collect();
        compilation.diagnostics.extend(news);
    }
    compilation
}

/// Every finding as a person reads it.
pub(crate) fn rendered(compilation: &Compilation) -> String {
    render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
}

/// The dual of a role or definition as text.
pub(crate) fn written(text: &str, name: Option<&str>) -> Result<String, Undefined> {
    let mut read = |_: &Path| Ok(text.as_bytes().to_vec());
    let answer = dual(Path::new("test.session"), &mut read, name).unwrap();
    answer.items.map(|items| format::file(&items))
}

/// The tree of a text.
pub(crate) fn tree(text: &str) -> File {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    parser::parse(&sources, file).0
}

/// The file with the server that `dual` writes in place of its own.
pub(crate) fn with_written_server(text: &str, server: &str) -> String {
    let mut tree = tree(text);
    tree.items.retain(|item| match &item.kind {
        ItemKind::Role { name, .. } => name.text != server,
        ItemKind::Definition { role: Some(role), .. } => role.text != server,
        ItemKind::Definition { role: None, name, .. } => name.text != server,
        _ => true,
    });
    for item in &mut tree.items {
        if let ItemKind::Role { compatible, .. } = &mut item.kind {
            *compatible = None;
        }
    }
    format::file(&tree) + &written(text, None).unwrap()
}
