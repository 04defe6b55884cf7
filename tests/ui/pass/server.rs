//! Every method of a server, in the state that has it.
//!
//! Nothing here is called: it is enough that it compiles. `tests/ui.rs` holds it against the generated code, so that
//! no method is left out.

use mcp_protocols::mcp_2025_11_25::{
    Active, AwaitingCreateMessageTaskCreated, AwaitingElicitTaskCreated, AwaitingNotif, AwaitingResult,
    BeforeToolsTaskCreated, ClientFetching, ClientWorking, Fetching, Leaving, McpServer, Renewing,
    Subscribing, Uninit, Watched, Working, server,
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
    let _ = McpServer::<Active>::elicit;
    let _ = McpServer::<Active>::get_task;
    let _ = McpServer::<Active>::list_tasks;
    let _ = McpServer::<Active>::list_tasks_pages;
    let _ = McpServer::<Active>::cancel_task;
    let _ = McpServer::<Active>::send_create_message_task;
    let _ = McpServer::<Active>::create_message_as_task;
    let _ = McpServer::<Active>::send_elicit_task;
    let _ = McpServer::<Active>::elicit_as_task;
    let _ = McpServer::<Active>::send_elicitation_complete;
    let _ = McpServer::<Active>::send_task_status;
    let _ = McpServer::<Active>::task_result;
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

pub(crate) fn before_tools_task_created() {
    let _ = server::ServerTask::<BeforeToolsTaskCreated>::send_tools_task_created;
    let _ = server::ServerTask::<BeforeToolsTaskCreated>::refuse;
}

pub(crate) fn working() {
    let _ = server::ServerTask::<Working>::send_task_status;
    let _ = server::ServerTask::<Working>::recv_tasks_result;
}

pub(crate) fn fetching() {
    let _ = server::ServerTask::<Fetching>::send_task_status;
    let _ = server::ServerTask::<Fetching>::send_task_payload;
    let _ = server::ServerTask::<Fetching>::refuse;
    let _ = server::ServerTask::<Fetching>::cancelled;
}

pub(crate) fn awaiting_create_message_task_created() {
    let _ = server::ClientTask::<AwaitingCreateMessageTaskCreated>::recv_create_message_task_created;
}

pub(crate) fn client_working() {
    let _ = server::ClientTask::<ClientWorking>::recv_task_status;
    let _ = server::ClientTask::<ClientWorking>::send_tasks_result;
    let _ = server::ClientTask::<ClientWorking>::task_result;
}

pub(crate) fn client_fetching() {
    let _ = server::ClientTask::<ClientFetching>::recv_task_status;
    let _ = server::ClientTask::<ClientFetching>::recv_task_payload;
    let _ = server::ClientTask::<ClientFetching>::next;
}

pub(crate) fn awaiting_elicit_task_created() {
    let _ = server::ClientTask::<AwaitingElicitTaskCreated>::recv_elicit_task_created;
}
