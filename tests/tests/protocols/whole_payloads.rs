//! A correlation key that is a whole result or an element of a list, and capabilities that are a whole payload.

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, StepError};
use serde_json::{Value, json};
use test_support::raw::raw;
use tokio::sync::mpsc::unbounded_channel;

use crate::in_time;
use debugging::types::{Adapter, Editor};
use debugging::{Debugger, Ide, client};
use ethereum::types::News;
use ethereum::{Node, Wallet, server};

mod ethereum {
    mcp_runtime::protocol!("protocols/ethereum.session");
}

mod debugging {
    mcp_runtime::protocol!("protocols/debugging.session");
}

#[tokio::test]
async fn each_subscription_gets_what_is_for_its_id() {
    let (near, far) = duplex();
    let (wallet, node) = (Wallet::new(near), Node::new(far));
    let asked = node.incoming();
    let node = async {
        let mut subscriptions = Vec::new();
        for id in ["0xa", "0xb"] {
            subscriptions.push(match asked.next().await.unwrap() {
                server::Incoming::Subscribe(_, opened) => opened.send_subscribed(id.into()).await.unwrap(),
                server::Incoming::Syncing(_, opened) => {
                    opened.send_syncing_followed(id.into()).await.unwrap()
                }
                other => panic!("{other:?}"),
            });
        }
        for (id, result) in [("0xb", 1), ("0xa", 2), ("0xb", 3)] {
            let subscription = &mut subscriptions[usize::from(id == "0xb")];
            subscription.send_update(News::new(id, json!(result))).await.unwrap();
        }
        let wrong = subscriptions[0].send_update(News::new("0xb", json!(4))).await;
        assert!(matches!(wrong, Err(Error::NotPermitted(_))), "{wrong:?}");
        for subscription in subscriptions {
            let (ids, ending) = subscription.recv_unsubscribe().await.unwrap();
            ending.send_unsubscribed(ids.len() == 1).await.unwrap();
        }
    };
    let wallet = async {
        let (first, mut heads) = wallet.subscribe(vec!["newHeads".into()]).await.unwrap();
        let (second, mut syncing) = wallet.syncing(vec!["syncing".into()]).await.unwrap();
        assert_eq!((first.as_str(), second.as_str()), ("0xa", "0xb"));
        assert_eq!(heads.recv_update().await.unwrap().result, 2);
        assert_eq!(syncing.recv_update().await.unwrap().result, 1);
        assert_eq!(syncing.recv_update().await.unwrap().result, 3);
        assert!(heads.unsubscribe(vec![first]).await.unwrap());
        // The id of another subscription does not end this one.
        let wrong = syncing.unsubscribe(vec!["0xa".to_owned()]).await;
        let Err(StepError::NotSent { error: Error::NotPermitted(_), session: syncing }) = wrong else {
            panic!("{wrong:?}")
        };
        assert!(syncing.unsubscribe(vec![second]).await.unwrap());
    };
    in_time(async { tokio::join!(wallet, node) }).await;
}

fn result(of: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": of["id"], "result": result })
}

#[tokio::test]
async fn a_peer_that_names_no_subscription_is_reported() {
    let (wire, mut raw) = raw();
    let (told, mut reports) = unbounded_channel();
    let options = Options::new().on_report(move |report| _ = told.send(report.to_string()));
    let wallet = Wallet::with_options(wire, options);
    let news = |id: &str| {
        let params = json!({ "subscription": id, "result": 1 });
        json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": params })
    };
    let node = async {
        let asked = raw.hear().await.unwrap();
        assert_eq!((&asked["method"], &asked["params"]), (&json!("eth_subscribe"), &json!(["newHeads"])));
        raw.say(result(&asked, json!("0xa"))).await;
        raw.say(news("0xb")).await;
        raw.say(news("0xa")).await;
        raw
    };
    let wallet = async {
        let (_, mut heads) = wallet.subscribe(vec!["newHeads".into()]).await.unwrap();
        heads.recv_update().await.unwrap();
        (wallet, heads)
    };
    let (_raw, (wallet, _heads)) = in_time(async { tokio::join!(node, wallet) }).await;
    let report = in_time(reports.recv()).await.unwrap();
    assert!(report.contains("0xb") && reports.try_recv().is_err(), "{report}");
    drop(wallet);
}

#[tokio::test]
async fn what_a_side_can_do_is_all_that_it_says() {
    let (near, far) = duplex();
    let editor = async {
        let hello = Editor::new("lldb").supports_run_in_terminal_request(true);
        let (_, ide) = Ide::new(near).initialize(hello).await.unwrap();
        ide.step_back(json!({})).await.unwrap();
        let closed = ide.terminate().await;
        assert!(matches!(closed, Err(Error::NotPermitted(_))), "{closed:?}");
        let client::Incoming::Run(params, answer) = ide.incoming().next().await.unwrap();
        answer.answer(Ok(params)).unwrap();
        ide
    };
    let adapter = async {
        let (_, ready) = Debugger::new(far).recv_initialize().await.unwrap();
        let adapter = ready.send_initialized(Adapter::new().supports_step_back(true)).await.unwrap();
        let debugging::server::Incoming::StepBack(_, answer) = adapter.incoming().next().await.unwrap()
        else {
            panic!()
        };
        answer.answer(Ok(())).unwrap();
        assert_eq!(adapter.run(json!({ "kind": "integrated" })).await.unwrap()["kind"], "integrated");
        adapter
    };
    let (_ide, _adapter) = in_time(async { tokio::join!(editor, adapter) }).await;
}
