//! Names that no file declares which was read, but a file next to it: its import was forgotten.
//!
//! One such import leaves many names without a declaration. Their findings become one, which names the file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::ast::{Item, ItemKind};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::findings::{declarations, imports, shapes};
use crate::parser;
use crate::resolve::load::{LoadedFile, Read, normal};
use crate::source::{FileId, SourceMap, Span};

/// How the caller lists the `.session` files of a folder. It is asked only where a name is not declared.
pub(crate) type List<'a> = &'a mut dyn FnMut(&Path) -> Vec<PathBuf>;

/// How many files are read to find a declaration.
const MOST_READ: usize = 64;

/// How long such a file may be.
const LONGEST_READ: usize = 1 << 20;

/// What a name is missing as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Sort {
    Message,
    Definition,
    Shape,
}

/// The findings about a name that is not declared, with what the name stands for.
const UNDECLARED: [(Code, Sort); 4] = [
    (declarations::UNDEFINED_MESSAGE, Sort::Message),
    (declarations::UNDEFINED_DEFINITION, Sort::Definition),
    (shapes::UNDEFINED_SHAPE, Sort::Shape),
    (declarations::NO_TYPES, Sort::Shape),
];

/// A file that is not imported.
struct Neighbour {
    /// What an import writes.
    written: String,
    declares: HashSet<(Sort, String)>,
}

/// Joins the findings about names that one file declares, which is not imported. Returns the texts of the files that
/// were read, by their paths.
pub(crate) fn join(
    found: &mut Vec<Diagnostic>,
    files: &[LoadedFile],
    sources: &SourceMap,
    list: List<'_>,
    read: Read<'_>,
) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut texts = BTreeMap::new();
    let mut left = MOST_READ;
    // A protocol may have thousands of files: the findings are looked through for those that have one.
    let wanting: HashSet<FileId> = found.iter().filter_map(|finding| Some(wanted(finding)?.1.file)).collect();
    for file in files.iter().filter(|file| wanting.contains(&file.file)) {
        let missing = missing(found, file.file, sources);
        if missing.is_empty() {
            continue;
        }
        let mut others = neighbours(file, files, sources, list);
        others.truncate(left);
        left -= others.len();
        let mut others: Vec<Neighbour> = others
            .into_iter()
            .filter_map(|(path, written)| declared(path, written, read, &mut texts))
            .collect();
        join_in(found, file, sources, &mut others);
    }
    texts
}

/// The names of a file that are not declared.
fn missing(found: &[Diagnostic], file: FileId, sources: &SourceMap) -> BTreeSet<(Sort, String)> {
    found.iter().filter_map(|finding| undeclared(finding, file, sources)).collect()
}

/// The name that a finding of this file says is not declared.
fn undeclared(finding: &Diagnostic, file: FileId, sources: &SourceMap) -> Option<(Sort, String)> {
    let (sort, span) = wanted(finding).filter(|(_, span)| span.file == file)?;
    Some((sort, sources.slice(span).to_owned()))
}

/// What a finding says is not declared, and where that is named.
fn wanted(finding: &Diagnostic) -> Option<(Sort, Span)> {
    let (_, sort) = UNDECLARED.iter().find(|(code, _)| *code == finding.code)?;
    Some((*sort, finding.span()?))
}

/// The files in the folders of a file and of what it imports, that were not read: each with what an import writes.
fn neighbours(
    file: &LoadedFile,
    files: &[LoadedFile],
    sources: &SourceMap,
    list: List<'_>,
) -> Vec<(PathBuf, String)> {
    let known: HashSet<PathBuf> = files.iter().map(|file| normal(sources.path(file.file))).collect();
    let own = sources.path(file.file).parent().unwrap_or(Path::new(""));
    let imported = file.tree.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Import(name) => Some(name.text.rsplit_once('/').map_or("", |(folder, _)| folder)),
        _ => None,
    });
    let folders: BTreeSet<&str> = imported.chain([""]).collect();
    let mut others = Vec::new();
    for folder in folders {
        let mut names: Vec<String> = list(&own.join(folder))
            .iter()
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .filter(|name| name.ends_with(".session") && !name.contains(['"', '\\']))
            .collect();
        names.sort();
        others.extend(names.into_iter().filter_map(|name| {
            let written = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let path = own.join(&written);
            (!known.contains(&normal(&path))).then_some((path, written))
        }));
    }
    others
}

