//! The whole front of the compiler in one call: a file's path in, a checked protocol or diagnostics out.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use mcp_protocol_machine::protocol::Side;

use crate::automaton::{Automaton, Built, Lowered};
use crate::checks::{
    alternatives, announcements, cancels, during, gates, messages, names, pages, read_otherwise, shapes,
    unused,
};
use crate::compiled::Compiled;
use crate::consequences::{self, Unread};
use crate::declarations::Resolution;
use crate::diagnostic::{Diagnostic, has_errors, limit, repeats};
use crate::edits;
use crate::forgotten::{self, List};
use crate::generate::{self, stubs::Outline};
use crate::lexer;
use crate::parser;
use crate::peer_hint;
use crate::relation::{self, Wanted};
use crate::resolve::{self, load};
use crate::source::SourceMap;
use crate::tried;

/// What compiling gives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compilation {
    /// Every file that was read.
    pub sources: SourceMap,
    /// Every finding, errors first in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The protocol; `None` iff there is an error other than those of [`Settings::for_code`].
    pub protocol: Option<Compiled>,
    /// The names that are known even where something is wrong.
    #[doc(hidden)]
    pub outline: Outline,
}

impl Compilation {
    /// Whether nothing may be generated.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}

/// What the compiler is asked for beyond its usual work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    without_closure: bool,
    for_code: bool,
    sketches: bool,
    tries: Tries,
    most_products: Option<usize>,
}

/// When suggestions are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tries {
    #[default]
    Always,
    IfWrong,
    Never,
}

impl Settings {
    /// Does not close the diamond, so that every race of the text itself is an error.
    #[must_use]
    pub fn without_closure(self, without: bool) -> Settings {
        Settings { without_closure: without, ..self }
    }

    /// Finds, too, what keeps a sound protocol from being generated.
    #[must_use]
    pub fn for_code(self, for_code: bool) -> Settings {
        Settings { for_code, ..self }
    }

    /// Accepts a file that declares no message, though no code can be generated from it.
    #[must_use]
    pub fn sketches(self, sketches: bool) -> Settings {
        Settings { sketches, ..self }
    }

    /// Does not try suggestions, as if the files were long: for a caller that asks what is wrong and does not apply edits.
    /// To try a suggestion is to compile once more.
    #[must_use]
    pub fn without_tries(self, without: bool) -> Settings {
        Settings { tries: if without { Tries::Never } else { Tries::Always }, ..self }
    }

    /// Looks at no more than so many combinations of the states of channels: a test reaches the limit with less work.
    #[doc(hidden)]
    #[must_use]
    pub fn with_most_products(self, most: usize) -> Settings {
        Settings { most_products: Some(most), ..self }
    }

    /// Tries suggestions only if there are errors.
    pub(crate) fn tries_if_wrong(self) -> Settings {
        Settings { tries: Tries::IfWrong, ..self }
    }

    /// Whether the suggestions of these findings are tried.
    fn tries(self, found: &[Diagnostic]) -> bool {
        match self.tries {
            Tries::Always => true,
            Tries::IfWrong => has_errors(found),
            Tries::Never => false,
        }
    }
}

/// Compiles a file and everything it imports. `read` gives the bytes of a file by its path.
///
/// ```
/// # use std::{io, path::Path};
/// let text = "client Teller\nserver Counter = dual Teller\nTeller = !Add . ?Sum . End\n";
/// let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = mcp_protocol_compiler::compile(Path::new("counter.session"), &mut read)?;
/// assert!(compilation.protocol.is_some());
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// If the first file cannot be read. Whatever is wrong inside is in [`Compilation::diagnostics`].
pub fn compile(entry: &Path, read: load::Read<'_>) -> io::Result<Compilation> {
    compile_with(entry, read, Settings::default())
}

/// Compiles as [`compile`] does, with settings.
///
/// ```
/// # use std::{io, path::Path};
/// let text = "client Teller\nserver Counter = dual Teller\nTeller = !Add . ?Sum . End\n";
/// let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// use mcp_protocol_compiler::{Settings, compile_with};
///
/// let settings = Settings::default().without_closure(true);
/// let compilation = compile_with(Path::new("counter.session"), &mut read, settings)?;
/// assert!(!compilation.has_errors());
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// If the first file cannot be read.
pub fn compile_with(entry: &Path, read: load::Read<'_>, settings: Settings) -> io::Result<Compilation> {
    compile_among(entry, read, &mut |_| Vec::new(), settings)
}

