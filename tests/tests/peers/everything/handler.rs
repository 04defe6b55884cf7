//! The client's handler: answers the server, and records everything that it receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_protocols::mcp_2025_03_26::client;
use mcp_protocols::types::*;
use mcp_runtime::RpcError;
use tokio::sync::watch;

/// What the server has asked or told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    ToolsChanged,
    ResourcesChanged,
    PromptsChanged,
    Updated(ResourceUpdatedParams),
    Log { level: LoggingLevel, logger: Option<String>, text: String },
    RootsAsked,
    SamplingAsked { text: String, most: i64 },
}

/// Everything that came in so far.
#[derive(Clone)]
pub(crate) struct Diary(watch::Sender<Vec<Entry>>);

impl Diary {
    /// Waits until so many entries are as `wanted` says.
    pub(crate) async fn until(&self, count: usize, wanted: impl Fn(&Entry) -> bool) {
        let mut entries = self.0.subscribe();
        // The sender is in our own hands, so the channel cannot close.
        entries
            .wait_for(|entries| entries.iter().filter(|entry| wanted(entry)).count() >= count)
            .await
            .unwrap();
    }

    /// How many entries so far are as `wanted` says.
    pub(crate) fn count(&self, wanted: impl Fn(&Entry) -> bool) -> usize {
        self.0.borrow().iter().filter(|entry| wanted(entry)).count()
    }

    /// The first entry from which `wanted` makes something; waits for it.
    pub(crate) async fn find<T>(&self, wanted: impl Fn(&Entry) -> Option<T>) -> T {
        self.until(1, |entry| wanted(entry).is_some()).await;
        self.0.borrow().iter().find_map(wanted).unwrap()
    }

    fn note(&self, entry: Entry) {
        self.0.send_modify(|entries| entries.push(entry));
    }
}

/// Whether an entry is a line of the log whose text starts so.
pub(crate) fn logged(start: &str) -> impl Fn(&Entry) -> bool + '_ {
    move |entry| matches!(entry, Entry::Log { text, .. } if text.starts_with(start))
}

/// Answers the server; clones share the diary and the mood.
#[derive(Clone)]
pub(crate) struct ClientHandler {
    pub(crate) diary: Diary,
    grants: Arc<AtomicBool>,
}

impl ClientHandler {
    pub(crate) fn new() -> ClientHandler {
        ClientHandler {
            diary: Diary(watch::Sender::new(Vec::new())),
            grants: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Whether the server may ask the model.
    pub(crate) fn grant(&self, grants: bool) {
        self.grants.store(grants, Ordering::Relaxed);
    }
}

impl client::Handler for ClientHandler {
    async fn create_message(
        &self,
        _: client::Context,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, RpcError> {
        let text = params.messages.last().unwrap().content.first_text().unwrap().to_owned();
        self.diary.note(Entry::SamplingAsked { text, most: params.max_tokens });
        if !self.grants.load(Ordering::Relaxed) {
            return Err(RpcError::new(-1, "denied by the user"));
        }
        let text = TextContent::new("polly wants a session");
        Ok(CreateMessageResult::new(Role::Assistant, text, "a-parrot").stop_reason(StopReason::EndTurn))
    }

    async fn list_roots(
        &self,
        _: client::Context,
        _: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        self.diary.note(Entry::RootsAsked);
        Ok(ListRootsResult::new([Root::new("file:///home/anna/garden").name("The garden")]))
    }

    async fn log_message(&self, _: client::Context, params: LoggingMessageParams) {
        let text = params.data.as_str().unwrap_or_default().to_owned();
        self.diary.note(Entry::Log { level: params.level, logger: params.logger, text });
    }

    async fn tools_list_changed(&self, _: client::Context) {
        self.diary.note(Entry::ToolsChanged);
    }

    async fn resources_list_changed(&self, _: client::Context) {
        self.diary.note(Entry::ResourcesChanged);
    }

    async fn prompts_list_changed(&self, _: client::Context) {
        self.diary.note(Entry::PromptsChanged);
    }

    async fn resource_updated(&self, _: client::Context, params: ResourceUpdatedParams) {
        self.diary.note(Entry::Updated(params));
    }
}
