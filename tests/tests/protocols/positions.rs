//! Params by their positions: how they are made, written, read, and refused.

use mcp_runtime::RpcError;
use mcp_runtime::transport::duplex;
use serde_json::{Value, from_value, json, to_value};

use super::shapes::error;

mod chain {
    mcp_runtime::protocol!("protocols/positions.session");
}

use chain::types::{
    BalanceParams, Block, BlockNumberParams, CallParams, CallParamsOverrides, ChainIdParams, Filter,
    InvokeParams, InvokedResult, InvokedResultItem, InvokedResultItemValue, InvokedResultItemValue2, Proof,
    SendParams, StorageParams, SubscribeParams, SubscribeParamsValue, SubscribeParamsValue2, Transaction,
    UnsubscribeParams,
};
use chain::{Node, Wallet, server};

#[test]
fn a_tuple_with_labels_is_a_struct_that_is_written_as_a_list() {
    let call = || CallParams::new(Transaction::new("0x1"));
    assert_eq!(to_value(call()).unwrap(), json!([{ "to": "0x1" }]));
    let whole = call().block("latest").overrides(CallParamsOverrides::new("0x2"));
    assert_eq!(whole.block, Some(Block::Latest));
    let written = json!([{ "to": "0x1" }, "latest", { "of": "0x2" }]);
    assert_eq!(to_value(&whole).unwrap(), written);
    assert_eq!(from_value::<CallParams>(written).unwrap(), whole);
    // Many peers write `null` for what is absent.
    assert_eq!(from_value::<CallParams>(json!([{ "to": "0x1" }, null])).unwrap(), call());
    let gap = to_value(call().overrides(CallParamsOverrides::new("0x2"))).unwrap_err().to_string();
    assert_eq!(gap, "[1] is absent and [2] is not: only the last positions may be absent");
}

#[test]
fn a_tuple_without_labels_is_one_in_rust_where_it_can() {
    let balance: BalanceParams = ("0x1".to_owned(), Block::Pending);
    assert_eq!(to_value(&balance).unwrap(), json!(["0x1", "pending"]));
    let sent: SendParams = ("0x2".to_owned(),);
    assert_eq!(to_value(sent).unwrap(), json!(["0x2"]));
    let storage = StorageParams::new("0x1", "0x0");
    assert_eq!(to_value(storage.clone()).unwrap(), json!(["0x1", "0x0"]));
    assert_eq!(to_value(storage.third("earliest")).unwrap(), json!(["0x1", "0x0", "earliest"]));
    assert_eq!(to_value(ChainIdParams::new()).unwrap(), json!([]));
    assert_eq!(from_value::<BlockNumberParams>(json!([])).unwrap(), BlockNumberParams::default());

    let proof = json!({
        "account": ["0x1", "x"],
        "storage": [["a", "b"]],
        "next": [{ "account": ["0x2", "y"], "storage": [] }, 1]
    });
    let read: Proof = from_value(proof.clone()).unwrap();
    assert_eq!(read.storage, [("a".to_owned(), "b".to_owned())]);
    assert_eq!(read.next.as_ref().map(|next| next.1), Some(1));
    assert_eq!(to_value(read).unwrap(), proof);
}

#[test]
fn literals_tell_tuples_apart() {
    let heads: SubscribeParams = SubscribeParamsValue::new().into();
    assert_eq!(to_value(&heads).unwrap(), json!(["newHeads"]));
    assert_eq!(from_value::<SubscribeParams>(json!(["newHeads"])).unwrap(), heads);
    let logs = SubscribeParamsValue2::new().second(Filter::new().address("0x1"));
    let read: SubscribeParams = from_value(json!(["logs", { "address": "0x1" }])).unwrap();
    assert_eq!(read, SubscribeParams::Logs(logs));
    assert_eq!(
        error::<SubscribeParams>(json!(["blocks"])),
        "[0]: expected \"newHeads\" or \"logs\", found \"blocks\""
    );
    let of_one = error::<SubscribeParamsValue>(json!(["logs"]));
    assert_eq!(of_one, "[0]: expected \"newHeads\", found \"logs\"");
}

#[test]
fn what_does_not_fit_says_where() {
    assert_eq!(error::<CallParams>(json!([])), "[0]: expected an object `Transaction`, found nothing");
    assert_eq!(error::<CallParams>(json!([{ "to": 1 }])), "[0].to: expected a string, found 1");
    assert_eq!(error::<CallParams>(json!({})), "expected a list of 1 to 3 elements, found an object");
    assert_eq!(error::<ChainIdParams>(json!([1])), "[0]: expected the end of the list, found 1");
    assert_eq!(error::<ChainIdParams>(json!(null)), "expected an empty list, found null");
    let proof = |storage: Value| json!({ "account": ["0x1", "x"], "storage": storage });
    assert_eq!(error::<Proof>(proof(json!([["a"]]))), "storage[0][1]: expected a string, found nothing");
    assert_eq!(
        error::<Proof>(proof(json!([["a", "b", 3]]))),
        "storage[0][2]: expected the end of the list, found 3"
    );
    assert_eq!(error::<Proof>(proof(json!([5]))), "storage[0]: expected a list of 2 elements, found 5");
}

