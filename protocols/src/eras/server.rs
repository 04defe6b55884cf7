//! [`Server`]: serves clients of both eras, as they begin.

use std::fmt;
use std::sync::Arc;

use mcp_runtime::transport::{Division, Successive};
use mcp_runtime::{Options, Transport};

use super::changes::Changes;
use super::context::Context;
use super::handler::Handler;
use super::requests::Requests;
use super::served::Served;
use super::session;
use super::spoken::{Spoken, UnknownRevision};
use crate::mcp_2026_07_28::{McpError, McpServer};
use crate::rounds::Rounds;

/// Serves a [`Handler`] to clients of every revision. A clone is the same server.
///
/// ```
/// use mcp_protocols::eras::{Asker, Handler, Offer, Server};
/// use mcp_protocols::eras::types::*;
/// use mcp_protocols::rounds::Round;
/// use mcp_runtime::{RpcError, transport::stdio};
///
/// struct Greeter;
///
/// impl Handler for Greeter {
///     fn offer(&self) -> Offer {
///         Offer::new(Implementation::new("greeter", "1.0.0"), ServerCapabilities::new().tools(ToolsCapability::new()))
///     }
///
///     async fn call_tool(&self, asker: Asker, _: CallToolParams) -> Result<Round<CallToolResult>, RpcError> {
///         let form = FormSchema::new([]).required_field("name", StringSchema::new());
///         let answer = asker.elicit(ElicitFormParams::new("Who is there?", form)).await?;
///         let name = answer.content.unwrap_or_default().remove("name");
///         let name = name.as_ref().and_then(FieldValue::as_text).unwrap_or("stranger");
///         Ok(CallToolResult::text(format!("Hello, {name}!")).into())
///     }
/// }
///
/// # async fn example() -> Result<(), mcp_runtime::Error> {
/// Server::new(Greeter).serve(stdio()).await?;
/// # Ok(())
/// # }
/// ```
///
/// Over HTTP, one endpoint serves both eras:
///
/// ```ignore
/// let server = Server::new(Greeter);
/// let http = HttpServer::new(ServerOptions::default(), move |transport| {
///     let server = server.clone();
///     async move { if let Err(error) = server.serve(transport).await { eprintln!("{error}") } }
/// });
/// ```
pub struct Server<H>(Served<H>);

impl<H: Handler> Server<H> {
    /// A server that does what the handler says.
    pub fn new(handler: H) -> Server<H> {
        Server(Served::new(handler))
    }

    /// Notifies clients of changes with these: the handler has them, too.
    #[must_use]
    pub fn with_changes(self, changes: Changes) -> Server<H> {
        Server(Served { changes, ..self.0 })
    }

    /// What notifies clients of changes.
    pub fn changes(&self) -> Changes {
        self.0.changes.clone()
    }

    /// Speaks these revisions, in place of all. A client that asks for another one with a handshake is offered the latest of
    /// these. Without `2026-07-28` the server is one with sessions only, and with `2026-07-28` alone one without. Over HTTP,
    /// leave the others out of `ServerOptions::versions`, too.
    ///
    /// ```
    /// # use mcp_protocols::eras::{Handler, Server, UnknownRevision};
    /// # fn example(handler: impl Handler) -> Result<(), UnknownRevision> {
    /// let server = Server::new(handler).revisions(["2025-11-25", "2026-07-28"])?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If one of them is not a revision of MCP, or there is none.
    pub fn revisions<V: Into<String>>(
        self,
        revisions: impl IntoIterator<Item = V>,
    ) -> Result<Server<H>, UnknownRevision> {
        let names: Vec<String> = revisions.into_iter().map(Into::into).collect();
        Ok(Server(Served { spoken: Spoken::of(&names)?, ..self.0 }))
    }

    /// The settings of each session. The revisions are those of this crate, or of [`revisions`](Self::revisions).
    #[must_use]
    pub fn options(self, options: Options) -> Server<H> {
        Server(Served { options, ..self.0 })
    }

    /// How many calls may wait for an answer of their client of 2026-07-28, how many of one client, and for how long.
    #[must_use]
    pub fn rounds(self, rounds: Rounds) -> Server<H> {
        Server(Served { rounds, ..self.0 })
    }

    /// On whose behalf a request of 2026-07-28 comes, as your layers have found out. A call that waits for an answer goes on
    /// only with requests of the same principal.
    #[must_use]
    pub fn principal(
        self,
        principal: impl Fn(&Context) -> Option<String> + Send + Sync + 'static,
    ) -> Server<H> {
        Server(Served { principal: Some(Arc::new(principal)), ..self.0 })
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.0.handler
    }

    /// Serves one connection to its end. Over standard streams and other streams of bytes, the first messages of the client say
    /// which era it is in: `initialize` begins a session, anything else is a request by itself. Over HTTP the transport knows.
    ///
    /// # Errors
    /// If a session breaks off. A client may leave at any time, which is not an error.
    pub async fn serve(&self, transport: impl Transport) -> Result<(), McpError> {
        let spoken = &self.0.spoken;
        if !spoken.has_requests() {
            return session::serve(transport, self.0.clone()).await;
        }
        if transport.is_for_one_request() {
            // How the client has left, the transport knows.
            let _ = self.serve_requests(transport).await;
            return Ok(());
        }
        if spoken.sessions().is_empty() {
            return self.serve_requests(transport).await;
        }
        if !transport.is_ordered() {
            return session::serve(transport, self.0.clone()).await;
        }
        let mut connection = Successive::divided(transport, divide());
        while let Some(part) = connection.begun().await {
            if part.begins_with().is_some_and(|method| HANDSHAKE.contains(&method)) {
                return session::serve(part, self.0.clone()).await;
            }
            self.serve_requests(part).await?;
        }
        Ok(())
    }

    async fn serve_requests(&self, transport: impl Transport) -> Result<(), McpError> {
        // The revisions with a handshake are named to a client that asks for one without.
        let server =
            McpServer::with_options(transport, self.0.options.clone().revisions(self.0.spoken.tables()));
        server.incoming().serve(Requests(self.0.clone())).await;
        match server.close().await {
            Err(McpError::Disconnected { reason }) if reason.peer_left() => Ok(()),
            closed => closed.map(drop),
        }
    }
}

/// What only a client of an older revision begins with.
const HANDSHAKE: [&str; 2] = ["initialize", "ping"];

/// A client may discover what the server speaks, find nothing that it speaks itself, and then begin a session. A notification
/// that comes too early is of either era. Anything else settles the era.
fn divide() -> impl FnMut(&str) -> Division + Send + 'static {
    let mut in_session = false;
    move |method| match method {
        _ if in_session => Division::Settled,
        "server/discover" => Division::Continues,
        _ if method.starts_with("notifications/") => Division::Continues,
        _ if HANDSHAKE.contains(&method) => {
            in_session = true;
            Division::Begins
        }
        _ => Division::Settled,
    }
}

impl<H> Clone for Server<H> {
    fn clone(&self) -> Server<H> {
        Server(self.0.clone())
    }
}

impl<H> fmt::Debug for Server<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").finish_non_exhaustive()
    }
}
