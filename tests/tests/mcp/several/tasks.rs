//! Tasks: each is a session of its own on both sides, whichever side runs it.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocols::mcp_2025_11_25::{
    BeforeElicitTaskCreated, BeforeToolsTaskCreated, Working, client, server,
};
use mcp_protocols::types::*;
use mcp_protocols::{RELATED_TASK, related, related_task};
use mcp_runtime::{Error, RpcError};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::{active_in, call, call_as_task, everything, form, guarded, task};

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

/// A server whose task `fast` is done at once and whose others are done when the test says so.
#[derive(Clone)]
struct Runner {
    done: watch::Sender<bool>,
    cancelled: watch::Sender<bool>,
    said: mpsc::UnboundedSender<String>,
}

impl server::Handler for Runner {
    async fn call_tool_as_task(
        &self,
        _: server::Context,
        params: CallToolParams,
        task: server::ServerTask<BeforeToolsTaskCreated>,
    ) {
        let id = params.name.clone();
        if id == "forbidden" {
            task.refuse(RpcError::method_not_found("tools/call")).await.unwrap();
            return;
        }
        let mut task = task.send_tools_task_created(created(&id)).await.unwrap();
        task.send_task_status(state(&id, TaskStatus::Working)).await.unwrap();
        let (_, mut task) = match task.recv_tasks_result().await {
            Ok(asked) => asked,
            // The result is not awaited any more.
            Err(error) => return self.said.send(format!("{id}: {error}")).unwrap(),
        };
        let (mut done, mut cancelled) = (self.done.subscribe(), self.cancelled.subscribe());
        if id != "fast" {
            let ended = tokio::select! {
                result = done.wait_for(|done| *done) => !*result.unwrap(),
                result = cancelled.wait_for(|cancelled| *cancelled) => *result.unwrap(),
            };
            if ended {
                task.send_task_status(state(&id, TaskStatus::Cancelled)).await.unwrap();
                task.refuse(RpcError::new(-1, "cancelled")).await.unwrap();
                return;
            }
        }
        task.send_task_status(state(&id, TaskStatus::Completed)).await.unwrap();
        let result = TaskPayload::from(CallToolResult::text(format!("{id} is done")));
        // If the request was cancelled meanwhile, the answer is not awaited.
        let _ = task.send_task_payload(related(&id, &result).unwrap()).await;
        self.said.send(format!("{id}: over")).unwrap();
    }

    async fn get_task(&self, _: server::Context, params: TaskParams) -> Result<TaskResult, RpcError> {
        Ok(task(&params.task_id, TaskStatus::Working).into())
    }

