//! Shapes in one line, as they are written.

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
