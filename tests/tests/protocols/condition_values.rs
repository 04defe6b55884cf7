//! Conditions that compare with numbers, `true` and `false`.

use mcp_runtime::transport::duplex;
use serde_json::json;
use test_support::raw::raw;

use crate::in_time;
use adapter::client::{AfterAttachNext, AfterLaunchNext, RunningNext};
use adapter::types::{
    AttachParams, AttachedResult, FailedResult, LaunchParams, LaunchedResult, OtherParams, OutputParams,
    StoppedParams,
};
use adapter::{Debugger, Editor};

mod adapter {
    mcp_runtime::protocol!("protocols/adapter.session");
}

#[tokio::test]
async fn a_reply_is_known_by_true_or_false() {
    let (near, far) = duplex();
    let (editor, debugger) = (Editor::new(near), Debugger::new(far));
    let debugger = async {
        let (launch, debugger) = debugger.recv_launch().await.unwrap();
        assert_eq!(launch.program, "prime");
        debugger.send_failed(FailedResult::new("there is no `prime`")).await.unwrap()
    };
    let editor = async {
        let editor = editor.send_launch(LaunchParams::new("prime")).await.unwrap();
        let AfterLaunchNext::Failed(failed, editor) = editor.next().await.unwrap() else {
            panic!("launched")
        };
        assert_eq!(failed.message, "there is no `prime`");
        editor
    };
    let (editor, debugger) = in_time(async { tokio::join!(editor, debugger) }).await;
    let (editor, debugger) = tokio::join!(editor.close(), debugger.close());
    editor.and(debugger).unwrap();
}

#[tokio::test]
async fn a_reply_is_known_by_whether_it_is_null() {
    let (near, far) = duplex();
    let (editor, debugger) = (Editor::new(near), Debugger::new(far));
    let debugger = async {
        let (_, debugger) = debugger.recv_attach().await.unwrap();
        let (attach, debugger) = debugger.send_absent().await.unwrap().recv_attach().await.unwrap();
        assert_eq!(attach.process, 2);
        let debugger = debugger.send_attached(AttachedResult::new(4)).await.unwrap();
        debugger.send_stopped(StoppedParams::new(4)).await.unwrap()
    };
    let editor = async {
        let editor = editor.send_attach(AttachParams::new(1)).await.unwrap();
        let AfterAttachNext::Absent(editor) = editor.next().await.unwrap() else { panic!("attached") };
        let editor = editor.send_attach(AttachParams::new(2)).await.unwrap();
        let AfterAttachNext::Attached(attached, editor) = editor.next().await.unwrap() else {
            panic!("absent")
        };
        assert_eq!(attached.thread, 4);
        editor.recv_stopped().await.unwrap().1
    };
    let (editor, debugger) = in_time(async { tokio::join!(editor, debugger) }).await;
    let (editor, debugger) = tokio::join!(editor.close(), debugger.close());
    editor.and(debugger).unwrap();
}

#[tokio::test]
async fn an_event_is_known_by_its_number() {
    let (near, far) = duplex();
    let (editor, debugger) = (Editor::new(near), Debugger::new(far));
    let debugger = async {
        let (_, debugger) = debugger.recv_launch().await.unwrap();
        let mut debugger = debugger.send_launched(LaunchedResult::new(7)).await.unwrap();
        // The peer would read this as another message.
        let error = debugger.send_other(OtherParams::new(1)).await.unwrap_err();
        assert!(error.to_string().contains("`Stopped`, because of what it holds: `if kind = 1`"), "{error}");
        debugger.send_other(OtherParams::new(2)).await.unwrap();
        debugger.send_output(OutputParams::new("2 3 5")).await.unwrap();
        debugger.send_stopped(StoppedParams::new(4)).await.unwrap()
    };
    let editor = async {
        let editor = editor.send_launch(LaunchParams::new("primes")).await.unwrap();
        let AfterLaunchNext::Launched(launched, editor) = editor.next().await.unwrap() else {
            panic!("failed")
        };
        assert_eq!(launched.process, 7);
        let RunningNext::Other(other, editor) = editor.next().await.unwrap() else { panic!("not the other") };
        assert_eq!(other.kind, 2);
        let RunningNext::Output(output, editor) = editor.next().await.unwrap() else { panic!("no output") };
        assert_eq!(output.text, "2 3 5");
        let RunningNext::Stopped(stopped, editor) = editor.next().await.unwrap() else { panic!("running") };
        assert_eq!(stopped.thread, 4);
        editor
    };
    let (editor, debugger) = in_time(async { tokio::join!(editor, debugger) }).await;
    let (editor, debugger) = tokio::join!(editor.close(), debugger.close());
    editor.and(debugger).unwrap();
}

/// A peer may write a number as it likes.
#[tokio::test]
async fn a_number_is_the_same_however_it_is_written() {
    let (wire, mut debugger) = raw();
    let peer = async {
        let launch = debugger.hear().await.unwrap();
        let launched = json!({ "success": true, "process": 7 });
        debugger.say(json!({ "jsonrpc": "2.0", "id": launch["id"], "result": launched })).await;
        let stopped = json!({ "thread": 4, "kind": 1.0 });
        debugger.say(json!({ "jsonrpc": "2.0", "method": "event", "params": stopped })).await;
    };
    let editor = async {
        let editor = Editor::new(wire).send_launch(LaunchParams::new("primes")).await.unwrap();
        let (_, editor) = editor.recv_launched().await.unwrap();
        editor.recv_stopped().await.unwrap().0.thread
    };
    assert_eq!(in_time(async { tokio::join!(editor, peer) }).await.0, 4);
}
