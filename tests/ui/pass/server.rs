//! Every method of a server, in the state that has it.
//!
//! Nothing here is called: it is enough that it compiles. `tests/ui.rs` holds it against the generated code, so that
//! no method is left out.

use mcp_protocols::mcp_2025_03_26::{
    Active, AwaitingNotif, AwaitingResult, Leaving, McpServer, Renewing, Subscribing, Uninit, Watched, server,
};
use mcp_runtime::transport::Duplex;
use mcp_runtime::{Options, Resumed};

pub(crate) fn in_every_state<State>() {
    let _ = McpServer::<State>::handle;
    let _ = McpServer::<State>::incoming;
    let _ = McpServer::<State>::permits;
    let _ = McpServer::<State>::permitted;
    let _ = McpServer::<State>::into_checked;
    let _ = McpServer::<State>::ended;
    let _ = McpServer::<State>::readable;
    let _ = McpServer::<State>::abort;
}

pub(crate) fn uninit() {
    let _ = |transport: Duplex| McpServer::<Uninit>::new(transport);
    let _ = |transport: Duplex, options: Options| McpServer::<Uninit>::with_options(transport, options);
    let _ = McpServer::<Uninit>::recv_initialize;
    let _ = McpServer::<Uninit>::ping;
    let _ = McpServer::<Uninit>::send_log_message;
}

pub(crate) fn awaiting_result() {
    let _ = McpServer::<AwaitingResult>::send_initialize_result;
    let _ = McpServer::<AwaitingResult>::ping;
    let _ = McpServer::<AwaitingResult>::send_log_message;
    let _ = McpServer::<AwaitingResult>::refuse;
}

pub(crate) fn awaiting_notif() {
    let _ = |transport: Duplex, resumed: Resumed| McpServer::<AwaitingNotif>::resume(transport, resumed);
    let _ = McpServer::<AwaitingNotif>::recv_initialized;
    let _ = McpServer::<AwaitingNotif>::ping;
    let _ = McpServer::<AwaitingNotif>::send_log_message;
    let _ = McpServer::<AwaitingNotif>::next;
}

pub(crate) fn active() {
    let _ = |transport: Duplex, resumed: Resumed| McpServer::<Active>::resume(transport, resumed);
    let _ = McpServer::<Active>::ping;
    let _ = McpServer::<Active>::send_log_message;
    let _ = McpServer::<Active>::create_message;
    let _ = McpServer::<Active>::list_roots;
    let _ = McpServer::<Active>::send_tools_list_changed;
    let _ = McpServer::<Active>::send_resources_list_changed;
    let _ = McpServer::<Active>::send_prompts_list_changed;
    let _ = McpServer::<Active>::send_resource_updated;
    let _ = McpServer::<Active>::close;
}

pub(crate) fn subscribing() {
    let _ = server::Subscription::<Subscribing>::send_subscribed;
    let _ = server::Subscription::<Subscribing>::refuse;
    let _ = server::Subscription::<Subscribing>::cancelled;
}

pub(crate) fn watched() {
    let _ = server::Subscription::<Watched>::send_resource_updated;
    let _ = server::Subscription::<Watched>::recv_resources_subscribe;
    let _ = server::Subscription::<Watched>::recv_resources_unsubscribe;
    let _ = server::Subscription::<Watched>::next;
}

pub(crate) fn renewing() {
    let _ = server::Subscription::<Renewing>::send_resource_updated;
    let _ = server::Subscription::<Renewing>::send_subscribed;
    let _ = server::Subscription::<Renewing>::refuse;
    let _ = server::Subscription::<Renewing>::cancelled;
}

pub(crate) fn leaving() {
    let _ = server::Subscription::<Leaving>::send_resource_updated;
    let _ = server::Subscription::<Leaving>::send_unsubscribed;
    let _ = server::Subscription::<Leaving>::refuse;
    let _ = server::Subscription::<Leaving>::cancelled;
}
