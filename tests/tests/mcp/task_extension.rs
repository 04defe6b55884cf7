//! Revision 2026-07-28 with its extension for tasks: a call becomes a task, which asks, and is reported in a subscription.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2026_07_28_tasks::client::{SubscribedNext, ToolsCallReply};
use mcp_protocols::mcp_2026_07_28_tasks::types::*;
use mcp_protocols::mcp_2026_07_28_tasks::{McpClient, McpServer, Start, Subscribing, server};
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, RpcError};
use serde_json::json;
use test_support::script::guarded;
use tokio::sync::watch;

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A server whose one tool asks the user for a name, as a task.
#[derive(Clone)]
struct Desk {
    name: Arc<Mutex<Option<String>>>,
    changed: Arc<watch::Sender<u32>>,
}

impl Desk {
    /// The task as it is now.
    fn task(&self) -> GetTaskResult {
        let name = self.name.lock().unwrap().clone();
        let status = if name.is_some() { TaskInfoStatus::Completed } else { TaskInfoStatus::InputRequired };
        let task =
            GetTaskResult::new("7", status, "2026-07-28T00:00:00Z", "2026-07-28T00:00:01Z", Some(60_000));
        let task = task.result_type(ResultType::Complete);
        match name {
            Some(name) => {
                let result = json!({ "content": [{ "type": "text", "text": format!("Hello, {name}!") }] });
                task.result(result.as_object().unwrap().clone())
            }
            None => {
                let form = FormSchema::new([]).required_field("name", StringSchema::new());
                let question = ElicitInput::new(ElicitFormParams::new("Who is there?", form));
                task.input_requests([("who".to_owned(), question.into())])
            }
        }
    }
}

impl server::Handler for Desk {
    async fn discover(&self, _: server::Context, _: RequestParams) -> Result<DiscoverResult, RpcError> {
        let can = ServerCapabilities::new()
            .tools(ToolsCapability::new())
            .extensions([(TASKS.to_owned(), Object::new())]);
        Ok(DiscoverResult::new(["2026-07-28"], can, 0, CacheScope::Public).result_type(ResultType::Complete))
    }

    async fn call_tool(
        &self,
        _: server::Context,
        params: CallToolParams,
    ) -> Result<server::ToolsCallReply, RpcError> {
        let knows_tasks =
            params.meta.client_capabilities.extensions.is_some_and(|known| known.contains_key(TASKS));
        if !knows_tasks {
            return Ok(server::ToolsCallReply::ToolsResult(CallToolResult::text("Hello, stranger!")));
        }
        let GetTaskResult { task_id, status, created_at, last_updated_at, ttl_ms, .. } = self.task();
        let started = TaskCreatedResult::new(task_id, status, created_at, last_updated_at, ttl_ms);
        Ok(server::ToolsCallReply::ToolsTaskStarted(started))
    }

    async fn get_task(&self, _: server::Context, params: TaskIdParams) -> Result<GetTaskResult, RpcError> {
        match &*params.task_id {
            "7" => Ok(self.task()),
            other => Err(RpcError::invalid_params(format!("there is no task `{other}`"))),
        }
    }

    async fn update_task(
        &self,
        _: server::Context,
        params: UpdateTaskParams,
    ) -> Result<EmptyResult, RpcError> {
        if let Some(InputResponse::Elicit(answer)) = params.input_responses.get("who") {
            let content = answer.content.clone().unwrap_or_default();
            *self.name.lock().unwrap() = content.get("name").and_then(FieldValue::as_text).map(str::to_owned);
            self.changed.send_modify(|times| *times += 1);
        }
        Ok(EmptyResult::new().result_type(ResultType::Complete))
    }

