//! Parts of sentences that several families of findings have.

use mcp_protocol_machine::protocol::{Gate, Path};

/// A path as it is written.
pub(crate) fn dotted(path: &Path) -> String {
    Gate::new(path.clone()).to_string()
}

/// `a`, `b` and `c`.
pub fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// How many names are written out before the rest is counted.
pub(crate) const NAMED: usize = 5;

/// Some names in quotes, `` `A`, `B` and `C` ``, of which the first few are written out.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let last = match names.len().saturating_sub(NAMED) {
        0 => names.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    names.truncate(NAMED);
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
