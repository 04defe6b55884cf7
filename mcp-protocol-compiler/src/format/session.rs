//! Session types as text, in one line or broken where they do not fit.
//!
//! In: a part of a tree. Out: its text. Refuses to change what it means: a tree that the grammar cannot write without
//! parentheses gets them.

use super::WIDTH;
use crate::ast::{Action, Choice, Operator, Sequence, Tail};

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
    let levels = if action.levels.is_empty() {
        String::new()
    } else {
        format!(" {}", super::item::levels(&action.levels))
    };
    format!("{sign}{}{levels}", action.message.text)
}

/// What a sequence ends in, in one line. What could not be read is written as `End`.
pub fn tail(tail: &Tail) -> String {
    match tail {
        Tail::End(_) | Tail::Missing(_) => "End".to_owned(),
        Tail::Name(name) => name.text.clone(),
        Tail::Dual { name, .. } => format!("dual {}", name.text),
        Tail::Recursion { variable, body, .. } => format!("rec {} . {}", variable.text, choice(body)),
        Tail::Group(body, _) => format!("({})", choice(body)),
        Tail::Parallel(parts, _) => format!("({})", parts.iter().map(choice).collect::<Vec<_>>().join(", ")),
        Tail::Replicated(body, _) => match **body {
            // `*` takes one atom.
            Tail::Recursion { .. } | Tail::Replicated(..) => format!("*({})", self::tail(body)),
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
        Tail::Recursion { .. } if !last => out.push_str(&format!("({})", tail(&branch.tail))),
        other => out.push_str(&tail(other)),
    }
    out
}

/// A choice that begins at `column`, with what does not fit in that line indented by `indent`.
pub(super) fn laid_out(body: &Choice, indent: usize, column: usize) -> String {
    let flat = choice(body);
    if column + width(&flat) <= WIDTH {
        return flat;
    }
    let mut out = String::new();
    // What goes on in a further line stands behind the operators, if there are any.
    let further = indent + if body.branches.len() > 1 { 2 } else { 0 };
    for (operator, branch, last) in parts(body) {
        if !out.is_empty() {
            new_line(&mut out, indent);
        }
        let start = if let Some(operator) = operator {
            out.push_str(operator);
            out.push(' ');
            indent + 2
        } else {
            column
        };
        broken_branch(&mut out, branch, last, further, start);
    }
    out
}

/// A branch whose actions go on in the next line where they do not fit.
fn broken_branch(out: &mut String, branch: &Sequence, last: bool, indent: usize, mut column: usize) {
    for one in &branch.actions {
        let text = action(one) + " . ";
        if column + width(&text) > WIDTH && column > indent {
            trim_end(out);
            new_line(out, indent);
            column = indent;
        }
        column += width(&text);
        out.push_str(&text);
    }
    match &branch.tail {
        tail @ Tail::Recursion { .. } if !last => {
            out.push_str("( ");
            broken_tail(out, tail, indent, column + 2);
            out.push_str(" )");
        }
        tail => broken_tail(out, tail, indent, column),
    }
}

fn broken_tail(out: &mut String, body: &Tail, indent: usize, mut column: usize) {
    let flat = tail(body);
    if column + width(&flat) <= WIDTH {
        return out.push_str(&flat);
    }
    match body {
        Tail::Group(body, _) => {
            if column > indent + 2 {
                trim_end(out);
                new_line(out, indent);
                column = indent;
            }
            // The operators stand below the parenthesis.
            out.push_str("( ");
            append(out, &laid_out(body, column, column + 2));
            out.push_str(" )");
        }
        Tail::Parallel(parts, _) => {
            out.push('(');
            for part in parts {
                new_line(out, indent + 2);
                append(out, &laid_out(part, indent + 2, indent + 2));
                out.push(',');
            }
            new_line(out, indent);
            out.push(')');
        }
        Tail::Recursion { variable, body, .. } => {
            let head = format!("rec {} . ", variable.text);
            out.push_str(&head);
            let group = matches!(body.branches.as_slice(), [only] if only.actions.is_empty());
            if body.branches.len() > 1 || group {
                trim_end(out);
                new_line(out, indent);
                column = indent;
            } else {
                column += width(&head);
            }
            append(out, &laid_out(body, indent, column));
        }
        Tail::Replicated(body, _) if matches!(**body, Tail::Group(..) | Tail::Parallel(..)) => {
            out.push('*');
            broken_tail(out, body, indent, column + 1);
        }
        _ => out.push_str(&flat),
    }
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Appends what may begin with a new line, before which nothing is left over.
fn append(out: &mut String, text: &str) {
    if text.starts_with('\n') {
        trim_end(out);
    }
    out.push_str(text);
}

fn trim_end(out: &mut String) {
    out.truncate(out.trim_end().len());
}

/// How many characters wide a text is.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}