/// Compiles as [`compile_with`] does. Where names are not declared, the findings say which file to import: one of those
/// that `list` returns for the folder of the file and for those of its imports.
///
/// ```
/// # use std::{io, path::{Path, PathBuf}};
/// use mcp_protocol_compiler::{Settings, compile_among};
///
/// let mut read = |path: &Path| -> io::Result<Vec<u8>> {
///     Ok(match path.to_str() {
///         Some("messages.session") => "request Add \"add\" -> Sum\n",
///         _ => "client Teller\nserver Counter = dual Teller\nnotification Hi \"hi\"\nTeller = !Hi . !Add . ?Sum . End\n",
///     }.as_bytes().to_vec())
/// };
/// let mut list = |_: &Path| vec![PathBuf::from("messages.session")];
/// let found = compile_among(Path::new("counter.session"), &mut read, &mut list, Settings::default())?;
/// assert_eq!(found.diagnostics.len(), 1);
/// assert!(found.diagnostics[0].helps[0].starts_with("write `import \"messages.session\"`"));
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// If the first file cannot be read.
pub fn compile_among(
    entry: &Path,
    read: load::Read<'_>,
    list: &mut dyn FnMut(&Path) -> Vec<PathBuf>,
    settings: Settings,
) -> io::Result<Compilation> {
    compile_next(SourceMap::new(), entry, read, list, settings)
}

/// Compiles a file next to others that were read before, so that one finding can point into all of them.
pub(crate) fn compile_next(
    sources: SourceMap,
    entry: &Path,
    read: load::Read<'_>,
    list: List<'_>,
    settings: Settings,
) -> io::Result<Compilation> {
    let (mut compilation, resolution, files) = compile_once(sources, entry, read, settings)?;
    let Compilation { sources, diagnostics, .. } = &mut compilation;
    let neighbours = forgotten::join(diagnostics, &files, sources, list, read);
    if !neighbours.is_empty() {
        arrange(diagnostics, sources);
    }
    edits::place(diagnostics, &files, sources, &resolution);
    let tries = settings.tries(diagnostics);
    tried::keep_what_mends(diagnostics, sources, &resolution, tries, |suggestion, of_text| {
        let mut read = |path: &Path| {
            let file = sources.files().find(|file| sources.path(*file) == path);
            match (file, neighbours.get(path)) {
                (Some(file), _) => Ok(suggestion.apply(file, sources.text(file)).into_bytes()),
                (None, Some(bytes)) => Ok(bytes.clone()),
                (None, None) => Err(io::ErrorKind::NotFound.into()),
            }
        };
        let again = SourceMap::new();
        // The first file was read before, and is read again from what is in memory.
        match of_text {
            true => read_once(again, entry, &mut read),
            false => compile_once(again, entry, &mut read, settings).map(|(again, ..)| again.diagnostics),
        }
        .ok()
    });
    limit::limit(&mut compilation.diagnostics);
    Ok(compilation)
}

/// What is wrong with the text of the files, without what it says.
fn read_once(mut sources: SourceMap, entry: &Path, read: load::Read<'_>) -> io::Result<Vec<Diagnostic>> {
    let mut found = Vec::new();
    load::load(entry, read, &mut sources, &mut found)?;
    arrange(&mut found, &sources);
    Ok(found)
}

fn arrange(found: &mut Vec<Diagnostic>, sources: &SourceMap) {
    repeats::arrange(found, sources, &[lexer::UNKNOWN_CHARACTER, parser::RESERVED_WORD]);
}

/// Compiles without trying suggestions out, and without leaving out findings.
fn compile_once(
    mut sources: SourceMap,
    entry: &Path,
    read: load::Read<'_>,
    settings: Settings,
) -> io::Result<(Compilation, Resolution, Vec<load::LoadedFile>)> {
    let mut found = Vec::new();
    let files = load::load(entry, read, &mut sources, &mut found)?;
    let unread = Unread::of(&found, &sources);
    let resolution = resolve::resolve(&files, &mut found);
    let protocol = check(&resolution, settings, &mut found).filter(|_| !has_errors(&found));
    let is_sketch = settings.sketches && resolution.declarations.bare();
    if settings.for_code && !is_sketch {
        found.extend(protocol.iter().flat_map(generate::check));
    }
    consequences::withhold(&mut found, unread.as_ref(), &sources);
    arrange(&mut found, &sources);
    let outline = outline(&resolution);
    Ok((Compilation { sources, diagnostics: found, protocol, outline }, resolution, files))
}

