//! The file with params that a server accepts.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_protocol_machine::protocol::Message;
use serde_json::Value;

use crate::files::{Failure, read};

/// Params by method, or by the name that a message has in the `.session` file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(BTreeMap<String, Value>);

impl Samples {
    /// Reads a file: an object of params by method.
    ///
    /// # Errors
    /// If it cannot be read, or is not an object in JSON.
    pub(crate) fn read(path: &Path) -> Result<Samples, Failure> {
        let bytes = read(path).map_err(|error| Failure::ReadOther(path.to_path_buf(), error))?;
        let samples =
            serde_json::from_slice(&bytes).map_err(|error| Failure::Samples(path.to_path_buf(), error))?;
        Ok(Samples(samples))
    }

    /// The params of a message. Its name counts before its method.
    pub(crate) fn of(&self, message: &Message) -> Option<&Value> {
        self.0.get(&*message.name).or_else(|| self.0.get(&*message.method))
    }
}
