//! Every method of a client, in the state that has it.
//!
//! Nothing here is called: it is enough that it compiles. `tests/ui.rs` holds it against the generated code, so that
//! no method is left out.

use mcp_protocols::mcp_2025_11_25::{
    Active, AwaitingNotif, AwaitingResult, AwaitingToolsTaskCreated, BeforeCreateMessageTaskCreated,
    BeforeElicitTaskCreated, ClientFetching, ClientWorking, Fetching, Leaving, McpClient, Renewing,
    Subscribing, Uninit, Watched, Working, client,
};
use mcp_runtime::transport::Duplex;
use mcp_runtime::{Options, Resumed};

pub(crate) fn in_every_state<State>() {
    let _ = McpClient::<State>::handle;
    let _ = McpClient::<State>::incoming;
    let _ = McpClient::<State>::permits;
    let _ = McpClient::<State>::permitted;
    let _ = McpClient::<State>::into_checked;
    let _ = McpClient::<State>::ended;
    let _ = McpClient::<State>::readable;
    let _ = McpClient::<State>::abort;
}

pub(crate) fn uninit() {
    let _ = |transport: Duplex| McpClient::<Uninit>::new(transport);
    let _ = |transport: Duplex, options: Options| McpClient::<Uninit>::with_options(transport, options);
    let _ = McpClient::<Uninit>::send_initialize;
    let _ = McpClient::<Uninit>::initialize;
    let _ = McpClient::<Uninit>::ping;
}

pub(crate) fn awaiting_result() {
    let _ = McpClient::<AwaitingResult>::recv_initialize_result;
    let _ = McpClient::<AwaitingResult>::ping;
}

pub(crate) fn awaiting_notif() {
    let _ = |transport: Duplex, resumed: Resumed| McpClient::<AwaitingNotif>::resume(transport, resumed);
    let _ = McpClient::<AwaitingNotif>::send_initialized;
    let _ = McpClient::<AwaitingNotif>::ping;
    let _ = McpClient::<AwaitingNotif>::close;
}

pub(crate) fn active() {
    let _ = |transport: Duplex, resumed: Resumed| McpClient::<Active>::resume(transport, resumed);
    let _ = McpClient::<Active>::ping;
    let _ = McpClient::<Active>::list_tools;
    let _ = McpClient::<Active>::list_tools_pages;
    let _ = McpClient::<Active>::call_tool;
    let _ = McpClient::<Active>::list_resources;
    let _ = McpClient::<Active>::list_resources_pages;
    let _ = McpClient::<Active>::list_resource_templates;
    let _ = McpClient::<Active>::list_resource_templates_pages;
    let _ = McpClient::<Active>::read_resource;
    let _ = McpClient::<Active>::send_resources_subscribe;
    let _ = McpClient::<Active>::subscribe;
    let _ = McpClient::<Active>::unsubscribe;
    let _ = McpClient::<Active>::list_prompts;
    let _ = McpClient::<Active>::list_prompts_pages;
    let _ = McpClient::<Active>::get_prompt;
    let _ = McpClient::<Active>::complete;
    let _ = McpClient::<Active>::set_level;
    let _ = McpClient::<Active>::send_roots_list_changed;
    let _ = McpClient::<Active>::get_task;
    let _ = McpClient::<Active>::list_tasks;
    let _ = McpClient::<Active>::list_tasks_pages;
    let _ = McpClient::<Active>::cancel_task;
    let _ = McpClient::<Active>::send_tools_task;
    let _ = McpClient::<Active>::call_tool_as_task;
    let _ = McpClient::<Active>::task_result;
    let _ = McpClient::<Active>::send_task_status;
    let _ = McpClient::<Active>::close;
}

pub(crate) fn subscribing() {
    let _ = client::Subscription::<Subscribing>::recv_subscribed;
}

pub(crate) fn watched() {
    let _ = client::Subscription::<Watched>::recv_resource_updated;
    let _ = client::Subscription::<Watched>::send_resources_subscribe;
    let _ = client::Subscription::<Watched>::subscribe;
    let _ = client::Subscription::<Watched>::send_resources_unsubscribe;
    let _ = client::Subscription::<Watched>::unsubscribe;
}

pub(crate) fn renewing() {
    let _ = client::Subscription::<Renewing>::recv_resource_updated;
    let _ = client::Subscription::<Renewing>::recv_subscribed;
    let _ = client::Subscription::<Renewing>::next;
}

pub(crate) fn leaving() {
    let _ = client::Subscription::<Leaving>::recv_resource_updated;
    let _ = client::Subscription::<Leaving>::recv_unsubscribed;
    let _ = client::Subscription::<Leaving>::next;
}

pub(crate) fn awaiting_tools_task_created() {
    let _ = client::ServerTask::<AwaitingToolsTaskCreated>::recv_tools_task_created;
}

pub(crate) fn working() {
    let _ = client::ServerTask::<Working>::recv_task_status;
    let _ = client::ServerTask::<Working>::send_tasks_result;
    let _ = client::ServerTask::<Working>::task_result;
}

pub(crate) fn fetching() {
    let _ = client::ServerTask::<Fetching>::recv_task_status;
    let _ = client::ServerTask::<Fetching>::recv_task_payload;
    let _ = client::ServerTask::<Fetching>::next;
}

pub(crate) fn before_create_message_task_created() {
    let _ = client::ClientTask::<BeforeCreateMessageTaskCreated>::send_create_message_task_created;
    let _ = client::ClientTask::<BeforeCreateMessageTaskCreated>::refuse;
}

pub(crate) fn client_working() {
    let _ = client::ClientTask::<ClientWorking>::send_task_status;
    let _ = client::ClientTask::<ClientWorking>::recv_tasks_result;
}

pub(crate) fn client_fetching() {
    let _ = client::ClientTask::<ClientFetching>::send_task_status;
    let _ = client::ClientTask::<ClientFetching>::send_task_payload;
    let _ = client::ClientTask::<ClientFetching>::refuse;
    let _ = client::ClientTask::<ClientFetching>::cancelled;
}

pub(crate) fn before_elicit_task_created() {
    let _ = client::ClientTask::<BeforeElicitTaskCreated>::send_elicit_task_created;
    let _ = client::ClientTask::<BeforeElicitTaskCreated>::refuse;
}
