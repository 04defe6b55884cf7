//! Findings about imports.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use super::phrases::NAMED;
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;

/// An imported file cannot be read.
pub const UNREADABLE_IMPORT: Code = Code("S0041");
/// Files import one another in a circle.
pub const CYCLIC_IMPORT: Code = Code("S0042");

/// How many files of a circle are named.
const MOST_OF_CIRCLE: usize = 8;

/// An imported file cannot be read.
pub fn unreadable(import: Span, path: &Path, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(UNREADABLE_IMPORT, import, format!("cannot read `{}`: {error}", path.display()))
        .label("imported here")
        .help("the path is relative to the file that imports")
}

/// An import of a file that is being read. `between` are the files that lead from it to the import, which names it
/// `path`.
pub fn cyclic(import: Span, between: &[&Path], path: &Path) -> Diagnostic {
    Diagnostic::error(CYCLIC_IMPORT, import, "this import leads back to itself")
        .label("this file is being read already")
        .with_note(format!("the circle is {}", circle(between, path)))
        .help(match between {
            [] | [_] => "delete this import: a file has what it declares",
            _ => "move what both need into a third file and import that one",
        })
}

/// Names that a file next to this one declares, which an import would read. `first` is the finding about the first of
/// them, and `names` are all of them with their lines.
pub fn forgotten(first: Diagnostic, names: &[(&str, u32)], import: Edit) -> Diagnostic {
    let mut others: Vec<String> = Vec::new();
    let mut seen: HashSet<&str> = names.first().map(|(name, _)| *name).into_iter().collect();
    for (name, line) in names {
        if seen.insert(name) {
            others.push(format!("`{name}` in line {line}"));
        }
    }
    let more = others.len().saturating_sub(NAMED);
    let declared = if others.is_empty() { "" } else { " and the others" };
    if more > 1 {
        others.truncate(NAMED);
        others.push(format!("{more} more"));
    }
    let mut finding = Diagnostic { helps: Vec::new(), ..first };
    if let Some((last, rest)) = others.split_last() {
        let before = if rest.is_empty() { String::new() } else { format!("{} and ", rest.join(", ")) };
        finding = finding.with_note(format!("not declared either: {before}{last}"));
    }
    let what = format!("write `{}`: that file declares it{declared}", import.text.trim());
    finding.suggest(what, [import])
}

/// The files that lead from one back to itself. A long circle is shortened.
fn circle(files: &[&Path], path: &Path) -> String {
    let left_out = files.len().saturating_sub(MOST_OF_CIRCLE);
    let mut names: Vec<String> =
        files.iter().take(MOST_OF_CIRCLE).map(|file| format!("`{}`", file.display())).collect();
    if left_out > 0 {
        names.push(format!("{left_out} more"));
    }
    names.push(format!("`{}`", path.display()));
    names.join(" imports ")
}
