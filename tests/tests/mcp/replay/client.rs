//! The typed client, driven by the names of methods.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_03_26::{
    Active, AwaitingNotif, AwaitingResult, McpClient, McpError, Uninit, Watched, client,
};
use mcp_protocols::types::*;
use mcp_runtime::call::Canceller;
use mcp_runtime::{Options, Report, RpcError, Transport};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::read;

/// A request that was asked.
pub(crate) enum Running {
    /// The handshake; the state has it.
    Step,
    Call(JoinHandle<Result<(), McpError>>, Canceller),
    /// A subscription to a resource; the state has its outcome.
    Subscribe(String, JoinHandle<Result<Subscription, McpError>>),
    /// The end of one.
    Unsubscribe(JoinHandle<Result<(), McpError>>),
}

type Subscription = client::Subscription<Watched>;

impl Running {
    pub(crate) fn cancel(&self) {
        match self {
            Running::Call(_, canceller) => canceller.cancel().unwrap(),
            Running::Step => panic!("the handshake cannot be cancelled"),
            Running::Subscribe(..) | Running::Unsubscribe(_) => panic!("no recording cancels it"),
        }
    }
}

/// The session, in whatever state it is.
enum Stage {
    Uninit(McpClient<Uninit>),
    AwaitingResult(McpClient<AwaitingResult>),
    AwaitingNotif(McpClient<AwaitingNotif>),
    Active(McpClient<Active>),
}

/// A client that does as the recording did.
pub(crate) struct Player {
    stage: Option<Stage>,
    handle: client::Handle,
    /// By the resource.
    subscriptions: HashMap<String, Subscription>,
    reports: Arc<Mutex<Vec<Report>>>,
}

impl Player {
    /// `answers` are those to the server's requests, in their order, with the methods.
    pub(crate) fn new(transport: impl Transport, answers: Vec<(String, Value)>) -> Player {
        let reports: Arc<Mutex<Vec<Report>>> = Arc::default();
        let noted = Arc::clone(&reports);
        // The recorded servers speak whatever they speak.
        let options = Options::new()
            .accept_any_version()
            .on_report(move |report| noted.lock().unwrap().push(report.clone()));
        let session = McpClient::with_options(transport, options);
        test_support::spawn(session.incoming().serve(Script(Mutex::new(answers.into()))));
        let (handle, subscriptions) = (session.handle(), HashMap::new());
        Player { handle, subscriptions, stage: Some(Stage::Uninit(session)), reports }
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.reports.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    /// Sends a request; nothing if the client has no such method.
    pub(crate) async fn ask(&mut self, method: &str, params: Option<&Value>) -> Option<Running> {
        if method == "initialize" {
            let Some(Stage::Uninit(session)) = self.stage.take() else { panic!("initialized already") };
            let session = session.send_initialize(read(params.cloned().unwrap())).await.unwrap();
            self.stage = Some(Stage::AwaitingResult(session));
            return Some(Running::Step);
        }
        let token = params.is_some_and(|params| params.pointer("/_meta/progressToken").is_some());
        let params = params.cloned();
        // Every call has a type of its own; its result does not matter here.
        macro_rules! call {
            ($call:expr) => {{
                let mut call = $call;
                if token {
                    call = call.on_progress(|_| ());
                }
                let canceller = call.canceller();
                Running::Call(test_support::spawn(async move { call.await.map(drop) }), canceller)
            }};
        }
        let (asks, needed) = (&self.handle, || params.clone().unwrap());
        Some(match method {
            "ping" => call!(asks.ping()),
            "tools/list" => call!(asks.list_tools(params.map(read))),
            "tools/call" => call!(asks.call_tool(read(needed()))),
            "resources/list" => call!(asks.list_resources(params.map(read))),
            "resources/templates/list" => call!(asks.list_resource_templates(params.map(read))),
            "resources/read" => call!(asks.read_resource(read(needed()))),
            "resources/subscribe" => {
                let (asks, params) = (asks.clone(), read::<ResourceParams>(needed()));
                Running::Subscribe(
                    params.uri.clone(),
                    test_support::spawn(async move { asks.subscribe(params).await }),
                )
            }
            "resources/unsubscribe" => {
                let params: ResourceParams = read(needed());
                match self.subscriptions.remove(&params.uri) {
                    Some(subscription) => Running::Unsubscribe(test_support::spawn(async move {
                        Ok(subscription.unsubscribe(params).await?)
                    })),
                    None => call!(asks.unsubscribe(params)),
                }
            }
            "prompts/list" => call!(asks.list_prompts(params.map(read))),
            "prompts/get" => call!(asks.get_prompt(read(needed()))),
            "completion/complete" => call!(asks.complete(read(needed()))),
            "logging/setLevel" => call!(asks.set_level(read(needed()))),
            _ => return None,
        })
    }

    /// Sends a notification.
    pub(crate) async fn tell(&mut self, method: &str) {
        self.stage = Some(match (method, self.stage.take()) {
            ("notifications/initialized", Some(Stage::AwaitingNotif(session))) => {
                Stage::Active(session.send_initialized().await.unwrap())
            }
            ("notifications/roots/list_changed", Some(Stage::Active(session))) => {
                session.send_roots_list_changed().await.unwrap();
                Stage::Active(session)
            }
            (other, _) => panic!("`{other}` cannot be told now"),
        });
    }

    /// The server notifies the subscriber of a change.
    pub(crate) async fn updated(&mut self, params: &Value) {
        let params: ResourceUpdatedParams = read(params.clone());
        if let Some(subscription) = self.subscriptions.get_mut(&params.uri) {
            assert_eq!(subscription.recv_resource_updated().await.unwrap(), params);
        }
    }

    /// The outcome of a request.
    pub(crate) async fn outcome(&mut self, running: Running) -> Result<(), McpError> {
        match running {
            Running::Call(task, _) | Running::Unsubscribe(task) => task.await.unwrap(),
            Running::Subscribe(uri, task) => {
                self.subscriptions.insert(uri, task.await.unwrap()?);
                Ok(())
            }
            Running::Step => {
                let Some(Stage::AwaitingResult(session)) = self.stage.take() else { panic!("not asked") };
                let (_, session) = session.recv_initialize_result().await?;
                self.stage = Some(Stage::AwaitingNotif(session));
                Ok(())
            }
        }
    }
}

/// Answers as the recording has it.
struct Script(Mutex<VecDeque<(String, Value)>>);

impl Script {
    fn next(&self, method: &str) -> Result<Value, RpcError> {
        let mut answers = self.0.lock().unwrap();
        // What this revision does not know is refused before it comes here.
        while let Some((asked, answer)) = answers.pop_front() {
            if asked == method {
                return Ok(answer);
            }
        }
        Err(RpcError::internal_error("the recording has no answer"))
    }
}

impl client::Handler for Script {
    async fn create_message(
        &self,
        _: client::Context,
        _: CreateMessageParams,
    ) -> Result<CreateMessageResult, RpcError> {
        self.next("sampling/createMessage").map(read)
    }

    async fn list_roots(
        &self,
        _: client::Context,
        _: Option<RequestParams>,
    ) -> Result<ListRootsResult, RpcError> {
        self.next("roots/list").map(read)
    }
}
