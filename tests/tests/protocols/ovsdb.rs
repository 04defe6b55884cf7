//! A tuple with a rest: `transact` of RFC 7047 has a database, and behind it any number of operations.

use mcp_runtime::observer::Observer;
use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, RpcError};
use serde_json::{Value, from_value, json, to_value};
use test_support::raw::raw;

use super::shapes::error;
use crate::in_time;
use ovs::client::{Incoming, WantedNext};
use ovs::types::{
    Column, GetSchemaParams, GrantedResult, ListDbsParams, LockParams, MonitorCancelParams, MonitorParams,
    MonitorRequest, NamedUuid, Operation, OperationComment, OperationInsert, OperationSelect, Outcome, Row,
    SchemaResult, Set, StealParams, TableUpdates, TransactParams, UnlockParams, UpdateParams, Uuid,
};
use ovs::{BeforeGranted, BeforeMonitored, BeforeTaken, Client, Database, server};

mod ovs {
    mcp_runtime::protocol!("protocols/ovsdb.session");
}

/// The rows of an `insert` that refers to a row of the same transaction.
fn bridge() -> Row {
    let ports = Set::new([NamedUuid::new("port").into()]);
    Row::from([
        ("name".to_owned(), Column::from(ovs::types::Atom::from("br0"))),
        ("ports".to_owned(), ports.into()),
    ])
}

fn insert() -> Operation {
    OperationInsert::new("Bridge", bridge()).uuid_name("bridge").into()
}

/// The same as RFC 7047 writes it.
fn insert_as_text() -> Value {
    json!({
        "op": "insert", "table": "Bridge", "row": { "name": "br0", "ports": ["set", [["named-uuid", "port"]]] },
        "uuid-name": "bridge",
    })
}

#[test]
fn the_rest_is_a_field_that_is_written_behind_the_positions() {
    let none = TransactParams::new("Open_vSwitch");
    assert_eq!(to_value(&none).unwrap(), json!(["Open_vSwitch"]));
    assert_eq!(from_value::<TransactParams>(json!(["Open_vSwitch"])).unwrap(), none);
    let two = none.operations([insert(), OperationComment::new("a bridge").into()]);
    let written = json!(["Open_vSwitch", insert_as_text(), { "op": "comment", "comment": "a bridge" }]);
    assert_eq!(to_value(&two).unwrap(), written);
    assert_eq!(from_value::<TransactParams>(written.clone()).unwrap(), two);
    // Read from a text, and not from a value in memory.
    assert_eq!(serde_json::from_str::<TransactParams>(&written.to_string()).unwrap(), two);

    assert_eq!(error::<TransactParams>(json!([])), "[0]: expected a string, found nothing");
    assert_eq!(error::<TransactParams>(json!({})), "expected a list of at least 1 element, found an object");
    let wrong = json!(["db", { "op": "abort" }, { "op": "comment" }]);
    assert_eq!(error::<TransactParams>(wrong), "[2].comment: expected a string, found nothing");
    let unknown = error::<TransactParams>(json!(["db", { "op": "drop" }]));
    assert!(unknown.starts_with("[1].op: expected \"insert\", \"select\""), "{unknown}");
}

