//! `workspace/executeCommand`: the diagram of a role, for an editor that shows it while the text changes.

use lsp_protocols::types::{ExecuteCommandParams, Uri};
use mcp_protocol_compiler::diagram::Diagram;
use mcp_protocol_machine::protocol::Side;
use mcp_runtime::RpcError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::snapshot::{Snapshot, cannot_read};
use super::uris::path_of;
use crate::missing_role::RoleToAdd;

/// The name of the command.
pub(super) const COMMAND: &str = "sessionc.diagram";

/// Its one argument.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    uri: Uri,
    #[serde(default)]
    role: WantedRole,
    #[serde(default)]
    format: Notation,
    /// Only the states that can be reached from this one.
    definition: Option<String>,
    #[serde(default)]
    without_refusals: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WantedRole {
    #[default]
    Client,
    Server,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Notation {
    #[default]
    Svg,
    Mermaid,
    Dot,
}

/// Draws the diagram that the argument asks for: an object with the `role`'s name, its `states` and the `text`.
pub(super) fn execute(snapshot: &Snapshot, params: &ExecuteCommandParams) -> Result<Option<Value>, RpcError> {
    if params.command != COMMAND {
        let message = format!("`{}` is not a command: the command is `{COMMAND}`", params.command);
        return Err(RpcError::invalid_params(message));
    }
    let argument = params.arguments.first().cloned().unwrap_or_default();
    let wanted: Wanted = serde_json::from_value(argument).map_err(|error| {
        let form = "`{ \"uri\": …, \"role\": \"client\" | \"server\", \"format\": \"svg\" | \"mermaid\" | \"dot\", \
                    \"definition\": …, \"withoutRefusals\": … }`, of which only the first is needed";
        RpcError::invalid_params(format!("{error}; the argument is {form}"))
    })?;
    let path = path_of(&wanted.uri);
    let entry = snapshot.checked_in(&path).into_iter().next().unwrap_or(path);
    let analysis = snapshot.analysis(&entry).map_err(|error| cannot_read(&entry, &error))?;
    let Some(compiled) = &analysis.compilation().protocol else {
        return Err(RpcError::invalid_params(format!(
            "`{}` has errors: correct them first",
            entry.display()
        )));
    };
    let side = match wanted.role {
        WantedRole::Client => Side::Client,
        WantedRole::Server => Side::Server,
    };
    let mut diagram = Diagram::of(compiled, side).ok_or_else(|| {
        let names = snapshot.symbols(&entry).ok();
        RpcError::invalid_params(RoleToAdd::of(names.as_ref(), &entry, side).write(&entry, side))
    })?;
    let (role, states): (_, Vec<&str>) = (diagram.role(), diagram.state_names().collect());
    if let Some(name) = &wanted.definition {
        diagram = diagram
            .definition(name)
            .ok_or_else(|| RpcError::invalid_params(format!("no state of `{role}` is called `{name}`")))?;
    }
    if wanted.without_refusals {
        diagram = diagram.without_refusals();
    }
    let text = match wanted.format {
        Notation::Svg => diagram.svg(),
        Notation::Mermaid => diagram.mermaid(),
        Notation::Dot => diagram.dot(),
    };
    Ok(Some(json!({ "role": role, "states": states, "text": text })))
}