#[test]
fn what_stands_behind_the_positions_is_the_last_field() {
    let invoke = || InvokeParams::new("run").second(7);
    let to = |address: &str| Transaction::new(address);
    let all = invoke().rest([to("0x1"), to("0x2")]);
    let written = json!(["run", 7, { "to": "0x1" }, { "to": "0x2" }]);
    assert_eq!(to_value(&all).unwrap(), written);
    assert_eq!(from_value::<InvokeParams>(written).unwrap(), all);
    for (params, written) in [(invoke(), json!(["run", 7])), (InvokeParams::new("run"), json!(["run"]))] {
        assert_eq!(to_value(&params).unwrap(), written);
        assert_eq!(from_value::<InvokeParams>(written).unwrap(), params);
    }
    let gap = to_value(InvokeParams::new("run").rest([to("0x1")])).unwrap_err().to_string();
    assert_eq!(gap, "[1] is absent and [2] is not: only the last positions may be absent");
    // Positions are filled from the left.
    assert_eq!(
        error::<InvokeParams>(json!(["run", { "to": "0x1" }])),
        "[1]: expected a whole number, found an object"
    );
    assert_eq!(
        error::<InvokeParams>(json!(["run", 7, { "to": "0x1" }, { "to": 2 }])),
        "[3].to: expected a string, found 2"
    );
    assert_eq!(error::<InvokeParams>(json!([])), "[0]: expected a string, found nothing");
    assert_eq!(error::<InvokeParams>(json!(1)), "expected a list of at least 1 element, found 1");

    let failed = InvokedResultItemValue2::new().rest([1.into(), "why".into()]);
    let read: InvokedResult = from_value(json!([["ok"], ["failed", 1, "why"], ["failed"]])).unwrap();
    let none = InvokedResultItemValue2::new();
    assert_eq!(read[1..], [InvokedResultItem::Failed(failed), InvokedResultItem::Failed(none)]);
    assert_eq!(to_value(read).unwrap(), json!([["ok"], ["failed", 1, "why"], ["failed"]]));
}

struct Chain;

impl server::Handler for Chain {
    async fn chain_id(&self, _: server::Context, _: ChainIdParams) -> Result<String, RpcError> {
        Ok("0x1".to_owned())
    }

    async fn block_number(
        &self,
        _: server::Context,
        params: Option<BlockNumberParams>,
    ) -> Result<String, RpcError> {
        Ok(if params.is_some() { "0x2" } else { "0x3" }.to_owned())
    }

    async fn balance(&self, _: server::Context, params: BalanceParams) -> Result<String, RpcError> {
        Ok(format!("{} of {}", params.1, params.0))
    }

    async fn call(&self, _: server::Context, params: CallParams) -> Result<String, RpcError> {
        Ok(params.block.map_or("nothing".to_owned(), |block| block.to_string()))
    }

    async fn invoke(&self, _: server::Context, params: InvokeParams) -> Result<InvokedResult, RpcError> {
        Ok(params.rest.iter().map(|_| InvokedResultItemValue::new().into()).collect())
    }

    async fn send(&self, _: server::Context, params: SendParams) -> Result<String, RpcError> {
        Ok(params.0)
    }

    async fn storage(&self, _: server::Context, params: StorageParams) -> Result<Proof, RpcError> {
        Ok(Proof::new((params.first, params.second), []))
    }
}

#[tokio::test]
async fn a_session_carries_params_by_position_and_a_label_is_a_key() {
    let (near, far) = duplex();
    let node = Node::new(far);
    let serving = test_support::spawn(async move {
        let serving = node.incoming();
        serving.serve(Chain).await
    });
    let wallet = Wallet::new(near);
    assert_eq!(wallet.chain_id(ChainIdParams::new()).await.unwrap(), "0x1");
    assert_eq!(wallet.block_number(None).await.unwrap(), "0x3");
    let balance = wallet.balance(("0x1".to_owned(), Block::Latest)).await.unwrap();
    assert_eq!(balance, "latest of 0x1");
    let call = CallParams::new(Transaction::new("0x1")).block("pending");
    assert_eq!(wallet.call(call).await.unwrap(), "pending");
    assert_eq!(wallet.send(("0x5".to_owned(),)).await.unwrap(), "0x5");
    let proof = wallet.storage(StorageParams::new("0x1", "0x0")).await.unwrap();
    assert_eq!(proof.account, ("0x1".to_owned(), "0x0".to_owned()));
    let (message, _) = chain::PROTOCOL.by_name("Unsubscribe").unwrap();
    let table = chain::PROTOCOL.message(message).unwrap();
    assert!(format!("{:?}", table.keys).contains("\"0\""), "the label is not in the JSON: {table:?}");
    assert_eq!(to_value(UnsubscribeParams::new("7")).unwrap(), json!(["7"]));
    wallet.close().await.unwrap();
    serving.await.unwrap();
}

#[tokio::test]
async fn params_that_are_left_out_are_an_empty_list() {
    let (wire, mut raw) = test_support::raw::raw();
    let node = Node::new(wire);
    let serving = test_support::spawn(async move { node.incoming().serve(Chain).await });
    let answer = raw.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId" })).await;
    assert_eq!(answer["result"], json!("0x1"), "{answer}");
    let answer = raw.ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "eth_call" })).await;
    assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
    let problem = answer["error"]["message"].as_str().unwrap();
    assert!(problem.contains("[0]: expected an object `Transaction`, found nothing"), "{problem}");
    drop(raw);
    let _end = serving.await;
}
