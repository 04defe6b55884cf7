//! The user: answers the requests of the server.

use std::collections::BTreeMap;

use mcp_protocols::eras::types::*;
use mcp_protocols::rounds::User;
use mcp_runtime::RpcError;

/// A user who takes whatever a form proposes.
pub(crate) struct Proposed;

impl User for Proposed {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        let ElicitParams::Form(form) = params else {
            return Ok(ElicitResult::new(ElicitAction::Decline));
        };
        let form = form.requested_schema;
        let proposed: BTreeMap<String, FieldValue> =
            form.properties.into_iter().filter_map(|(name, field)| Some((name, proposed(field)?))).collect();
        // A required field without a default cannot be filled in.
        if form.required.iter().flatten().any(|name| !proposed.contains_key(name)) {
            return Ok(ElicitResult::new(ElicitAction::Decline));
        }
        Ok(ElicitResult::new(ElicitAction::Accept).content(proposed))
    }
}

/// What a field says before the user fills it in.
fn proposed(field: FieldSchema) -> Option<FieldValue> {
    match field {
        FieldSchema::StringSchema(field) => field.default.map(FieldValue::from),
        FieldSchema::NumberSchema(field) => field.default.map(FieldValue::from),
        FieldSchema::BooleanSchema(field) => field.default.map(FieldValue::from),
        FieldSchema::EnumSchema(field) => field.default.map(FieldValue::from),
        FieldSchema::TitledEnumSchema(field) => field.default.map(FieldValue::from),
        FieldSchema::MultiSelectEnumSchema(field) => field.default.map(FieldValue::from),
        _ => None,
    }
}
