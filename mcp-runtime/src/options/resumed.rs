//! What is known of a session that began elsewhere.

use serde::Serialize;

use super::settings::Options;
use crate::jsonrpc::write;

/// What is known of a session that was begun elsewhere. By default nothing is, and then every capability counts as
/// announced: the peer refuses what it cannot do.
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
    /// Nothing is known.
    pub fn unknown() -> Resumed {
        Resumed::default()
    }

    /// The settings of the session, where they are not the defaults.
    #[must_use]
    pub fn options(mut self, options: Options) -> Resumed {
        self.options = options;
        self
    }

    /// The id of the first request of this side. By default it is drawn at random, for ids must not be used twice in a
    /// session, and it is not known here which were.
    #[must_use]
    pub fn first_id(mut self, id: i64) -> Resumed {
        self.first_id = Some(id);
        self
    }

    /// The version of the protocol that was agreed on: its revision governs the session, if it is among those that this
    /// side speaks ([`Options::revisions`]); a transport that names the version names this one. By default it is the one
    /// that the server announced, if [`server_said`](Self::server_said) tells, and else the program's own.
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

    /// The client has announced what this says: the payload of the message with which it does, `InitializeParams` for
    /// instance.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    pub fn client_said<P: Serialize + ?Sized>(mut self, payload: &P) -> Result<Resumed, serde_json::Error> {
        self.client = Announced::Said(write::payload(payload)?);
        Ok(self)
    }

    /// The server has announced what this says: the payload of the message with which it does, `InitializeResult` for
    /// instance. If that says which version was agreed on, that one governs.
    ///
    /// # Errors
    /// If the payload cannot be written as JSON.
    pub fn server_said<P: Serialize + ?Sized>(mut self, payload: &P) -> Result<Resumed, serde_json::Error> {
        self.server = Announced::Said(write::payload(payload)?);
        Ok(self)
    }
}
