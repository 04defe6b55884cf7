//! A task over HTTP, where what is said about it comes on several connections.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocols::mcp_2025_11_25::{BeforeToolsTaskCreated, McpClient, client, server};
use mcp_protocols::types::*;
use mcp_protocols::{related, related_task};
use mcp_runtime::transport::http::{HttpClient, ServerOptions};
use mcp_runtime::{Error, RpcError};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};

use super::http::Endpoint;
use super::{Reports, call_as_task, everything, form, guarded, hello, task};
use integration_tests::http::fake::{self, Fake};
use integration_tests::http::wire::{Answer, Ask};

const VERSION: &str = "2025-11-25";

/// The params of a notification of the status.
fn state(id: &str, status: TaskStatus) -> TaskStatusParams {
    task(id, status).into()
}

fn created(id: &str) -> CreateTaskResult {
    CreateTaskResult::new(task(id, TaskStatus::Working))
}

fn named(id: &str) -> TaskParams {
    TaskParams::new(id)
}

/// With an answer as soon as there is one, and with a stream for each.
fn settings() -> [ServerOptions; 2] {
    [ServerOptions::default(), ServerOptions::default().stream_after(Duration::ZERO)]
}

/// A server whose tasks say all that a task can say.
#[derive(Clone)]
struct Runner {
    /// A permit for each task of which the client knows: nothing else puts in order what comes on two connections.
    known: Arc<Semaphore>,
    cancelled: watch::Sender<bool>,
    said: mpsc::UnboundedSender<String>,
}

impl Runner {
    fn new() -> (Runner, mpsc::UnboundedReceiver<String>) {
        let (said, heard) = mpsc::unbounded_channel();
        let runner = Runner { known: Arc::new(Semaphore::new(0)), cancelled: watch::channel(false).0, said };
        (runner, heard)
    }
}

impl server::Handler for Runner {
    async fn call_tool_as_task(
        &self,
        context: server::Context,
        params: CallToolParams,
        task: server::ServerTask<BeforeToolsTaskCreated>,
    ) {
        let id = params.name.clone();
        let report = |progress: f64| context.send_progress(ProgressParams::new(0, progress));
        report(1.0).await.unwrap();
        let mut task = task.send_tools_task_created(created(&id)).await.unwrap();
        self.known.acquire().await.unwrap().forget();
        // What the call was posted for has been said, so all of this is on no stream of the call's.
        report(2.0).await.unwrap();
        task.send_task_status(state(&id, TaskStatus::InputRequired)).await.unwrap();
        let form = related(&id, &form()).unwrap();
        let answer = context.peer().elicit(form.into()).await.unwrap();
        self.said.send(format!("{id}: {}", json!(answer.action))).unwrap();
        let (_, mut task) = task.recv_tasks_result().await.unwrap();
        if id == "slow" {
            self.cancelled.subscribe().wait_for(|cancelled| *cancelled).await.unwrap();
            task.send_task_status(state(&id, TaskStatus::Cancelled)).await.unwrap();
            task.refuse(RpcError::new(-1, "cancelled")).await.unwrap();
        } else {
            let result = TaskPayload::from(CallToolResult::text(format!("{id} is done")));
            task.send_task_payload(related(&id, &result).unwrap()).await.unwrap();
        }
        self.said.send(format!("{id}: over")).unwrap();
    }

    async fn cancel_task(&self, _: server::Context, params: TaskParams) -> Result<TaskResult, RpcError> {
        self.cancelled.send_replace(true);
        Ok(task(&params.task_id, TaskStatus::Cancelled).into())
    }
}

/// Accepts what a task asks.
struct User;

impl client::Handler for User {
    async fn elicit(&self, _: client::Context, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        assert!(related_task(&params).is_some(), "{params:?}");
        Ok(ElicitResult::new(ElicitAction::Accept).content([]))
    }
}

#[tokio::test]
async fn a_task_is_played_over_several_connections() {
    guarded(async {
        for options in settings() {
            let (runner, mut said) = Runner::new();
            let given = runner.clone();
            let endpoint = Endpoint::of(options, move || given.clone()).await;
            let reports = Reports::default();
            let client = endpoint.client_of(VERSION, User, reports.options()).await;
            for id in ["fast", "slow"] {
                let (tell, mut told) = mpsc::unbounded_channel();
                let params = call_as_task(id);
                let asked = client.call_tool_as_task(params).on_progress(move |report: ProgressParams| {
                    let _ = tell.send(report.progress);
                });
                let (created, mut task) = asked.await.unwrap();
                assert_eq!(created.task.task_id, id);
                assert_eq!(told.recv().await, Some(1.into()));
                runner.known.add_permits(1);
                assert_eq!(told.recv().await, Some(2.into()));
                assert_eq!(task.recv_task_status().await.unwrap().status, TaskStatus::InputRequired);
                assert_eq!(said.recv().await.unwrap(), format!("{id}: \"accept\""));
                if id == "fast" {
                    let payload = task.task_result(named(id)).await.unwrap();
                    assert_eq!(related_task(&payload).as_deref(), Some("fast"));
                    let TaskPayload::CallTool(result) = payload else { panic!("{payload:?}") };
                    assert_eq!(result.first_text(), Some("fast is done"));
                } else {
                    let fetching = test_support::spawn(task.task_result(named(id)).into_future());
                    let ended = client.cancel_task(named(id)).await.unwrap();
                    assert_eq!(ended.status, TaskStatus::Cancelled);
                    match fetching.await.unwrap().map_err(Error::from) {
                        Err(Error::Refused(error)) => assert_eq!(error.message, "cancelled"),
                        other => panic!("{other:?}"),
                    }
                }
                assert_eq!(said.recv().await.unwrap(), format!("{id}: over"));
            }
            client.ping().await.unwrap();
            client.close().await.unwrap();
            // The last status may come after its task has ended, and then has no receiver.
            let told = reports.take();
            assert!(told.iter().all(|report| report.contains("`TaskStatus`")), "{told:?}");
        }
    })
    .await;
}

