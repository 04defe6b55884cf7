//! Lists in pages, and lists without end.

#![allow(clippy::indexing_slicing, reason = "the payloads are the test's own")]

use std::time::Duration;

use futures_util::StreamExt;
use mcp_runtime::error::PaginationError;
use mcp_runtime::{Error, Options, TimeoutKind};
use serde_json::{Value, json};

use super::raw::{Raw, raw};

mod library {
    mcp_runtime::protocol!("tests/sessions/library.session");
}

use library::{Active, Reader};

async fn enter(options: Options) -> (Reader<Active>, Raw) {
    let (wire, mut peer) = raw();
    let reader = Reader::with_options(wire, options);
    let answering = async {
        assert_eq!(peer.hear().await.unwrap()["method"], "enter");
        peer.say(json!({"jsonrpc":"2.0","id":0,"result":{}})).await;
    };
    let (reader, ()) = tokio::join!(reader.enter(), answering);
    (reader.unwrap(), peer)
}

/// Answers one request with a page, and gives its params.
async fn page(peer: &mut Raw, result: Value) -> Value {
    let request = peer.hear().await.unwrap();
    peer.say(json!({"jsonrpc":"2.0","id":request["id"],"result":result})).await;
    request["params"].clone()
}

#[tokio::test]
async fn each_page_leads_to_the_next_and_the_last_to_none() {
    let (reader, mut peer) = enter(Options::default()).await;
    let mut pages = reader.books_pages(Some(json!({"topic": 1.50, "at": {"shelf": 7}})));
    let answering = async {
        let mut asked = vec![page(&mut peer, json!({"books": ["a"], "next": {"cursor": "p\"2"}})).await];
        // A cursor is whatever the peer says, and goes back as it came.
        asked.push(page(&mut peer, json!({"books": ["b"], "next": {"cursor": {"n": 3}}})).await);
        asked.push(page(&mut peer, json!({"books": ["c"], "next": {"cursor": null}})).await);
        asked
    };
    let reading = async {
        let mut books = Vec::new();
        while let Some(page) = pages.next().await {
            books.push(page.unwrap()["books"][0].clone());
        }
        assert!(pages.next().await.is_none(), "it stays at its end");
        books
    };
    let (books, asked) = tokio::join!(reading, answering);
    assert_eq!(books, ["a", "b", "c"]);
    assert_eq!(
        asked,
        [
            json!({"topic": 1.50, "at": {"shelf": 7}}),
            json!({"topic": 1.50, "at": {"shelf": 7, "cursor": "p\"2"}}),
            json!({"topic": 1.50, "at": {"shelf": 7, "cursor": {"n": 3}}}),
        ]
    );
}

#[tokio::test]
async fn params_that_are_absent_are_made_for_the_cursor() {
    let (reader, mut peer) = enter(Options::default()).await;
    // From a handle, as a stream, and all at once.
    let stream = reader.handle().books_pages(None);
    let answering = async {
        let first = page(&mut peer, json!({"next": {"cursor": "2"}})).await;
        (first, page(&mut peer, json!({"next": {}})).await)
    };
    let (pages, asked) = tokio::join!(stream.collect::<Vec<_>>(), answering);
    assert_eq!(pages.len(), 2);
    assert_eq!(asked, (Value::Null, json!({"at": {"cursor": "2"}})));
    let answering = async {
        page(&mut peer, json!({"next": {"cursor": "2"}})).await;
        page(&mut peer, json!({})).await;
    };
    let (pages, ()) = tokio::join!(reader.books_pages(None).all(), answering);
    assert_eq!(pages.unwrap().len(), 2);
}