/// What a file declares; nothing for a protocol of its own, which has roles.
fn declared(
    path: PathBuf,
    written: String,
    read: Read<'_>,
    texts: &mut BTreeMap<PathBuf, Vec<u8>>,
) -> Option<Neighbour> {
    let bytes = read(&path).ok().filter(|bytes| bytes.len() <= LONGEST_READ)?;
    let mut sources = SourceMap::new();
    let (file, _) = sources.add_bytes(&path, bytes.clone());
    let (tree, _) = parser::parse(&sources, file);
    if tree.items.iter().any(|item| matches!(item.kind, ItemKind::Role { .. })) {
        return None;
    }
    let declares = tree.items.iter().flat_map(names).collect();
    texts.insert(path, bytes);
    Some(Neighbour { written, declares })
}

/// The names that an item declares.
fn names(item: &Item) -> Vec<(Sort, String)> {
    let (sort, names) = match &item.kind {
        ItemKind::Request(request) => {
            let replies = request.replies.iter().map(|reply| reply.name.text.clone());
            let own = [request.name.text.clone(), format!("{}Error", request.name.text)];
            (Sort::Message, replies.chain(own).collect())
        }
        ItemKind::Notification(notification) => (Sort::Message, vec![notification.name.text.clone()]),
        ItemKind::Group { name, .. } => (Sort::Message, vec![name.text.clone()]),
        ItemKind::Shape { name, .. } => (Sort::Shape, vec![name.text.clone()]),
        ItemKind::Definition { role: None, name, .. } => (Sort::Definition, vec![name.text.clone()]),
        _ => return Vec::new(),
    };
    names.into_iter().map(|name| (sort, name)).collect()
}

/// Joins the findings of one file; the file that declares most of the names goes first.
fn join_in(found: &mut Vec<Diagnostic>, file: &LoadedFile, sources: &SourceMap, others: &mut Vec<Neighbour>) {
    loop {
        let missing = missing(found, file.file, sources);
        let counted = others.iter().enumerate().map(|(index, other)| {
            let count = missing.iter().filter(|name| other.declares.contains(*name)).count();
            (count, Reverse(index))
        });
        let Some((_, Reverse(index))) = counted.filter(|(count, _)| *count > 0).max() else { return };
        let other = others.remove(index);
        let is_its = |finding: &Diagnostic| {
            undeclared(finding, file.file, sources).is_some_and(|name| other.declares.contains(&name))
        };
        let mut its: Vec<Diagnostic> = found.extract_if(.., |finding| is_its(finding)).collect();
        // That a type's module is missing says less.
        its.sort_by_key(|finding| (finding.code == declarations::NO_TYPES, finding.span()));
        let names: Vec<(&str, u32)> = its
            .iter()
            .filter_map(Diagnostic::span)
            .map(|span| (sources.slice(span), sources.line_number(span.file, span.start)))
            .collect();
        let import = import(&file.tree.items, file.file, &other.written, sources);
        found.extend(its.into_iter().next().map(|first| imports::forgotten(first, &names, import)));
    }
}

/// An import of a file: behind the last one, or else behind the items that stand before imports.
fn import(items: &[Item], file: FileId, written: &str, sources: &SourceMap) -> Edit {
    let import = format!("import \"{written}\"");
    let last = |wanted: fn(&ItemKind) -> bool| items.iter().rfind(|item| wanted(&item.kind));
    let before = last(|kind| matches!(kind, ItemKind::Import(_)))
        .or_else(|| last(|kind| matches!(kind, ItemKind::Protocol { .. } | ItemKind::Types(_))));
    let Some(before) = before else {
        // The comment before the first item may document it.
        return Edit::before(Span { file, start: 0, end: 0 }, format!("{import}\n\n"));
    };
    let line = sources.line(file, sources.line_number(file, before.span.end));
    let behind = sources.slice(Span { start: before.span.end, ..line }).trim();
    match behind.is_empty() || behind.starts_with("--") {
        true => Edit::after(line, format!("\n{import}")),
        false => Edit::after(before.span, format!("\n{import}\n")),
    }
}
