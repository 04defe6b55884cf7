//! What goes into tasks of their own, and what runs side by side on one session.

use mcp_protocols::mcp_2025_11_25::{
    Active, AwaitingNotif, AwaitingResult, McpClient, McpError, McpServer, Uninit, client, server,
};
use mcp_protocols::types::{
    CallToolParams, CallToolResult, InitializeParams, InitializeResult, ResourceParams,
};
use mcp_runtime::call::{Canceller, Responder};
use mcp_runtime::session::Closing;
use mcp_runtime::transport::Duplex;
use mcp_runtime::{Error, RpcError, StepError};

/// May go to another task.
fn goes_to_a_task(_: &(impl Send + 'static)) {}

/// May be handed out to any number of tasks.
fn is_handed_out<T: Clone + Send + Sync + 'static>() {}

fn is_send<T: Send + 'static>() {}

fn is_sync<T: Sync>() {}

pub(crate) fn values() {
    is_handed_out::<client::Handle>();
    is_handed_out::<server::Handle>();
    is_handed_out::<client::Context>();
    is_handed_out::<server::Context>();
    is_handed_out::<Canceller>();
    is_handed_out::<Error>();
    is_send::<McpClient<Uninit>>();
    is_send::<McpClient<Active>>();
    is_send::<McpServer<Uninit>>();
    is_send::<McpServer<Active>>();
    is_send::<client::Incoming>();
    is_send::<server::IncomingQueue>();
    is_send::<server::AwaitingNotifNext>();
    is_send::<StepError<McpClient<Uninit>>>();
    is_send::<Responder<CallToolResult>>();
    is_send::<Closing>();
    // A session that is shared is called from several tasks at once.
    is_sync::<McpClient<Active>>();
    is_sync::<McpServer<Active>>();
}

/// Every step, with all that it holds while it waits.
pub(crate) fn steps_of_a_client(
    uninit: (McpClient<Uninit>, McpClient<Uninit>),
    awaiting_result: McpClient<AwaitingResult>,
    awaiting_notif: McpClient<AwaitingNotif>,
    params: InitializeParams,
) {
    goes_to_a_task(&uninit.0.send_initialize(params.clone()));
    goes_to_a_task(&uninit.1.initialize(params));
    goes_to_a_task(&awaiting_result.recv_initialize_result());
    goes_to_a_task(&awaiting_notif.send_initialized());
}

pub(crate) fn steps_of_a_server(
    uninit: McpServer<Uninit>,
    awaiting_result: (McpServer<AwaitingResult>, McpServer<AwaitingResult>),
    awaiting_notif: (McpServer<AwaitingNotif>, McpServer<AwaitingNotif>),
    result: InitializeResult,
) {
    goes_to_a_task(&uninit.recv_initialize());
    goes_to_a_task(&awaiting_result.0.send_initialize_result(result));
    goes_to_a_task(&awaiting_result.1.refuse(RpcError::internal_error("not today")));
    goes_to_a_task(&awaiting_notif.0.recv_initialized());
    goes_to_a_task(&awaiting_notif.1.next());
}

struct Everything;

impl client::Handler for Everything {}

impl server::Handler for Everything {
    async fn call_tool(
        &self,
        context: server::Context,
        _: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        // Pings are answered in every phase, whatever the client can do.
        context.peer().ping().await.map_err(|error| RpcError::internal_error(error.to_string()))?;
        Ok(CallToolResult::text("done"))
    }
}

/// The queue and the calls of a handle outlive the session value.
pub(crate) async fn spawned(client: McpClient<Active>, server: McpServer<Active>, params: CallToolParams) {
    tokio::spawn(client.incoming().serve(Everything));
    tokio::spawn(server.incoming().serve(Everything));
    let handle = client.handle();
    tokio::spawn(handle.call_tool(params.clone()));
    tokio::spawn(async move { handle.call_tool(params).await });
    tokio::spawn(async move { client.close().await });
}

/// Calls borrow the session, any number of them at a time; it is closed when all are done.
pub(crate) async fn side_by_side(
    client: McpClient<Active>,
    tool: CallToolParams,
    resource: ResourceParams,
) -> Result<(), McpError> {
    let (one, another, read) =
        tokio::join!(client.call_tool(tool.clone()), client.call_tool(tool), client.read_resource(resource),);
    client.close().await?;
    one.and(another).and(read).map(drop)
}

/// A program's own function may be given to `tokio::spawn` whole.
pub(crate) fn whole(transport: Duplex, params: InitializeParams) {
    tokio::spawn(async move {
        let (_, client) = McpClient::new(transport).initialize(params).await?;
        let client = client.send_initialized().await?;
        client.ping().await?;
        client.close().await
    });
}
