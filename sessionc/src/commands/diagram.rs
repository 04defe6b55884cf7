//! `sessionc diagram`: the state machine of a role, drawn or as data.

use mcp_protocol_compiler::diagram::Diagram;
use mcp_protocol_compiler::generate;
use mcp_protocol_machine::protocol::Side;

use crate::arguments::{self, DiagramFormat, FindingFormat, RoleChoice};
use crate::end::End;
use crate::files::{Failure, compile_file, print_findings};
use crate::machine_json::{self, MachinePart};
use crate::print::{print, print_json};
use crate::protocol::without_role;
use crate::report::{Channel, Report};

/// Prints one diagram.
pub(crate) fn run(arguments: &arguments::Diagram) -> Result<End, Failure> {
    let compilation = compile_file(&arguments.file)?;
    let Some(compiled) = &compilation.protocol else {
        let format = match arguments.format {
            DiagramFormat::Json => FindingFormat::Json,
            DiagramFormat::Mermaid | DiagramFormat::Dot | DiagramFormat::Svg => FindingFormat::Text,
        };
        Report::new(format, Channel::Err).diagnostics(&compilation.sources, &compilation.diagnostics)?;
        return Ok(End::Findings);
    };
    // What is printed is the drawing, so warnings do not stand in between.
    print_findings(&compilation);
    let side = match arguments.role {
        RoleChoice::Client => Side::Client,
        RoleChoice::Server => Side::Server,
    };
    let Some(mut diagram) = Diagram::of(compiled, side) else {
        return Err(Failure::NoRoleToDraw(Box::new(without_role(&arguments.file, side))));
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
        DiagramFormat::Json => {
            let part = MachinePart { start: diagram.start(), refusals: !arguments.without_refusals };
            print_json(&machine_json::of(&generate::machine(compiled), side, part))?;
            return Ok(End::Clean);
        }
    };
    print(text)?;
    Ok(End::Clean)
}
