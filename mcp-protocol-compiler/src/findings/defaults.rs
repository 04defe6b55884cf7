//! Defaults of announcements.

use mcp_protocol_machine::protocol::{Path, Side};

use super::phrases::dotted;
use crate::ast::JsonPath;
use crate::declarations::path;
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange};
use crate::suggest::nearest;

/// A default that is part of no capability, or that no message requires.
pub const BAD_DEFAULT: Code = Code("S0117");

/// `default elicitation`: there is nothing around it. `part` is a part of it that some message requires.
pub fn default_of_nothing(default: &JsonPath, part: Option<&Path>) -> Diagnostic {
    let written = dotted(&path(default));
    let example = part.map_or_else(|| format!("{written}.part"), dotted);
    let message = format!("`{written}` is part of no other capability");
    Diagnostic::error(BAD_DEFAULT, default.span, message)
        .label("a default is what another capability stands for that has nothing in it")
        .suggest(
            format!("write `default {example}`, or delete the default"),
            [Edit::replace(default.span, example.clone())],
        )
}

/// The same default once more.
pub fn default_twice(default: &JsonPath, path: &Path) -> Diagnostic {
    let message = format!("`{}` is a default twice", dotted(path));
    Diagnostic::error(BAD_DEFAULT, default.span, message)
        .changes("delete one of the two", [TextChange::DeleteDefault(default.span)])
}

/// A default that no message requires. `inner` is the path without its first key, if that is required; `parts` are
/// the parts of capabilities that are.
pub fn default_not_required<'p>(
    default: &JsonPath,
    path: &Path,
    side: Side,
    inner: Option<&Path>,
    parts: impl Iterator<Item = &'p Path>,
) -> Diagnostic {
    let (word, written) = (side.word(), dotted(path));
    let message = format!("no message requires `{word}.{written}`");
    let finding = Diagnostic::error(BAD_DEFAULT, default.span, message).label("this default changes nothing");
    if let Some(inner) = inner {
        let help = format!("write `default {}`: whose it is stands behind `capabilities`", dotted(inner));
        return finding.suggest(help, [Edit::replace(default.span, dotted(inner))]);
    }
    let parts: Vec<String> = parts.map(dotted).collect();
    match nearest(&written, parts.iter().map(String::as_str)) {
        Some(near) => finding.suggest(format!("did you mean `{near}`?"), [Edit::replace(default.span, near)]),
        None => finding.changes(
            format!("delete it, or write `requires {word}.{written}` behind a message"),
            [TextChange::DeleteDefault(default.span)],
        ),
    }
}