    async fn subscriptions_listen(
        &self,
        context: server::Context,
        params: SubscriptionsListenParams,
        subscription: server::Subscription<Subscribing>,
    ) {
        let mut changed = self.changed.subscribe();
        let meta = NotificationMeta::new().subscription_id(subscription.request_id().unwrap());
        let acknowledged = SubscriptionsAcknowledgedParams::new(params.notifications).meta(meta.clone());
        let mut subscription = subscription.send_subscriptions_acknowledged(acknowledged).await.unwrap();
        loop {
            tokio::select! {
                () = subscription.cancelled() => return,
                () = context.peer_closed() => return,
                _ = changed.changed() => {}
            }
            let GetTaskResult { task_id, status, created_at, last_updated_at, ttl_ms, result, .. } =
                self.task();
            let mut task = TaskNotificationParams::new(task_id, status, created_at, last_updated_at, ttl_ms);
            (task.result, task.meta) = (result, Some(meta.clone()));
            subscription.send_task_changed(task).await.unwrap();
        }
    }
}

fn meta(extensions: bool) -> RequestMeta {
    let can = ClientCapabilities::new().elicitation(ElicitationCapability::new());
    let can = if extensions { can.extensions([(TASKS.to_owned(), Object::new())]) } else { can };
    RequestMeta::new("2026-07-28", can)
}

fn connect() -> McpClient<Start> {
    let (near, far) = duplex();
    let desk = Desk { name: Arc::default(), changed: Arc::default() };
    test_support::spawn(async move { McpServer::new(far).incoming().serve(desk).await });
    McpClient::new(near)
}

#[tokio::test]
async fn a_call_goes_on_as_a_task_that_asks_and_is_reported() {
    guarded(async {
        let client = connect();
        client.discover(RequestParams::new(meta(true))).await.unwrap();
        let call = CallToolParams::new("greet", meta(true));
        let ToolsCallReply::ToolsTaskStarted(started) = client.call_tool(call).await.unwrap() else {
            panic!()
        };
        assert_eq!((&*started.task_id, started.ttl_ms), ("7", Some(60_000)));

        let wanted = SubscriptionFilter::new().task_ids([&started.task_id]);
        let subscription = client
            .send_subscriptions_listen(SubscriptionsListenParams::new(wanted, meta(true)))
            .await
            .unwrap();
        let (_, subscription) = subscription.recv_subscriptions_acknowledged().await.unwrap();

        let task = client.get_task(TaskIdParams::new(&started.task_id, meta(true))).await.unwrap();
        assert_eq!(task.status, TaskInfoStatus::InputRequired);
        let asked = task.input_requests.unwrap();
        let Some(InputRequest::ElicitationCreate(question)) = asked.get("who") else { panic!("{asked:?}") };
        let ElicitParams::Form(form) = &question.params else { panic!("{question:?}") };
        assert_eq!(form.message, "Who is there?");
        let name =
            ElicitResult::new(ElicitAction::Accept).content([("name".to_owned(), FieldValue::from("Ada"))]);
        let answers = [("who".to_owned(), name.into())];
        client.update_task(UpdateTaskParams::new(&started.task_id, answers, meta(true))).await.unwrap();

        let SubscribedNext::TaskChanged(task, _subscription) = subscription.next().await.unwrap() else {
            panic!()
        };
        assert_eq!((&*task.task_id, task.status), ("7", TaskInfoStatus::Completed));
        let result: CallToolResult = serde_json::from_value(task.result.unwrap().into()).unwrap();
        assert_eq!(result.first_text(), Some("Hello, Ada!"));
        let unknown = client.get_task(TaskIdParams::new("8", meta(true))).await.unwrap_err();
        assert!(matches!(&unknown, Error::Refused(error) if error.code == -32602), "{unknown:?}");
    })
    .await;
}

#[tokio::test]
async fn a_client_that_knows_no_tasks_gets_the_result() {
    guarded(async {
        let client = connect();
        let call = CallToolParams::new("greet", meta(false));
        let ToolsCallReply::ToolsResult(result) = client.call_tool(call).await.unwrap() else { panic!() };
        assert_eq!(result.first_text(), Some("Hello, stranger!"));
    })
    .await;
}
