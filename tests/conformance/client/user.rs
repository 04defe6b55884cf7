//! The user: answers the requests of the server.

use mcp_protocols::mcp_2025_11_25::client::{Context, Handler};
use mcp_protocols::types::ElicitResult;
use mcp_runtime::RpcError;
use serde_json::{Map, Value, json};

use crate::read;

/// A user who takes whatever a form proposes.
pub(crate) struct User;

impl Handler for User {
    async fn elicit(&self, _: Context, params: Value) -> Result<ElicitResult, RpcError> {
        let form = params.get("requestedSchema").cloned().unwrap_or_default();
        let fields = form.get("properties").and_then(Value::as_object);
        let proposed: Map<String, Value> = fields
            .into_iter()
            .flatten()
            .filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())))
            .collect();
        // A required field without a default cannot be filled in.
        let required = form.get("required").and_then(Value::as_array).into_iter().flatten();
        if required.filter_map(Value::as_str).any(|name| !proposed.contains_key(name)) {
            return Ok(ElicitResult::decline());
        }
        Ok(read(json!({ "action": "accept", "content": proposed })))
    }
}
