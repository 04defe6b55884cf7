//! What the command prints and how it ends, for each manner of a server.

use std::path::Path;
use std::process::Command;

use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};

use super::server::{CHAIN, DEVTOOLS, DOWNLOADS};

const TESTS: [(&str, fn()); 33] = [
    ("a_correct_server_has_no_faults", a_correct_server_has_no_faults),
    (
        "a_server_that_refuses_what_opens_a_sub_session_is_probed",
        a_server_that_refuses_what_opens_a_sub_session_is_probed,
    ),
    ("keys_in_the_envelope_are_known", keys_in_the_envelope_are_known),
    (
        "a_server_that_says_nothing_to_what_opens_a_sub_session_is_probed",
        a_server_that_says_nothing_to_what_opens_a_sub_session_is_probed,
    ),
    ("a_lenient_server_accepts_what_is_forbidden", a_lenient_server_accepts_what_is_forbidden),
    ("a_server_that_dies_does_so_with_its_status", a_server_that_dies_does_so_with_its_status),
    (
        "what_a_server_does_after_each_offence_of_a_group_is_one_line",
        what_a_server_does_after_each_offence_of_a_group_is_one_line,
    ),
    ("a_server_that_hangs_does_not_work_afterwards", a_server_that_hangs_does_not_work_afterwards),
    ("a_server_that_hangs_is_not_waited_for_each_time", a_server_that_hangs_is_not_waited_for_each_time),
    ("a_sub_session_is_opened_where_the_server_goes_on", a_sub_session_is_opened_where_the_server_goes_on),
    ("a_silent_server_keeps_its_client_waiting", a_silent_server_keeps_its_client_waiting),
    ("a_server_may_exit_when_it_is_asked_to", a_server_may_exit_when_it_is_asked_to),
    (
        "an_answer_may_take_its_time_where_nothing_can_be_asked",
        an_answer_may_take_its_time_where_nothing_can_be_asked,
    ),
    ("params_that_only_the_user_knows_are_asked_for", params_that_only_the_user_knows_are_asked_for),
    ("a_revision_that_is_not_known_is_said", a_revision_that_is_not_known_is_said),
    ("a_complaint_about_a_notification_hides_nothing", a_complaint_about_a_notification_hides_nothing),
    ("an_id_as_a_text_is_named", an_id_as_a_text_is_named),
    ("a_server_that_prints_without_end_is_given_up", a_server_that_prints_without_end_is_given_up),
    ("what_a_server_sends_by_itself_is_one_fault", what_a_server_sends_by_itself_is_one_fault),
    ("what_follows_from_an_offence_names_it", what_follows_from_an_offence_names_it),
    (
        "what_a_server_sends_by_itself_over_http_is_a_fault",
        what_a_server_sends_by_itself_over_http_is_a_fault,
    ),
    ("states_and_offences_can_be_chosen", states_and_offences_can_be_chosen),
    ("params_by_position_are_wrong_in_their_positions", params_by_position_are_wrong_in_their_positions),
    ("junit_has_a_suite_for_each_state", junit_has_a_suite_for_each_state),
    ("a_list_needs_no_server", a_list_needs_no_server),
    ("what_cannot_be_probed_is_said", what_cannot_be_probed_is_said),
    (
        "what_a_server_sends_in_the_stream_of_its_session_is_a_fault",
        what_a_server_sends_in_the_stream_of_its_session_is_a_fault,
    ),
    ("an_answer_that_no_client_takes_for_one_is_a_fault", an_answer_that_no_client_takes_for_one_is_a_fault),
    ("a_correct_server_over_http_has_no_faults", a_correct_server_over_http_has_no_faults),
    (
        "a_lenient_server_over_http_accepts_what_is_forbidden",
        a_lenient_server_over_http_accepts_what_is_forbidden,
    ),
    (
        "a_server_without_a_reply_is_not_waited_for_in_another_way",
        a_server_without_a_reply_is_not_waited_for_in_another_way,
    ),
    ("why_no_session_can_be_opened_is_said", why_no_session_can_be_opened_is_said),
    ("the_page_shows_what_is_printed", super::guide::the_page_shows_what_is_printed),
];

/// Runs the tests that the program is started with. They wait for servers more than they compute, so each has a thread.
pub(crate) fn run() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(TESTS.len());
    let tests = TESTS.map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, tests.into()).exit();
}

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn trials(&self) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["kind"] == "trial").collect()
    }
}