/// The messages of an answer, be it one of them or a stream.
fn messages(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.head.status, 200, "{answer:?}");
    if !answer.head.is_stream() {
        return vec![answer.json()];
    }
    let data = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(str::trim)
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[tokio::test]
async fn what_a_task_says_when_its_call_is_answered_is_on_the_stream_for_what_is_said_unasked() {
    guarded(async {
        for options in settings() {
            let (runner, mut said) = Runner::new();
            let given = runner.clone();
            let endpoint = Endpoint::of(options, move || given.clone()).await;
            let id = endpoint.open(VERSION).await;
            let with = |ask: Ask| ask.session(&id).with("mcp-protocol-version", VERSION);
            let mut unasked = endpoint.wire().await.stream(&with(Ask::get())).await;
            let params = json!({
                "name": "fast", "arguments": {}, "task": { "ttl": 60_000 }, "_meta": { "progressToken": "p" },
            });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            // The whole answer is here before the task says more.
            let answered = messages(&endpoint.ask(&with(Ask::post(call))).await);
            let [report, created] = &answered[..] else { panic!("{answered:?}") };
            assert_eq!(report["params"], json!({ "progressToken": "p", "progress": 1.0 }));
            assert_eq!((&created["id"], &created["result"]["task"]["taskId"]), (&json!(1), &json!("fast")));
            runner.known.add_permits(1);
            let report = unasked.message().await.unwrap().json();
            assert_eq!(report["params"], json!({ "progressToken": "p", "progress": 2.0 }));
            let status = unasked.message().await.unwrap().json();
            assert_eq!(status["method"], "notifications/tasks/status");
            assert_eq!(status["params"]["status"], "input_required");
            let question = unasked.message().await.unwrap().json();
            assert_eq!(question["method"], "elicitation/create");
            assert_eq!(related_task(&question["params"]).as_deref(), Some("fast"));
            let accepted = json!({
                "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": {} },
            });
            assert_eq!(endpoint.ask(&with(Ask::post(accepted))).await.head.status, 202);
            assert_eq!(said.recv().await.as_deref(), Some("fast: \"accept\""));
            let fetch =
                json!({ "jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": named("fast") });
            let answered = messages(&endpoint.ask(&with(Ask::post(fetch))).await);
            let [payload] = &answered[..] else { panic!("{answered:?}") };
            assert_eq!(
                (&payload["id"], related_task(&payload["result"]).as_deref()),
                (&json!(2), Some("fast"))
            );
            assert_eq!(said.recv().await.as_deref(), Some("fast: over"));
        }
    })
    .await;
}

/// Keeps what is said of tasks that no value stands for.
struct Listening(mpsc::UnboundedSender<TaskStatus>);

impl client::Handler for Listening {
    async fn task_status(&self, _: client::Context, params: TaskStatusParams) {
        self.0.send(params.status).unwrap();
    }
}

/// Two connections keep no order between them, so neither side is to blame.
#[tokio::test]
async fn a_status_that_overtakes_the_word_that_there_is_a_task_stands_alone() {
    guarded(async {
        let event = |message: Value| format!("data: {message}\n\n");
        let status = |status: TaskStatus| {
            let params = state("t", status);
            event(json!({ "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": params }))
        };
        let (unasked, opened) = fake::open("text/event-stream");
        let opened = Mutex::new(Some(opened));
        let (answer, answering) = fake::open("text/event-stream");
        let answering = Mutex::new(Some(answering));
        let (server, mut seen) = Fake::holding(move |asked, _| {
            Some(match asked.what() {
                "initialize" => fake::hello(asked, VERSION, everything().1, "s1"),
                "GET" => opened.lock().unwrap().take().unwrap_or_else(|| fake::status(405)),
                "tools/call" => answering.lock().unwrap().take().unwrap(),
                "DELETE" => fake::status(405),
                _ => fake::status(202),
            })
        })
        .await;
        let reports = Reports::default();
        let client = McpClient::with_options(HttpClient::new(server.url()).unwrap(), reports.options());
        let (tell, mut alone) = mpsc::unbounded_channel();
        test_support::spawn(client.incoming().serve(Listening(tell)));
        let (_, client) = client.initialize(hello(VERSION, &everything().0)).await.unwrap();
        let client = client.send_initialized().await.unwrap();
        let handle = client.handle();
        let params = call_as_task("t");
        let calling = test_support::spawn(async move { handle.call_tool_as_task(params).await.unwrap() });
        fake::until(&mut seen, "tools/call").await;
        unasked.send(status(TaskStatus::InputRequired)).unwrap();
        assert_eq!(alone.recv().await, Some(TaskStatus::InputRequired));
        let id = &server.seen.lock().unwrap().iter().find(|asked| asked.what() == "tools/call").unwrap().body
            ["id"]
            .clone();
        answer.send(event(json!({ "jsonrpc": "2.0", "id": id, "result": created("t") }))).unwrap();
        let (created, mut task) = calling.await.unwrap();
        assert_eq!(created.task.task_id, "t");
        // From here on it is the task's, and nothing has been harmed.
        unasked.send(status(TaskStatus::Completed)).unwrap();
        assert_eq!(task.recv_task_status().await.unwrap().status, TaskStatus::Completed);
        assert!(alone.try_recv().is_err());
        assert_eq!(reports.take(), [""; 0]);
        drop(task);
        client.close().await.unwrap();
    })
    .await;
}
