//! Parts of sentences that several families of findings have.

use mcp_protocol_machine::protocol::{Gate, Path, Side};

/// How a side is called in the language.
pub fn side_word(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

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