pub(crate) fn sessionc(arguments: &[&str]) -> Run {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO_BIN_EXE_sessionc"))
        .env_remove("COLUMNS")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Probes a server. No test depends on timing: silence is that the next request is answered first.
fn probe(manner: &str, more: &[&str]) -> Run {
    let server = std::env::current_exe().unwrap();
    let server = server.to_str().unwrap();
    let mut arguments = vec!["probe", "examples/counter/counter.session", "--wait", "0"];
    arguments.extend_from_slice(more);
    arguments.extend_from_slice(&["--", server, "serve", manner]);
    sessionc(&arguments)
}

/// The offences against the shapes of the chain, and what its server did.
fn wrong_positions(manner: &str) -> (i32, Vec<(String, String)>) {
    let server = std::env::current_exe().unwrap();
    let file = format!("sessionc/{CHAIN}");
    let arguments = ["probe", &file, "--wait", "0", "--only", "shape", "--format", "json", "--"];
    let run = sessionc(&[&arguments[..], &[server.to_str().unwrap(), "serve", manner]].concat());
    let text = |trial: &Value, member: &str| trial[member].as_str().unwrap().to_owned();
    let trials = run.trials();
    (run.code, trials.iter().map(|trial| (text(trial, "offence"), text(trial, "reaction"))).collect())
}

/// Probes a browser, whose sub-sessions are named in the envelope.
fn probe_browser(manner: &str, more: &[&str]) -> Run {
    let server = std::env::current_exe().unwrap();
    let file = format!("sessionc/{DEVTOOLS}");
    let arguments = ["probe", &file, "--wait", "0", "--format", "json"];
    sessionc(&[&arguments[..], more, &["--", server.to_str().unwrap(), "serve", manner]].concat())
}

fn keys_in_the_envelope_are_known() {
    let run = probe_browser("browser", &[]);
    assert_eq!(run.code, 0, "{}", run.out);
    let summary = run.lines().pop().unwrap();
    assert_eq!(summary["states"], json!(["Start", "BeforeAttached", "Watching"]), "{}", run.out);
    let faults: Vec<Value> = run.trials().into_iter().filter(|trial| !trial["fault"].is_null()).collect();
    assert_eq!(faults, Vec::<Value>::new());
    // In a page, the permitted request after each offence is one of the page.
    let run = probe_browser("browser", &["--state", "Watching"]);
    assert_eq!(run.code, 0, "{}", run.out);
    let works = |trial: &Value| trial["afterwards"] == "works" && trial["fault"].is_null();
    assert!(run.trials().len() > 5 && run.trials().iter().all(works), "{}", run.out);
}

fn a_server_that_says_nothing_to_what_opens_a_sub_session_is_probed() {
    let run = probe_browser("browser without pages", &["--timeout", "10"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    let summary = run.lines().pop().unwrap();
    assert_eq!(summary["states"], json!(["Start", "BeforeAttached"]), "{}", run.out);
    assert!(run.out.contains("the server has not answered `Target.attachToTarget` in time"), "{}", run.out);
}

fn params_by_position_are_wrong_in_their_positions() {
    let (code, trials) = wrong_positions("correct chain");
    assert_eq!(code, 0, "{trials:?}");
    let offences = [
        "get_balance with a wrong `account`",
        "get_balance without `account`",
        "get_balance with `2`, one position too many",
        "watch with a wrong `0`",
        "watch without `0`",
        "watch with `1`, one position too many",
        "sum with a wrong `0`",
    ];
    assert_eq!(trials.iter().map(|(offence, _)| &**offence).collect::<Vec<_>>(), offences);
    assert!(trials.iter().all(|(_, reaction)| reaction == "error -32602"), "{trials:?}");

    let (code, trials) = wrong_positions("lenient chain");
    assert_eq!(code, 1, "{trials:?}");
    assert!(trials.iter().all(|(_, reaction)| reaction == "result"), "{trials:?}");
}

fn a_correct_server_has_no_faults() {
    let run = probe("correct", &[]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    insta::assert_snapshot!("correct", run.out);
}

fn a_lenient_server_accepts_what_is_forbidden() {
    let run = probe("lenient", &[]);
    assert_eq!(run.code, 1, "{}", run.err);
    insta::assert_snapshot!("lenient", run.out);
    assert_eq!(probe("lenient", &["--fail-on", "never"]).code, 0);
}

fn a_server_that_dies_does_so_with_its_status() {
    let run = probe("dies", &["--format", "json"]);
    assert_eq!(run.code, 1);
    let forbidden: Vec<_> = run.trials().into_iter().filter(|trial| !trial["level"].is_null()).collect();
    assert!(forbidden.len() > 10);
    for trial in forbidden {
        assert_eq!(trial["reaction"], "exited with 3", "{trial}");
        assert_eq!(trial["fault"]["level"], "must", "{trial}");
    }
}

fn what_a_server_does_after_each_offence_of_a_group_is_one_line() {
    let run = probe("dies", &["--state", "Ready", "--only", "form"]);
    let faults = run.out.lines().filter(|line| line.trim_start().starts_with("must "));
    let faults: Vec<&str> = faults.collect();
    assert!(faults.len() == 1 && faults[0].contains("form: all "), "{}", run.out);
}

fn a_server_that_hangs_does_not_work_afterwards() {
    let run = probe("hangs", &["--timeout", "4", "--only", "unknown", "--format", "json"]);
    assert_eq!(run.code, 1);
    for trial in run.trials() {
        assert_eq!((&trial["reaction"], &trial["afterwards"]), (&"no answer".into(), &"no answer".into()));
        assert_eq!(trial["fault"]["what"], "does not work afterwards: no answer");
    }
}

fn a_server_that_hangs_is_not_waited_for_each_time() {
    let hanging = |format: &'static str| {
        let state = ["--state", "Ready", "--only", "form", "--timeout", "3", "--jobs", "1", "--format"];
        std::thread::spawn(move || probe("hangs", &[&state[..], &[format]].concat()))
    };
    let [json, text, junit] = ["json", "text", "junit"].map(hanging).map(|run| run.join().unwrap());
    assert_eq!(json.code, 1);
    assert_eq!(json.trials().len(), 3, "{}", json.out);
    let skipped: Vec<Value> = json.lines().into_iter().filter(|line| line["kind"] == "skipped").collect();
    assert!(skipped.len() > 5, "{}", json.out);
    for line in &skipped {
        let why = line["why"].as_str().unwrap();
        assert!(why.starts_with("the server stops answering in this state"), "{line}");
    }
    insta::assert_snapshot!("hangs", text.out);
    let cases = junit.out.matches("<skipped message=\"the server stops answering").count();
    assert_eq!(cases, skipped.len(), "{}", junit.out);
}

fn a_sub_session_is_opened_where_the_server_goes_on() {
    let server = std::env::current_exe().unwrap();
    let file = format!("sessionc/{DOWNLOADS}");
    let probe = |manner: &str| {
        let arguments =
            ["probe", &file, "--wait", "0", "--timeout", "6", "--only", "order", "--format", "json", "--"];
        let run = sessionc(&[&arguments[..], &[server.to_str().unwrap(), "serve", manner]].concat());
        // The last state that permits it is the one after the shutdown.
        let summary = run.lines().pop().unwrap();
        let states = json!(["Life", "BeforeBye", "BeforeStarted", "Going"]);
        assert_eq!(summary["states"], states, "{manner}: {}", run.out);
        run
    };
    // A server may exit with it, or pass over what is sent then.
    probe("deaf downloads");
    let run = probe("correct downloads");
    for state in ["BeforeStarted", "Going"] {
        let trials = run.trials().into_iter().filter(|trial| trial["state"] == state);
        let faults: Vec<Value> = trials.map(|trial| trial["fault"].clone()).collect();
        assert_eq!(faults, [Value::Null], "{}", run.out);
    }
    // The server replies to the shutdown and exits, whatever else was sent.
    let trials: Vec<Value> = run.trials().into_iter().filter(|trial| trial["state"] == "BeforeBye").collect();
    assert!(!trials.is_empty(), "{}", run.out);
    for trial in trials {
        assert_eq!(
            (&trial["afterwards"], &trial["fault"]),
            (&"session over".into(), &Value::Null),
            "{trial}"
        );
    }
}

fn a_silent_server_keeps_its_client_waiting() {
    let run = probe("silent", &["--format", "json"]);
    assert_eq!(run.code, 0, "silence breaks no must: {}", run.out);
    let unknown = |name: &str| run.trials().into_iter().find(|trial| trial["offence"] == name).unwrap();
    assert_eq!(unknown("a request with an unknown method")["fault"]["level"], "should");
    assert_eq!(unknown("a notification with an unknown method")["fault"], Value::Null);
    assert!(run.trials().iter().all(|trial| trial["afterwards"] == "works"), "{}", run.out);
    assert_eq!(probe("silent", &["--fail-on", "should"]).code, 1);
}

fn a_server_may_exit_when_it_is_asked_to() {
    let server = std::env::current_exe().unwrap();
    let arguments =
        ["probe", "--protocol", "lsp", "--wait", "0", "--state", "AwaitingNotif", "--only", "exit"];
    let server = ["--format", "json", "--", server.to_str().unwrap(), "serve", "lsp"];
    let run = sessionc(&[&arguments[..], &server].concat());
    let trials = run.trials();
    let exit = trials.iter().find(|trial| trial["offence"] == "exit").unwrap();
    let said = (&exit["reaction"], &exit["afterwards"], &exit["fault"]);
    // Its payloads have no shapes: what the client sends is shipped.
    let arguments = ["probe", "--protocol", "lsp", "--wait", "0", "--only", "exit"];
    let run = sessionc(&[&arguments[..], &server].concat());
    let states = &run.lines().pop().unwrap()["states"];
    assert!(states.as_array().unwrap().contains(&"Open".into()), "{states}");
    assert_eq!(said, (&json!("exited with 1"), &json!("session over"), &Value::Null), "{exit}");
}

fn an_answer_may_take_its_time_where_nothing_can_be_asked() {
    let server = std::env::current_exe().unwrap();
    let arguments = ["probe", "--protocol", "lsp", "--wait", "0", "--state", "ShutDown", "--format", "json"];
    let server = ["--only", "workspace/symbol", "--", server.to_str().unwrap(), "serve", "slow lsp"];
    let run = sessionc(&[&arguments[..], &server].concat());
    let [trial] = run.trials().try_into().unwrap();
    assert_eq!((&trial["reaction"], &trial["fault"]), (&"error -32601".into(), &Value::Null), "{trial}");
}

fn params_that_only_the_user_knows_are_asked_for() {
    let server = std::env::current_exe().unwrap();
    let server = ["--wait", "0", "--format", "json", "--", server.to_str().unwrap(), "serve", "lsp"];
    // A message whose key only the user knows, and one with params that the server does not accept.
    let protocol = r#"protocol Texts "1"
request Initialize "initialize" (desk::Opening) -> Opened (desk::Opened)
notification DidOpen "textDocument/didOpen" (desk::Text)
notification DidClose "textDocument/didClose" (desk::Text)
key text = DidOpen.uri | DidClose.uri
client Editor
server Desk = dual Editor
Editor = !Initialize . ?Opened . Ready
Ready = *( !DidOpen . Open )
Open = !DidClose . End
"#;
    let file = std::env::temp_dir().join(format!("texts-{}.session", std::process::id()));
    std::fs::write(&file, protocol).unwrap();
    let samples = file.with_extension("json");
    std::fs::write(&samples, r#"{ "initialize": { "processId": null } }"#).unwrap();
    let (path, samples) = (file.to_str().unwrap(), samples.to_str().unwrap());
    let ask =
        |more: &[&str]| sessionc(&[&["probe", path, "--framing", "content-length"], more, &server].concat());
    let how = |method: &str| {
        let file = format!("`{{ \"{method}\": {{ … }} }}`");
        format!("write {file} with params that it accepts into a file, and name that with `--samples`")
    };
    let said = ask(&[]).err;
    assert!(
        said.trim_end().ends_with(&format!("if the server supports it, {}", how("initialize"))),
        "{said}"
    );
    let run = ask(&["--samples", samples]);
    let open = run.lines().into_iter().find(|line| line["kind"] == "not reached" && line["state"] == "Open");
    let why = open.unwrap_or_else(|| panic!("{} {}", run.out, run.err))["why"].clone();
    let lacks = "`textDocument/didOpen` does not carry the key `text`, which says what it belongs to";
    assert_eq!(why, format!("{lacks}: {}", how("textDocument/didOpen")));
}

fn a_revision_that_is_not_known_is_said() {
    let run = |manner: &str, format: &str| {
        let server = std::env::current_exe().unwrap();
        let server = server.to_str().unwrap();
        let arguments = ["probe", "--protocol", "mcp", "--wait", "0", "--state", "Uninit", "--only", "order"];
        sessionc(&[&arguments[..], &["--format", format, "--", server, "serve", manner]].concat())
    };
    let what = "the revision `2031-01-01` is not known: known are `2024-11-05`, ";
    let text = run("mcp of another revision", "text").out;
    assert!(text.contains(&format!("\njudged by Mcp 2025-11-25: {what}")), "{text}");
    assert!(!run("mcp", "text").out.contains("judged by"));
    let summary = run("mcp of another revision", "json").lines().pop().unwrap();
    assert!(summary["unknown revision"].as_str().is_some_and(|said| said.starts_with(what)), "{summary}");
}

fn a_complaint_about_a_notification_hides_nothing() {
    let run = |manner: &str| {
        let server = std::env::current_exe().unwrap();
        let server = server.to_str().unwrap();
        let arguments = ["probe", "--protocol", "mcp", "--wait", "0", "--format", "json", "--"];
        sessionc(&[&arguments[..], &[server, "serve", manner]].concat())
    };
    let (quiet, complains) = (run("mcp"), run("mcp that complains"));
    assert_eq!((quiet.code, complains.code), (1, 1), "{}", complains.err);
    let summary = complains.lines().pop().unwrap();
    assert_eq!(Some(&summary), quiet.lines().last());
    assert!(summary["must"].as_u64() > Some(20), "{summary}");
    for (trial, other) in quiet.trials().iter().zip(complains.trials()) {
        assert_eq!((&trial["offence"], &trial["fault"]), (&other["offence"], &other["fault"]));
        let reactions = (trial["reaction"].as_str().unwrap(), other["reaction"].as_str().unwrap());
        // What it says of a notification is its reaction to one.
        let is_same = reactions.0 == reactions.1 || reactions == ("no answer", "error -32601");
        assert!(is_same, "{other}");
    }
    // A state that is reached by a request whose answer does not fit is not reached because of an error.
    let why = |run: &Run| {
        let lines = run.lines();
        let state = lines.iter().find(|line| line["kind"] == "not reached" && line["state"] == "Working");
        state.unwrap()["why"].clone()
    };
    assert_eq!(why(&quiet), why(&complains));
}

fn an_id_as_a_text_is_named() {
    let run = |manner: &str| {
        let server = std::env::current_exe().unwrap();
        let server = server.to_str().unwrap();
        let arguments = ["probe", "--protocol", "mcp", "--wait", "0", "--only", "order", "--"];
        sessionc(&[&arguments[..], &[server, "serve", manner]].concat())
    };
    let all = run("mcp with texts as ids");
    assert_eq!(all.code, 2);
    assert!(all.err.contains("write the id as it came, 1: the number, not a text"), "{}", all.err);
    let calls = run("mcp with other ids");
    assert_eq!(calls.code, 1);
    assert!(calls.out.contains("answered with the id of the request as a text"), "{}", calls.out);
}

fn a_server_that_prints_without_end_is_given_up() {
    let run = probe("endless", &[]);
    assert_eq!(run.code, 2, "{}", run.out);
    assert!(run.err.contains("more than 1000 texts that are not messages, such as `y`"), "{}", run.err);
}

/// The messages that a server sent by itself.
fn sent_by_itself(run: &Run) -> Vec<Value> {
    run.lines().into_iter().filter(|line| line["kind"] == "sent").collect()
}

fn what_a_server_sends_by_itself_is_one_fault() {
    let run = probe("talks", &[]);
    assert_eq!((run.code, run.err.as_str()), (1, ""), "{}", run.out);
    insta::assert_snapshot!("talks", run.out);
    let run = probe("talks", &["--format", "json"]);
    let [text, add] = sent_by_itself(&run).try_into().unwrap();
    assert_eq!(
        (&text["message"], &text["states"]),
        (&"a text that is not a message".into(), &Value::Array(vec![]))
    );
    assert_eq!(
        (&add["message"], &add["level"], &add["after"]),
        (&"counter/add".into(), &"must".into(), &Value::Null)
    );
    assert_eq!(add["states"], Value::from(vec!["Ready", "BeforeSum"]));
    assert_eq!(run.lines().last().unwrap()["must"], 2);
    let run = probe("talks", &["--state", "Ready", "--only", "order", "--format", "junit"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!("talks_junit", run.out);
}

fn what_follows_from_an_offence_names_it() {
    let run = probe("grumbles", &["--format", "json"]);
    assert_eq!(run.code, 1, "{}", run.out);
    let [stop] = sent_by_itself(&run).try_into().unwrap();
    assert_eq!((&stop["message"], &stop["level"]), (&"counter/stop".into(), &"must".into()));
    let first = run.trials().into_iter().next().unwrap();
    assert_eq!(stop["after"], first["offence"]);
    let text = probe("grumbles", &[]).out;
    let first = first["offence"].as_str().unwrap();
    assert!(text.contains(&format!("; it came only after an offence, first after `{first}`")), "{text}");
}

fn what_a_server_sends_by_itself_over_http_is_a_fault() {
    let run = probe_over_http("talks");
    assert_eq!(run.code, 1, "{}", run.err);
    let [add] = sent_by_itself(&run).try_into().unwrap();
    assert_eq!((&add["message"], &add["after"]), (&"counter/add".into(), &Value::Null));
}

fn an_answer_that_no_client_takes_for_one_is_a_fault() {
    let run = probe_over_http("as text");
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let [answer] = sent_by_itself(&run).try_into().unwrap();
    let rule = "has the content type `text/plain`: send `application/json` or `text/event-stream`";
    assert_eq!((&answer["message"], &answer["rule"]), (&"an answer over HTTP".into(), &rule.into()));
    assert_eq!((&answer["level"], &answer["after"]), (&"must".into(), &Value::Null));
}

fn what_a_server_sends_in_the_stream_of_its_session_is_a_fault() {
    // The last one sends it when the session is deleted, and ends the stream.
    for manner in ["streams", "streams late"] {
        let run = probe_over_http(manner);
        assert_eq!(run.code, 1, "{}{}", run.out, run.err);
        let [total] = sent_by_itself(&run).try_into().unwrap();
        assert_eq!((&total["message"], &total["level"]), (&"counter/total".into(), &"must".into()));
    }
}

fn states_and_offences_can_be_chosen() {
    let run = probe("correct", &["--state", "Ready", "--only", "order", "--format", "json"]);
    let names: Vec<_> =
        run.trials().iter().map(|trial| (trial["state"].clone(), trial["offence"].clone())).collect();
    assert_eq!(names, [("Ready".into(), "counter/open".into())]);
    let summary = run.lines().pop().unwrap();
    assert_eq!((&summary["kind"], &summary["tried"]), (&"summary".into(), &1.into()));
}

fn junit_has_a_suite_for_each_state() {
    let run = probe("lenient", &["--state", "Ready", "--only", "order", "--format", "junit"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!("junit", run.out);
}

fn a_list_needs_no_server() {
    let run = sessionc(&["probe", "examples/counter/counter.session", "--list"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!("list", run.out);
}

fn a_server_that_refuses_what_opens_a_sub_session_is_probed() {
    let file = std::env::temp_dir().join(format!("feed-{}.session", std::process::id()));
    let protocol = r#"protocol Feed "1"
request Height "height" -> Number (int)
request Watch "watch" -> Watched (string)
request Stop "stop" ({ of: string }) -> Stopped
notification Block "block" ({ of: string })
key feed = Watched | Block.of | Stop.of
client Wallet
server Node = dual Wallet
Wallet = (*( !Height . ?reply . End ), *Feed)
Feed = !Watch . ?Watched . rec on . ( ?Block . on & !Stop . ?Stopped . End )
"#;
    std::fs::write(&file, protocol).unwrap();
    let server = |height: &str| {
        format!(
            r#"while read line; do
                 id="${{line##*\"id\":}}"; id="${{id%%[,\}}]*}}"
                 case "$line" in
                 *'"height"'*) echo '{{"jsonrpc":"2.0","id":'"$id,{height}}}" ;;
                 *'"id":'*) echo '{{"jsonrpc":"2.0","id":'"$id"',"error":{{"code":-32601,"message":"no"}}}}' ;;
                 esac
               done"#
        )
    };
    let probe = |height: &str| {
        let server = server(height);
        let arguments =
            ["probe", file.to_str().unwrap(), "--wait", "0", "--only", "correlation", "--format", "json"];
        sessionc(&[&arguments[..], &["--", "/bin/sh", "-c", &server]].concat())
    };
    let run = probe(r#"\"result\":7"#);
    let trials = run.trials();
    assert!(!trials.is_empty() && trials.iter().all(|trial| trial["state"] == "Start"), "{}", run.err);
    let run = probe(r#"\"error\":{\"code\":-32601,\"message\":\"no\"}"#);
    assert!(
        run.code == 2 && run.err.contains("no session can be opened: the server refused `watch` (-32601"),
        "{}",
        run.err
    );
    std::fs::remove_file(&file).unwrap();
}

/// What is said of a server that cannot be probed.
fn problem(arguments: &[&str]) -> String {
    let run = sessionc(&[&["probe"], arguments].concat());
    assert_eq!(run.code, 2, "{}", run.out);
    run.err.trim_end().to_owned()
}

/// Each is waited for until the timeout, so all are started at once.
fn why_no_session_can_be_opened_is_said() {
    let counter = "examples/counter/counter.session";
    let silent = "sessionc: no session can be opened: the server has not answered `counter/open` in time: ";
    let ended = "sessionc: no session can be opened: the answer to `counter/open` over HTTP has ended without the reply";
    let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"count":0}}"#;
    std::thread::scope(|scope| {
        for (answer, why) in [
            (
                opened.to_owned(),
                "its answer came when its input was closed: end each message with a line feed",
            ),
            (
                opened.replace('{', "{\\n"),
                "it has written `{`, which is not a message: write each message as JSON on one line",
            ),
            (
                r#"{"jsonrpc":"2.0","result":{"count":0}}"#.to_owned() + "\\n",
                r#"it has written `{"jsonrpc":"2.0","result":{"count":0}}`, which is not a message: the reply has no `id`: reply with the id"#,
            ),
            (
                format!("Content-Length: {}\\r\\n\\r\\n{opened}", opened.len()),
                "it writes `Content-Length` before a message, and this protocol ends each message with its line",
            ),
        ] {
            scope.spawn(move || {
                let server = format!("read line; printf '{answer}'; cat > /dev/null");
                let said = problem(&[counter, "--timeout", "6", "--", "/bin/sh", "-c", &server]);
                assert!(said.starts_with(&format!("{silent}{why}")), "{said}");
            });
        }
        scope.spawn(|| {
            let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>no</p>";
            let said = problem(&[counter, "--url", &super::answers::start_refusing(html)]);
            let why = "what it has sent has the content type `text/html`: send `application/json` or `text/event-stream`";
            assert_eq!(said, format!("{ended}: {why}"));
        });
        scope.spawn(|| {
            let log = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
                       data: {\"jsonrpc\":\"2.0\",\"method\":\"counter/more\"}\n\n";
            let said = problem(&[counter, "--url", &super::answers::start_refusing(log)]);
            assert_eq!(said, ended);
        });
        scope.spawn(|| {
            let said = problem(&[counter, "--timeout", "120", "--url", &super::answers::start_endless()]);
            assert!(
                said.contains("the server sent more than 10000 messages in one session before"),
                "{said}"
            );
        });
        for protocol in ["mcp", "lsp", "acp"] {
            scope.spawn(move || {
            let echo = problem(&["--protocol", protocol, "--", "cat"]);
            assert!(
                echo.ends_with(
                    "the command writes back `initialize` as it was sent: it echoes its input and is not a server \
                     of this protocol"
                ),
                "{echo}"
            );
        });
        }
    });
}

/// Each session is one more start of the server, and would be waited for until its time is over.
fn a_server_without_a_reply_is_not_waited_for_in_another_way() {
    let counter = "examples/counter/counter.session";
    let states =
        sessionc(&["probe", counter, "--list"]).out.lines().filter(|line| !line.starts_with(' ')).count();
    let cases = [
        (vec!["--protocol", "mcp"], "echo no JSON", 1),
        (vec!["--protocol", "acp"], "true", 2),
        (vec!["--protocol", "lsp"], "true", 6),
        (vec![counter], "true", states),
    ];
    std::thread::scope(|scope| {
        for (protocol, said, most) in cases {
            scope.spawn(move || {
                let starts = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("starts-{most}"));
                let _ = std::fs::remove_file(&starts);
                let server =
                    format!("echo started >> {}; read line; {said}; cat > /dev/null", starts.display());
                let arguments =
                    [protocol.as_slice(), &["--timeout", "4", "--", "/bin/sh", "-c", &server]].concat();
                let problem = problem(&arguments);
                assert!(problem.contains("in time"), "{problem}");
                let starts = std::fs::read_to_string(starts).unwrap().lines().count();
                assert!(starts <= most, "{protocol:?}: {starts} starts");
            });
        }
    });
}

fn what_cannot_be_probed_is_said() {
    assert_eq!(
        problem(&["examples/counter/counter.session"]),
        "sessionc: no server is named: write its command after `--`, or give its address with `--url`"
    );
    let counter = "examples/counter/counter.session";
    assert_eq!(
        problem(&[counter, "--list", "--state", "Redy"]),
        "sessionc: no state of `Counter` is called `Redy`; did you mean `Ready`?"
    );
    assert_eq!(
        problem(&[counter, "--list", "--only", "teapot"]),
        "sessionc: no offence has `teapot` in its name: `--list` shows them all"
    );
    assert_eq!(
        problem(&[counter, "--", "/bin/sh", "-c", "echo no such database >&2; exit 4"]),
        "sessionc: no session can be opened: the server exited with 4 before it answered `counter/open`\n\
         the last that the server wrote on its standard error:\nno such database"
    );
    let unreachable = problem(&[counter, "--url", "http://127.0.0.1:1/counter"]);
    assert!(
        unreachable.starts_with("sessionc: no session can be opened: the server cannot be reached ("),
        "{unreachable}"
    );
    assert!(unreachable.ends_with("): start it, or correct `--url`"), "{unreachable}");
    for (answer, said) in [
        (
            "HTTP/1.1 302 Found\r\nLocation: /mcp/\r\n",
            "redirects `counter/open` to `/mcp/` with HTTP 302: give that",
        ),
        (
            "HTTP/1.1 308 Moved\r\nLocation: https://a.example/mcp\r\n",
            "to `https://a.example/mcp` with HTTP 308: give",
        ),
        ("HTTP/1.1 404 Not Found\r\n", "refused `counter/open` with HTTP 404: correct the path of `--url`"),
        (
            "HTTP/1.1 401 Unauthorized\r\n",
            "with HTTP 401: the probe sends no credentials. Let the server ask for none",
        ),
        ("HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\n<p>no</p>", "with HTTP 500, and says `<p>no</p>`"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
            "sent no whole answer over HTTP (end of file before message length",
        ),
        ("HTTP/1.1 2", "sent no whole answer over HTTP (connection closed before message completed)"),
    ] {
        let refused = problem(&[counter, "--url", &super::answers::start_refusing(answer)]);
        let begins = "sessionc: no session can be opened: the server ";
        assert!(refused.starts_with(begins) && refused.contains(said), "{refused}");
    }
    assert_eq!(
        problem(&[counter, "--url", "127.0.0.1:1"]),
        "sessionc: `127.0.0.1:1` is not the address of a server: write `http://HOST:PORT/PATH`"
    );
    assert!(problem(&[counter, "--", "/no/such/server"]).contains("No such file"));
    assert!(
        problem(&[counter, "--samples", "README.md", "--list"])
            .contains("is not a JSON object of params by method")
    );
}

/// Probes a server over HTTP, which ends with the test.
fn probe_over_http(manner: &'static str) -> Run {
    let url = super::http::start(manner);
    let arguments =
        ["probe", "examples/counter/counter.session", "--wait", "0", "--jobs", "1", "--format", "json"];
    sessionc(&[&arguments[..], &["--url", &url]].concat())
}

fn a_correct_server_over_http_has_no_faults() {
    let run = probe_over_http("correct");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let lines = run.lines();
    let why = |state: &str| {
        lines.iter().find(|line| line["kind"] == "not reached" && line["state"] == state).unwrap()["why"]
            .clone()
    };
    assert_eq!(why("BeforeSum"), "over HTTP a message that follows a request may overtake it");
    let trials = run.trials();
    assert!(
        trials.iter().all(|trial| trial["afterwards"] == "works" && trial["fault"].is_null()),
        "{}",
        run.out
    );
    let heads: Vec<_> = trials.iter().filter(|trial| trial["group"] == "head").collect();
    assert_eq!(heads.len(), 2, "{}", run.out);
    assert!(heads.iter().all(|trial| trial["status"] == 400 && trial["afterwards"] == "works"), "{heads:?}");
    let malformed = trials.iter().find(|trial| trial["offence"] == "text that is not JSON").unwrap();
    assert_eq!((&malformed["status"], &malformed["code"]), (&400.into(), &(-32700).into()));
    let forbidden =
        trials.iter().find(|trial| trial["offence"] == "counter/open" && trial["state"] == "Ready").unwrap();
    assert_eq!((&forbidden["status"], &forbidden["code"]), (&Value::Null, &(-32600).into()));
}

fn a_lenient_server_over_http_accepts_what_is_forbidden() {
    let run = probe_over_http("lenient");
    assert_eq!(run.code, 1, "{}", run.err);
    let again = run.trials().into_iter().find(|trial| trial["offence"] == "counter/open").unwrap();
    assert_eq!((&again["state"], &again["reaction"]), (&"Ready".into(), &"result".into()));
}
