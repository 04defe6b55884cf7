//! The client.

// What belongs to sessions is deprecated there, and what this client meets has it.
#![allow(deprecated, reason = "servers of older revisions have it")]

use std::error::Error;

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RunningService, ServiceError, Subscription};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Failed = Box<dyn Error>;

/// Who answers the server, and what it hears of.
pub struct User {
    asked: UnboundedSender<String>,
    progress: UnboundedSender<f64>,
    updated: UnboundedSender<String>,
    tools_changed: UnboundedSender<()>,
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        let can = ClientCapabilities::builder().enable_elicitation().enable_sampling().build();
        ClientConfig::new(can, Implementation::new("rmcp", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = asked else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        // The receiver has ended if it does not hear of this.
        let _ = self.asked.send(message);
        let answers = requested_schema.properties.into_keys().map(|field| match &*field {
            "sure" => (field, json!(true)),
            _ => (field, json!("Ada")),
        });
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(answers.collect())))
    }

    async fn create_message(
        &self,
        asked: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let first = asked.messages.first().and_then(|message| match &message.content {
            SamplingContent::Single(SamplingMessageContentBlock::Text(text)) => {
                Some(text.text.to_uppercase())
            }
            _ => None,
        });
        let said = first.ok_or_else(|| ErrorData::invalid_params("the message is not a text", None))?;
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(said), "none".to_owned()))
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(report.progress);
    }

    async fn on_resource_updated(
        &self,
        update: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.updated.send(update.uri);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.tools_changed.send(());
    }
}

/// A client that is connected, and what its user has been told.
pub struct Client {
    service: RunningService<RoleClient, User>,
    asked: UnboundedReceiver<String>,
    progress: UnboundedReceiver<f64>,
    updated: UnboundedReceiver<String>,
    tools_changed: UnboundedReceiver<()>,
}

/// Connects over a transport, `stdio` or `http`, to the server that the rest names.
pub async fn connect(mode: &str, over: &str, first: &str, rest: &[&str]) -> Result<Client, Failed> {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    let mode = match mode {
        "initialize" => ClientLifecycleMode::Initialize,
        "discover" => ClientLifecycleMode::Discover { preferred_versions },
        "auto" => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        other => return Err(format!("no mode is called `{other}`").into()),
    };
    let ((asked, all_asked), (progress, all_progress)) = (unbounded_channel(), unbounded_channel());
    let ((updated, all_updated), (tools_changed, all_changed)) = (unbounded_channel(), unbounded_channel());
    let user = User { asked, progress, updated, tools_changed };
    let service = match over {
        "http" => {
            let mut config = StreamableHttpClientTransportConfig::with_uri(first);
            if let [token] = rest {
                config = config.auth_header(*token);
            }
            user.serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), mode).await?
        }
        _ => {
            let mut command = Command::new(first);
            command.args(rest);
            user.serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?
        }
    };
    Ok(Client {
        service,
        asked: all_asked,
        progress: all_progress,
        updated: all_updated,
        tools_changed: all_changed,
    })
}

impl Client {
    /// The revision that both sides speak.
    fn revision(&self) -> Result<ProtocolVersion, Failed> {
        Ok(self.service.peer_info().ok_or("the server has not said its revision")?.protocol_version.clone())
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        self.service.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await
    }

    /// What a tool says.
    async fn text(&self, tool: &'static str, arguments: Value) -> Result<String, Failed> {
        said(&self.call(tool, arguments).await?)
    }

    /// What a tool says, structured.
    async fn structured(&self, tool: &'static str, arguments: Value) -> Result<Value, Failed> {
        Ok(self.call(tool, arguments).await?.structured_content.ok_or("the result is not structured")?)
    }

    async fn tools(&self) -> Result<Vec<String>, Failed> {
        let tools = self.service.list_all_tools().await?;
        Ok(tools.into_iter().map(|tool| tool.name.into_owned()).collect())
    }

    /// Hears of changes, where that is a request of its own.
    async fn listen(&self, wanted: SubscriptionFilter) -> Result<Option<Subscription>, Failed> {
        Ok(match self.revision()?.has_initialize() {
            true => None,
            false => Some(self.service.listen(wanted).await?),
        })
    }

