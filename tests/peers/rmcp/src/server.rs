//! The server: the tools of the example `eras`, for clients of every revision.

// What belongs to sessions is deprecated there, and clients of older revisions need it.
#![allow(deprecated, reason = "clients of older revisions need it")]

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// The resource that the tool `write` changes.
const NOTE: &str = "desk://note";

#[derive(Clone, Copy)]
enum Change {
    Tools,
    Note,
}

/// What all clients share.
struct Desk {
    tools: Mutex<Vec<&'static str>>,
    note: Mutex<String>,
    changes: broadcast::Sender<Change>,
    /// For each subscription that is being acknowledged: nothing that comes after the acknowledgement is missed.
    accepted: Mutex<Vec<broadcast::Receiver<Change>>>,
}

#[derive(Clone)]
struct Handler(Arc<Desk>);

fn handler() -> Handler {
    Handler(Arc::new(Desk {
        tools: Mutex::new(vec!["greet", "learn", "count", "climb", "write"]),
        note: Mutex::new("buy milk".to_owned()),
        changes: broadcast::Sender::new(16),
        accepted: Mutex::default(),
    }))
}

pub async fn over_stdio() -> Result<(), Box<dyn Error>> {
    handler().serve(stdio()).await?.waiting().await?;
    Ok(())
}

pub async fn over_http() -> Result<(), Box<dyn Error>> {
    let desk = handler();
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(desk.clone()), sessions, config);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}

/// What is done under these locks does not panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the request is one without a session.
fn stands_alone(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn failed(error: impl Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        let can = can.enable_resources().enable_resources_subscribe().build();
        ServerConfig::new(can).with_server_info(Implementation::new("rmcp-desk", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema: Arc<JsonObject> = Arc::new([("type".to_owned(), json!("object"))].into_iter().collect());
        let tools =
            lock(&self.0.tools).iter().map(|name| Tool::new_with_raw(*name, None, schema.clone())).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*call.name {
            "greet" => greet(&call, &context).await,
            "learn" => {
                lock(&self.0.tools).push("dance");
                // It fails without a listener.
                let _ = self.0.changes.send(Change::Tools);
                if !stands_alone(&context) {
                    context.peer.notify_tool_list_changed().await.map_err(failed)?;
                }
                Ok(text("I can dance now."))
            }
            "count" => Ok(count(&call, &context)),
            "climb" => climb(&context).await,
            "write" => {
                let written = call.arguments.as_ref().and_then(|arguments| arguments.get("text")?.as_str());
                *lock(&self.0.note) = written.unwrap_or_default().to_owned();
                let _ = self.0.changes.send(Change::Note);
                Ok(text("written"))
            }
            other => Err(ErrorData::invalid_params(format!("there is no tool `{other}`"), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(NOTE, "A note")]))
    }

    async fn read_resource(
        &self,
        read: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if read.uri != NOTE {
            return Err(ErrorData::resource_not_found(format!("nothing is at `{}`", read.uri), None));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text(lock(&self.0.note).clone(), NOTE)]).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        lock(&self.0.accepted).push(self.0.changes.subscribe());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let changes = lock(&self.0.accepted).pop();
        let mut changes = changes.ok_or_else(|| ErrorData::internal_error("nothing was accepted", None))?;
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = context.cancelled() => return Ok(()),
            };
            match change.map_err(failed)? {
                Change::Tools if context.accepted().tools_list_changed == Some(true) => {
                    context.sink().notify_tool_list_changed().await.map_err(failed)?;
                }
                Change::Note if context.accepted().resource_subscriptions.is_some() => {
                    context.sink().notify_resource_updated(NOTE).await.map_err(failed)?;
                }
                _ => {}
            }
        }
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut changes = self.0.changes.subscribe();
        // It ends with the connection.
        tokio::spawn(async move {
            while let Ok(change) = changes.recv().await {
                let update = ResourceUpdatedNotificationParam::new(NOTE);
                if matches!(change, Change::Note)
                    && context.peer.notify_resource_updated(update).await.is_err()
                {
                    break;
                }
            }
        });
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// Asks the user for their name: in a request of its own, or in place of the result.
async fn greet(
    call: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let form = ElicitationSchema::builder().required_string("name").build();
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who is there?".to_owned(),
        requested_schema: form.map_err(|error| ErrorData::internal_error(error, None))?,
    };
    let content = if !stands_alone(context) {
        context.peer.create_elicitation(question).await.map_err(failed)?.content
    } else if let Some(answers) = &call.input_responses {
        answers.get("who").and_then(|answer| answer.get("content")).cloned()
    } else {
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let asked = InputRequests::from([("who".to_owned(), question)]);
        return Ok(InputRequiredResult::from_input_requests(asked).into());
    };
    let name = content.as_ref().and_then(|content| content.get("name")).and_then(Value::as_str);
    Ok(text(format!("Hello, {}!", name.unwrap_or("stranger"))))
}

/// Counts to three. Where a client has no session, it carries how far this has come.
fn count(call: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> CallToolResponse {
    let count = call.request_state.as_ref().and_then(|state| state.parse().ok()).unwrap_or(0) + 1;
    match stands_alone(context) && count < 3 {
        true => InputRequiredResult::from_request_state(count.to_string()).into(),
        false => text("one, two, three"),
    }
}

/// Reports on each step.
async fn climb(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    if let Some(token) = context.meta.get_progress_token() {
        for step in [1.0, 2.0, 3.0] {
            let progress = ProgressNotificationParam::new(token.clone(), step).with_total(3.0);
            context.peer.notify_progress(progress).await.map_err(failed)?;
        }
    }
    Ok(text("I am on the roof."))
}
