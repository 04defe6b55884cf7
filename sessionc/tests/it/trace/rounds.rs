//! Requests that take several rounds, and the types of results.

use serde_json::{Value, json};

use super::command::{Message, messages, trace, written};

/// A recording in which a server asks: the call, the result that asks, and the call that answers.
fn rounds(wanted: impl Fn(&Value) -> bool) -> (Vec<Message>, usize, usize) {
    let log = messages("2026-07-28/rounds-ts240");
    let asked = log.iter().position(|(_, message)| wanted(&message["result"])).unwrap();
    (log, asked, asked + 1)
}

fn with_questions(result: &Value) -> bool {
    result["inputRequests"].is_object()
}

fn with_state(result: &Value) -> bool {
    result["requestState"].is_string()
}

/// What is found: the line, the code, the side to blame, and the end of the sentence.
fn found(log: &[Message]) -> Vec<(u64, String, String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let all = trace(written(log)).findings;
    let of = |finding: &Value| {
        let line = finding["line"].as_u64().unwrap();
        (line, text(finding, "code"), text(finding, "blame"), text(finding, "message"))
    };
    all.iter().map(of).collect()
}

fn one(log: &[Message], place: usize, code: &str, blame: &str, says: &str) {
    let all = found(log);
    let [(line, found_code, found_blame, message)] = all.as_slice() else { panic!("{says}: {all:#?}") };
    assert_eq!((*line, &**found_code, &**found_blame), (place as u64 + 1, code, blame), "{message}");
    assert!(message.contains(says), "{message}");
}

#[test]
fn a_result_has_a_type_of_the_revision() {
    let log = messages("2026-07-28/rounds-ts240");
    for (place, (_, message)) in log.iter().enumerate() {
        if message["result"]["resultType"] != "complete" {
            continue;
        }
        for wrong in [json!("done"), json!("input_required"), json!(null), json!(1)] {
            let mut log = log.clone();
            log[place].1["result"]["resultType"] = wrong.clone();
            // A call may ask for another round, but not without saying for what.
            let is_round = wrong == "input_required" && message["result"]["content"].is_array();
            one(&log, place, "shape", "server", if is_round { "has neither" } else { "resultType" });
        }
        // Peers of older revisions leave it out.
        let mut log = log.clone();
        log[place].1["result"].as_object_mut().unwrap().remove("resultType");
        assert_eq!(found(&log), []);
    }
}

#[test]
fn a_result_that_asks_for_nothing_is_found() {
    let (mut log, asked, _) = rounds(with_questions);
    log[asked].1["result"].as_object_mut().unwrap().remove("inputRequests");
    let says = "asks for another round, and has neither `inputRequests` nor `requestState`";
    // That the next call answers what was not asked follows from it.
    one(&log, asked, "shape", "server", says);
}

#[test]
fn a_state_is_sent_back_as_it_came() {
    let (log, asked, next) = rounds(with_state);
    let mut other = log.clone();
    other[next].1["params"]["requestState"] = json!("another");
    one(&other, next, "correlation", "client", "carries another `requestState` than the server has given");
    // However it is escaped, it is the same.
    let mut same = log.clone();
    same[asked].1["result"]["requestState"] = json!("ä/\"");
    same[next].1["params"]["requestState"] = json!("ä/\"");
    assert_eq!(trace(written(&same).replace('ä', "\\u00e4").replacen("\\u00e4", "ä", 1)).places(), []);
    // A call without a state is another call.
    let mut fresh = log.clone();
    fresh[next].1["params"].as_object_mut().unwrap().remove("requestState");
    assert_eq!(found(&fresh), []);
    // A state may be older than the log.
    assert_eq!(found(&log[next..next + 2]), []);

    let (mut log, asked, next) = rounds(with_questions);
    log[asked].1["result"]["requestState"] = json!("s");
    one(&log, next, "correlation", "client", "carries no `requestState`, but the server has given one");
    log[next].1["params"]["requestState"] = json!("s");
    assert_eq!(found(&log), []);
    log[asked].1["result"].as_object_mut().unwrap().remove("requestState");
    one(
        &log[..=next + 1],
        next,
        "correlation",
        "client",
        "carries `requestState`, but the server has given none",
    );
}

#[test]
fn a_round_answers_what_was_asked() {
    let (log, asked, next) = rounds(with_questions);
    let mut more = log.clone();
    let question = more[asked].1["result"]["inputRequests"]["who"].clone();
    more[asked].1["result"]["inputRequests"]["why"] = question;
    let says = "has no `why` in `inputResponses`, for which the server has asked";
    one(&more, next, "correlation", "client", says);
    let mut other = log.clone();
    let answer = other[next].1["params"]["inputResponses"]["who"].clone();
    other[next].1["params"]["inputResponses"]["why"] = answer;
    let says = "has `why` in `inputResponses`, for which the server has not asked";
    one(&other, next, "correlation", "client", says);
    // It has an id of its own.
    let mut same = log[..=next + 1].to_vec();
    same[next].1["id"] = log[asked].1["id"].clone();
    same[next + 1].1["id"] = log[asked].1["id"].clone();
    one(&same, next, "correlation", "client", "of the request that it repeats");
}

/// The same messages, each exchange as a session of its own, as a guard records them over HTTP.
fn over_http(log: &[Message]) -> String {
    let mut session = 0;
    let line = |(is_client, message): &Message| {
        session += u64::from(*is_client && message["id"].is_number());
        let dir = if *is_client { "c2s" } else { "s2c" };
        format!("{}\n", json!({ "dir": dir, "session": session, "msg": message }))
    };
    log.iter().map(line).collect()
}

#[test]
fn rounds_are_judged_over_http_as_in_a_stream() {
    let (log, asked, next) = rounds(with_questions);
    // A call, what it is asked for, and its next round.
    let mut log = log[asked - 1..=next + 1].to_vec();
    assert_eq!(log[0].1["params"]["name"], log[2].1["params"]["name"], "{log:?}");
    log[1].1["result"]["requestState"] = json!("s");
    log[2].1["params"]["requestState"] = json!("s");
    let says = |log: &[Message], http: bool| {
        let text = if http { over_http(log) } else { written(log) };
        let found = trace(text);
        found.findings.iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(says(&log, true), Vec::<String>::new());
    let mut broken: Vec<Vec<Message>> = Vec::new();
    let mut change = |change: &dyn Fn(&mut Value)| {
        let mut other = log.clone();
        change(&mut other[2].1["params"]);
        broken.push(other);
    };
    change(&|params| params["requestState"] = json!("other"));
    change(&|params| drop(params.as_object_mut().unwrap().remove("requestState")));
    change(&|params| params["inputResponses"]["why"] = params["inputResponses"]["who"].clone());
    change(&|params| params["inputResponses"] = json!({}));
    for log in broken {
        let found = says(&log, true);
        assert_eq!((found.len(), &found), (1, &says(&log, false)), "{log:?}");
    }
    // Another call may have been asked elsewhere.
    let mut other = log.clone();
    other[2].1["params"]["requestState"] = json!("other");
    other[2].1["params"]["arguments"] = json!({ "another": true });
    assert_eq!(says(&other, true), Vec::<String>::new());
}
