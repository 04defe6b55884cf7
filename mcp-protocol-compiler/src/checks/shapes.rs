//! Finds the alternatives of unions that are never chosen.

use mcp_protocol_machine::protocol::Protocol;
use mcp_protocol_machine::shape::hides;

use crate::declarations::{Declarations, DeclaredShape, Form};
use crate::diagnostic::Diagnostic;
use crate::findings::shapes as finding;

/// With how many earlier alternatives one is compared.
const MOST_COMPARED: usize = 200;

/// Holds the alternatives of each union against those before them.
pub(crate) fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if declarations.shapes.is_empty() {
        return found;
    }
    let mut tables = Protocol::new("".into(), Vec::new().into());
    tables.shapes = declarations.shapes.iter().map(DeclaredShape::table).collect();
    for shape in &declarations.shapes {
        let Form::Union(parts) = &shape.form else { continue };
        for (place, later) in parts.iter().enumerate() {
            let (form, earlier) = (later.form.table(), parts.iter().take(place).rev().take(MOST_COMPARED));
            let hiding = earlier.into_iter().find(|earlier| hides(&tables, &earlier.form.table(), &form));
            if let Some(earlier) = hiding {
                found.push(finding::never_chosen(later, earlier));
            }
        }
    }
    found
}
