//! From a text to everything the tests need: the tables by the real compiler, and the tree that it read.

use std::collections::HashSet;
use std::path::Path;

use mcp_protocol_compiler::diagnostic::render::{Style, render_all};
use mcp_protocol_compiler::generate::machine;
use mcp_protocol_compiler::resolve::{Resolution, load, resolve};
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::compile;
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
        let mut read = |_: &Path| Ok(text.as_bytes().to_vec());
        let compilation = compile(Path::new("random.session"), &mut read).unwrap();
        let Some(compiled) = &compilation.protocol else {
            return Err(render_all(&compilation.sources, &compilation.diagnostics, Style::Plain));
        };
        let mut findings = Vec::new();
        let files =
            load::load(Path::new("random.session"), &mut read, &mut SourceMap::new(), &mut findings).unwrap();
        let resolution = resolve(&files, &mut findings);
        Ok(Source { text: text.to_owned(), protocol: machine(compiled), resolution })
    }

    /// What closing the diamond adds somewhere in a role.
    pub(crate) fn added(&self, side: Side) -> HashSet<(Direction, MessageIndex)> {
        let role = self.protocol.role(side).unwrap();
        let edges = role.states.iter().flat_map(|state| state.edges.iter());
        let added = edges.filter(|edge| edge.origin == Origin::Closure);
        added.map(|edge| (edge.direction, edge.message)).collect()
    }
}
