//! Shapes in one line, as they are written.

use mcp_protocol_machine::protocol::Presence;

use crate::declarations::{DeclaredShape, Form};

/// How much of a shape is shown.
const LONGEST: usize = 100;

/// A form as it is written.
pub(super) fn text(shapes: &[DeclaredShape], form: &Form) -> String {
    let mut out = String::new();
    write(shapes, form, &mut out);
    if out.chars().count() > LONGEST {
        out = out.chars().take(LONGEST).collect();
        out.push('…');
    }
    out
}

/// All of a form, to compare it.
pub(super) fn whole(shapes: &[DeclaredShape], form: &Form) -> String {
    let mut out = String::new();
    write(shapes, form, &mut out);
    out
}

fn write(shapes: &[DeclaredShape], form: &Form, out: &mut String) {
    match form {
        Form::Any => out.push_str("any"),
        Form::Null => out.push_str("null"),
        Form::Bool => out.push_str("bool"),
        Form::Int => out.push_str("int"),
        Form::Uint => out.push_str("uint"),
        Form::Number => out.push_str("number"),
        Form::String => out.push_str("string"),
        Form::Object => out.push_str("object"),
        Form::Literal(literal) => out.push_str(&crate::format::literal(literal)),
        Form::List(of) => {
            out.push('[');
            write(shapes, of, out);
            out.push(']');
        }
        Form::Tuple(positions) => {
            out.push('[');
            for (place, position) in positions.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                let mark = if position.presence == Presence::Optional { "?" } else { "" };
                out.push_str(if position.presence.is_rest() { "..." } else { "" });
                if let Some(label) = &position.label {
                    out.push_str(&format!("{}{mark}: ", label.text));
                    write(shapes, &position.form, out);
                    continue;
                }
                let is_union = !position.presence.is_required() && is_union(shapes, &position.form);
                out.push_str(if is_union { "(" } else { "" });
                write(shapes, &position.form, out);
                out.push_str(if is_union { ")" } else { "" });
                out.push_str(mark);
            }
            let is_like_a_list =
                matches!(positions.as_slice(), [only] if only.label.is_none() && only.presence.is_required());
            out.push_str(if is_like_a_list { ",]" } else { "]" });
        }
        Form::Map(of) => {
            let is_union = matches!(**of, Form::Union(_));
            out.push_str(if is_union { "map (" } else { "map " });
            write(shapes, of, out);
            out.push_str(if is_union { ")" } else { "" });
        }
        Form::Record(record) => {
            out.push_str("{ ");
            for (place, field) in record.fields.iter().enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                let optional = if field.optional { "?" } else { "" };
                out.push_str(&format!("{comma}{}{optional}: ", field.name.text));
                write(shapes, &field.form, out);
            }
            out.push_str(if record.rest { ", ..rest }" } else { " }" });
        }
        Form::Union(parts) => {
            for (place, part) in parts.iter().enumerate() {
                out.push_str(if place > 0 { " | " } else { "" });
                write(shapes, &part.form, out);
            }
        }
        Form::Named(index) => match shapes.get(*index) {
            // What has no name of its author is written where it stands.
            Some(shape) if shape.is_inner => write(shapes, &shape.form, out),
            Some(shape) => out.push_str(&shape.name.text),
            None => out.push('?'),
        },
    }
}

/// Whether a form is written as a union in its place.
fn is_union(shapes: &[DeclaredShape], form: &Form) -> bool {
    match form {
        Form::Named(index) => {
            shapes.get(*index).is_some_and(|shape| shape.is_inner && matches!(shape.form, Form::Union(_)))
        }
        form => matches!(form, Form::Union(_)),
    }
}
