//! Payloads that are judged by the shapes of the protocol.

use std::sync::Arc;

use mcp_runtime::error::{InvalidReply, MismatchError, ReplyProblem};
use mcp_runtime::protocol::{NamedShape, Protocol, RecordField, Shape, ShapeIndex, Side};
use mcp_runtime::transport::duplex;
use mcp_runtime::{CheckedSession, Error, Event, Options, ViolationKind};
use serde_json::{Value, json};

use super::{next, notification, reporting, request};

mod weather {
    mcp_runtime::protocol!("doc/weather.session", tables);
}

/// The weather service, with shapes for some of its payloads.
fn weather_in_shapes() -> Arc<Protocol> {
    let named = |name, shape| NamedShape::named(name, shape);
    let mut protocol = weather::PROTOCOL.clone();
    protocol.shapes =
        vec![
            named("Station", Shape::record(const { &[RecordField::required("name", Shape::Text)] })),
            named(
                "Place",
                Shape::record(
                    const {
                        &[
                            RecordField::required("city", Shape::Text),
                            RecordField::optional("days", Shape::Uint),
                        ]
                    },
                ),
            ),
            named(
                "Forecast",
                Shape::record(
                    const {
                        &[
                            RecordField::required("celsius", Shape::Number),
                            RecordField::optional("stations", Shape::list(&Shape::Named(ShapeIndex(0)))),
                        ]
                    },
                ),
            ),
        ]
        .into();
    for (message, shape) in [("Opened", 0), ("Observe", 0), ("Alert", 1), ("Forecast", 1), ("Forecasted", 2)]
    {
        let (index, _) = protocol.by_name(message).unwrap();
        protocol.messages.to_mut()[usize::from(index.0)].shape = Some(ShapeIndex(shape));
    }
    Arc::new(protocol)
}

/// A client and a server, of which one judges payloads.
fn sides(client: Options, server: Options) -> (CheckedSession, CheckedSession) {
    let protocol = weather_in_shapes();
    let (near, far) = duplex();
    (
        CheckedSession::start(near, &protocol, Side::Client, client),
        CheckedSession::start(far, &protocol, Side::Server, server),
    )
}

/// The same after the handshake.
async fn open(client: Options, server: Options) -> (CheckedSession, CheckedSession) {
    let (mut client, mut server) = sides(client, server);
    client.request("weather/open", &json!({})).await.unwrap();
    let (id, _) = request(&mut server).await;
    server.respond(&id, &json!({ "name": "north" })).await.unwrap();
    assert!(matches!(next(&mut client).await, Event::Reply { .. }));
    (client, server)
}

/// The text of an error that says where a payload of this side does not have its shape.
#[track_caller]
fn misshapen<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    match outcome.unwrap_err() {
        Error::Mismatch { message, problem: MismatchError::Shape(mismatch) } => {
            format!("{message}: {mismatch}")
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_misshapen_payload_is_not_sent() {
    let judging = || Options::new().judge_payloads(true);
    let (mut client, mut server) = open(judging(), judging()).await;
    let wrong = client.request("weather/forecast", &json!({ "city": "Oslo", "days": -1 })).await;
    assert_eq!(misshapen(wrong), "Forecast: days: expected a whole number that is not negative, found -1");
    let wrong = client.notify("weather/observe", &json!({})).await;
    assert_eq!(misshapen(wrong), "Observe: name: expected a string, found nothing");
    let wrong = client.notify("weather/observe", &()).await.unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the payload of `Observe` does not have its shape: expected an object `Station`, found null"
    );
    client.request("weather/forecast", &json!({ "city": "Oslo" })).await.unwrap();

    let (id, params) = request(&mut server).await;
    assert_eq!(params, json!({ "city": "Oslo" }), "nothing of the others was written");
    let wrong = server.respond(&id, &json!({ "celsius": 4, "stations": [{ "name": "a" }, {}] })).await;
    assert_eq!(misshapen(wrong), "Forecasted: stations[1].name: expected a string, found nothing");
    server.respond(&id, &json!({ "celsius": 4 })).await.unwrap();
    let Event::Reply { result, .. } = next(&mut client).await else { panic!() };
    assert_eq!(result.read::<Value>().unwrap(), json!({ "celsius": 4 }));
}

#[tokio::test]
async fn a_misshapen_request_is_refused_and_a_misshapen_notification_is_dropped() {
    let (options, reports) = reporting();
    let (mut client, mut server) = open(Options::new(), options.judge_payloads(true)).await;
    client.request("weather/forecast", &json!({ "city": 5 })).await.unwrap();
    client.notify("weather/observe", &json!({ "name": ["a"] })).await.unwrap();
    client.notify("weather/observe", &json!({ "name": "a" })).await.unwrap();

    let Event::Refused { error, .. } = next(&mut client).await else { panic!() };
    assert_eq!(error.code, -32_602);
    let sentence = "`weather/forecast` does not have its shape: city: expected a string, found 5";
    assert_eq!(error.message, sentence);
    assert_eq!(error.data, Some(json!({ "path": "city", "expected": "a string", "found": "5" })));
    assert_eq!(notification(&mut server).await, ("weather/observe".to_owned(), json!({ "name": "a" })));
    let dropped = "`weather/observe` does not have its shape: name: expected a string, found a list";
    assert_eq!(*reports.lock().unwrap(), [sentence, dropped]);
}

#[tokio::test]
async fn a_call_whose_reply_is_misshapen_fails_alone() {
    let (options, reports) = reporting();
    let (mut client, mut server) = open(options.judge_payloads(true), Options::new()).await;
    let asked = client.request("weather/forecast", &json!({ "city": "Oslo" })).await.unwrap();
    let (id, _) = request(&mut server).await;
    server.respond(&id, &json!({ "celsius": "cold" })).await.unwrap();

    let Event::Failed { id, error: Error::InvalidReply(InvalidReply { problem, .. }) } =
        next(&mut client).await
    else {
        panic!()
    };
    assert_eq!(id, asked);
    let ReplyProblem::NotPermitted(violation) = problem else { panic!() };
    let ViolationKind::Misshapen { mismatch } = &violation.kind else { panic!() };
    assert_eq!((&*mismatch.path, &*mismatch.expected, &*mismatch.found), ("celsius", "a number", "\"cold\""));
    assert_eq!(*reports.lock().unwrap(), [violation.to_string()]);
    client.notify("weather/observe", &json!({ "name": "a" })).await.unwrap();
    notification(&mut server).await;
}

#[tokio::test]
async fn a_step_whose_reply_is_misshapen_ends_the_session() {
    let (mut client, mut server) = sides(Options::new().judge_payloads(true), Options::new());
    client.request("weather/open", &json!({})).await.unwrap();
    let (id, _) = request(&mut server).await;
    server.respond(&id, &json!({})).await.unwrap();
    // Whether the peer has taken the step is not known.
    let Event::Failed { error, .. } = next(&mut client).await else { panic!() };
    assert!(error.to_string().contains("name: expected a string, found nothing"), "{error}");
    assert!(client.request("weather/open", &json!({})).await.is_err());
}

#[tokio::test]
async fn payloads_are_not_judged_unless_the_options_say_so() {
    let (mut client, mut server) = open(Options::new(), Options::new()).await;
    client.notify("weather/observe", &json!({ "name": null })).await.unwrap();
    assert_eq!(notification(&mut server).await, ("weather/observe".to_owned(), json!({ "name": null })));
}
