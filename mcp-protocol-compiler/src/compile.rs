//! The whole front of the compiler in one call: a file's path in, a checked protocol or diagnostics out.
//!
//! In: the first file's path and a function that reads files. Out: a [`Compilation`]. Refuses to print, to generate,
//! and to read anything by itself.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use mcp_protocol_machine::protocol::Side;

use crate::automaton::{self, Automaton};
use crate::checks::{
    alternatives, announcements, channels, declarations, gates, names, other_side, replies, unused,
};
use crate::diagnostic::{Diagnostic, Severity, findings, repeats};
use crate::edits;
use crate::generate::stubs::Outline;
use crate::lexer;
use crate::parser;
use crate::relation::{self, Wanted};
use crate::resolve::{self, Declarations, Definition, Resolution, load};
use crate::source::{FileId, SourceMap, Span};
use crate::tried;

/// What compiling gives.
#[derive(Debug)]
pub struct Compilation {
    /// Every file that was read.
    pub sources: SourceMap,
    /// Every finding, errors first in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The protocol; `None` iff there is an error.
    pub protocol: Option<Compiled>,
    /// What is known even where something is wrong.
    pub outline: Outline,
}

impl Compilation {
    /// Whether nothing may be generated.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}

/// A protocol without errors.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Messages, gates, announcements.
    pub declarations: Declarations,
    /// The machine of the role declared with `client`.
    pub client: Option<Automaton>,
    /// The machine of the role declared with `server`.
    pub server: Option<Automaton>,
}

/// What may be asked of the compiler beside its usual work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Does not close the diamond, so that every race of the text itself is an error.
    pub without_closure: bool,
}

/// Compiles a file and everything it imports.
///
/// Fails only if the first file cannot be read; whatever is wrong inside is in [`Compilation::diagnostics`].
pub fn compile(entry: &Path, read: load::Read<'_>) -> io::Result<Compilation> {
    compile_with(entry, read, Settings::default())
}

/// Compiles as [`compile`] does, with settings.
pub fn compile_with(entry: &Path, read: load::Read<'_>, settings: Settings) -> io::Result<Compilation> {
    let (mut compilation, resolution, files) = compile_once(entry, read, settings)?;
    let Compilation { sources, diagnostics, .. } = &mut compilation;
    edits::place(diagnostics, &files, sources, &resolution);
    tried::keep_what_mends(diagnostics, sources, &resolution, |suggestion| {
        let mut read = |path: &Path| {
            let file = sources.files().find(|file| sources.path(*file) == path);
            let file = file.ok_or(io::Error::from(io::ErrorKind::NotFound))?;
            Ok(suggestion.apply(file, sources.text(file)).into_bytes())
        };
        // The first file was read before, and is read again from what is in memory.
        compile_once(entry, &mut read, settings).ok().map(|(again, ..)| again.diagnostics)
    });
    findings::limit(&mut compilation.diagnostics);
    Ok(compilation)
}

