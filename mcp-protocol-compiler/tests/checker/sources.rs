//! From a text to everything the tests need: the tables by the real compiler, and the tree that it read.

use std::collections::HashSet;
use std::path::Path;

use mcp_protocol_compiler::declarations::Resolution;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::generate::machine;
use mcp_protocol_compiler::resolve::{load, resolve};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{Settings, compile_with};
use mcp_protocol_machine::protocol::{Direction, MessageIndex, Origin, Protocol, Side};

/// A compiled text.
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) protocol: Protocol,
    pub(crate) resolution: Resolution,
}

impl Source {
    /// Compiles a text; what the compiler refuses is given back as it says it.
    pub(crate) fn new(text: &str) -> Result<Source, String> {
        Source::read(Path::new("random.session"), &mut |_| Ok(text.as_bytes().to_vec()))
    }

    /// Compiles a file and what it imports.
    pub(crate) fn open(path: &Path) -> Result<Source, String> {
        Source::read(path, &mut |path| std::fs::read(path))
    }

    fn read(path: &Path, read: load::Read<'_>) -> Result<Source, String> {
        let compilation = compile_with(path, read, Settings::default().without_tries(true)).unwrap();
        let Some(compiled) = &compilation.protocol else {
            return Err(render_all(&compilation.sources, &compilation.diagnostics, Style::Plain));
        };
        let (mut sources, mut findings) = (SourceMap::new(), Vec::new());
        let files = load::load(path, read, &mut sources, &mut findings).unwrap();
        let resolution = resolve(&files, &mut findings);
        let text = sources.files().last().map(|file| sources.text(file).to_owned()).unwrap_or_default();
        let mut protocol = machine(compiled);
        // To the observer two exchanges with one id are a mistake. What else there may be, `reused_ids` looks at.
        protocol.reuses_ids = false;
        Ok(Source { text, protocol, resolution })
    }

    /// What closing the diamond adds somewhere, as a role sees it: each edge stands at the receiver.
    pub(crate) fn added(&self, side: Side) -> HashSet<(Direction, MessageIndex)> {
        let of = |role: Side| {
            let edges = self.protocol.role(role).unwrap().states.iter().flat_map(|state| state.edges.iter());
            let added = edges.filter(|edge| edge.origin == Origin::Closure);
            added.map(move |edge| {
                assert_eq!(edge.direction, Direction::Receive, "a sender got an edge");
                (if role == side { edge.direction } else { edge.direction.flip() }, edge.message)
            })
        };
        of(side).chain(of(side.other())).collect()
    }

    /// What a role accepts or sends and the other never does: where roles are compatible and not dual.
    pub(crate) fn foreign(&self, side: Side) -> HashSet<(Direction, MessageIndex)> {
        let edges = |side: Side| -> HashSet<(Direction, MessageIndex)> {
            let states = self.protocol.role(side).unwrap().states.iter();
            states.flat_map(|state| state.edges.iter()).map(|edge| (edge.direction, edge.message)).collect()
        };
        let others = edges(side.other());
        let known =
            |(direction, message): &(Direction, MessageIndex)| others.contains(&(direction.flip(), *message));
        edges(side).into_iter().filter(|edge| !known(edge)).collect()
    }
}
