//! Values and queues of one session, whose messages a program takes in the order of the wire.

use std::time::Duration;

use mcp_runtime::session::{Readable, first_readable};
use serde_json::{Value, json};
use test_support::raw::{Raw, raw};

use crate::in_time;

mod matches {
    mcp_runtime::protocol!("protocols/matches.session");
}

use matches::Fan;
use matches::client::{CommentsNext, GameIncoming, Incoming, ScoreNext};

async fn say(raw: &mut Raw, method: &str, number: u64) {
    let params = json!({ "game": "a", "number": number });
    raw.say(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
}

/// What the peer says, in no regular order: goals and comments of a match, news and hints.
const SAID: [&str; 4] = ["match/goal", "match/comment", "news", "hint"];

fn said(number: u64) -> &'static str {
    SAID[usize::try_from(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62).unwrap()]
}

fn number(payload: &Value) -> u64 {
    payload["number"].as_u64().unwrap()
}

#[tokio::test]
async fn what_comes_for_several_values_and_queues_is_taken_in_wire_order() {
    let (wire, mut raw) = raw();
    let mut fan = Fan::new(wire);
    let incoming = fan.incoming();
    let (score, comments) = fan.send_follow(json!({ "game": "a" })).await.unwrap().split();
    for number in 0..400 {
        say(&mut raw, said(number), number).await;
    }
    say(&mut raw, "match/over", 400).await;
    say(&mut raw, "news", 401).await;
    say(&mut raw, "match/silence", 402).await;
    say(&mut raw, "hint", 403).await;
    let (mut score, mut comments) = (Some(score), Some(comments));
    for expected in 0..=403 {
        let readables: [&dyn Readable; 4] = [&score, &comments, &fan, &incoming];
        let got = match in_time(first_readable(&readables)).await {
            0 => match score.take().unwrap().next().await.unwrap() {
                ScoreNext::Goal(goal, next) => {
                    score = Some(next);
                    number(&goal)
                }
                ScoreNext::Over(over) => number(&over),
                other => panic!("{other:?}"),
            },
            1 => match comments.take().unwrap().next().await.unwrap() {
                CommentsNext::Comment(comment, next) => {
                    comments = Some(next);
                    number(&comment)
                }
                CommentsNext::Silence(silence) => number(&silence),
                other => panic!("{other:?}"),
            },
            2 => number(&fan.recv_news().await.unwrap()),
            _ => match incoming.next().await.unwrap() {
                Incoming::Hint(hint) => number(&hint),
            },
        };
        assert_eq!(got, expected);
    }
    assert!(score.is_none() && comments.is_none());
    // Nothing more is there, and asking for it has taken nothing.
    tokio::time::timeout(Duration::from_millis(20), first_readable(&[&fan, &incoming])).await.unwrap_err();
    say(&mut raw, "hint", 404).await;
    assert_eq!(in_time(first_readable(&[&fan, &incoming])).await, 1);
    assert_eq!(in_time(first_readable(&[&incoming, &fan])).await, 0);
}

#[tokio::test]
async fn what_runs_next_to_several_channels_has_a_queue_of_its_own() {
    let (wire, mut raw) = raw();
    let fan = Fan::new(wire);
    let (mut score, mut comments) = fan.send_follow(json!({ "game": "a" })).await.unwrap().split();
    raw.hear().await.unwrap();
    let said = |number: u64| match number % 5 {
        0 | 3 => "match/rumour",
        1 => "match/goal",
        2 => "match/comment",
        _ => "match/guess",
    };
    for number in 0..200 {
        match said(number) {
            "match/guess" => {
                let params = json!({ "game": "a", "number": number });
                raw.say(json!({ "jsonrpc": "2.0", "id": number, "method": "match/guess", "params": params }))
                    .await;
            }
            method => say(&mut raw, method, number).await,
        }
    }
    let incoming = score.incoming();
    for expected in 0..200 {
        let got = match in_time(first_readable(&[&score, &comments, &incoming])).await {
            0 => match score.next().await.unwrap() {
                ScoreNext::Goal(goal, next) => {
                    score = next;
                    number(&goal)
                }
                other => panic!("{other:?}"),
            },
            1 => match comments.next().await.unwrap() {
                CommentsNext::Comment(comment, next) => {
                    comments = next;
                    number(&comment)
                }
                other => panic!("{other:?}"),
            },
            _ => match incoming.next().await.unwrap() {
                GameIncoming::Rumour(rumour) => number(&rumour),
                GameIncoming::Guess(guess, owed) => {
                    owed.respond(guess["number"].clone()).unwrap();
                    assert_eq!(in_time(raw.hear()).await.unwrap()["result"], guess["number"]);
                    number(&guess)
                }
            },
        };
        assert_eq!(got, expected);
    }
    // Without the queue, whichever value takes it first.
    drop(incoming);
    say(&mut raw, "match/rumour", 200).await;
    let CommentsNext::Rumour(rumour, _) = in_time(comments.next()).await.unwrap() else { panic!() };
    assert_eq!(number(&rumour), 200);
}

#[tokio::test]
async fn what_is_there_goes_before_what_is_over() {
    let (wire, mut raw) = raw();
    let fan = Fan::new(wire);
    let incoming = fan.incoming();
    let (score, comments) = fan.send_follow(json!({ "game": "a" })).await.unwrap().split();
    say(&mut raw, "hint", 1).await;
    drop(raw);
    in_time(fan.ended()).await;
    // The channels have nothing any more.
    assert_eq!(in_time(first_readable(&[&score, &comments, &incoming])).await, 2);
    assert!(matches!(incoming.next().await, Some(Incoming::Hint(_))));
    assert_eq!(in_time(first_readable(&[&score, &comments, &incoming])).await, 0);
    assert!(score.next().await.is_err() && incoming.next().await.is_none());
}

#[tokio::test]
async fn values_of_several_sessions_are_waited_for_together() {
    let ((wire, _silent), (other, mut raw)) = (raw(), raw());
    let (fan, mut other) = (Fan::new(wire), Fan::new(other));
    let waiting = test_support::spawn(async move {
        let readables: [&dyn Readable; 2] = [&fan, &other];
        let first = first_readable(&readables).await;
        (first, other.recv_news().await.unwrap())
    });
    say(&mut raw, "news", 1).await;
    let (first, news) = in_time(waiting).await.unwrap();
    assert_eq!((first, number(&news)), (1, 1));
}
