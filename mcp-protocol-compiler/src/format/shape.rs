//! Shapes as text.

use mcp_protocol_machine::protocol::Presence;

use super::parts::{json_key, literal};
use super::writer::{WIDTH, Writer, width};
use crate::ast::{Member, Name, Shape, ShapeKind, TuplePosition};

/// What stands before the rest of a tuple.
const DOTS: &str = "...";

/// How far the fields of a record are indented.
const INDENT: usize = 4;

/// `type Name = shape`, behind the name. A union that does not fit begins in a line of its own.
pub(super) fn defined(out: &mut Writer<'_>, shape: &Shape) {
    out.text(" =");
    out.at(begin(shape), INDENT);
    let fits = out.column() + 1 + flat_width(shape) <= WIDTH;
    if matches!(shape.kind, ShapeKind::Union(_)) && !fits {
        out.new_line(INDENT);
    } else if !out.blank() {
        out.text(" ");
    }
    laid_out(out, shape, 0);
}

/// A shape in this line if it fits, else its parts in lines of their own.
pub(super) fn laid_out(out: &mut Writer<'_>, shape: &Shape, indent: usize) {
    let fits = out.column() + flat_width(shape) <= WIDTH;
    if fits && may_be_flat(out, shape) {
        return out.text(&flat(shape));
    }
    match &shape.kind {
        ShapeKind::Named(_) | ShapeKind::Literal(..) | ShapeKind::Missing => out.text(&flat(shape)),
        ShapeKind::List(of) => {
            out.text("[");
            inner(out, of, shape, indent);
            out.text("]");
        }
        ShapeKind::Map(of) => {
            out.text("map ");
            // A word in a new line could begin another item.
            if !matches!(of.kind, ShapeKind::Named(_) | ShapeKind::Literal(..) | ShapeKind::Map(_)) {
                out.at(begin(of), indent + INDENT);
            }
            in_parentheses(out, of, indent);
        }
        ShapeKind::Union(parts) => {
            for (index, part) in parts.iter().enumerate() {
                out.at(begin(part), indent + INDENT);
                if index > 0 {
                    if out.column() + 3 + flat_width(part) > WIDTH {
                        out.new_line(indent + INDENT);
                    } else if !out.blank() {
                        out.text(" ");
                    }
                    out.text("| ");
                }
                in_parentheses(out, part, indent + INDENT);
            }
        }
        ShapeKind::Tuple(positions) => {
            out.text("[");
            for (index, position) in positions.iter().enumerate() {
                out.at(
                    position.label.as_ref().map_or_else(|| begin(&position.shape), |label| label.span.start),
                    indent + INDENT,
                );
                out.new_line(indent + INDENT);
                laid_out_position(out, position, indent + INDENT);
                if index + 1 < positions.len() || is_like_a_list(positions) {
                    out.text(",");
                }
            }
            out.at(shape.span.end, indent + INDENT);
            out.new_line(indent);
            out.text("]");
        }
        ShapeKind::Record(members) => {
            out.text("{");
            for (index, member) in members.iter().enumerate() {
                out.at(start(member), indent + INDENT);
                out.new_line(indent + INDENT);
                laid_out_member(out, member, indent + INDENT);
                if index + 1 < members.len() {
                    out.text(",");
                }
            }
            out.at(shape.span.end, indent + INDENT);
            out.new_line(indent);
            out.text("}");
        }
    }
}

/// Whether nothing in a shape needs a line of its own.
pub(super) fn may_be_flat(out: &Writer<'_>, shape: &Shape) -> bool {
    !out.has_within(shape.span) && !is_documented(shape)
}

/// A union within something else stands in parentheses.
fn in_parentheses(out: &mut Writer<'_>, shape: &Shape, indent: usize) {
    if !matches!(shape.kind, ShapeKind::Union(_)) {
        return laid_out(out, shape, indent);
    }
    out.text("(");
    laid_out(out, shape, indent);
    out.text(")");
}

/// A shape in the brackets of another one, with the comments that stand there.
fn inner(out: &mut Writer<'_>, of: &Shape, around: &Shape, indent: usize) {
    out.at(begin(of), indent + INDENT);
    laid_out(out, of, indent);
    out.at(around.span.end, indent + INDENT);
}

