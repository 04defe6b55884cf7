//! A role that a file does not have: what to write, so that it has one.

use std::path::Path;

use mcp_protocol_compiler::symbols::{SymbolKind, Symbols};
use mcp_protocol_machine::protocol::Side;

/// What to write into a file that has no role of a side.
#[derive(Debug)]
pub(crate) enum RoleToAdd {
    /// A file that it imports declares one, like this.
    Imported(String),
    /// Its own role of the other side, and a name for the one that is missing.
    Dual { of: String, name: String },
    /// It has neither role.
    Unknown,
}

impl RoleToAdd {
    /// Looks among the names of a file and its imports, if these are known.
    pub(crate) fn of(names: Option<&Symbols>, path: &Path, side: Side) -> RoleToAdd {
        let Some(names) = names else { return RoleToAdd::Unknown };
        let roles = || names.all().iter().filter(|symbol| symbol.kind == SymbolKind::Role);
        let declared = |side: Side| {
            roles().flat_map(|role| role.declarations.iter().map(move |it| (role, it.item))).filter(
                move |(_, item)| {
                    let rest = names.sources().slice(*item).strip_prefix(side.word());
                    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
                },
            )
        };
        let text = |item| names.sources().slice(item);
        let mut imported = declared(side).map(|(_, item)| text(item)).filter(|text| !text.contains('\n'));
        if let Some(imported) = imported.next() {
            return RoleToAdd::Imported(imported.to_owned());
        }
        let mut own = declared(side.other()).filter(|(_, item)| names.sources().path(item.file) == path);
        let Some((other, _)) = own.next() else { return RoleToAdd::Unknown };
        let plain = if side == Side::Client { "Client" } else { "Server" };
        let name = match names.clash(other, plain) {
            None if other.name != plain => plain.to_owned(),
            _ => format!("{}{plain}", other.name),
        };
        RoleToAdd::Dual { of: other.name.clone(), name }
    }

    /// What is wrong, and what to add.
    pub(crate) fn write(&self, file: &Path, side: Side) -> String {
        let (file, side) = (file.display(), side.word());
        let problem = format!("`{file}` does not declare a {side}");
        match self {
            RoleToAdd::Imported(declared) => {
                format!("{problem}, and a role is not imported: add `{declared}`")
            }
            RoleToAdd::Dual { of, name } => format!("{problem}: add `{side} {name} = dual {of}`"),
            RoleToAdd::Unknown => format!("{problem}: add `{side} Name` and its session type, `Name = …`"),
        }
    }
}
