//! `sessionc diagram`: the state machine of a role, drawn.

use mcp_protocol_compiler::diagram::Diagram;
use mcp_protocol_machine::protocol::Side;

use crate::arguments::{self, DiagramFormat, RoleChoice};
use crate::end::End;
use crate::files::{Failure, compile_file, print_findings};
use crate::print::print;

/// Prints one diagram.
pub(crate) fn run(arguments: &arguments::Diagram) -> Result<End, Failure> {
    let compilation = compile_file(&arguments.file)?;
    print_findings(&compilation);
    let Some(compiled) = &compilation.protocol else { return Ok(End::Findings) };
    let (side, word) = match arguments.role {
        RoleChoice::Client => (Side::Client, "client"),
        RoleChoice::Server => (Side::Server, "server"),
    };
    let Some(mut diagram) = Diagram::of(compiled, side) else {
        return Err(Failure::NoRole(arguments.file.clone(), word));
    };
    if let Some(name) = &arguments.definition {
        let unknown = || {
            let known = diagram.state_names().map(str::to_owned).collect();
            Failure::NoState(diagram.role().to_owned(), name.clone(), known)
        };
        diagram = diagram.definition(name).ok_or_else(unknown)?;
    }
    if arguments.without_refusals {
        diagram = diagram.without_refusals();
    }
    let text = match arguments.format {
        DiagramFormat::Mermaid => diagram.mermaid(),
        DiagramFormat::Dot => diagram.dot(),
        DiagramFormat::Svg => diagram.svg(),
    };
    print(text)?;
    Ok(End::Clean)
}
