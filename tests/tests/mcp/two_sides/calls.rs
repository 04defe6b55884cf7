//! Calls: in parallel, nested, with progress, cancelled.

use std::sync::{Arc, Mutex};

use mcp_protocols::mcp_2025_03_26::{client, server};
use mcp_protocols::types::{CallToolResult, CancelledParams, GetPromptParams};
use mcp_runtime::{Error, RpcError};
use serde_json::json;

use super::handlers::{Model, Tools, call, question};
use super::{active, brief, guarded};
use integration_tests::tap::Line;

#[tokio::test]
async fn replies_come_in_any_order_and_ids_are_per_direction() {
    guarded(async {
        let (client, server, watch) = active().await;
        let before = watch.brief().len();
        let incoming = server.incoming();
        let answering = async {
            let mut asked = Vec::new();
            while asked.len() < 3 {
                let Some(server::Incoming::ToolsCall(params, responder)) = incoming.next().await else {
                    panic!()
                };
                asked.push((params.name, responder));
            }
            // While the three wait, the server asks: its first request has the id 0, its second the id of a call
            // that is running the other way.
            server.ping().await.unwrap();
            server.ping().await.unwrap();
            for (name, responder) in asked.into_iter().rev() {
                responder.respond(CallToolResult::text(format!("re {name}"))).unwrap();
            }
        };
        let calls = async {
            tokio::join!(
                client.call_tool(call("a")),
                client.call_tool(call("b")),
                client.handle().call_tool(call("c")),
            )
        };
        let ((a, b, c), ()) = tokio::join!(calls, answering);
        let results = [a, b, c].map(Result::unwrap);
        assert_eq!(results, ["re a", "re b", "re c"].map(CallToolResult::text));
        assert_eq!(
            watch.brief()[before..],
            [
                "> tools/call 1",
                "> tools/call 2",
                "> tools/call 3",
                "< ping 0",
                "> result 0",
                "< ping 1",
                "> result 1",
                "< result 3",
                "< result 2",
                "< result 1",
            ]
        );
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn the_server_asks_inside_of_a_pending_call() {
    guarded(async {
        let refused = "the peer refused the request: the user said no (code -1)";
        for (says, said) in
            [(Some("because"), CallToolResult::text("because")), (None, CallToolResult::error(refused))]
        {
            let (client, server, watch) = active().await;
            test_support::spawn(client.incoming().serve(Model::saying(says)));
            test_support::spawn(server.incoming().serve(Tools));
            let before = watch.brief().len();
            let result = client.call_tool(call("ask")).await.unwrap();
            assert_eq!(result, said);
            let answer = if says.is_some() { "> result 0" } else { "> error 0" };
            assert_eq!(
                watch.brief()[before..],
                [
                    "> tools/call 1",
                    "< sampling/createMessage 0",
                    "> ping 2",
                    "< result 2",
                    answer,
                    "< result 1",
                ]
            );
            watch.assert_quiet();
        }
    })
    .await;
}

#[tokio::test]
async fn progress_comes_before_the_result_and_only_on_request() {
    guarded(async {
        let (client, server, watch) = active().await;
        test_support::spawn(server.incoming().serve(Tools));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&seen);
        let reported = client
            .call_tool(call("steps"))
            .on_progress(move |progress| notes.lock().unwrap().push(progress.progress));
        // Two at once, of which one is reported on.
        let (reported, silent) = tokio::join!(reported, client.call_tool(call("steps")));
        for result in [reported, silent] {
            assert_eq!(result.unwrap(), CallToolResult::text("there"));
        }
        assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        let reports = watch.brief().iter().filter(|line| line.contains("progress")).count();
        assert_eq!(reports, 4, "no progress is sent unless the caller asks");
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_call_reaches_the_handler_and_its_late_reply_is_dropped() {
    guarded(async {
        let (client, server, watch) = active().await;
        let before = watch.brief().len();
        let incoming = server.incoming();
        let mut taken_back = client.call_tool(call("slow")).on_progress(|_| panic!("unexpected progress"));
        let canceller = taken_back.canceller();
        let handler = async {
            let Some(server::Incoming::ToolsCall(_, responder)) = incoming.next().await else { panic!() };
            let context = responder.context();
            canceller.cancel_with(&json!({ "reason": "enough" })).unwrap();
            context.cancelled().await;
            responder.respond(CallToolResult::text("too late")).unwrap();
        };
        let (outcome, ()) = tokio::join!(taken_back, handler);
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        // A second time does no harm, and the session goes on.
        canceller.cancel().unwrap();
        client.ping().await.unwrap();
        assert_eq!(
            watch.brief()[before..],
            ["> tools/call 1", "> notifications/cancelled", "> ping 2", "< result 2"],
            "a cancelled request is not answered"
        );
        let lines = watch.window.lines();
        let Line::Wrote(notice) = &lines[before + 1] else { panic!("{lines:?}") };
        assert_eq!(notice["params"], json!({ "requestId": 1, "reason": "enough" }));
        serde_json::from_value::<CancelledParams>(notice["params"].clone()).unwrap();
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn the_server_takes_its_request_0_back_while_the_client_has_one_too() {
    guarded(async {
        let (client, server, watch) = active().await;
        let incoming = client.incoming();
        let mut asking = server.create_message(question("why"));
        let canceller = asking.canceller();
        let answering = async {
            let Some(client::Incoming::CreateMessage(_, responder)) = incoming.next().await else { panic!() };
            let context = responder.context();
            canceller.cancel().unwrap();
            context.cancelled().await;
            assert!(context.is_cancelled());
            responder.refuse(RpcError::new(-1, "too late")).unwrap();
        };
        let (outcome, ()) = tokio::join!(asking, answering);
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        server.ping().await.unwrap();
        client.ping().await.unwrap();
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled() {
    guarded(async {
        let (client, server, watch) = active().await;
        let incoming = server.incoming();
        let responder = tokio::select! {
            _ = client.call_tool(call("slow")) => panic!("completed without an answer"),
            Some(server::Incoming::ToolsCall(_, responder)) = incoming.next() => responder,
        };
        responder.context().cancelled().await;
        drop(responder);
        let taken_back = |line: &Line| brief(line) == "> notifications/cancelled";
        watch.window.until(|lines| lines.iter().any(taken_back)).await;
        client.ping().await.unwrap();
        watch.assert_quiet();
    })
    .await;
}

#[tokio::test]
async fn what_the_server_refuses_is_an_error_of_that_call_alone() {
    guarded(async {
        let (client, server, watch) = active().await;
        test_support::spawn(server.incoming().serve(Tools));
        let (refused, served) = tokio::join!(
            client.call_tool(call("none")),
            client.call_tool(call("echo").with_argument("message", "hi")),
        );
        match refused {
            Err(Error::Refused(error)) => {
                assert_eq!(error, RpcError::invalid_params("no tool is called `none`"))
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(served.unwrap(), CallToolResult::text("hi"));
        // A method that the handler does not implement.
        match client.get_prompt(GetPromptParams::new("p")).await {
            Err(Error::Refused(error)) => assert_eq!(error.code, RpcError::METHOD_NOT_FOUND),
            other => panic!("{other:?}"),
        }
        watch.assert_quiet();
    })
    .await;
}
