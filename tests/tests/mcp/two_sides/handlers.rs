//! Handlers of the tests: a server with a few tools, and a client with a model.

use std::sync::Mutex;

use mcp_protocols::mcp_2025_03_26::{client, server};
use mcp_protocols::types::*;
use mcp_runtime::RpcError;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

/// The parameters of a call.
pub(crate) fn call(name: &str) -> CallToolParams {
    CallToolParams::new(name)
}

/// A question for the model.
pub(crate) fn question(text: &str) -> CreateMessageParams {
    let text = TextContent::new(text);
    CreateMessageParams::new([SamplingMessage::new(Role::User, text)], 9)
}

/// The server's tools: `echo` says it again, `ask` asks the model, `steps` reports four times.
pub(crate) struct Tools;

impl server::Handler for Tools {
    async fn call_tool(
        &self,
        context: server::Context,
        params: CallToolParams,
    ) -> Result<CallToolResult, RpcError> {
        match params.name.as_str() {
            "echo" => Ok(CallToolResult::text(
                params.argument("message").and_then(Value::as_str).unwrap_or_default(),
            )),
            "ask" => match context.peer().create_message(question("why")).await {
                Ok(answer) => Ok(CallToolResult::text(answer.content.first_text().unwrap_or_default())),
                Err(error) => Ok(CallToolResult::error(error.to_string())),
            },
            "steps" => {
                for step in 1..=4 {
                    let progress = ProgressParams::new("filled in", step).total(4);
                    context
                        .send_progress(progress)
                        .await
                        .map_err(|error| RpcError::internal_error(error.to_string()))?;
                }
                Ok(CallToolResult::text("there"))
            }
            other => Err(RpcError::invalid_params(format!("no tool is called `{other}`"))),
        }
    }
}

/// The client's model, and a log of all notifications.
pub(crate) struct Model {
    /// What the model says; nothing if the user refuses.
    pub(crate) says: Option<&'static str>,
    /// The receivers of notifications, by their name.
    pub(crate) told: Mutex<Option<UnboundedSender<String>>>,
}

impl Model {
    pub(crate) fn saying(says: Option<&'static str>) -> Model {
        Model { says, told: Mutex::new(None) }
    }

    fn tell(&self, what: &str) {
        if let Some(told) = &*self.told.lock().unwrap() {
            // The test may have heard enough.
            let _ = told.send(what.to_owned());
        }
    }
}

impl client::Handler for Model {
    async fn create_message(
        &self,
        context: client::Context,
        _: CreateMessageParams,
    ) -> Result<CreateMessageResult, RpcError> {
        // The server answers pings while its own request is being worked on.
        context.peer().ping().await.map_err(|error| RpcError::internal_error(error.to_string()))?;
        let Some(says) = self.says else { return Err(RpcError::new(-1, "the user said no")) };
        let text = TextContent::new(says);
        Ok(CreateMessageResult::new(Role::Assistant, text, "m"))
    }

    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        self.tell(&format!("log {}", params.data));
    }

    async fn tools_list_changed(&self, _: client::Context) {
        self.tell("tools");
    }

    async fn resources_list_changed(&self, _: client::Context) {
        self.tell("resources");
    }

    async fn prompts_list_changed(&self, _: client::Context) {
        self.tell("prompts");
    }

    async fn resource_updated(&self, _: client::Context, params: ResourceUpdatedParams) {
        self.tell(&format!("updated {}", json!(params.uri)));
    }
}