#[tokio::test]
async fn a_cursor_that_comes_again_ends_the_list() {
    let (reader, mut peer) = enter(Options::default()).await;
    let answering = async {
        for cursor in ["a", "b", "a"] {
            page(&mut peer, json!({"next": {"cursor": cursor}})).await;
        }
    };
    let mut pages = reader.books_pages(None);
    let reading = async {
        for _ in 0..3 {
            pages.next().await.unwrap().unwrap();
        }
        pages.next().await.unwrap().unwrap_err()
    };
    let (error, ()) = tokio::join!(reading, answering);
    assert!(matches!(error, Error::Pagination { problem: PaginationError::Repeats(3), .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "gave up reading the pages of `Browse`: page 3 has the cursor of an earlier page"
    );
    assert!(pages.next().await.is_none());
    reader.abort();
    assert_eq!(peer.hear().await, None, "nothing was asked for it");
}

#[tokio::test]
async fn a_list_has_as_many_pages_as_the_settings_say() {
    let (reader, mut peer) = enter(Options::default().max_pages(2)).await;
    for (pages, most) in [(reader.books_pages(None), 2), (reader.books_pages(None).max_pages(3), 3)] {
        let answering = async {
            for cursor in 0..most {
                page(&mut peer, json!({"next": {"cursor": cursor}})).await;
            }
        };
        let (error, ()) = tokio::join!(pages.all(), answering);
        let error = error.unwrap_err();
        assert!(
            matches!(error, Error::Pagination { problem: PaginationError::TooMany(limit), .. } if limit == most),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn errors_end_the_list_and_each_page_has_its_time() {
    let (reader, mut peer) = enter(Options::default()).await;
    let mut pages = reader.books_pages(None);
    let refusing = async {
        page(&mut peer, json!({"next": {"cursor": 1}})).await;
        let id = peer.hear().await.unwrap()["id"].clone();
        peer.say(json!({"jsonrpc":"2.0","id":id,"error":{"code":-32602,"message":"no such cursor"}})).await;
    };
    let (outcomes, ()) = tokio::join!(async { (pages.next().await, pages.next().await) }, refusing);
    assert!(outcomes.0.unwrap().is_ok());
    assert!(matches!(outcomes.1, Some(Err(Error::Refused(error))) if error.code == -32602));
    assert!(pages.next().await.is_none());
    // A page that does not have the declared type.
    let (counts, _) = tokio::join!(reader.count_pages(json!({})).all(), page(&mut peer, json!({"a": 1})));
    assert!(matches!(counts, Err(Error::Payload { .. })), "{counts:?}");
    // Params without a place for a cursor fail when a cursor comes.
    let mut pages = reader.books_pages(Some(json!([1])));
    let (first, _) = tokio::join!(pages.next(), page(&mut peer, json!({"next": {"cursor": 1}})));
    assert!(first.unwrap().is_ok());
    assert!(matches!(pages.next().await, Some(Err(Error::Payload { .. }))));
    // A page in time, and one that is not.
    let mut pages = reader.books_pages(None).timeout(Duration::from_secs(1));
    let (first, _) = tokio::join!(pages.next(), page(&mut peer, json!({"next": {"cursor": 1}})));
    assert!(first.unwrap().is_ok());
    let late = pages.next().await.unwrap().unwrap_err();
    assert!(matches!(late, Error::Timeout { what: TimeoutKind::Reply, .. }), "{late}");
}

#[tokio::test]
async fn dropping_the_pages_takes_the_running_request_back() {
    let (reader, mut peer) = enter(Options::default()).await;
    let mut pages = reader.books_pages(None);
    let id = tokio::select! {
        biased;
        _ = pages.next() => panic!("completed without an answer"),
        request = peer.hear() => request.unwrap()["id"].clone(),
    };
    // The future of one page may go; the page stays wanted.
    let (first, ()) =
        tokio::join!(pages.next(), peer.say(json!({"jsonrpc":"2.0","id":id,"result":{"next":{"cursor":1}}})));
    assert!(first.unwrap().is_ok());
    tokio::select! {
        biased;
        _ = pages.next() => panic!("completed without an answer"),
        request = peer.hear() => assert_eq!(request.unwrap()["params"], json!({"at":{"cursor":1}})),
    }
    drop(pages);
    assert_eq!(peer.hear().await.unwrap()["method"], "leave");
}
