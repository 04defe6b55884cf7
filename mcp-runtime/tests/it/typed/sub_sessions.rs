//! Sub-sessions with session types of their own: side by side, each with its inputs, dropped, refused, cancelled, from both
//! sides.

#![allow(clippy::indexing_slicing, reason = "the payloads are the test's own")]

use std::sync::{Arc, Mutex};

use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, Report, RpcError, StepError};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::watching::{Active, AfterSubscribed, BeforeSubscribed, Watched, Watcher, client, server};

/// What a side reported, as text.
type Reports = Arc<Mutex<Vec<String>>>;

fn reporting() -> (Options, Reports) {
    let seen: Reports = Arc::default();
    let reports = Arc::clone(&seen);
    let options =
        Options::default().on_report(move |report: &Report| reports.lock().unwrap().push(report.to_string()));
    (options, seen)
}

async fn active() -> (Watcher<Active>, Watched<Active>) {
    active_with(Options::default(), Options::default()).await
}

async fn active_with(here: Options, there: Options) -> (Watcher<Active>, Watched<Active>) {
    let (left, right) = duplex();
    let (watcher, watched) = (Watcher::with_options(left, here), Watched::with_options(right, there));
    let served = async { watched.recv_hello().await.unwrap().send_welcome().await.unwrap() };
    let (watcher, watched) = tokio::join!(watcher.hello(), served);
    (watcher.unwrap(), watched)
}

fn uri(uri: &str) -> Value {
    json!({ "uri": uri })
}

/// The next subscription that the client opens.
async fn subscribed(incoming: &server::IncomingQueue) -> (Value, server::Subscription<BeforeSubscribed>) {
    match incoming.next().await.unwrap() {
        server::Incoming::Subscribe(params, subscription) => (params, subscription),
        other => panic!("{other:?}"),
    }
}

async fn both(
    watcher: &Watcher<Active>,
    incoming: &server::IncomingQueue,
    resource: &str,
) -> (client::Subscription<AfterSubscribed>, server::Subscription<AfterSubscribed>) {
    let serving = async {
        let (params, subscription) = subscribed(incoming).await;
        assert_eq!(params, uri(resource));
        subscription.send_subscribed(json!("yes")).await.unwrap()
    };
    let (opened, served) = tokio::join!(watcher.subscribe(uri(resource)), serving);
    let (answer, opened) = opened.unwrap();
    assert_eq!(answer, "yes");
    (opened, served)
}

#[tokio::test]
async fn two_subscriptions_run_side_by_side_and_end_one_by_one() {
    let (watcher, watched) = active().await;
    let incoming = watched.incoming();
    let (mut a, mut a_served) = both(&watcher, &incoming, "a").await;
    let (mut b, mut b_served) = both(&watcher, &incoming, "b").await;
    for number in 0..3 {
        b_served.send_updated(json!({"uri": "b", "number": number})).await.unwrap();
        a_served.send_updated(json!({"uri": "a", "number": number})).await.unwrap();
    }
    for number in 0..3 {
        assert_eq!(a.recv_updated().await.unwrap(), json!({"uri": "a", "number": number}));
    }
    let leaving = async {
        let (params, a_served) = a_served.recv_unsubscribe().await.unwrap();
        assert_eq!(params, uri("a"));
        a_served.send_unsubscribed(json!("bye")).await.unwrap();
    };
    let (left, ()) = tokio::join!(a.unsubscribe(uri("a")), leaving);
    assert_eq!(left.unwrap(), "bye");
    for number in 0..3 {
        assert_eq!(b.recv_updated().await.unwrap(), json!({"uri": "b", "number": number}));
    }
    // The value is free again, and the other sub-session goes on.
    let (mut a, mut a_served) = both(&watcher, &incoming, "a").await;
    a_served.send_updated(json!({"uri": "a", "again": true})).await.unwrap();
    b_served.send_updated(uri("b")).await.unwrap();
    assert_eq!(a.recv_updated().await.unwrap(), json!({"uri": "a", "again": true}));
    assert_eq!(b.recv_updated().await.unwrap(), uri("b"));
    watcher.close().await.unwrap();
}

#[tokio::test]
async fn updates_that_cross_the_unsubscription_are_no_mistake() {
    let (options, reports) = reporting();
    let (watcher, watched) = active_with(options, Options::default()).await;
    let incoming = watched.incoming();
    let (a, mut a_served) = both(&watcher, &incoming, "a").await;
    let a = a.send_unsubscribe(uri("a")).await.unwrap();
    // The server has not read of it.
    a_served.send_updated(uri("a")).await.unwrap();
    let (_, a_served) = a_served.recv_unsubscribe().await.unwrap();
    a_served.send_unsubscribed(json!(null)).await.unwrap();
    a.recv_unsubscribed().await.unwrap();
    watcher.close().await.unwrap();
    let reports = reports.lock().unwrap().clone();
    assert!(reports.iter().all(|report| report.contains("is late")), "{reports:?}");
}