#[tokio::test]
async fn a_client_writes_what_a_database_reads() {
    in_time(async {
        let (near, mut raw) = raw();
        let database = async {
            let asked = raw.hear().await.unwrap();
            assert_eq!(asked, json!({ "id": asked["id"], "method": "list_dbs", "params": [] }));
            raw.say(json!({ "id": asked["id"], "result": ["Open_vSwitch"], "error": null })).await;
            let asked = raw.hear().await.unwrap();
            assert_eq!(asked["params"], json!(["Open_vSwitch", insert_as_text(), { "op": "abort" }]));
            let result = json!([{ "uuid": ["uuid", "0-1"] }, { "error": "aborted", "details": "" }]);
            raw.say(json!({ "id": asked["id"], "result": result, "error": null })).await;

            let asked = raw.hear().await.unwrap();
            let tables = json!({ "Bridge": { "columns": ["name"] } });
            assert_eq!(asked["params"], json!(["Open_vSwitch", "bridges", tables]));
            let initial = json!({ "Bridge": { "0-1": { "new": { "name": "br0" } } } });
            raw.say(json!({ "id": asked["id"], "result": initial, "error": null })).await;
            let changed = json!({ "Bridge": { "0-1": { "old": { "name": "br0" } } } });
            let update = json!({ "id": null, "method": "update", "params": ["bridges", changed] });
            raw.say(update).await;
            raw.say(json!({ "id": "echo", "method": "echo", "params": [1, "two"] })).await;
            let echoed = raw.hear().await.unwrap();
            assert_eq!(echoed, json!({ "id": "echo", "result": [1, "two"], "error": null }));
            let asked = raw.hear().await.unwrap();
            assert_eq!((&asked["method"], &asked["params"]), (&json!("monitor_cancel"), &json!(["bridges"])));
            raw.say(json!({ "id": asked["id"], "result": {}, "error": null })).await;

            let asked = raw.hear().await.unwrap();
            assert_eq!((&asked["method"], &asked["params"]), (&json!("lock"), &json!(["ovn"])));
            raw.say(json!({ "id": asked["id"], "result": { "locked": false }, "error": null })).await;
            raw.say(json!({ "id": null, "method": "locked", "params": ["ovn"] })).await;
            raw.say(json!({ "id": null, "method": "stolen", "params": ["ovn"] })).await;
            let asked = raw.hear().await.unwrap();
            assert_eq!((&asked["method"], &asked["params"]), (&json!("unlock"), &json!(["ovn"])));
            raw.say(json!({ "id": asked["id"], "result": {}, "error": null })).await;

            let asked = raw.hear().await.unwrap();
            assert_eq!(asked["params"], json!(["Open_vSwitch"]));
            let cancel = raw.hear().await.unwrap();
            assert_eq!(cancel, json!({ "id": null, "method": "cancel", "params": [asked["id"]] }));
            let error = json!({ "code": -1, "message": "canceled" });
            raw.say(json!({ "id": asked["id"], "result": null, "error": error })).await;
            raw
        };
        let client = async {
            let client = Client::new(near);
            let incoming = client.incoming();
            assert_eq!(client.list_dbs(ListDbsParams::new()).await.unwrap(), ["Open_vSwitch"]);
            let abort = ovs::types::OperationAbort::new();
            let params = TransactParams::new("Open_vSwitch").operations([insert(), abort.into()]);
            let outcomes = client.transact(params).await.unwrap();
            let [Some(inserted), Some(aborted)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
            assert_eq!(inserted.uuid, Some(Column::from(ovs::types::Atom::from(Uuid::new("0-1")))));
            assert_eq!(aborted.error.as_deref(), Some("aborted"));

            let tables = [("Bridge".to_owned(), MonitorRequest::new().columns(["name"]))];
            let params = MonitorParams::new("Open_vSwitch", "bridges", tables);
            let (initial, mut watching) = client.monitor(params).await.unwrap();
            assert!(initial["Bridge"]["0-1"].new_.is_some());
            let update = watching.recv_update().await.unwrap();
            assert!(update.tables["Bridge"]["0-1"].new_.is_none());
            let Some(Incoming::Echo(params, owed)) = incoming.next().await else { panic!() };
            owed.respond(params).unwrap();
            watching.monitor_cancel(MonitorCancelParams::new("bridges")).await.unwrap();

            let (granted, mut lock) = client.lock(LockParams::new("ovn")).await.unwrap();
            assert!(!granted.locked);
            assert!(matches!(lock.next().await, Ok(WantedNext::Locked(_))));
            assert!(matches!(lock.next().await, Ok(WantedNext::Stolen(_))));
            lock.unlock(UnlockParams::new("ovn")).await.unwrap();

            let mut call = client.transact(TransactParams::new("Open_vSwitch"));
            let canceller = call.canceller();
            let cancelling = async { canceller.cancel().unwrap() };
            let (cancelled, ()) = tokio::join!(call, cancelling);
            let Err(Error::Refused(error)) = cancelled else { panic!("{cancelled:?}") };
            assert_eq!(error, RpcError::new(-1, "canceled"));
            (client, incoming)
        };
        let (client, _raw) = tokio::join!(client, database);
        drop(client);
    })
    .await;
}

/// A database that answers each operation with what it was.
struct Answering;

impl server::Handler for Answering {
    async fn list_dbs(&self, _: server::Context, _: ListDbsParams) -> Result<Vec<String>, RpcError> {
        Ok(vec!["Open_vSwitch".to_owned()])
    }

    async fn get_schema(
        &self,
        _: server::Context,
        params: GetSchemaParams,
    ) -> Result<SchemaResult, RpcError> {
        Ok(SchemaResult::new(params.db, "1.0.0", serde_json::Map::new()))
    }

    async fn transact(
        &self,
        _: server::Context,
        params: TransactParams,
    ) -> Result<Vec<Option<Outcome>>, RpcError> {
        let outcome = |operation: Operation| match operation {
            Operation::Select(select) => Some(Outcome::new().count(0_u64).details(select.table)),
            Operation::Abort(_) => Some(Outcome::new().error("aborted")),
            _ => None,
        };
        Ok(params.operations.into_iter().map(outcome).collect())
    }

    async fn echo(&self, _: server::Context, params: Vec<Value>) -> Result<Vec<Value>, RpcError> {
        Ok(params)
    }

    async fn monitor(
        &self,
        _: server::Context,
        params: MonitorParams,
        monitoring: server::Monitoring<BeforeMonitored>,
    ) {
        let mut watching = monitoring.send_monitored(TableUpdates::new()).await.unwrap();
        watching.send_update(UpdateParams::new(params.monitor, TableUpdates::new())).await.unwrap();
        let (_, cancelled) = watching.recv_monitor_cancel().await.unwrap();
        cancelled.send_monitor_cancelled(ovs::types::MonitorCancelledResult::new()).await.unwrap();
    }

    async fn lock(&self, _: server::Context, _: LockParams, lock: server::Locking<BeforeGranted>) {
        let (_, lock) =
            lock.send_granted(GrantedResult::new(true)).await.unwrap().recv_unlock().await.unwrap();
        lock.send_unlocked(ovs::types::UnlockedResult::new()).await.unwrap();
    }

    async fn steal(&self, _: server::Context, _: StealParams, lock: server::Locking<BeforeTaken>) {
        lock.refuse(RpcError::new(-2, "not stolen")).await.unwrap();
    }
}

#[tokio::test]
async fn a_database_writes_what_a_client_reads() {
    in_time(async {
        let (near, mut client) = raw();
        let database =
            test_support::spawn(async move { Database::new(near).incoming().serve(Answering).await });
        let asked = client.ask(json!({ "id": 0, "method": "transact", "params": ["db"] })).await;
        assert_eq!(asked, json!({ "id": 0, "result": [], "error": null }));
        let select = json!({ "op": "select", "table": "Port", "where": [["name", "==", "p0"]] });
        let params = json!(["db", select, { "op": "abort" }, { "op": "commit", "durable": true }]);
        let asked = client.ask(json!({ "id": 1, "method": "transact", "params": params })).await;
        let outcomes = json!([{ "details": "Port", "count": 0 }, { "error": "aborted" }, null]);
        assert_eq!(asked, json!({ "id": 1, "result": outcomes, "error": null }));
        let wrong = json!({ "id": 2, "method": "transact", "params": ["db", { "op": "abort" }, "abort"] });
        let asked = client.ask(wrong).await;
        let problem = asked["error"]["message"].as_str().unwrap();
        assert!(
            problem.contains("[2]: expected an object") && problem.contains("found \"abort\""),
            "{problem}"
        );

        let monitor = json!({ "id": 3, "method": "monitor", "params": ["db", "m", {}] });
        assert_eq!(client.ask(monitor).await, json!({ "id": 3, "result": {}, "error": null }));
        let update = json!({ "id": null, "method": "update", "params": ["m", {}] });
        assert_eq!(client.hear().await, Some(update));
        let cancel = json!({ "id": 4, "method": "monitor_cancel", "params": ["m"] });
        assert_eq!(client.ask(cancel).await, json!({ "id": 4, "result": {}, "error": null }));
        let lock = json!({ "id": 5, "method": "lock", "params": ["ovn"] });
        assert_eq!(client.ask(lock).await, json!({ "id": 5, "result": { "locked": true }, "error": null }));
        let unlock = json!({ "id": 6, "method": "unlock", "params": ["ovn"] });
        assert_eq!(client.ask(unlock).await, json!({ "id": 6, "result": {}, "error": null }));
        let echo = json!({ "id": 7, "method": "echo", "params": ["a", { "b": [] }] });
        assert_eq!(client.ask(echo).await["result"], json!(["a", { "b": [] }]));
        drop(client);
        database.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn both_sides_read_what_the_other_writes() {
    in_time(async {
        let (near, far) = duplex();
        let database = Database::new(far);
        let serving = test_support::spawn(async move { database.incoming().serve(Answering).await });
        let client = Client::new(near);
        let select = OperationSelect::new("Port", []).columns(["name"]);
        let params = TransactParams::new("db").operations([insert(), select.into()]);
        let outcomes = client.transact(params).await.unwrap();
        assert_eq!(outcomes, [None, Some(Outcome::new().count(0_u64).details("Port"))]);
        assert_eq!(client.transact(TransactParams::new("db")).await.unwrap(), []);
        client.close().await.unwrap();
        serving.await.unwrap();
    })
    .await;
}

#[test]
fn a_checker_names_the_operation_that_is_wrong() {
    let mut options = Options::new();
    options.judge_payloads = true;
    let mut observer = Observer::new(&ovs::PROTOCOL, options).unwrap();
    let mut see = |sender, message: Value| {
        let said = observer.observe(sender, message.to_string().as_bytes());
        let said: Vec<String> = said.iter().flat_map(|one| &one.reports).map(ToString::to_string).collect();
        said.join(" ")
    };
    let transact = |id: i64, params: Value| json!({ "id": id, "method": "transact", "params": params });
    assert_eq!(see(Side::Client, transact(1, json!(["db"]))), "");
    assert_eq!(see(Side::Server, json!({ "id": 1, "result": [], "error": null })), "");
    let many: Vec<Value> = std::iter::once(json!("db")).chain((0..500).map(|_| insert_as_text())).collect();
    assert_eq!(see(Side::Client, transact(2, many.into())), "");
    let wrong = see(Side::Client, transact(3, json!(["db", { "op": "abort" }, { "op": "commit" }])));
    assert!(wrong.contains(": [2].durable: expected true or false, found nothing"), "{wrong}");
    let wrong = see(Side::Client, transact(4, json!([{ "op": "abort" }])));
    assert!(wrong.contains(": [0]: expected a string, found an object"), "{wrong}");
    assert_eq!(see(Side::Client, json!({ "id": null, "method": "cancel", "params": [2] })), "");
}