    /// All that was asked of the user.
    fn all_asked(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.asked.try_recv().ok()).collect()
    }

    /// Uses all of the notes.
    pub async fn notes(mut self) -> Result<Value, Failed> {
        let revision = self.revision()?;
        let tools = self.tools().await?;
        let added = self.structured("add_note", json!({ "text": "buy milk", "tag": "shop" })).await?;
        let uri = added["uri"].as_str().ok_or("a note has a URI")?;
        let wanted = SubscriptionFilter::builder().resource_subscription(uri).build();
        let listening = self.listen(wanted).await?;
        if listening.is_none() {
            self.service.subscribe(SubscribeRequestParams::new(uri)).await?;
        }
        let imported = self.text("import_notes", json!({ "text": "one\ntwo" })).await?;
        // The SDK may call the handler after the call has returned.
        let progress = [self.progress.recv().await, self.progress.recv().await];
        let found = self.structured("find_notes", json!({ "words": "milk" })).await?;
        let found = found["notes"].as_array().ok_or("what is found is a list")?;
        let listed = self.service.list_all_resources().await?;
        let read = self.service.read_resource(ReadResourceRequestParams::new(uri)).await?.contents;
        let Some(ResourceContents::TextResourceContents { text: read, .. }) = read.first() else {
            return Err("a note is a text".into());
        };
        let shop = json!({ "tag": "shop" }).as_object().cloned().unwrap_or_default();
        let prompt =
            self.service.get_prompt(GetPromptRequestParams::new("review").with_arguments(shop)).await?;
        let prompt = prompt.messages.first().and_then(|message| message.content.as_text());
        let tags = self.service.complete_prompt_simple("review", "tag", "s").await?;
        let summed = self.text("sum_up", json!({})).await?;
        let deleted = self.text("delete_note", json!({ "id": added["id"] })).await?;
        let updated = match listening {
            Some(mut listening) => match listening.next().await? {
                Some(ServerNotification::ResourceUpdatedNotification(update)) => Some(update.params.uri),
                other => return Err(format!("not an update: {other:?}").into()),
            },
            None => self.updated.recv().await,
        };
        let gone = self.call("delete_note", json!({ "id": added["id"] })).await?;
        let asked = self.all_asked();
        self.service.cancel().await?;
        Ok(json!({
            "revision": revision,
            "tools": tools,
            "uri": uri,
            "imported": imported,
            "progress": progress,
            "found": found.iter().map(|note| &note["text"]).collect::<Vec<_>>(),
            "listed": listed.into_iter().map(|resource| resource.name).collect::<Vec<_>>(),
            "read": read,
            "prompt": prompt.map(|text| &text.text),
            "tags": tags,
            "summed": summed,
            "asked": asked,
            "deleted": deleted,
            "updated": updated,
            "gone": [json!(gone.is_error), json!(said(&gone)?)],
        }))
    }

    /// Calls tools of the example `eras`, and hears of a new one.
    pub async fn eras(mut self) -> Result<Value, Failed> {
        let revision = self.revision()?;
        let listening = self.listen(SubscriptionFilter::builder().tools_list_changed().build()).await?;
        let mut texts = serde_json::Map::new();
        for tool in ["greet", "learn", "count"] {
            texts.insert(tool.to_owned(), self.text(tool, json!({})).await?.into());
        }
        match listening {
            Some(mut listening) => match listening.next().await? {
                Some(ServerNotification::ToolListChangedNotification(_)) => {}
                other => return Err(format!("not a change of the tools: {other:?}").into()),
            },
            None => self.tools_changed.recv().await.ok_or("no change of the tools is heard of")?,
        }
        let tools = self.tools().await?;
        let refused = match self.call("fly", json!({})).await {
            Err(ServiceError::McpError(error)) => error.code.0,
            other => return Err(format!("`fly` is not refused: {other:?}").into()),
        };
        let asked = self.all_asked();
        self.service.cancel().await?;
        Ok(json!({ "revision": revision, "asked": asked, "said": texts, "tools": tools, "refused": refused }))
    }

    /// Calls tools of the example `revisions`.
    pub async fn revisions(mut self) -> Result<Value, Failed> {
        let revision = self.revision()?;
        let echo = self.text("echo", json!({ "message": "grüße" })).await?;
        let user = self.text("ask_user", json!({ "message": "who are you" })).await?;
        let asked = self.all_asked();
        self.service.cancel().await?;
        Ok(json!({ "revision": revision, "echo": echo, "user": user, "asked": asked }))
    }
}

/// The first text of a result.
fn said(result: &CallToolResult) -> Result<String, Failed> {
    let text = result.content.first().and_then(|content| content.as_text());
    Ok(text.ok_or("the first part of the result is not a text")?.text.clone())
}