/// Compiles without trying suggestions out, and without leaving out findings.
fn compile_once(
    entry: &Path,
    read: load::Read<'_>,
    settings: Settings,
) -> io::Result<(Compilation, Resolution, Vec<load::LoadedFile>)> {
    let mut sources = SourceMap::new();
    let mut diagnostics = Vec::new();
    let files = load::load(entry, read, &mut sources, &mut diagnostics)?;
    let garbled_lines: Option<HashSet<_>> = has_errors(&diagnostics)
        .then(|| diagnostics.iter().flat_map(|found| lines(found, &sources)).collect());
    let resolution = resolve::resolve(&files, &mut diagnostics);
    let protocol = check(&resolution, settings, &mut diagnostics);
    if let Some(garbled_lines) = &garbled_lines {
        without_consequences(&mut diagnostics, &sources, garbled_lines);
    }
    if has_errors(&diagnostics) {
        // What seems unused may only be waiting for something else to be mended.
        let undeclared =
            diagnostics.iter().any(|diagnostic| diagnostic.code == declarations::UNDEFINED_MESSAGE);
        diagnostics.retain(|diagnostic| match diagnostic.code {
            declarations::UNUSED_DEFINITION | relation::CLOSED => false,
            // What a name that nothing declares would have asked for, or tied.
            replies::WITHOUT_REQUEST | channels::UNTIED_STEP => !undeclared,
            _ => true,
        });
    }
    let mut seen = HashSet::new();
    diagnostics.retain(|diagnostic| {
        let place = diagnostic.labels.first().map(|label| label.span);
        seen.insert((diagnostic.code, place, diagnostic.message.clone()))
    });
    diagnostics.sort_by_key(|diagnostic| {
        let place = diagnostic.labels.first().map(|label| label.span);
        (std::cmp::Reverse(diagnostic.severity), place)
    });
    repeats::join(&mut diagnostics, &sources, lexer::UNKNOWN_CHARACTER);
    repeats::join(&mut diagnostics, &sources, parser::RESERVED_WORD);
    let failed = has_errors(&diagnostics);
    let outline = outline(&resolution);
    let compilation = Compilation { sources, diagnostics, protocol: protocol.filter(|_| !failed), outline };
    Ok((compilation, resolution, files))
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// The lines that a finding is about.
fn lines(diagnostic: &Diagnostic, sources: &SourceMap) -> impl Iterator<Item = (FileId, u32)> {
    let line = |span: Span| (span.file, sources.line_number(span.file, span.start));
    diagnostic.labels.iter().map(move |label| line(label.span))
}

/// Drops what is only there because something else could not be read: a name whose declaration is garbled, and
/// everything that is said of names where a whole file is missing.
fn without_consequences(
    diagnostics: &mut Vec<Diagnostic>,
    sources: &SourceMap,
    garbled_lines: &HashSet<(FileId, u32)>,
) {
    let garbled = resolve::garbled::names(sources);
    let file_is_missing = diagnostics
        .iter()
        .any(|diagnostic| matches!(diagnostic.code, load::UNREADABLE_IMPORT | load::CYCLIC_IMPORT));
    diagnostics.retain(|diagnostic| match diagnostic.code {
        declarations::UNKNOWN_ROLE => false,
        // What a declaration says is known once all of it can be read.
        alternatives::NOT_TOLD_APART | alternatives::NOT_ACCEPTED | declarations::NO_TYPES => {
            !lines(diagnostic, sources).any(|line| garbled_lines.contains(&line))
        }
        declarations::UNDEFINED_MESSAGE
        | declarations::UNDEFINED_DEFINITION
        | declarations::BAD_GROUP
        | declarations::BAD_OVERRIDE
            if file_is_missing =>
        {
            false
        }
        declarations::UNDEFINED_MESSAGE | declarations::UNDEFINED_DEFINITION | declarations::BAD_GROUP => {
            let named = diagnostic.labels.first().map(|label| sources.slice(label.span));
            named.is_none_or(|name| !garbled.contains(name))
        }
        _ => true,
    });
}

/// Builds, relates and closes the machines.
fn check(resolution: &Resolution, settings: Settings, diagnostics: &mut Vec<Diagnostic>) -> Option<Compiled> {
    automaton::check_definitions(resolution, diagnostics);
    let build = |side: Side| {
        let mut found = Vec::new();
        let role = resolution.role(side)?;
        Some((automaton::build(resolution, role, &mut found), found))
    };
    let (mut client, mut from_client) = build(Side::Client).unzip();
    let (mut server, mut from_server) = build(Side::Server).unzip();
    // What a role written as the dual of the other would add has `!` and `?` turned round, as they stand nowhere.
    let is_dual = |side: Side| {
        let role = resolution.roles.iter().find(|role| role.side == side);
        let index = role.and_then(|role| resolution.definition(&role.name.text, side));
        index.and_then(|index| resolution.definitions.get(index)).is_some_and(Definition::is_dual)
    };
    let wrong = |found: &Option<Vec<Diagnostic>>| found.as_ref().is_some_and(|found| has_errors(found));
    if is_dual(Side::Server) && wrong(&from_client) {
        from_server = None;
    } else if is_dual(Side::Client) && wrong(&from_server) {
        from_client = None;
    }
    // What is wrong with one role alone is often a name that the other role has right.
    let aside = |found: &mut Option<Vec<Diagnostic>>, side: Side| {
        let comparison = automaton::compare(resolution, side);
        *found = found.take().map(|found| other_side::point_at(found, &comparison, side.other()));
    };
    match (&client, &server) {
        (Some(None), Some(Some(_))) => aside(&mut from_client, Side::Client),
        (Some(Some(_)), Some(None)) => aside(&mut from_server, Side::Server),
        _ => {}
    }
    // A role that is the dual of the other repeats its mistakes with `!` and `?` turned round.
    let place = |found: &Diagnostic| (found.code, found.labels.first().map(|label| label.span));
    let known: HashSet<_> = from_client.iter().flatten().map(place).collect();
    let news = from_server.into_iter().flatten().filter(|found| !known.contains(&place(found)));
    diagnostics.extend(news);
    diagnostics.extend(from_client.into_iter().flatten());
    let declarations = resolution.declarations.clone();
    if let (Some(Some(client)), Some(Some(server))) = (&mut client, &mut server) {
        let compatible = resolution.roles.iter().any(|role| role.compatible.is_some());
        let wanted = if compatible { Wanted::Compatible } else { Wanted::Dual };
        // The roles are related as they are written; closing first would make different roles equal.
        let mut found = relation::relate(client, server, &declarations.messages, wanted);
        if found.is_empty() {
            if !settings.without_closure {
                found.extend(relation::close(client, server, &declarations.messages).diagnostics);
            }
            found.extend(relation::races(client, server, &declarations.messages));
            if settings.without_closure {
                found.extend(relation::closing_races(client, server, &declarations.messages));
            }
        } else {
            let comparison = automaton::compare(resolution, Side::Client);
            found.iter_mut().for_each(|finding| other_side::name_both(finding, &comparison));
        }
        diagnostics.append(&mut found);
    }
    // A role that is declared and could not be built has its errors in the list already.
    let compiled = Compiled { declarations, client: client.flatten(), server: server.flatten() };
    if !has_errors(diagnostics) {
        let mut found = announcements::check(&compiled);
        if found.is_empty() {
            found = gates::check(&compiled);
        }
        diagnostics.extend(found);
        // What only an unused definition says is that definition's fault.
        let all_used = !diagnostics.iter().any(|found| found.code == declarations::UNUSED_DEFINITION);
        if let Some(role) = resolution.roles.first().filter(|_| all_used) {
            diagnostics.extend(unused::check(&compiled, role.name.span.file));
        }
        diagnostics.extend(names::check(&compiled));
    }
    Some(compiled)
}

fn outline(resolution: &Resolution) -> Outline {
    let mut seen = HashSet::new();
    let definitions = resolution
        .definitions
        .iter()
        .map(|definition| &definition.name.text)
        .filter(|name| !resolution.is_role(name) && seen.insert(name.as_str()))
        .cloned()
        .collect();
    Outline {
        protocol: resolution.declarations.name.as_ref().map(|name| name.text.clone()),
        roles: resolution.roles.iter().map(|role| (role.side, role.name.text.clone())).collect(),
        states: definitions,
        messages: resolution.declarations.messages.clone(),
    }
}
