//! A protocol of JSON-RPC 1.0: a reply has both members, a notification the id `null`, and an error may be a list.

use mcp_runtime::transport::http::{HttpClient, HttpServer, HttpSession, ServerOptions};
use mcp_runtime::{Error, RpcError, StepError};
use serde_json::json;
use test_support::raw::raw;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::in_time;
use mining::client::Incoming;
use mining::types::{
    AuthorizeParams, Job, SetDifficultyParams, Share, SubscribeParams, Subscribed, Subscription,
};
use mining::{Miner, Pool, server};

mod mining {
    mcp_runtime::protocol!("protocols/stratum.session");
}

#[tokio::test]
async fn a_miner_reads_what_a_pool_writes() {
    in_time(async {
        let (near, mut pool) = raw();
        let pool = async {
            let subscribe = json!({ "id": 0, "method": "mining.subscribe", "params": ["digger/1"] });
            assert_eq!(pool.hear().await, Some(subscribe));
            pool.say_line(br#"{"id":0,"result":null,"error":[20,"try again","line 7"]}"#).await;
            assert_eq!(pool.hear().await.unwrap()["params"], json!([]));
            pool.say_line(br#"{"id":1,"result":[[["mining.notify","ae"]],"08",4],"error":null}"#).await;
            pool.say_line(br#"{"id":null,"method":"mining.set_difficulty","params":[0.5]}"#).await;
            pool.say_line(br#"{"id":7,"method":"client.get_version","params":[]}"#).await;
            assert_eq!(pool.hear().await, Some(json!({ "id": 7, "result": "digger/1", "error": null })));
            assert_eq!(pool.hear().await.unwrap()["method"], "mining.authorize");
            pool.say_line(br#"{"error":[24,"Unauthorized worker",null],"id":2,"result":null}"#).await;
            assert_eq!(pool.hear().await.unwrap()["method"], "mining.submit");
            pool.say_line(br#"{"result":null,"error":null,"id":3}"#).await;
            pool
        };
        let miner = async {
            let refused = Miner::new(near).subscribe(SubscribeParams::new().agent("digger/1")).await;
            let Err(StepError::Refused { error, session }) = refused else { panic!("{refused:?}") };
            assert_eq!(error, RpcError::new(20, "try again").with_data("line 7"));
            let (subscribed, miner) = session.subscribe(SubscribeParams::new()).await.unwrap();
            assert_eq!(subscribed, Subscribed::new([Subscription::new("mining.notify", "ae")], "08", 4));
            let incoming = miner.incoming();
            let Some(Incoming::SetDifficulty(set)) = incoming.next().await else { panic!() };
            assert_eq!(set, SetDifficultyParams::new(0.5));
            let Some(Incoming::Version(owed)) = incoming.next().await else { panic!() };
            owed.respond("digger/1".to_owned()).unwrap();
            let refused = miner.authorize(AuthorizeParams::new("w")).await;
            let Err(Error::Refused(error)) = refused else { panic!("{refused:?}") };
            assert_eq!(error, RpcError::new(24, "Unauthorized worker"));
            assert_eq!(miner.submit(Share::new("w", "j", "0", "1", "2")).await.unwrap(), None);
            miner
        };
        let (miner, _pool) = tokio::join!(miner, pool);
        miner.abort();
    })
    .await;
}

struct Shares;

impl server::Handler for Shares {
    async fn authorize(&self, _: server::Context, params: AuthorizeParams) -> Result<bool, RpcError> {
        Ok(params.worker == "w")
    }

    async fn submit(&self, context: server::Context, share: Share) -> Result<Option<bool>, RpcError> {
        let job = Job::new(share.job, "p", "1", "2", ["a"], "v", "b", "t", true);
        context.peer().send_notify(job).await.map_err(|error| RpcError::internal_error(error.to_string()))?;
        Err(RpcError::new(21, "Job not found"))
    }
}

#[tokio::test]
async fn a_pool_writes_what_a_miner_reads() {
    in_time(async {
        let (near, mut miner) = raw();
        let pool = test_support::spawn(async move {
            let (_, pool) = Pool::new(near).recv_subscribe().await.unwrap();
            let pool = pool.send_subscribed(Subscribed::new([], "08", 4)).await.unwrap();
            pool.incoming().serve(Shares).await;
        });
        let asked = miner.ask(json!({ "id": "a", "method": "mining.subscribe", "params": [] })).await;
        assert_eq!(asked, json!({ "id": "a", "result": [[], "08", 4], "error": null }));
        let asked = miner.ask(json!({ "id": "b", "method": "mining.authorize", "params": ["x"] })).await;
        assert_eq!(asked, json!({ "id": "b", "result": false, "error": null }));
        let submit = json!({ "id": "c", "method": "mining.submit", "params": ["x", "j", "0", "1", "2"] });
        let notified = miner.ask(submit).await;
        assert_eq!(notified["id"], json!(null));
        assert!(notified.as_object().unwrap().contains_key("id"), "{notified}");
        assert_eq!(notified["params"][0], "j");
        let error = json!({ "code": 21, "message": "Job not found" });
        assert_eq!(miner.hear().await, Some(json!({ "id": "c", "result": null, "error": error })));
        drop(miner);
        pool.await.unwrap();
    })
    .await;
}

/// One pool for each session.
async fn pool(transport: HttpSession) {
    let (_, pool) = Pool::new(transport).recv_subscribe().await.unwrap();
    let pool = pool.send_subscribed(Subscribed::new([], "08", 4)).await.unwrap();
    pool.incoming().serve(Shares).await;
}

#[tokio::test]
async fn over_http_messages_are_those_of_version_1() {
    in_time(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/pool", listener.local_addr().unwrap());
        let server = HttpServer::new(ServerOptions::new().opens_with("mining.subscribe"), pool);
        let router = axum::Router::new().route("/pool", server.method_router());
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = test_support::spawn(async move {
            server.serve(listener, router, async { drop(stopped.await) }).await
        });

        let post = |session: Option<String>, message: &'static str| {
            let request = reqwest::Client::new().post(&url).body(message);
            let request = request.header("content-type", "application/json");
            let request = request.header("accept", "application/json, text/event-stream");
            let request =
                session.into_iter().fold(request, |request, id| request.header("mcp-session-id", id));
            async move {
                let response = request.send().await.unwrap();
                let id = response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
                (response.status().as_u16(), id, response.text().await.unwrap())
            }
        };
        let (status, session, body) = post(None, r#"{"id":1,"method":"mining.subscribe","params":[]}"#).await;
        assert!(status == 200 && body.contains(r#"{"id":1,"result":[[],"08",4],"error":null}"#), "{body}");
        let authorize = r#"{"id":2,"method":"mining.authorize","params":["w"]}"#;
        let (_, _, body) = post(session.clone(), authorize).await;
        assert!(body.contains(r#"{"id":2,"result":true,"error":null}"#), "{body}");
        let (_, _, body) = post(session.clone(), r#"{"id":3,"method":"mining.guess","params":[]}"#).await;
        assert!(body.contains(r#"{"id":3,"result":null,"error":{"code":-32601"#), "{body}");
        let (status, _, body) = post(session.clone(), "nonsense").await;
        assert!(
            status == 400 && body.starts_with(r#"{"id":null,"result":null,"error":{"code":-32700"#),
            "{body}"
        );
        let (status, _, body) = post(Some("gone".into()), authorize).await;
        assert!(
            status == 404 && body.starts_with(r#"{"id":null,"result":null,"error":{"code":-32001"#),
            "{body}"
        );
        let (status, _, body) = post(session, "").await;
        assert!(
            status == 400 && body.starts_with(r#"{"id":null,"result":null,"error":{"code":-32000"#),
            "{body}"
        );
        let miner = Miner::new(HttpClient::new(&url).unwrap());
        let (subscribed, miner) = miner.subscribe(SubscribeParams::new()).await.unwrap();
        assert_eq!(subscribed.extranonce1, "08");
        let incoming = miner.incoming();
        assert!(!miner.authorize(AuthorizeParams::new("x")).await.unwrap());
        let refused = miner.submit(Share::new("x", "j", "0", "1", "2")).await;
        let Err(Error::Refused(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error, RpcError::new(21, "Job not found"));
        let Some(Incoming::Notify(job)) = incoming.next().await else { panic!() };
        assert_eq!(job.id, "j");
        drop((incoming, miner));
        drop(stop);
        serving.await.unwrap().unwrap();
    })
    .await;
}
