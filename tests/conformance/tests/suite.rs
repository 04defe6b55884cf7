//! The conformance suite of MCP, in the two versions that `package.json` names, against our server and our client.
//!
//! In: the programs of this package, and the suite (`npm ci` in this folder). Out: for each scenario how many of its
//! checks passed, compared by name and number with `expected.rs`, so that one that fails, and one that is no longer run,
//! are noticed alike. `.ci/run` installs the suite.

#[path = "suite/authorization.rs"]
mod authorization;
#[path = "suite/expected.rs"]
mod expected;
#[path = "suite/results.rs"]
mod results;
#[path = "suite/running.rs"]
mod running;
#[path = "suite/session.rs"]
mod session;

use expected::{
    NEXT_CLIENT, NEXT_SERVER, NOT_COUNTED, REQUESTS_CLIENT, REQUESTS_SERVER, Row, SINCE_REVISION,
    STABLE_CLIENT, STABLE_PENDING, STABLE_SERVER,
};
use results::Results;
use running::{CLIENT, Server, Suite, Version};

/// The revisions whose requirements are to be met: the latest with a handshake, and the one without.
const REVISION: &str = "2025-11-25";
const REQUESTS: &str = "2026-07-28";

/// What of the latest revision is not in the one before: scenarios, and a check of the names of tools.
fn in_the_revision_before() -> Vec<Row> {
    let mut rows = NEXT_SERVER.to_vec();
    rows.retain(|(scenario, _)| !SINCE_REVISION.contains(scenario));
    for (_, checks) in rows.iter_mut().filter(|(scenario, _)| *scenario == "tools-list") {
        *checks -= 1;
    }
    rows
}

