//! Params that a server accepts: those of a file, and those for a shipped protocol whose payloads are types without
//! shapes.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_protocol_machine::protocol::Message;
use serde::Deserialize;
use serde_json::Value;

use crate::arguments::Shipped;
use crate::files::{Failure, read};

/// Params by method, or by the name that a message has in the `.session` file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Those of the user.
    given: BTreeMap<String, Value>,
    /// Those that are shipped. What the user gives counts in their place.
    shipped: BTreeMap<String, Value>,
}

/// Methods that have the same params.
#[derive(Deserialize)]
struct SampleGroup {
    methods: Vec<String>,
    params: Value,
}

impl Samples {
    /// Those for a shipped protocol, if one is named, and those of a file, if there is one: an object of params by
    /// method.
    ///
    /// # Errors
    /// If the file cannot be read, or is not an object in JSON.
    pub(crate) fn new(shipped: Option<Shipped>, file: Option<&Path>) -> Result<Samples, Failure> {
        let given = match file {
            Some(path) => {
                let bytes = read(path).map_err(|error| Failure::ReadOther(path.to_path_buf(), error))?;
                serde_json::from_slice(&bytes).map_err(|error| Failure::Samples(path.to_path_buf(), error))?
            }
            None => BTreeMap::new(),
        };
        Ok(Samples { given, shipped: shipped.map(of_shipped).unwrap_or_default() })
    }

    /// The params of a message. Its name counts before its method.
    pub(crate) fn of(&self, message: &Message) -> Option<&Value> {
        let given = self.given.get(&*message.name).or_else(|| self.given.get(&*message.method));
        given.or_else(|| self.shipped.get(&*message.method))
    }
}

/// The params for a shipped protocol.
fn of_shipped(shipped: Shipped) -> BTreeMap<String, Value> {
    let text = match shipped {
        // Its payloads have shapes.
        Shipped::Mcp => "[]",
        Shipped::Lsp => include_str!("samples/lsp.json"),
        Shipped::Acp => include_str!("samples/acp.json"),
    };
    // A test reads them.
    let groups: Vec<SampleGroup> = serde_json::from_str(text).unwrap_or_default();
    let by_method = |group: SampleGroup| {
        let params = group.params;
        group.methods.into_iter().map(move |method| (method, params.clone()))
    };
    groups.into_iter().flat_map(by_method).collect()
}

/// What the user can do where a server does not accept the params of a message.
pub(crate) fn how_to_give(method: &str) -> String {
    format!(
        "write `{{ \"{method}\": {{ … }} }}` with params that it accepts into a file, and name that with `--samples`"
    )
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{Kind, Payload, Protocol, Side};

    use super::*;
    use crate::trace::methods::sent_by;

    /// The methods for which there are no params, though their messages have a payload.
    fn without(shipped: Shipped, protocol: &Protocol) -> Vec<String> {
        let samples = of_shipped(shipped);
        let opens = |kind: Kind| matches!(kind, Kind::Request | Kind::Notification);
        let sent = sent_by(protocol, Side::Client).filter(|table| opens(table.kind));
        // The probe itself knows what names a request.
        let is_own = |table: &Message| table.cancels.is_some() || table.reports.is_some();
        let needy = sent.filter(|table| table.payload == Payload::Required && !is_own(table));
        let methods = needy.map(|table| table.method.to_string());
        let mut methods: Vec<String> = methods.filter(|method| !samples.contains_key(method)).collect();
        methods.sort();
        methods.dedup();
        methods
    }

    #[test]
    fn what_clients_of_shipped_protocols_send_has_params() {
        assert_eq!(without(Shipped::Lsp, &lsp_protocols::lsp_3_17::PROTOCOL), [""; 0]);
        assert_eq!(without(Shipped::Acp, &acp_protocols::acp_v1::PROTOCOL), [""; 0]);
    }

    #[test]
    fn what_the_user_gives_counts_first() {
        let (_, initialize) = lsp_protocols::lsp_3_17::PROTOCOL.by_name("Initialize").unwrap();
        let mut samples = Samples::new(Some(Shipped::Lsp), None).unwrap();
        assert!(samples.of(initialize).unwrap()["processId"].is_null());
        samples.given.insert("Initialize".to_owned(), Value::from(1));
        assert_eq!(samples.of(initialize), Some(&Value::from(1)));
    }
}
