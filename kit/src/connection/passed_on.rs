//! Calls that a program passes on to a server, for a client of its own.

use std::future::IntoFuture;

use mcp_protocols::eras::types::{CallToolParams, CallToolResult, Object, ProgressParams};
use mcp_runtime::RpcError;
use tokio::sync::mpsc;

use super::super::server::Client;
use super::connected::Connection;

/// How many reports of progress wait for a client that is slow to read them. It misses those beyond.
const REPORTS: usize = 64;

impl Connection {
    /// Passes a call of a tool on, for the client that a tool of this program works for: that client answers what the server
    /// asks, and gets its progress. If it cancels, so that the future is dropped, the call is cancelled. The result is as the
    /// server returned it, also where its tool has failed.
    ///
    /// The server asks only for what this connection declares, so give [`ConnectOptions`](super::ConnectOptions) handlers for
    /// all that clients may be asked: they answer for none of these calls. In a session a question does not say which call it
    /// belongs to: where several calls run, it goes to these handlers. Open a connection for each client, then.
    ///
    /// ```no_run
    /// # use mcp_kit::types::{self, CallToolResult, Object};
    /// use mcp_kit::{Client, Connection, Context, Failure, Tools};
    ///
    /// struct Behind;
    ///
    /// impl Tools<Connection> for Behind {
    ///     async fn list(server: &Connection, _: &Context) -> Result<Vec<types::Tool>, Failure> {
    ///         Ok(server.tools().await?)
    ///     }
    ///
    ///     async fn call(
    ///         server: &Connection,
    ///         name: &str,
    ///         arguments: Object,
    ///         client: Client,
    ///     ) -> Result<Option<CallToolResult>, Failure> {
    ///         Ok(Some(server.pass_on(name, arguments, &client).await?))
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// What the server refuses is refused as it came; an internal error says how else the call has failed.
    pub async fn pass_on<N>(
        &self,
        tool: impl Into<String>,
        arguments: Object,
        client: &Client<N>,
    ) -> Result<CallToolResult, RpcError> {
        let (sender, mut reports) = mpsc::channel::<ProgressParams>(REPORTS);
        let server = self.client();
        let call = server
            .call_tool(CallToolParams::new(tool, server.meta()).arguments(arguments))
            .answered_by(client.asker().clone())
            .on_progress(move |report| drop(sender.try_send(report)));
        // A client that is gone, or one that has heard of more already, needs no report.
        let pass = async |report| drop(client.context().send_progress(report).await);
        let mut call = call.into_future();
        loop {
            tokio::select! {
                biased;
                Some(report) = reports.recv() => pass(report).await,
                called = &mut call => {
                    // What came in one piece with the result.
                    while let Ok(report) = reports.try_recv() {
                        pass(report).await;
                    }
                    return Ok(called?);
                }
            }
        }
    }
}