/// What is expected of a server that answers with JSON what JSON can answer: of its streams there is nothing to check.
fn without_streams(rows: &[Row]) -> Vec<Row> {
    let less = |row: &Row| match row {
        ("server-sse-multiple-streams", checks) => ("server-sse-multiple-streams", checks - 1),
        other => *other,
    };
    rows.iter().map(less).collect()
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_stable_suite_and_our_server() {
    let suite = Suite::installed(Version::Stable);
    let server = Server::start(&["--streams"]).await;
    let run = suite.run("stable-streams", &["server", "--url", &server.url]).await;
    run.assert_success();
    let checks: usize = STABLE_SERVER.iter().map(|(_, checks)| checks).sum();
    assert_eq!((STABLE_SERVER.len(), checks), (30, 40), "the goal");
    run.results.assert_are(STABLE_SERVER);
    // What the suite does not count yet, for its own server cannot do it.
    let run = suite.run("stable-pending", &["server", "--url", &server.url, "--suite", "pending"]).await;
    run.assert_success();
    run.results.assert_are(STABLE_PENDING);

    let server = Server::start(&[]).await;
    let run = suite.run("stable-json", &["server", "--url", &server.url]).await;
    run.assert_success();
    run.results.assert_are(&without_streams(STABLE_SERVER));
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_our_server() {
    let suite = Suite::installed(Version::Next);
    let listed = suite.run("next-list", &["list", "--requirements", REVISION]).await;
    assert_eq!(listed.scenarios("server"), names(NEXT_SERVER));
    for (name, arguments, rows) in [
        ("next-streams", &["--streams"][..], NEXT_SERVER.to_vec()),
        ("next-json", &[], without_streams(NEXT_SERVER)),
    ] {
        let server = Server::start(arguments).await;
        let run = suite.run(name, &["server", "--url", &server.url, "--requirements", REVISION]).await;
        run.assert_success();
        run.results.assert_are(&rows);
    }
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_our_server_in_an_older_revision() {
    let suite = Suite::installed(Version::Next);
    let server = Server::start(&["--streams"]).await;
    let arguments = ["server", "--url", &server.url, "--spec-version", "2025-06-18"];
    let run = suite.run("next-older", &arguments).await;
    run.assert_success();
    run.results.assert_are(&in_the_revision_before());
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_our_server_without_a_handshake() {
    let suite = Suite::installed(Version::Next);
    let listed = suite.run("requests-list", &["list", "--requirements", REQUESTS]).await;
    let mut required = REQUESTS_SERVER.to_vec();
    required.retain(|(scenario, _)| !NOT_COUNTED.contains(scenario));
    assert_eq!(listed.required("server"), names(&required));
    let server = Server::start(&[]).await;
    let run = suite.run("requests", &["server", "--url", &server.url, "--requirements", REQUESTS]).await;
    run.assert_success();
    let checks: usize = REQUESTS_SERVER.iter().map(|(_, checks)| checks).sum();
    assert_eq!((REQUESTS_SERVER.len(), checks), (40, 152), "the goal");
    // An extension that the server does not announce, and that the suite does not count.
    run.results.without("tasks-").assert_are(REQUESTS_SERVER);
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_our_client_without_a_handshake() {
    let suite = Suite::installed(Version::Next);
    let listed = suite.run("requests-list-client", &["list", "--requirements", REQUESTS]).await;
    assert_eq!(without_authorization(listed.required("client")), names(REQUESTS_CLIENT));
    play(&suite, "requests-client", REQUESTS_CLIENT, &["--spec-version", REQUESTS]).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_stable_suite_and_our_client() {
    let suite = Suite::installed(Version::Stable);
    let listed = suite.run("stable-list", &["list"]).await;
    assert_eq!(without_authorization(listed.scenarios("client")), names(STABLE_CLIENT));
    play(&suite, "stable-client", STABLE_CLIENT, &[]).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_our_client() {
    let suite = Suite::installed(Version::Next);
    let listed = suite.run("next-list-client", &["list", "--requirements", REVISION]).await;
    assert_eq!(without_authorization(listed.scenarios("client")), names(NEXT_CLIENT));
    play(&suite, "next-client", NEXT_CLIENT, &["--spec-version", REVISION]).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_stable_suite_and_the_authorization_of_our_client() {
    let suite = Suite::installed(Version::Stable);
    let listed = suite.run("stable-list-authorization", &["list"]).await;
    assert_eq!(of_authorization(listed.scenarios("client")), names(authorization::STABLE));
    play(&suite, "stable-authorization", authorization::STABLE, &[]).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_the_authorization_of_our_client() {
    let suite = Suite::installed(Version::Next);
    let listed = suite.run("next-list-authorization", &["list", "--requirements", REVISION]).await;
    let all = [authorization::NEXT, authorization::NEXT_EXTENSIONS].concat();
    assert_eq!(of_authorization(listed.scenarios("client")), names(&all));
    play(&suite, "next-authorization", authorization::NEXT, &["--spec-version", REVISION]).await;
    play(&suite, "next-authorization", authorization::NEXT_EXTENSIONS, &[]).await;
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_next_suite_and_the_authorization_of_our_client_without_a_handshake() {
    let suite = Suite::installed(Version::Next);
    let listed = suite.run("requests-list-authorization", &["list", "--requirements", REQUESTS]).await;
    assert_eq!(of_authorization(listed.required("client")), names(authorization::REQUESTS));
    play(&suite, "requests-authorization", authorization::REQUESTS, &["--spec-version", REQUESTS]).await;
}

/// Those that have tests of their own.
fn without_authorization(mut scenarios: Vec<String>) -> Vec<String> {
    scenarios.retain(|scenario| !scenario.starts_with("auth/"));
    scenarios
}

/// Those of authorization.
fn of_authorization(mut scenarios: Vec<String>) -> Vec<String> {
    scenarios.retain(|scenario| scenario.starts_with("auth/"));
    scenarios
}

fn names(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.sort();
    names
}

/// Has the suite start our client for each scenario.
async fn play(suite: &Suite, name: &str, rows: &[Row], more: &[&str]) {
    for row in rows {
        let (scenario, _) = row;
        let base = ["client", "--command", CLIENT, "--scenario", scenario];
        let arguments = [&base[..], more].concat();
        let mut run = suite.run(&format!("{name}-{scenario}"), &arguments).await;
        // Here the suite measures how long the client waits, and on a machine that is busy that may be too long.
        for _ in 0..3 {
            if *scenario != "sse-retry" || run.results.are(&[*row]) {
                break;
            }
            run = suite.run(&format!("{name}-{scenario}"), &arguments).await;
        }
        run.assert_success();
        run.results.assert_are(&[*row]);
    }
}

#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/conformance`"]
async fn the_suite_stays_on_this_machine() {
    let suite = Suite::installed(Version::Next);
    let script = r#"
        const server = require("node:http").createServer().listen(0);
        console.log(server.address().address);
        server.close();
        // An address reserved for documentation, at which no host answers.
        fetch("http://192.0.2.1/").catch((error) => console.log(String(error.cause)));
    "#;
    let output = suite.node(&["-e", script]).output();
    let said = String::from_utf8(running::guarded(output).await.unwrap().stdout).unwrap();
    assert_eq!(said, "127.0.0.1\nError: the suite was about to connect to 192.0.2.1\n");
}

#[tokio::test]
async fn our_client_and_our_server() {
    // Needs no suite: our server hangs up in the middle of a call, and our client comes back for the answer.
    let server = Server::start(&[]).await;
    let client = tokio::process::Command::new(CLIENT)
        .arg(&server.url)
        .env("MCP_CONFORMANCE_SCENARIO", "sse-retry")
        .kill_on_drop(true)
        .output();
    let output = running::guarded(client).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("Welcome back."), "{output:?}");
}

#[test]
fn a_table_with_a_scenario_too_many_or_too_few_is_not_taken() {
    let results = Results::of(&[("ping", 1, 0), ("tools-list", 2, 0)]);
    assert!(results.are(&[("ping", 1), ("tools-list", 2)]));
    assert!(!results.are(&[("ping", 1)]));
    assert!(!results.are(&[("ping", 1), ("tools-list", 2), ("prompts-list", 1)]));
    assert!(!results.are(&[("ping", 1), ("tools-list", 3)]));
    assert!(!Results::of(&[("ping", 1, 1)]).are(&[("ping", 1)]));
}