#[tokio::test]
async fn a_refused_subscription_is_none_and_a_refused_leave_goes_on() {
    let (watcher, watched) = active().await;
    let incoming = watched.incoming();
    let refusing = async {
        let (_, subscription) = subscribed(&incoming).await;
        subscription.refuse(RpcError::new(7, "no such resource")).await.unwrap();
    };
    let (refused, ()) = tokio::join!(watcher.subscribe(uri("z")), refusing);
    assert!(matches!(refused.unwrap_err(), Error::Refused(error) if error.code == 7));
    let (a, a_served) = both(&watcher, &incoming, "a").await;
    let refusing = async {
        let (_, a_served) = a_served.recv_unsubscribe().await.unwrap();
        a_served.refuse(RpcError::new(8, "stay")).await.unwrap()
    };
    let (refused, mut a_served) = tokio::join!(a.unsubscribe(uri("a")), refusing);
    let StepError::Refused { error, session: mut a } = refused.unwrap_err() else { panic!() };
    assert_eq!(error.code, 8);
    a_served.send_updated(uri("a")).await.unwrap();
    a.recv_updated().await.unwrap();
}

#[tokio::test]
async fn dropping_a_subscription_cancels_it() {
    let (options, reports) = reporting();
    let (watcher, watched) = active_with(options, Options::default()).await;
    let incoming = watched.incoming();
    let (a, mut a_served) = both(&watcher, &incoming, "a").await;
    let (mut b, mut b_served) = both(&watcher, &incoming, "b").await;
    drop(a);
    // What crosses the cancel is late.
    a_served.send_updated(uri("a")).await.unwrap();
    let ended = a_served.recv_unsubscribe().await.unwrap_err();
    assert!(matches!(ended, Error::Cancelled), "{ended}");
    b_served.send_updated(uri("b")).await.unwrap();
    b.recv_updated().await.unwrap();
    let (_a, _a_served) = both(&watcher, &incoming, "a").await;
    let reports = reports.lock().unwrap().clone();
    assert!(reports.iter().all(|report| report.starts_with("`Updated` is late: it crossed `Cancelled`")));
}

#[tokio::test]
async fn what_a_dropped_sub_session_owes_is_answered_with_an_error() {
    let (watcher, watched) = active().await;
    let incoming = watched.incoming();
    let dropping = async { drop(subscribed(&incoming).await) };
    let (refused, ()) = tokio::join!(watcher.subscribe(uri("a")), dropping);
    assert!(matches!(refused.unwrap_err(), Error::Refused(error) if error.code == -32603));
    let (a, a_served) = both(&watcher, &incoming, "a").await;
    let a = a.send_unsubscribe(uri("a")).await.unwrap();
    drop(a_served.recv_unsubscribe().await.unwrap());
    let StepError::Refused { error, session } = a.recv_unsubscribed().await.unwrap_err() else { panic!() };
    assert_eq!(error.code, -32603);
    // A second try finds no peer either.
    let refused = session.unsubscribe(uri("a")).await.unwrap_err();
    assert!(matches!(refused, StepError::Refused { .. }), "{refused}");
}

#[tokio::test]
async fn another_key_than_the_sub_session_s_own_is_refused_before_it_is_written() {
    let (watcher, watched) = active().await;
    let incoming = watched.incoming();
    let (a, _a_served) = both(&watcher, &incoming, "a").await;
    let (_b, _b_served) = both(&watcher, &incoming, "b").await;
    let again = watcher.subscribe(uri("a")).await.unwrap_err();
    assert_eq!(
        again.to_string(),
        "`resources/subscribe` carries the uri \"a\", under which something is running already"
    );
    let StepError::NotSent { error, session: a } = a.unsubscribe(uri("b")).await.unwrap_err() else {
        panic!()
    };
    assert!(matches!(error, Error::NotPermitted(_)), "{error}");
    let StepError::NotSent { error, .. } = a.unsubscribe(uri("z")).await.unwrap_err() else { panic!() };
    assert!(error.to_string().contains("nothing is running under it"), "{error}");
}

/// Serves both kinds of sub-sessions, and tells what happens in them.
struct Resources(mpsc::UnboundedSender<String>);

impl server::Handler for Resources {
    async fn subscribe(
        &self,
        _: server::Context,
        params: Value,
        subscription: server::Subscription<BeforeSubscribed>,
    ) {
        let mut subscription = subscription.send_subscribed(json!("served")).await.unwrap();
        subscription.send_updated(params.clone()).await.unwrap();
        let (_, subscription) = subscription.recv_unsubscribe().await.unwrap();
        subscription.send_unsubscribed(params).await.unwrap();
    }

