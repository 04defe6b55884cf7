//! `*` as a branch of a choice: sub-sessions start as long as the choice stands, and running ones finish after it.

use std::time::Duration;

use mcp_runtime::Options;
use mcp_runtime::transport::duplex;
use serde_json::json;

mod serving {
    mcp_runtime::protocol!("protocols/serving.session");
}

/// Only against a hang; no outcome depends on it.
const HANG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_running_sub_session_finishes_after_its_choice_was_left() {
    let (near, far) = duplex();
    let asker = serving::Asker::new(near);
    let answerer = serving::Answerer::new(far);
    let questions = answerer.incoming();

    let asking = asker.handle();
    let first = test_support::spawn(async move { asking.ask(json!("before")).await });
    let Some(serving::server::Incoming::Ask(question, owed)) = questions.next().await else { panic!() };
    assert_eq!(question, json!("before"));

    // The choice is left while the question still runs.
    let late = asker.handle();
    let asker = asker.send_stop().await.unwrap();
    let refused = late.ask(json!("after")).await.unwrap_err();
    assert!(refused.to_string().contains("`Stopping`"), "{refused}");

    let answerer = answerer.recv_stop().await.unwrap();
    owed.respond(json!("answered")).unwrap();
    let answer = tokio::time::timeout(HANG, first).await.unwrap().unwrap();
    assert_eq!(answer.unwrap(), json!("answered"));

    let answerer = answerer.send_bye().await.unwrap();
    let asker = asker.recv_bye().await.unwrap();
    asker.close().await.unwrap();
    answerer.close().await.unwrap();
}

#[tokio::test]
async fn what_crosses_the_end_of_the_choice_is_late() {
    let (near, far) = duplex();
    let (told, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let options = Options::new().on_report(move |report| told.send(report.to_string()).unwrap());
    let asker = serving::Asker::with_options(near, options);
    let answerer = serving::Answerer::new(far);
    // Both send at once: neither has read the other's message.
    let (asker, logged) = tokio::join!(asker.send_stop(), answerer.send_log(json!("late")));
    logged.unwrap();
    let late = "`Log` is late: it crossed `Stop`, after which `Stopping` does not accept it";
    assert_eq!(reports.recv().await.as_deref(), Some(late));
    drop(asker);
}