    async fn list_tasks(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListTasksResult, RpcError> {
        Ok(ListTasksResult::new([task("slow", TaskStatus::Working)]))
    }

    async fn cancel_task(&self, _: server::Context, params: TaskParams) -> Result<TaskResult, RpcError> {
        self.cancelled.send_replace(true);
        Ok(task(&params.task_id, TaskStatus::Cancelled).into())
    }

    /// For a task that no session holds any more.
    async fn task_result(&self, _: server::Context, params: TaskParams) -> Result<TaskPayload, RpcError> {
        Ok(CallToolResult::text(format!("{} again", params.task_id)).into())
    }
}

struct Scene {
    client: super::McpClient<super::Active>,
    server: super::McpServer<super::Active>,
    reports: super::Reports,
    runner: Runner,
    said: mpsc::UnboundedReceiver<String>,
}

async fn scene() -> Scene {
    let (client, server, reports) = active_in("2025-11-25", everything()).await;
    let (said, heard) = mpsc::unbounded_channel();
    let runner = Runner { done: watch::channel(false).0, cancelled: watch::channel(false).0, said };
    test_support::spawn(server.incoming().serve(runner.clone()));
    Scene { client, server, reports, runner, said: heard }
}

/// The text of a tool's result.
fn text(payload: &TaskPayload) -> &str {
    let TaskPayload::CallTool(result) = payload else { panic!("{payload:?}") };
    result.first_text().unwrap()
}

#[tokio::test]
async fn a_task_has_status_updates_queries_and_a_result() {
    guarded(async {
        let Scene { client, server: _server, reports, runner: _runner, mut said } = scene().await;
        let (created, mut task): (_, client::ServerTask<Working>) =
            client.call_tool_as_task(call_as_task("fast")).await.unwrap();
        assert_eq!(created.task.task_id, "fast");
        assert_eq!(task.recv_task_status().await.unwrap().status, TaskStatus::Working);
        assert_eq!(client.get_task(named("fast")).await.unwrap().status, TaskStatus::Working);
        assert_eq!(client.list_tasks(None).await.unwrap().tasks.len(), 1);
        let payload = task.task_result(named("fast")).await.unwrap();
        assert_eq!(text(&payload), "fast is done");
        assert_eq!(said.recv().await.as_deref(), Some("fast: over"));
        // The task is over, and its result may be asked for once more, by the session.
        let again = client.task_result(named("fast")).await.unwrap();
        assert_eq!(text(&again), "fast again");
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn tasks_are_distinguished_by_their_ids() {
    guarded(async {
        let Scene { client, server: _server, reports, runner, mut said } = scene().await;
        let mut tasks = Vec::new();
        for id in ["a", "b", "c"] {
            tasks.push((id, client.call_tool_as_task(call_as_task(id)).await.unwrap().1));
        }
        for (id, task) in tasks.iter_mut().rev() {
            assert_eq!(task.recv_task_status().await.unwrap().task_id, *id);
        }
        let fetching: Vec<_> = tasks
            .into_iter()
            .map(|(id, task)| test_support::spawn(async move { task.task_result(named(id)).await.unwrap() }))
            .collect();
        runner.done.send_replace(true);
        for (id, fetched) in ["a", "b", "c"].into_iter().zip(fetching) {
            assert_eq!(text(&fetched.await.unwrap()), format!("{id} is done"));
        }
        let mut over: Vec<String> = Vec::new();
        for _ in 0..3 {
            over.push(said.recv().await.unwrap());
        }
        over.sort();
        assert_eq!(over, ["a: over", "b: over", "c: over"]);
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_task_is_cancelled_while_its_result_is_waited_for() {
    guarded(async {
        let Scene { client, server: _server, reports, runner: _runner, said: _said } = scene().await;
        let (_, task) = client.call_tool_as_task(call_as_task("slow")).await.unwrap();
        let fetching = test_support::spawn(task.task_result(named("slow")).into_future());
        // Any number of requests may run in parallel with the one that waits.
        assert_eq!(client.get_task(named("slow")).await.unwrap().status, TaskStatus::Working);
        let ended = client.cancel_task(named("slow")).await.unwrap();
        assert_eq!(ended.status, TaskStatus::Cancelled);
        let refused = fetching.await.unwrap().map_err(Error::from);
        assert!(
            matches!(&refused, Err(Error::Refused(error)) if error.message == "cancelled"),
            "{refused:?}"
        );
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_not_a_task_is_refused() {
    guarded(async {
        let Scene { client, server: _server, reports, .. } = scene().await;
        let refused = client.call_tool_as_task(call_as_task("forbidden")).await;
        assert!(matches!(&refused, Err(Error::Refused(error)) if error.code == -32601), "{refused:?}");
        // A call that does not say that it is to be a task would be read as an ordinary one.
        let plain = call("fast");
        let refused = client.call_tool_as_task(plain).await;
        assert!(matches!(&refused, Err(Error::Mismatch { .. })), "{refused:?}");
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

/// A client that asks its user in its own time, and hears of tasks that it does not know.
#[derive(Clone)]
struct Asking(Arc<mpsc::UnboundedSender<String>>);

impl client::Handler for Asking {
    async fn elicit_as_task(
        &self,
        _: client::Context,
        _: ElicitParams,
        task: client::ClientTask<BeforeElicitTaskCreated>,
    ) {
        let mut task = task.send_elicit_task_created(created("form")).await.unwrap();
        task.send_task_status(state("form", TaskStatus::InputRequired)).await.unwrap();
        let (asked, task) = task.recv_tasks_result().await.unwrap();
        assert_eq!(asked.task_id, "form");
        let declined = TaskPayload::from(ElicitResult::new(ElicitAction::Decline));
        task.send_task_payload(related("form", &declined).unwrap()).await.unwrap();
    }

    async fn get_task(&self, _: client::Context, params: TaskParams) -> Result<TaskResult, RpcError> {
        Ok(task(&params.task_id, TaskStatus::Working).into())
    }

    async fn task_status(&self, _: client::Context, params: TaskStatusParams) {
        self.0.send(format!("{} is {}", params.task_id, params.status)).unwrap();
    }
}

#[tokio::test]
async fn the_client_runs_tasks_too() {
    guarded(async {
        let Scene { client, server, reports, .. } = scene().await;
        let (told, mut heard) = mpsc::unbounded_channel();
        test_support::spawn(client.incoming().serve(Asking(Arc::new(told))));
        let params = form().task(TaskMetadata::new());
        let (created, mut task) = server.elicit_as_task(params.into()).await.unwrap();
        assert_eq!(created.task.task_id, "form");
        assert_eq!(task.recv_task_status().await.unwrap().status, TaskStatus::InputRequired);
        assert_eq!(server.get_task(named("form")).await.unwrap().status, TaskStatus::Working);
        let payload = task.task_result(named("form")).await.unwrap();
        assert_eq!(related_task(&payload).as_deref(), Some("form"));
        let TaskPayload::Elicit(answer) = payload else { panic!("{payload:?}") };
        assert_eq!(answer.action, ElicitAction::Decline);
        // A task from before the session: its status stands alone.
        server.send_task_status(state("older", TaskStatus::Completed)).await.unwrap();
        assert_eq!(heard.recv().await.as_deref(), Some("older is completed"));
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn an_abandoned_result_may_be_asked_for_again() {
    guarded(async {
        let Scene { client, server: _server, reports, runner, mut said } = scene().await;
        let (_, mut task) = client.call_tool_as_task(call_as_task("slow")).await.unwrap();
        task.recv_task_status().await.unwrap();
        let task = task.send_tasks_result(named("slow")).await.unwrap();
        drop(task);
        // The result is dropped; the session asks for it again.
        runner.done.send_replace(true);
        assert_eq!(said.recv().await.as_deref(), Some("slow: over"));
        let again = client.task_result(named("slow")).await.unwrap();
        assert_eq!(text(&again), "slow again");
        drop(reports);
    })
    .await;
}

/// A server that drops the value of its task, at once or when the test says so, and has the result elsewhere.
struct Storing {
    drop: watch::Receiver<bool>,
    /// Whether the result of `slow` is there.
    done: watch::Receiver<bool>,
}

impl server::Handler for Storing {
    async fn call_tool_as_task(
        &self,
        _: server::Context,
        params: CallToolParams,
        task: server::ServerTask<BeforeToolsTaskCreated>,
    ) {
        let _task = task.send_tools_task_created(created(&params.name)).await.unwrap();
        if params.name != "short" {
            self.drop.clone().wait_for(|drop| *drop).await.unwrap();
        }
    }

    async fn task_result(
        &self,
        context: server::Context,
        params: TaskParams,
    ) -> Result<TaskPayload, RpcError> {
        match &*params.task_id {
            "slow" => {
                let mut done = self.done.clone();
                tokio::select! {
                    () = context.cancelled() => Err(context.cancelled_error()),
                    _ = done.wait_for(|done| *done) => Ok(CallToolResult::text("slow is done").into()),
                }
            }
            "expired" => Err(RpcError::invalid_params("the task has expired")),
            id => Ok(CallToolResult::text(format!("{id} from the store")).into()),
        }
    }
}

#[tokio::test]
async fn a_handler_has_the_result_of_a_task_whose_value_is_dropped() {
    guarded(async {
        let (client, server, reports) = active_in("2025-11-25", everything()).await;
        let (drop, dropped) = watch::channel(false);
        test_support::spawn(server.incoming().serve(Storing { drop: dropped.clone(), done: dropped }));
        let (_, task) = client.call_tool_as_task(call_as_task("short")).await.unwrap();
        // The value is gone before the request has come.
        assert_eq!(text(&task.task_result(named("short")).await.unwrap()), "short from the store");
        assert_eq!(text(&client.task_result(named("short")).await.unwrap()), "short from the store");
        let (_, task) = client.call_tool_as_task(call_as_task("long")).await.unwrap();
        let (_, expired) = client.call_tool_as_task(call_as_task("expired")).await.unwrap();
        let fetching = test_support::spawn(task.task_result(named("long")).into_future());
        let expired = test_support::spawn(expired.task_result(named("expired")).into_future());
        // They wait for the values, which leave them.
        client.ping().await.unwrap();
        drop.send_replace(true);
        assert_eq!(text(&fetching.await.unwrap().unwrap()), "long from the store");
        let expired = expired.await.unwrap().map_err(Error::from);
        assert!(matches!(&expired, Err(Error::Refused(error)) if error.code == -32602), "{expired:?}");
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_handler_hears_that_a_result_is_cancelled_and_may_be_asked_for_it_again() {
    guarded(async {
        let (wire, mut raw) = test_support::raw::raw();
        let reports = super::Reports::default();
        let server = super::McpServer::with_options(wire, reports.options());
        let (done, is_done) = watch::channel(false);
        let (_drop, dropped) = watch::channel(true);
        test_support::spawn(server.incoming().serve(Storing { drop: dropped, done: is_done }));
        test_support::spawn(async move {
            let (params, server) = server.recv_initialize().await.unwrap();
            let welcome = super::welcome(&params.protocol_version, &everything().1);
            let server = server.send_initialize_result(welcome).await.unwrap();
            server.recv_initialized().await.unwrap().ended().await;
        });
        let ask = |id: i32, method: &str, params: serde_json::Value| {
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        };
        let hello = super::hello("2025-11-25", &everything().0);
        raw.ask(ask(1, "initialize", serde_json::to_value(hello).unwrap())).await;
        raw.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        let created = raw.ask(ask(2, "tools/call", json!({ "name": "slow", "task": {} }))).await;
        assert_eq!(created["result"]["task"]["taskId"], "slow");
        raw.say(ask(3, "tasks/result", json!({ "taskId": "slow" }))).await;
        raw.ask(ask(4, "ping", json!({}))).await;
        let cancel = json!({ "requestId": 3, "reason": "later" });
        raw.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel })).await;
        raw.say(ask(5, "tasks/result", json!({ "taskId": "slow" }))).await;
        raw.ask(ask(6, "ping", json!({}))).await;
        done.send_replace(true);
        let result = raw.hear().await.unwrap();
        assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(5), &json!("slow is done")));
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

/// Reports on the request that is being worked on.
async fn report(context: &server::Context, progress: f64) -> Result<(), Error> {
    context.send_progress(ProgressParams::new(0, progress)).await
}

/// A server that reports on its task until the result is fetched.
struct Reporting;

impl server::Handler for Reporting {
    async fn call_tool_as_task(
        &self,
        context: server::Context,
        _: CallToolParams,
        task: server::ServerTask<BeforeToolsTaskCreated>,
    ) {
        report(&context, 1.0).await.unwrap();
        let task = task.send_tools_task_created(created("t")).await.unwrap();
        report(&context, 2.0).await.unwrap();
        assert!(
            matches!(report(&context, 2.0).await, Err(Error::Mismatch { .. })),
            "it says no more than the one before"
        );
        let (_, task) = task.recv_tasks_result().await.unwrap();
        report(&context, 3.0).await.unwrap();
        task.send_task_payload(related("t", &CallToolResult::text("done")).unwrap().into()).await.unwrap();
        // It is over, and so is what could be reported.
        report(&context, 4.0).await.unwrap();
    }
}

#[tokio::test]
async fn reports_on_a_task_go_on_until_it_is_over() {
    guarded(async {
        let (client, server, reports) = active_in("2025-11-25", everything()).await;
        test_support::spawn(server.incoming().serve(Reporting));
        let (tell, mut told) = mpsc::unbounded_channel();
        let asked = client.call_tool_as_task(call_as_task("t")).on_progress(move |report: ProgressParams| {
            let _ = tell.send(report.progress);
        });
        let (created, task) = asked.await.unwrap();
        assert_eq!(created.task.task_id, "t");
        task.task_result(named("t")).await.unwrap();
        let mut heard = Vec::new();
        // The value ended with the result, and its listener with it.
        while let Some(progress) = told.recv().await {
            heard.push(progress);
        }
        assert_eq!(heard, [1.0, 2.0, 3.0]);
        assert_eq!(reports.take(), [""; 0]);
    })
    .await;
}

#[test]
fn the_mark_of_a_task_is_added_to_what_there_is() {
    let marked = related("t", &json!({ "a": 1, "_meta": { "b": 2 } })).unwrap();
    assert_eq!(marked, json!({ "a": 1, "_meta": { "b": 2, RELATED_TASK: { "taskId": "t" } } }));
    assert_eq!(related_task(&marked).as_deref(), Some("t"));
    assert_eq!(related_task(&json!({ "_meta": {} })), None);
    assert!(related("t", &json!("no object")).is_err());
}

/// Notes the statuses that belong to no value.
struct Noting(mpsc::UnboundedSender<TaskStatus>);

impl client::Handler for Noting {
    async fn task_status(&self, _: client::Context, params: TaskStatusParams) {
        self.0.send(params.status).unwrap();
    }
}

/// A server that tells how its task is doing in every way that there is.
struct Telling;

impl server::Handler for Telling {
    async fn call_tool_as_task(
        &self,
        context: server::Context,
        _: CallToolParams,
        task: server::ServerTask<BeforeToolsTaskCreated>,
    ) {
        report(&context, 1.0).await.unwrap();
        let mut task = task.send_tools_task_created(created("t")).await.unwrap();
        task.send_task_status(state("t", TaskStatus::Working)).await.unwrap();
        report(&context, 2.0).await.unwrap();
        task.send_task_status(state("t", TaskStatus::InputRequired)).await.unwrap();
        let (_, mut task) = task.recv_tasks_result().await.unwrap();
        report(&context, 3.0).await.unwrap();
        task.send_task_status(state("t", TaskStatus::Completed)).await.unwrap();
        task.send_task_payload(related("t", &CallToolResult::text("done")).unwrap().into()).await.unwrap();
    }
}

/// The flow of the guide: a client asks for a task, hears of it, and fetches the result. What it has heard.
async fn flow(client: &super::McpClient<super::Active>, reads: bool) -> Vec<Number> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let asked = client.call_tool_as_task(call_as_task("t")).on_progress(move |report: ProgressParams| {
        let _ = tell.send(report.progress);
    });
    let (created, mut task): (_, client::ServerTask<_>) = asked.await.unwrap();
    if reads {
        let status = task.recv_task_status().await.unwrap();
        assert_eq!(status.status, TaskStatus::Working);
    }
    let fetch = TaskParams::new(created.task.task_id);
    let payload = task.task_result(fetch).await.unwrap();
    assert_eq!(text(&payload), "done");
    let mut heard = Vec::new();
    while let Some(progress) = told.recv().await {
        heard.push(progress);
    }
    heard
}

/// Longer than anything is kept for a program that does not ask for it.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn the_flow_of_the_guide_reports_nothing() {
    for reads in [false, true] {
        let (client, server, reports) = active_in("2025-11-25", everything()).await;
        test_support::spawn(server.incoming().serve(Telling));
        assert_eq!(flow(&client, reads).await, [1.0, 2.0, 3.0]);
        tokio::time::sleep(LONG).await;
        assert_eq!(reports.take(), [""; 0], "reads: {reads}");
        client.close().await.unwrap();
        assert_eq!(reports.take(), [""; 0], "reads: {reads}");
    }
}

#[tokio::test(start_paused = true)]
async fn statuses_that_a_value_leaves_unread_go_to_the_handler() {
    use TaskStatus::{Completed, InputRequired, Working};
    for (reads, left) in
        [(false, &[Working, InputRequired, Completed][..]), (true, &[InputRequired, Completed][..])]
    {
        let (client, server, reports) = active_in("2025-11-25", everything()).await;
        test_support::spawn(server.incoming().serve(Telling));
        let (noted, mut notes) = mpsc::unbounded_channel();
        test_support::spawn(client.incoming().serve(Noting(noted)));
        assert_eq!(flow(&client, reads).await, [1.0, 2.0, 3.0]);
        for status in left {
            assert_eq!(notes.recv().await.as_ref(), Some(status));
        }
        client.close().await.unwrap();
        assert_eq!(notes.recv().await, None, "each is handed over once");
        assert_eq!(reports.take(), [""; 0], "reads: {reads}");
    }
}

#[tokio::test(start_paused = true)]
async fn statuses_of_a_value_that_was_dropped_are_for_the_handler() {
    let (client, server, reports) = active_in("2025-11-25", everything()).await;
    test_support::spawn(server.incoming().serve(Telling));
    let (noted, mut notes) = mpsc::unbounded_channel();
    test_support::spawn(client.incoming().serve(Noting(noted)));
    let (created, task): (_, client::ServerTask<Working>) =
        client.call_tool_as_task(call_as_task("t")).await.unwrap();
    drop(task);
    assert_eq!(notes.recv().await, Some(TaskStatus::Working));
    assert_eq!(notes.recv().await, Some(TaskStatus::InputRequired));
    assert_eq!(created.task.task_id, "t");
    assert_eq!(reports.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_dropped_where_neither_its_value_nor_incoming_is_there() {
    let (client, server, reports) = active_in("2025-11-25", everything()).await;
    test_support::spawn(server.incoming().serve(Telling));
    let (_, task): (_, client::ServerTask<Working>) =
        client.call_tool_as_task(call_as_task("t")).await.unwrap();
    drop(task);
    tokio::time::sleep(LONG).await;
    let unattended = "`TaskStatus` was dropped: the program does not take incoming messages: spawn `incoming().serve(handler)`";
    assert_eq!(reports.take(), [unattended; 2]);
}
