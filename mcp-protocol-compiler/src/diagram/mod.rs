//! A role's state machine, drawn: Mermaid, Graphviz, or a picture of its own.
//!
//! Equal automata have equal diagrams, byte for byte.
//!
//! `picture` decides what is drawn, in whatever notation: a frame for the session and one for each sub-session. `order`
//! and `layout` place the boxes of a frame, `pack` the frames on the page, `ports` the ends of arrows on their boxes.

mod dot;
mod layout;
mod mermaid;
mod order;
mod pack;
mod picture;
mod ports;
mod svg;

#[cfg(test)]
mod tests;

use mcp_protocol_machine::protocol::{Side, StateIndex};

use crate::automaton::Automaton;
use crate::compiled::Compiled;
use crate::declarations::Declarations;
use picture::{Drawn, Picture};

/// A drawing of the state machine of one role.
///
/// ```
/// # use std::{io, path::Path};
/// use mcp_protocol_compiler::{compile, diagram::Diagram};
/// use mcp_protocol_machine::protocol::Side;
///
/// let text = "client Teller\nserver Counter = dual Teller\nTeller = !Add . ?Sum . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let protocol = compile(Path::new("counter.session"), &mut read)?.protocol.unwrap();
/// let client = Diagram::of(&protocol, Side::Client).unwrap();
/// let drawn = client.without_refusals().mermaid();
/// assert!(drawn.contains("!Add"));
/// # Ok::<(), io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Diagram<'a>(Drawn<'a>);

impl<'a> Diagram<'a> {
    /// A drawing of one role of a protocol; nothing if it is not declared.
    #[must_use]
    pub fn of(protocol: &'a Compiled, side: Side) -> Option<Diagram<'a>> {
        let automaton = match side {
            Side::Client => protocol.client.as_ref(),
            Side::Server => protocol.server.as_ref(),
        };
        automaton.map(|automaton| Diagram::new(automaton, &protocol.declarations))
    }

    /// A drawing of the whole machine.
    #[doc(hidden)]
    pub fn new(automaton: &'a Automaton, declarations: &'a Declarations) -> Diagram<'a> {
        Diagram(Drawn { automaton, declarations, start: StateIndex(0), refusals: true })
    }

    /// Leaves out refusals and cancels that the author did not write.
    #[must_use]
    pub fn without_refusals(self) -> Diagram<'a> {
        Diagram(Drawn { refusals: false, ..self.0 })
    }

    /// Draws only what can be reached from the state of a definition; nothing if no state has that name.
    ///
    /// The name is that of a definition, or one that [`state_names`](Diagram::state_names) lists.
    #[must_use]
    pub fn definition(self, name: &str) -> Option<Diagram<'a>> {
        let has_name = |state: &crate::automaton::State| {
            state.name == name || state.aliases.iter().any(|alias| alias == name)
        };
        let whole = self.0.automaton.name == name;
        let place = if whole { Some(0) } else { self.0.automaton.states.iter().position(has_name) };
        let start = StateIndex(u32::try_from(place?).ok()?);
        Some(Diagram(Drawn { start, ..self.0 }))
    }

    /// The role's name.
    pub fn role(&self) -> &'a str {
        &self.0.automaton.name
    }

    /// The names of all states, and of the definitions that stand for one.
    pub fn state_names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let names = |state: &'a crate::automaton::State| {
            std::iter::once(state.name.as_str()).chain(state.aliases.iter().map(String::as_str))
        };
        self.0.automaton.states.iter().flat_map(names)
    }

    /// The state that the drawing starts with: [`Role::START`](mcp_protocol_machine::protocol::Role::START), or that of
    /// the [`definition`](Diagram::definition).
    pub fn start(&self) -> StateIndex {
        self.0.start
    }

    /// The drawing in Mermaid's `stateDiagram-v2`, which Markdown viewers draw.
    pub fn mermaid(&self) -> String {
        mermaid::mermaid(&Picture::of(&self.0))
    }

    /// The drawing as a Graphviz `digraph`.
    pub fn dot(&self) -> String {
        dot::dot(&Picture::of(&self.0))
    }

    /// The drawing as an SVG document, 900 pixels wide unless one box or one row of boxes needs more.
    pub fn svg(&self) -> String {
        svg::svg(&Picture::of(&self.0))
    }
}
