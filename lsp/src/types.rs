//! The payloads: those of the crate [`lsp-types`](https://docs.rs/lsp-types), and some in their place.
//!
//! Where that crate differs from the specification, the types below shadow its own. They have the same fields under the
//! same names. The crate has no place for the defaults of a completion list (`itemDefaults`), so a client should not
//! announce that it supports them.

pub use lsp_types::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The params of `initialize`.
///
/// Under `workspace.diagnostics` the client announces whether the server may ask it to pull diagnostics again. The field
/// of `lsp-types` is called `diagnostic`; here it is written under the name of the specification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The process that has started the server. The server exits if that process is gone.
    pub process_id: Option<u32>,
    /// The name and version of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_info: Option<ClientInfo>,
    /// The language of the user interface, such as `en` or `de-CH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The path of the workspace, for servers that read no URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_path: Option<String>,
    /// The URI of the workspace, for servers that read no `workspace_folders`.
    #[serde(default)]
    pub root_uri: Option<Uri>,
    /// Options that the server defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization_options: Option<Value>,
    /// What the client can do.
    #[serde(with = "client_capabilities")]
    pub capabilities: ClientCapabilities,
    /// How much of its work the server traces at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceValue>,
    /// The folders of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folders: Option<Vec<WorkspaceFolder>>,
    /// The token for reports on the progress of the handshake.
    #[serde(flatten)]
    pub work_done_progress_params: WorkDoneProgressParams,
}

/// Writes `workspace.diagnostic` of the Rust type as `workspace.diagnostics`, and reads it so.
mod client_capabilities {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use super::ClientCapabilities;

    fn rename(capabilities: &mut Value, from: &str, to: &str) {
        let workspace = capabilities.get_mut("workspace").and_then(Value::as_object_mut);
        if let Some(workspace) = workspace
            && let Some(value) = workspace.remove(from)
        {
            workspace.insert(to.to_owned(), value);
        }
    }

    pub(super) fn serialize<S: Serializer>(
        capabilities: &ClientCapabilities,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(capabilities).map_err(S::Error::custom)?;
        rename(&mut value, "diagnostic", "diagnostics");
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ClientCapabilities, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        rename(&mut value, "diagnostics", "diagnostic");
        serde_json::from_value(value).map_err(D::Error::custom)
    }
}

/// The result of `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The name and version of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_info: Option<ServerInfo>,
}

/// What a server can do: [`ServerCapabilities`], and type hierarchies, for which these have no field.
///
/// ```
/// use lsp_protocols::types::{Capabilities, HoverProviderCapability, ServerCapabilities};
///
/// let hover_provider = Some(HoverProviderCapability::Simple(true));
/// let capabilities: Capabilities = ServerCapabilities { hover_provider, ..Default::default() }.into();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// All capabilities but type hierarchies.
    #[serde(flatten)]
    pub server: ServerCapabilities,
    /// Whether the server answers `textDocument/prepareTypeHierarchy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_hierarchy_provider: Option<OneOf<bool, TypeHierarchyOptions>>,
}

impl From<ServerCapabilities> for Capabilities {
    fn from(server: ServerCapabilities) -> Capabilities {
        Capabilities { server, type_hierarchy_provider: None }
    }
}

/// The params of `$/progress`: how far work has come, or a part of the result of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressParams {
    /// The token of the request, or of the announced work.
    pub token: ProgressToken,
    /// What is reported.
    pub value: ProgressValue,
}

/// What `$/progress` reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ProgressValue {
    /// How far the work has come.
    WorkDone(WorkDoneProgress),
    /// A part of the result, in the form of the result.
    Partial(Value),
}

/// The params of `textDocument/diagnostic`. Absent fields are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentDiagnosticParams {
    /// The document.
    pub text_document: TextDocumentIdentifier,
    /// The identifier that the server has announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    /// The id of the previous result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_result_id: Option<String>,
    /// The token for reports on the progress of the request.
    #[serde(flatten)]
    pub work_done_progress_params: WorkDoneProgressParams,
    /// The token for parts of the result.
    #[serde(flatten)]
    pub partial_result_params: PartialResultParams,
}

/// The params of `workspace/diagnostic`. Absent fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDiagnosticParams {
    /// The identifier that the server has announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    /// The ids of the previous results, with their documents.
    pub previous_result_ids: Vec<PreviousResultId>,
    /// The token for reports on the progress of the request.
    #[serde(flatten)]
    pub work_done_progress_params: WorkDoneProgressParams,
    /// The token for parts of the result.
    #[serde(flatten)]
    pub partial_result_params: PartialResultParams,
}
