//! Programs that live in memory: texts of one or several files, compiled and rendered.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::ast::{File, Item, ItemKind, Member, Shape, ShapeKind};
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::dual::{Undefined, dual};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Compilation, Settings, compile_among, format, parser};

/// Files by their names.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files of a text in which `-- in NAME:` in a line of its own begins another file. `first` names the first one.
pub(crate) fn split(text: &str, first: &str) -> Files {
    let mut files = Files::new();
    let mut name = first.to_owned();
    let mut text_so_far = String::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("-- in ").and_then(|line| line.trim_end().strip_suffix(':')) {
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
    let mut list = |folder: &Path| {
        files.keys().filter(|path| path.parent() == Some(folder)).cloned().collect::<Vec<PathBuf>>()
    };
    compile_among(Path::new(first), &mut read, &mut list, settings.for_code(expand)).unwrap()
}

/// Every finding as a person reads it.
pub(crate) fn rendered(compilation: &Compilation) -> String {
    render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
}

/// The dual of a role or definition as text.
pub(crate) fn written(text: &str, name: Option<&str>) -> Result<String, Undefined> {
    let mut read = |_: &Path| Ok(text.as_bytes().to_vec());
    let answer = dual(Path::new("test.session"), &mut read, name).unwrap();
    answer.text
}

/// The tree of a text.
pub(crate) fn tree(text: &str) -> File {
    let mut sources = SourceMap::new();
    let file = sources.add("test.session", text);
    parser::parse(&sources, file).0
}

/// A file of the project and all that it imports, as the text of one file.
pub(crate) fn flat(path: &str) -> String {
    let mut items = Vec::new();
    gather(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path),
        false,
        &mut BTreeSet::new(),
        &mut items,
    );
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut flat: Vec<Item> = Vec::new();
    for mut item in items {
        let name = match &item.kind {
            ItemKind::Definition { role, name, .. } => {
                format!("{}::{}", role.as_ref().map_or("", |role| role.text.as_str()), name.text)
            }
            ItemKind::Request(request) => request.name.text.clone(),
            ItemKind::Types(_) => "the types".to_owned(),
            ItemKind::Shape { name, .. } => format!("type {}", name.text),
            _ => String::new(),
        };
        match places.get(&name).filter(|_| !name.is_empty()) {
            Some(place) => {
                item.overrides = None;
                // In its new shape, the own name of a type means what is replaced, so that stays under another name.
                if let ItemKind::Shape { name, body } = &mut item.kind {
                    let mut replaced = flat.get(*place).unwrap().clone();
                    let earlier = format!("{}Of{}", name.text, flat.len());
                    rename(body, &name.text, &earlier);
                    if let ItemKind::Shape { name, .. } = &mut replaced.kind {
                        name.text = earlier;
                    }
                    flat.push(replaced);
                }
                *flat.get_mut(*place).unwrap() = item;
            }
            None => {
                places.insert(name, flat.len());
                flat.push(item);
            }
        }
    }
    format::file(&File { items: flat, comments: Vec::new(), empty_lines: Vec::new() })
}

/// Has a shape name another one in the place of `old`.
fn rename(shape: &mut Shape, old: &str, new: &str) {
    match &mut shape.kind {
        ShapeKind::Named(name) if name.text == old => name.text = new.to_owned(),
        ShapeKind::Named(_) | ShapeKind::Literal(..) | ShapeKind::Missing => {}
        ShapeKind::List(of) | ShapeKind::Map(of) => rename(of, old, new),
        ShapeKind::Tuple(positions) => {
            positions.iter_mut().for_each(|position| rename(&mut position.shape, old, new));
        }
        ShapeKind::Union(parts) => parts.iter_mut().for_each(|part| rename(part, old, new)),
        ShapeKind::Record(members) => members.iter_mut().for_each(|member| match member {
            Member::Field(field) => rename(&mut field.shape, old, new),
            Member::Spread { name, .. } if name.text == old => name.text = new.to_owned(),
            Member::Spread { .. } | Member::Rest(_) => {}
        }),
    }
}

fn gather(path: &Path, imported: bool, seen: &mut BTreeSet<PathBuf>, items: &mut Vec<Item>) {
    if !seen.insert(path.canonicalize().unwrap()) {
        return;
    }
    let own = tree(&std::fs::read_to_string(path).unwrap()).items;
    for item in &own {
        if let ItemKind::Import(import) = &item.kind {
            gather(&path.parent().unwrap().join(&import.text), true, seen, items);
        }
    }
    items.extend(own.into_iter().filter(|item| match &item.kind {
        ItemKind::Import(_) => false,
        ItemKind::Protocol { .. } | ItemKind::Capabilities { .. } | ItemKind::Version { .. } => !imported,
        ItemKind::Role { .. } => !imported,
        _ => true,
    }));
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
