//! `sessionc expand`: the generated code, to be read or checked in.

use std::fs;

use mcp_protocol_compiler::generate;

use crate::End;
use crate::arguments::Expand;
use crate::files::{Failure, compile_file, print_findings};

/// Prints, writes or compares the code of one file.
pub(crate) fn run(arguments: &Expand) -> Result<End, Failure> {
    let mut compilation = compile_file(&arguments.file)?;
    if let Some(compiled) = &compilation.protocol {
        let found = generate::check(compiled);
        compilation.diagnostics.extend(found);
    }
    print_findings(&compilation);
    let Some(compiled) = compilation.protocol.as_ref().filter(|_| !compilation.has_errors()) else {
        return Ok(End::Findings);
    };
    let code = generate::expand(compiled, &compilation.sources)
        .map_err(|error| Failure::Code(arguments.file.clone(), error.to_string()))?;
    match &arguments.output {
        None => print!("{code}"),
        Some(output) if arguments.check => {
            let there = fs::read_to_string(output).map_err(|error| Failure::Read(output.clone(), error))?;
            if there != code {
                eprintln!(
                    "`{}` is not what `{}` expands to: run `sessionc expand {} -o {}`",
                    output.display(),
                    arguments.file.display(),
                    arguments.file.display(),
                    output.display()
                );
                return Ok(End::Findings);
            }
        }
        Some(output) => {
            fs::write(output, code).map_err(|error| Failure::Write(output.clone(), error))?;
        }
    }
    Ok(End::Clean)
}
