//! A second opinion: `mcp-trace-validator` of crates.io judges the same recordings. Both name the same lines, and each
//! difference is explained here.
//!
//! `cargo install --locked --root target/rivals mcp-trace-validator@0.6.0` installs it: it is not a dependency, so nothing of
//! it is in the lock file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::command::{messages, root, trace};

/// Why only one of the two names a message.
const ORDER: &str = "it does not judge this order";
const END: &str = "it does not judge the end of a session";
const METHODS: &str = "it accepts unknown methods";
const PING: &str = "the specification lets a client ping a server before `initialize`";
const CAUSE: &str = "the second reply answers the request that was reported";
const SCHEMA: &str = "what a tool promises of its results is not in the protocol";
const VERSION: &str = "which versions a server supports is not in the protocol";
const ERA: &str = "an `initialize` needs no metadata, and the server refuses it";

/// Places of messages in a recording, and why.
type Explained = &'static [(u64, &'static str)];

/// Messages that only we name, and that only the other names, by their place in the recording.
const DIFFERENCES: [(&str, Explained, Explained); 8] = [
    ("real-ts240-se", &[], &[]),
    ("real-py230-se", &[], &[]),
    ("2026-07-28/rounds-ts240", &[], &[]),
    ("2026-07-28/rounds-py230", &[], &[]),
    ("cancel-py130", &[(9, END)], &[]),
    ("whole-2025-11-25", &[], &[(56, SCHEMA), (69, SCHEMA), (80, SCHEMA)]),
    ("2026-07-28/modern-ts240", &[], &[(7, VERSION), (10, ERA)]),
    (
        "everything-violations",
        &[(8, ORDER), (11, ORDER), (22, ORDER), (23, METHODS)],
        &[(0, PING), (17, CAUSE)],
    ),
];

/// The recording in the other's format. Lines are counted from 0 there.
fn written(name: &str) -> String {
    let lines = messages(name).into_iter().enumerate().map(|(place, (is_client, message))| {
        let direction = if is_client { "client-to-server" } else { "server-to-client" };
        let line = json!({ "seq": place, "direction": direction, "transport": "stdio", "kind": "message", "payload": message });
        format!("{line}\n")
    });
    lines.collect()
}

/// The messages that the other names.
fn theirs(log: &str, name: &str) -> Vec<u64> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.jsonl", name.replace('/', "_")));
    fs::write(&path, log).unwrap();
    let program = root().join("target/rivals/bin/mcp-trace-validator");
    let output = Command::new(program).args(["validate", "--format", "json"]).arg(path).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut places = Vec::new();
    collect(&report, &mut places);
    places.sort_unstable();
    places.dedup();
    places
}

/// The numbers of all findings, wherever they stand in the report.
fn collect(report: &Value, places: &mut Vec<u64>) {
    match report {
        Value::Array(all) => all.iter().for_each(|one| collect(one, places)),
        Value::Object(members) => {
            let findings = members.get("findings").and_then(Value::as_array);
            places.extend(findings.into_iter().flatten().filter_map(|finding| finding["seq"].as_u64()));
            members.values().for_each(|member| collect(member, places));
        }
        _ => {}
    }
}

#[test]
#[ignore = "needs `mcp-trace-validator`, which `.ci/run` installs"]
fn another_judge_names_the_same_lines() {
    for (name, only_ours, only_theirs) in DIFFERENCES {
        let log = written(name);
        let ours: Vec<u64> = trace(&log).lines().into_iter().map(|line| line - 1).collect();
        let theirs = theirs(&log, name);
        let only = |these: &[u64], those: &[u64]| -> Vec<u64> {
            these.iter().copied().filter(|place| !those.contains(place)).collect()
        };
        let explained = |those: &[(u64, &str)]| {
            let by_place: BTreeMap<u64, &str> = those.iter().copied().collect();
            by_place.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(only(&ours, &theirs), explained(only_ours), "only we name these in {name}");
        assert_eq!(only(&theirs, &ours), explained(only_theirs), "only the other names these in {name}");
    }
}
