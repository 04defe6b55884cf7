//! `sessionc expand`: the generated code, to be read or checked in.

use std::fs;
use std::path::Path;

use mcp_protocol_compiler::generate::{self, Placement};
use similar::TextDiff;

use crate::arguments::Expand;
use crate::end::End;
use crate::files::{Failure, compile_file, print_findings};

/// Prints, writes or compares the code of one file.
pub(crate) fn run(arguments: &Expand) -> Result<End, Failure> {
    let mut compilation = compile_file(&arguments.file)?;
    compilation.check_code();
    print_findings(&compilation);
    let Some(compiled) = compilation.protocol.as_ref().filter(|_| !compilation.has_errors()) else {
        return Ok(End::Findings);
    };
    let code = match arguments.signatures {
        true => generate::signatures(compiled, &compilation.sources),
        false => generate::expand(compiled, &compilation.sources, &placement(arguments)),
    };
    let code = code.map_err(|error| Failure::Code(arguments.file.clone(), error.to_string()))?;
    match &arguments.output {
        None => print!("{code}"),
        Some(output) if arguments.check => return compare(output, &code, arguments),
        Some(output) => {
            fs::write(output, code).map_err(|error| Failure::Write(output.clone(), error))?;
        }
    }
    Ok(End::Clean)
}

/// What the arguments say about the crate of the file.
fn placement(arguments: &Expand) -> Placement<'_> {
    Placement { feature: arguments.feature.as_deref(), shapes: arguments.shapes.as_deref() }
}

/// Compares a file with the code. Prints the difference, and the command that writes the file again.
fn compare(output: &Path, code: &str, arguments: &Expand) -> Result<End, Failure> {
    let there = fs::read_to_string(output).map_err(|error| Failure::Read(output.to_owned(), error))?;
    if there == code {
        return Ok(End::Clean);
    }
    let (old, new) = (output.display().to_string(), arguments.file.display().to_string());
    let difference = TextDiff::from_lines(there.as_str(), code);
    print!("{}", difference.unified_diff().context_radius(3).header(&old, &new));
    let signatures = if arguments.signatures { " --signatures" } else { "" };
    let Placement { feature, shapes } = placement(arguments);
    let feature = feature.map(|name| format!(" --feature {name}")).unwrap_or_default();
    let shapes = shapes.map(|path| format!(" --shapes {path}")).unwrap_or_default();
    eprintln!(
        "`{old}` is not what `{new}` expands to: run `sessionc expand {new} -o {old}{signatures}{feature}{shapes}`"
    );
    Ok(End::Findings)
}