fn laid_out_position(out: &mut Writer<'_>, position: &TuplePosition, indent: usize) {
    let Some(label) = &position.label else {
        match position.presence() {
            Presence::Required => laid_out(out, &position.shape, indent),
            Presence::Optional => {
                in_parentheses(out, &position.shape, indent);
                out.text("?");
            }
            Presence::Rest => {
                out.text(DOTS);
                in_parentheses(out, &position.shape, indent);
            }
        }
        return;
    };
    for line in &position.documentation {
        out.text(&documentation(line));
        out.new_line(indent);
    }
    out.text(if position.rest.is_some() { DOTS } else { "" });
    out.text(&key(label, position.optional));
    out.at(begin(&position.shape), indent + INDENT);
    laid_out(out, &position.shape, indent);
}

/// Whether a tuple has one position that would be a list without a comma behind it.
fn is_like_a_list(positions: &[TuplePosition]) -> bool {
    matches!(positions, [TuplePosition { label: None, optional: false, rest: None, .. }])
}

fn laid_out_member(out: &mut Writer<'_>, member: &Member, indent: usize) {
    let Member::Field(field) = member else { return out.text(&flat_member(member)) };
    for line in &field.documentation {
        out.text(&documentation(line));
        out.new_line(indent);
    }
    out.text(&key(&field.name, field.optional));
    out.at(begin(&field.shape), indent + INDENT);
    laid_out(out, &field.shape, indent);
}

/// A line of documentation.
pub(super) fn documentation(line: &str) -> String {
    format!("---{}{line}", if line.is_empty() { "" } else { " " })
}

/// Up to where comments stand before a shape. Those between a value and the name of its variant do, too, for the two stay
/// in one line.
pub(super) fn begin(shape: &Shape) -> u32 {
    match &shape.kind {
        ShapeKind::Literal(_, Some(name)) => name.span.start,
        // Without parentheses, it begins with the first of its parts.
        ShapeKind::Union(parts) => match parts.first() {
            Some(first @ Shape { kind: ShapeKind::Literal(..), .. }) => begin(first),
            _ => shape.span.start,
        },
        _ => shape.span.start,
    }
}

/// Where a member begins; comments before its documentation stand before it.
fn start(member: &Member) -> u32 {
    member.span().start
}

fn is_documented(shape: &Shape) -> bool {
    let here = match &shape.kind {
        ShapeKind::Tuple(positions) => positions.iter().any(|position| !position.documentation.is_empty()),
        ShapeKind::Record(members) => members.iter().any(|member| match member {
            Member::Field(field) => !field.documentation.is_empty(),
            Member::Spread { .. } | Member::Rest(_) => false,
        }),
        _ => false,
    };
    here || shape.inside().into_iter().any(is_documented)
}

fn flat_width(shape: &Shape) -> usize {
    width(&flat(shape))
}

/// A shape in one line, without documentation.
pub(crate) fn flat(shape: &Shape) -> String {
    let nested = |shape: &Shape| match shape.kind {
        ShapeKind::Union(_) => format!("({})", flat(shape)),
        _ => flat(shape),
    };
    match &shape.kind {
        ShapeKind::Named(name) => name.text.clone(),
        ShapeKind::Literal(value, None) => literal(value),
        ShapeKind::Literal(value, Some(name)) => format!("{} as {}", literal(value), name.text),
        ShapeKind::List(of) => format!("[{}]", flat(of)),
        ShapeKind::Map(of) => format!("map {}", nested(of)),
        ShapeKind::Union(parts) => parts.iter().map(nested).collect::<Vec<_>>().join(" | "),
        ShapeKind::Tuple(positions) => {
            let comma = if is_like_a_list(positions) { "," } else { "" };
            let positions = positions.iter().map(|position| match (&position.label, position.presence()) {
                (Some(label), presence) => {
                    let dots = if presence.is_rest() { DOTS } else { "" };
                    format!("{dots}{}{}", key(label, position.optional), flat(&position.shape))
                }
                (None, Presence::Required) => flat(&position.shape),
                (None, Presence::Optional) => format!("{}?", nested(&position.shape)),
                (None, Presence::Rest) => format!("{DOTS}{}", nested(&position.shape)),
            });
            format!("[{}{comma}]", positions.collect::<Vec<_>>().join(", "))
        }
        ShapeKind::Record(members) if members.is_empty() => "{}".to_owned(),
        ShapeKind::Record(members) => {
            let members: Vec<String> = members.iter().map(flat_member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        ShapeKind::Missing => String::new(),
    }
}

fn flat_member(member: &Member) -> String {
    match member {
        Member::Field(field) => format!("{}{}", key(&field.name, field.optional), flat(&field.shape)),
        Member::Spread { name, .. } => format!("...{}", name.text),
        Member::Rest(_) => "..rest".to_owned(),
    }
}

/// `name: `, `name?: `
fn key(name: &Name, optional: bool) -> String {
    format!("{}{}: ", json_key(&name.text), if optional { "?" } else { "" })
}
