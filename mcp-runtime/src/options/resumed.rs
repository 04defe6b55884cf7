//! What a program knows of a session that it resumes.

use serde::Serialize;

use super::settings::Options;
use crate::jsonrpc::write;

/// What a program knows of a session that it resumes. By default nothing is known. Then every capability counts as
/// announced, and the peer refuses what it cannot do.
///
/// ```
/// use mcp_runtime::{Options, Resumed};
/// use serde_json::json;
///
/// let resumed = Resumed::unknown()
///     .options(Options::new().max_handlers(16))
///     .server_said(&json!({ "capabilities": { "forecasts": {} } }))?;
/// // let client = WeatherClient::<Active>::resume(transport, resumed);
/// # drop(resumed);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Resumed {
    pub(crate) client: Announced,
    pub(crate) server: Announced,
    pub(crate) version: Option<String>,
    first_id: Option<i64>,
    options: Options,
}

/// What one side has announced.
#[derive(Clone, Debug, Default)]
pub(crate) enum Announced {
    /// Not known; everything counts as announced.
    #[default]
    Unknown,
    /// The payload of the message that announces, as JSON.
    Said(String),
}

impl Resumed {
    /// Creates a value in which nothing is known.
    pub fn unknown() -> Resumed {
        Resumed::default()
    }

    /// Sets the options of the session.
    #[must_use]
    pub fn options(mut self, options: Options) -> Resumed {
        self.options = options;
        self
    }

    /// Sets the id of the first request of this side. By default it is random, because the ids that were used in the
    /// session are unknown and must not be used twice.
    #[must_use]
    pub fn first_id(mut self, id: i64) -> Resumed {
        self.first_id = Some(id);
        self
    }

    /// Sets the version of the protocol that was agreed on. Its revision governs the session, if it is listed in
    /// [`Options::revisions`], and HTTP names it in a header. By default it is the version in
    /// [`server_said`](Self::server_said), or the program's own.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Resumed {
        self.version = Some(version.into());
        self
    }

    pub(crate) fn session_options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn id(&self) -> i64 {
        // The standard library seeds its hash maps from the system's randomness. As many bits as every peer can read.
        let random = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u8) >> 12;
        self.first_id.unwrap_or_else(|| i64::try_from(random()).unwrap_or(0))
    }

    /// Sets what the client has announced: the payload of the announcing message, such as `InitializeParams`.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    pub fn client_said<P: Serialize + ?Sized>(mut self, payload: &P) -> Result<Resumed, serde_json::Error> {
        self.client = Announced::Said(write::payload(payload)?);
        Ok(self)
    }

    /// Sets what the server has announced: the payload of the announcing message, such as `InitializeResult`. If it
    /// contains the version that was agreed on, that version governs.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    pub fn server_said<P: Serialize + ?Sized>(mut self, payload: &P) -> Result<Resumed, serde_json::Error> {
        self.server = Announced::Said(write::payload(payload)?);
        Ok(self)
    }
}
