//! `sessionc schema`: the shapes of a file as a JSON Schema.

use mcp_protocol_compiler::declarations::{Alternative, DeclaredShape, Form, Position};
use mcp_protocol_compiler::generate;
use mcp_protocol_machine::protocol::Literal;

use crate::arguments::Schema;
use crate::end::End;
use crate::files::{Failure, compile_file, print_findings};
use crate::json_schema::{Source, write};
use crate::print::print;

/// Prints the schema of all shapes, or of one.
pub(crate) fn run(arguments: &Schema) -> Result<End, Failure> {
    let compilation = compile_file(&arguments.file)?;
    let Some(compiled) = &compilation.protocol else {
        print_findings(&compilation);
        return Ok(End::Findings);
    };
    let protocol = generate::machine(compiled);
    if protocol.shapes.is_empty() {
        return Err(Failure::NoShapes(arguments.file.clone()));
    }
    let source = Declared(&compiled.declarations.shapes);
    let root = match &arguments.name {
        None => None,
        Some(name) => {
            let found = protocol.shape_by_name(name).filter(|_| !source.is_inner(name));
            Some(found.map(|(index, _)| index).ok_or_else(|| {
                let known = protocol.shapes.iter().filter(|shape| !source.is_inner(&shape.name));
                let known = known.map(|shape| shape.name.to_string()).collect();
                Failure::NoShape(arguments.file.clone(), name.clone(), known)
            })?)
        }
    };
    print(format!("{}\n", write(&protocol, root, &source)))?;
    Ok(End::Clean)
}

/// The shapes as they are declared.
struct Declared<'a>(&'a [DeclaredShape]);

impl Declared<'_> {
    fn find(&self, name: &str) -> Option<&DeclaredShape> {
        self.0.iter().find(|declared| declared.name.text == name)
    }
}

impl Source for Declared<'_> {
    fn documentation(&self, shape: &str, field: Option<&str>) -> Option<String> {
        let shape = self.find(shape)?;
        let lines = match (field, &shape.form) {
            (None, _) => &shape.documentation,
            (Some(field), Form::Record(record)) => &record.field(field)?.documentation,
            (Some(field), Form::Tuple(positions)) => {
                let is_it =
                    |position: &&Position| position.label.as_ref().is_some_and(|label| label.text == field);
                &positions.iter().find(is_it)?.documentation
            }
            (Some(_), _) => return None,
        };
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn variant(&self, shape: &str, value: &Literal) -> Option<String> {
        let Form::Union(parts) = &self.find(shape)?.form else { return None };
        let is_it = |part: &&Alternative| matches!(&part.form, Form::Literal(own) if own == value);
        Some(parts.iter().find(is_it)?.variant.as_ref()?.text.clone())
    }

    fn is_inner(&self, shape: &str) -> bool {
        self.find(shape).is_some_and(|declared| declared.is_inner)
    }
}