    async fn did_open(
        &self,
        _: server::Context,
        params: Value,
        document: server::Editing<super::watching::BeforeLanguage>,
    ) {
        let name = params["document"]["uri"].clone();
        let (language, mut document) = document.language(json!({ "uri": name })).await.unwrap();
        self.0.send(format!("{name} is {language}")).unwrap();
        loop {
            document = match document.next().await.unwrap() {
                server::EditableNext::DidChange(change, document) => {
                    self.0.send(format!("{name} changed: {}", change["text"])).unwrap();
                    document
                }
                server::EditableNext::DidClose(_) => break,
            };
        }
        self.0.send(format!("{name} closed")).unwrap();
    }
}

#[tokio::test]
async fn a_handler_attends_to_sub_sessions_for_as_long_as_they_live() {
    // One handler at a time; sub-sessions do not count.
    let (watcher, watched) = active_with(Options::default(), Options::default().max_handlers(1)).await;
    let (told, mut said) = mpsc::unbounded_channel();
    test_support::spawn(watched.incoming().serve(Resources(told)));
    let mut open = Vec::new();
    for name in ["x", "y"] {
        let (_, mut subscription) = watcher.subscribe(uri(name)).await.unwrap();
        assert_eq!(subscription.recv_updated().await.unwrap(), uri(name));
        let document = watcher.send_did_open(json!({"document": {"uri": name}})).await.unwrap();
        let (asked, document) = document.recv_language().await.unwrap();
        assert_eq!(asked, uri(name));
        open.push((name, subscription, document.send_language_result(json!("plain")).await.unwrap()));
        assert_eq!(said.recv().await.unwrap(), format!("\"{name}\" is \"plain\""));
    }
    for (name, subscription, mut document) in open {
        document.send_did_change(json!({"document": {"uri": name}, "text": 1})).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), format!("\"{name}\" changed: 1"));
        document.send_did_close(uri(name)).await.unwrap();
        assert_eq!(said.recv().await.unwrap(), format!("\"{name}\" closed"));
        assert_eq!(subscription.unsubscribe(uri(name)).await.unwrap(), uri(name));
    }
}

/// Implements nothing.
struct Nothing;

impl server::Handler for Nothing {}

#[tokio::test]
async fn a_sub_session_that_no_handler_is_written_for_is_declined() {
    let (watcher, watched) = active().await;
    test_support::spawn(watched.incoming().serve(Nothing));
    let error = watcher.handle().subscribe(uri("a")).await.unwrap_err();
    assert!(matches!(error, Error::Refused(error) if error.code == -32601));
}

#[tokio::test]
async fn the_end_of_the_session_ends_its_sub_sessions() {
    let (watcher, watched) = active().await;
    let incoming = watched.incoming();
    let (mut a, a_served) = both(&watcher, &incoming, "a").await;
    let waiting = test_support::spawn(async move { a_served.recv_unsubscribe().await.map(drop) });
    watcher.close().await.unwrap();
    assert!(matches!(a.recv_updated().await.unwrap_err(), Error::Closed));
    assert!(matches!(waiting.await.unwrap().unwrap_err(), Error::Disconnected { .. }));
}

#[tokio::test]
async fn either_side_may_end_a_sub_session_also_both_at_once() {
    let ((here, of_watcher), (there, of_watched)) = (reporting(), reporting());
    let (watcher, watched) = active_with(here, there).await;
    let incoming = watched.incoming();
    let station = || json!({ "station": "one" });
    for _ in 0..3 {
        let serving = async {
            let server::Incoming::TuneIn(_, radio) = incoming.next().await.unwrap() else { panic!() };
            radio.send_tuned_in().await.unwrap()
        };
        let (opened, mut served) = tokio::join!(watcher.tune_in(station()), serving);
        let radio = opened.unwrap();
        served.send_song(station()).await.unwrap();
        // Neither has heard of the other's message when it sends its own.
        served.send_sign_off(station()).await.unwrap();
        radio.send_switch_off(station()).await.unwrap();
        // What comes after is read after what crossed, and the station can be listened to again.
        let (pinged, ()) = tokio::join!(watcher.ping(), async {
            let server::Incoming::Ping(responder) = incoming.next().await.unwrap() else { panic!() };
            responder.respond(()).unwrap();
        });
        pinged.unwrap();
    }
    watcher.close().await.unwrap();
    for reports in [of_watcher, of_watched] {
        let reports = reports.lock().unwrap().clone();
        assert!(reports.iter().all(|report| report.contains("is late")), "{reports:?}");
    }
}