/// Checks the declarations; builds, relates and closes the machines, and checks these. `None` iff there is an error.
fn check(resolution: &Resolution, settings: Settings, found: &mut Vec<Diagnostic>) -> Option<Compiled> {
    let declarations = &resolution.declarations;
    found.extend(messages::check(declarations));
    found.extend(cancels::check(declarations));
    found.extend(alternatives::check(declarations));
    found.extend(pages::check(declarations));
    found.extend(shapes::check(declarations));
    let lowered = Lowered::new(resolution);
    found.extend(lowered.unreached());
    let (mut client, mut server) = (lowered.build(Side::Client), lowered.build(Side::Server));
    // What is wrong with one role alone is often a name that the other role has right.
    let is_sound = |built: &Option<Built>| built.as_ref().map(|built| built.automaton.is_some());
    let alone = match (is_sound(&client), is_sound(&server)) {
        (Some(false), Some(true)) => client.as_mut().map(|built| (Side::Client, built)),
        (Some(true), Some(false)) => server.as_mut().map(|built| (Side::Server, built)),
        _ => None,
    };
    if let Some((side, built)) = alone {
        peer_hint::point_at(&mut built.found, &lowered.compare(side), side.other());
    }
    let parts =
        |built: Option<Built>| built.map_or_else(Default::default, |built| (built.automaton, built.found));
    let ((mut client, of_client), (mut server, of_server)) = (parts(client), parts(server));
    found.extend(consequences::of_one_text(resolution, of_client, of_server));
    if let (Some(client), Some(server)) = (&mut client, &mut server) {
        found.extend(relate(&lowered, client, server, settings));
    }
    if has_errors(found) {
        return None;
    }
    let compiled = Compiled::new(declarations.clone(), client, server);
    found.extend(announcements::check(&compiled));
    found.extend(gates::check(&compiled));
    found.extend(during::check(&compiled));
    found.extend(read_otherwise::check(&compiled));
    if let Some(role) = resolution.roles.first() {
        found.extend(unused::check(&compiled, role.name.span.file));
    }
    found.extend(names::check(&compiled.plan));
    Some(compiled).filter(|_| !has_errors(found))
}

/// Relates the roles as they are written, for closing makes different roles equal; then closes them, and looks for
/// races that are left.
fn relate(
    lowered: &Lowered<'_>,
    client: &mut Automaton,
    server: &mut Automaton,
    settings: Settings,
) -> Vec<Diagnostic> {
    let resolution = lowered.resolution();
    let messages = &resolution.declarations.messages;
    let compatible = resolution.roles.iter().any(|role| role.compatible.is_some());
    let wanted = if compatible { Wanted::Compatible } else { Wanted::Dual };
    let most_products = settings.most_products.unwrap_or(relation::PRODUCT_LIMIT);
    let mut found = relation::relate(client, server, messages, wanted, most_products);
    if !found.is_empty() {
        let comparison = lowered.compare(Side::Client);
        found.iter_mut().for_each(|finding| peer_hint::name_both(finding, &comparison));
        return found;
    }
    if settings.without_closure {
        found.extend(relation::races(client, server, messages));
        found.extend(relation::closing_races(client, server, messages));
        return found;
    }
    let crossings = relation::close(client, server, messages);
    let races = crossings.races(messages);
    found.extend(crossings.receive(client, server, messages).diagnostics);
    found.extend(races);
    found
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
    let declared = resolution.declarations.shapes.iter().filter(|shape| !shape.is_built_in());
    Outline {
        protocol: resolution.declarations.name.as_ref().map(|name| name.text.clone()),
        roles: resolution.roles.iter().map(|role| (role.side, role.name.text.clone())).collect(),
        states: definitions,
        messages: resolution.declarations.messages.clone(),
        shapes: declared.map(|shape| shape.name.text.clone()).collect(),
    }
}
