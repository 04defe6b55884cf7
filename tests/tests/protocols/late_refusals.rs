//! The request that opens a sub-session is refused after its first messages, before any of them, and in the state in which
//! its reply may come.

use mcp_runtime::protocol::Side;
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, RpcError, StepError};
use serde_json::{Value, json};
use test_support::raw::raw;

mod listening {
    mcp_runtime::protocol!("protocols/listening.session");
}

use listening::server::Incoming;
use listening::{Press, Reader};

fn refusal() -> RpcError {
    RpcError::new(-32_001, "no more subscriptions")
}

fn error(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32001, "message": "no more subscriptions"}})
}

/// The code of the error with which a request was refused.
fn code<T>(result: Result<T, Error>) -> i64 {
    match result.map(drop).unwrap_err() {
        Error::Refused(error) => error.code,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_typed_server_refuses_in_each_state_and_the_client_learns_it_there() {
    let (near, far) = duplex();
    let (reader, press) = (Reader::new(near), Press::new(far));
    let queue = press.incoming();
    for steps in 0..3 {
        let serving = async {
            let Incoming::Listen(_, subscription) = queue.next().await.unwrap();
            if steps == 0 {
                return subscription.refuse(refusal()).await.unwrap();
            }
            let about = json!({"subscription": subscription.request_id()});
            let mut subscription = subscription.send_ack(about.clone()).await.unwrap();
            for _ in 1..steps {
                subscription.send_changed(about.clone()).await.unwrap();
            }
            subscription.refuse(refusal()).await.unwrap();
        };
        let listening = async {
            let subscription = reader.send_listen(json!({})).await.unwrap();
            let subscription = match subscription.recv_ack().await {
                Ok((_, subscription)) if steps > 0 => subscription,
                Ok(_) => panic!("nothing was acknowledged"),
                Err(error) => {
                    assert_eq!((steps, code::<()>(Err(error))), (0, -32_001));
                    return;
                }
            };
            let mut subscription = subscription;
            for _ in 1..steps {
                match subscription.next().await.unwrap() {
                    listening::client::OpenNext::Changed(_, next) => subscription = next,
                    listening::client::OpenNext::Closed(_) => panic!("closed"),
                }
            }
            assert_eq!(code(subscription.next().await), -32_001);
        };
        tokio::join!(serving, listening);
    }
}

/// What a raw client hears of its request: whether it was acknowledged, and the error.
#[tokio::test]
async fn a_dropped_subscription_is_refused_before_its_first_message() {
    let (wire, mut reader) = raw();
    let press = Press::new(wire);
    let queue = press.incoming();
    for acknowledged in [false, true] {
        let id = i64::from(acknowledged) + 1;
        reader.say(json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {}})).await;
        let Incoming::Listen(_, subscription) = queue.next().await.unwrap();
        if acknowledged {
            drop(subscription.send_ack(json!({"subscription": id})).await.unwrap());
            assert_eq!(reader.hear().await.unwrap()["method"], "subscriptions/acknowledged");
        } else {
            drop(subscription);
        }
        let refused = reader.hear().await.unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(id), &json!(-32603)));
    }
}

#[tokio::test]
async fn a_filter_that_crosses_the_refusal_is_dropped_and_the_refusal_comes_to_whoever_waits() {
    let (wire, mut press) = raw();
    let reader = Reader::new(wire);
    let subscription = reader.send_listen(json!({})).await.unwrap();
    let id = press.hear().await.unwrap()["id"].clone();
    let about = json!({"subscription": id});
    press.say(json!({"jsonrpc": "2.0", "method": "subscriptions/acknowledged", "params": about})).await;
    let (_, mut subscription) = subscription.recv_ack().await.unwrap();
    press.say(error(&id)).await;
    // The refusal is on its way, or has come: what waits for a change gets it.
    assert_eq!(code(subscription.recv_changed().await), -32_001);
    // It is over: nothing is sent any more.
    assert!(subscription.send_filter(about).await.is_err());
}

#[tokio::test]
async fn without_types_a_late_refusal_is_permitted_and_ends_the_sub_session() {
    let (near, far) = duplex();
    let protocol = &listening::PROTOCOL;
    let mut reader = CheckedSession::start(near, protocol, Side::Client, Options::default());
    let mut press = CheckedSession::start(far, protocol, Side::Server, Options::default());
    let mut subscription = reader.open("subscriptions/listen", &json!({})).await.unwrap();
    let Event::Opened { id: Some(id), mut session, .. } = press.next().await.unwrap() else { panic!() };
    session.refuse(&id, &refusal()).unwrap();
    let Event::Refused { id: refused, error } = subscription.next().await.unwrap() else { panic!() };
    assert_eq!((refused, error.code), (id, -32_001));
    assert!(subscription.notify("subscriptions/filter", &json!({})).await.is_err());
}

#[tokio::test]
async fn a_refusal_of_a_step_that_may_go_on_still_gives_the_value_back() {
    let (near, far) = duplex();
    let (reader, press) = (Reader::new(near), Press::new(far));
    let queue = press.incoming();
    let subscription = reader.send_listen(json!({})).await.unwrap();
    let Incoming::Listen(_, served) = queue.next().await.unwrap();
    // A payload without the key of the sub-session is refused before a byte is written, and the value stays.
    let Err(StepError::NotSent { error, session: served }) = served.send_ack(json!({})).await else {
        panic!()
    };
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
    served.refuse(refusal()).await.unwrap();
    assert_eq!(code(subscription.recv_ack().await), -32_001);
}
