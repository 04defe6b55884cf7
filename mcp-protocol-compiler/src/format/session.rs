//! Session types as text, in one line or broken where they do not fit.

use super::parts::levels;
use super::writer::{WIDTH, Writer, width};
use crate::ast::{Action, Choice, Operator, Sequence, Tail};
use crate::source::Span;

/// A choice in one line.
pub fn choice(choice: &Choice) -> String {
    let mut out = String::new();
    for (operator, branch, last) in parts(choice) {
        if let Some(operator) = operator {
            out.push_str(if out.is_empty() { "" } else { " " });
            out.push_str(operator);
            out.push(' ');
        }
        out.push_str(&branch_text(branch, last));
    }
    out
}

/// A sequence in one line.
pub fn sequence(sequence: &Sequence) -> String {
    branch_text(sequence, true)
}

/// An action, `!M [should "L5"]`.
pub fn action(action: &Action) -> String {
    let sign = if action.send { '!' } else { '?' };
    let levels =
        if action.levels.is_empty() { String::new() } else { format!(" {}", levels(&action.levels)) };
    format!("{sign}{}{levels}", action.message.text)
}

/// What a sequence ends in, in one line. What could not be read is written as `End`.
pub fn tail(tail: &Tail) -> String {
    match tail {
        Tail::End(_) | Tail::Missing(_) => "End".to_owned(),
        Tail::Name(name) => name.text.clone(),
        Tail::Dual { name, .. } => format!("dual {}", name.text),
        Tail::Recursion { variable, body, .. } => format!("rec {} . {}", variable.text, choice(body)),
        Tail::Group(body, _) => format!("( {} )", choice(body)),
        Tail::Parallel(parts, _) => format!("({})", parts.iter().map(choice).collect::<Vec<_>>().join(", ")),
        Tail::Replicated(body, _) => match **body {
            // `*` takes one atom.
            Tail::Recursion { .. } | Tail::Replicated(..) => format!("*( {} )", self::tail(body)),
            _ => format!("*{}", self::tail(body)),
        },
    }
}

/// Each branch with the operator before it, and whether it is the last.
fn parts(choice: &Choice) -> impl Iterator<Item = (Option<&'static str>, &Sequence, bool)> {
    let count = choice.branches.len();
    // There is one operator less than there are branches, unless there is a leading one.
    let leading = choice.operators.len() >= count;
    choice.branches.iter().enumerate().map(move |(index, branch)| {
        let at = if leading { Some(index) } else { index.checked_sub(1) };
        let fallback = choice.operators.last();
        let operator = at.map(|at| match choice.operators.get(at).or(fallback) {
            Some((Operator::External, _)) => "&",
            Some((Operator::Internal, _)) | None => "⊕",
        });
        (operator, branch, index + 1 == count)
    })
}

fn branch_text(branch: &Sequence, last: bool) -> String {
    let mut out = String::new();
    for one in &branch.actions {
        out.push_str(&action(one));
        out.push_str(" . ");
    }
    // A loop would take the branches behind it.
    match &branch.tail {
        Tail::Recursion { .. } if !last => out.push_str(&format!("( {} )", tail(&branch.tail))),
        other => out.push_str(&tail(other)),
    }
    out
}

/// A choice that begins here, with what does not fit in this line indented by `indent`.
pub(super) fn lay_out(out: &mut Writer<'_>, body: &Choice, indent: usize) {
    // What goes on in a further line stands behind the operators, if there are any.
    let further = indent + if body.branches.len() > 1 { 2 } else { 0 };
    out.at(body.span.start, indent);
    if !out.has_within(body.span) {
        let flat = choice(body);
        if out.column() + width(&flat) <= WIDTH {
            return out.text(&flat);
        }
    }
    for (index, (operator, branch, last)) in parts(body).enumerate() {
        if index > 0 {
            // A comment behind the operator is about the branch, and stands above both.
            out.at(branch.span.start, indent);
            out.new_line(indent);
        }
        if let Some(operator) = operator {
            out.text(operator);
            out.text(" ");
        }
        broken_branch(out, branch, last, further);
    }
}

/// A branch whose actions go on in the next line where they do not fit.
fn broken_branch(out: &mut Writer<'_>, branch: &Sequence, last: bool, indent: usize) {
    for one in &branch.actions {
        out.at(one.span.start, indent);
        let text = action(one) + " . ";
        if out.column() + width(&text) > WIDTH && out.column() > indent {
            out.new_line(indent);
        }
        out.text(&text);
    }
    out.at(place(&branch.tail).start, indent);
    match &branch.tail {
        tail @ Tail::Recursion { .. } if !last => {
            out.text("( ");
            broken_tail(out, tail, indent);
            out.text(" )");
        }
        tail => broken_tail(out, tail, indent),
    }
}

fn broken_tail(out: &mut Writer<'_>, body: &Tail, indent: usize) {
    out.at(place(body).start, indent);
    let flat = tail(body);
    if out.column() + width(&flat) <= WIDTH && !out.has_within(place(body)) {
        return out.text(&flat);
    }
    match body {
        Tail::Group(body, span) => {
            if out.column() > indent + 2 {
                out.new_line(indent);
            }
            let column = out.column();
            // The operators stand below the parenthesis.
            out.text("( ");
            out.at(body.span.start, column);
            if out.blank() {
                out.new_line(column + 2);
            }
            lay_out(out, body, column);
            out.at(span.end.saturating_sub(1), column);
            out.text(if out.blank() { ")" } else { " )" });
        }
        Tail::Parallel(parts, span) => {
            out.text("(");
            for part in parts {
                out.at(part.span.start, indent + 2);
                out.new_line(indent + 2);
                lay_out(out, part, indent + 2);
                out.text(",");
            }
            out.at(span.end.saturating_sub(1), indent + 2);
            out.new_line(indent);
            out.text(")");
        }
        Tail::Recursion { variable, body, .. } => {
            out.text(&format!("rec {} . ", variable.text));
            out.at(body.span.start, indent);
            let group = matches!(body.branches.as_slice(), [only] if only.actions.is_empty());
            if body.branches.len() > 1 || group {
                out.new_line(indent);
            }
            lay_out(out, body, indent);
        }
        Tail::Replicated(body, _) if !matches!(**body, Tail::Recursion { .. } | Tail::Replicated(..)) => {
            out.text("*");
            broken_tail(out, body, indent);
        }
        Tail::Dual { name, .. } => {
            out.text("dual ");
            out.at(name.span.start, indent);
            out.text(&name.text);
        }
        _ => out.text(&flat),
    }
}

/// Where a tail stands.
fn place(tail: &Tail) -> Span {
    match tail {
        Tail::Name(name) => name.span,
        Tail::Dual { span, .. } | Tail::Recursion { span, .. } => *span,
        Tail::End(span)
        | Tail::Missing(span)
        | Tail::Group(_, span)
        | Tail::Parallel(_, span)
        | Tail::Replicated(_, span) => *span,
    }
}
