//! `sessionc diagram`: the state machine of a role, drawn.

use mcp_protocol_compiler::diagram;

use crate::End;
use crate::arguments::{Diagram, DiagramFormat, RoleChoice};
use crate::files::{Failure, compile_file, print_findings};

/// Prints one diagram.
pub(crate) fn run(arguments: &Diagram) -> Result<End, Failure> {
    let compilation = compile_file(&arguments.file)?;
    print_findings(&compilation);
    let Some(compiled) = &compilation.protocol else { return Ok(End::Findings) };
    let (automaton, word) = match arguments.role {
        RoleChoice::Client => (&compiled.client, "client"),
        RoleChoice::Server => (&compiled.server, "server"),
    };
    let Some(automaton) = automaton else { return Err(Failure::NoRole(arguments.file.clone(), word)) };
    let messages = &compiled.declarations.messages;
    let text = match arguments.format {
        DiagramFormat::Mermaid => diagram::mermaid(automaton, messages),
        DiagramFormat::Dot => diagram::dot(automaton, messages),
        DiagramFormat::Svg => diagram::svg(automaton, messages),
    };
    print!("{text}");
    Ok(End::Clean)
}
