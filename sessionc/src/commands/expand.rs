//! `sessionc expand`: the generated code, to be read or checked in.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use mcp_protocol_compiler::Settings;
use mcp_protocol_compiler::generate::{self, Placement};
use similar::TextDiff;

use crate::arguments::Expand;
use crate::end::End;
use crate::files::{Failure, compile_file, compile_file_with, is_stdin, shown, spare_protocols};
use crate::print::{complain, print};
use crate::report::{Channel, Report, Stale, first_difference};
use crate::whole_file;

/// Prints, writes or compares the code of one file.
pub(crate) fn run(arguments: &Expand) -> Result<End, Failure> {
    let mut report = Report::new(arguments.format, Channel::Err);
    let end = expand(arguments, &mut report)?;
    report.end()?;
    Ok(end)
}

fn expand(arguments: &Expand, report: &mut Report) -> Result<End, Failure> {
    let compilation = compile_file_with(&arguments.file, Settings::default().for_code(true))?;
    report.diagnostics(&compilation.sources, &compilation.diagnostics)?;
    let Some(compiled) = compilation.protocol.as_ref().filter(|_| !compilation.has_errors()) else {
        return Ok(End::Findings);
    };
    let other = match &arguments.shapes_of {
        None => None,
        Some(file) => {
            let other = compile_file(file)?;
            report.diagnostics(&other.sources, &other.diagnostics)?;
            let shapes = other.protocol.as_ref().filter(|_| !other.has_errors());
            let Some(shapes) = shapes.map(|compiled| compiled.declarations.shapes.clone()) else {
                return Ok(End::Findings);
            };
            Some(shapes)
        }
    };
    let placement = Placement {
        feature: arguments.feature.as_deref(),
        shapes: arguments.shapes.as_deref(),
        shapes_of: other.as_deref(),
    };
    let code = match arguments.signatures {
        true => generate::signatures(compiled, &compilation.sources),
        false => generate::expand(compiled, &compilation.sources, &placement),
    };
    let code = code.map_err(|error| Failure::Code(arguments.file.clone(), error.to_string()))?;
    match &arguments.output {
        None => print(code)?,
        Some(output) if arguments.check => return compare(output, &code, arguments, report),
        Some(output) if is_stdin(output) => print(code)?,
        Some(output) => {
            spare_protocols(output, Some(&arguments.file))?;
            whole_file::write(output, code)?;
        }
    }
    Ok(End::Clean)
}

/// Compares a file with the code. Prints the difference, and the command that writes the file again.
fn compare(output: &Path, code: &str, arguments: &Expand, report: &mut Report) -> Result<End, Failure> {
    let there = fs::read_to_string(output).map_err(|error| Failure::ReadOther(output.to_owned(), error))?;
    if there == code {
        return Ok(End::Clean);
    }
    let (old, new) = (output.display().to_string(), shown(&arguments.file).display().to_string());
    let signatures = if arguments.signatures { " --signatures" } else { "" };
    let option = |name: &str, value: Option<&dyn Display>| match value {
        Some(value) => format!(" --{name} {value}"),
        None => String::new(),
    };
    let shapes_of = arguments.shapes_of.as_ref().map(|file| file.display());
    let options = [
        option("feature", arguments.feature.as_ref().map(|name| name as _)),
        option("shapes", arguments.shapes.as_ref().map(|path| path as _)),
        option("shapes-of", shapes_of.as_ref().map(|file| file as _)),
    ]
    .concat();
    let message = format!("`{old}` is not what `{new}` expands to");
    let help = format!("run `sessionc expand {} -o {old}{signatures}{options}`", arguments.file.display());
    if report.is_text() {
        let difference = TextDiff::from_lines(there.as_str(), code);
        print(difference.unified_diff().context_radius(3).header(&old, &new).to_string())?;
        complain(format!("{message}: {help}"));
    }
    report.stale(Stale {
        code: "outdated",
        title: "generated code that is not what the file expands to",
        file: output.to_owned(),
        line: first_difference(&there, code),
        message,
        help,
    })?;
    Ok(End::Findings)
}
