//! A protocol of JSON-RPC 1.0: a reply has both members, a notification the id `null`, and an error may be a list.

use mcp_runtime::{Error, RpcError, StepError};
use serde_json::json;
use test_support::raw::raw;

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
            owed.respond(&"digger/1".to_owned()).unwrap();
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
