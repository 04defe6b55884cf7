//! Traffic between a client and a server, followed by the checker from the middle: what was recorded and what is
//! lawful is accepted by the revision that was agreed on, and mistakes planted in it are found.

use mcp_protocol_machine::protocol::{
    Announcement, Condition, Direction, KeyIndex, KeyPlace, Literal, Message, MessageIndex, Path, Protocol,
    Side, Text,
};
use mcp_protocol_machine::{
    About, Awaiting, Capabilities, Checker, Correlation, KeyValue, Lookup, RequestId, Said, Violation,
    ViolationKind,
};
use mcp_protocols::{REVISIONS, VERSIONS, mcp_2026_07_28};
use serde_json::{Value, json};

/// One message: whether the client wrote it, and what it is.
type Line = (bool, Value);

fn recorded(name: &str) -> Vec<Line> {
    let path = format!("{}/traffic/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter_map(|line| match line["dir"].as_str().unwrap() {
            "c2s" => Some((true, line["msg"].clone())),
            "s2c" => Some((false, line["msg"].clone())),
            _ => None,
        })
        .collect()
}

fn at<'v>(payload: &'v Value, path: &Path) -> &'v Value {
    path.iter().fold(payload, |value, key| &value[&**key])
}

fn fits(condition: &Condition, payload: &Value) -> bool {
    let found = at(payload, &condition.path);
    match &condition.literal {
        Some(Literal::Text(literal)) => found.as_str() == Some(literal),
        Some(other) => panic!("MCP compares with texts alone, not with {other:?}"),
        None => !matches!(found, Value::Null | Value::Bool(false)),
    }
}

fn says_of(announced: &Value) -> Said {
    match announced {
        Value::Null => Said::Nothing,
        Value::Bool(false) => Said::No,
        Value::Bool(true) | Value::Number(_) | Value::String(_) => Said::Bare,
        Value::Object(parts) if parts.values().all(Value::is_null) => Said::Bare,
        _ => Said::Parts,
    }
}

fn id(value: &Value) -> Option<RequestId> {
    match value {
        Value::String(text) => Some(RequestId::Text(text.as_str().into())),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        _ => None,
    }
}

/// Somebody in the middle, who follows the server's role.
struct Observer {
    protocol: &'static Protocol,
    lookup: Lookup,
    checker: Checker,
}

impl Observer {
    fn new(protocol: &'static Protocol) -> Observer {
        let checker = Checker::new(protocol, Side::Server).unwrap();
        Observer { protocol, lookup: Lookup::new(protocol), checker }
    }

    fn table(&self, message: MessageIndex) -> &'static Message {
        self.protocol.message(message).unwrap()
    }

    /// Of several messages the first whose condition holds, else the one without.
    fn pick(&self, messages: &[MessageIndex], payload: &Value) -> Option<MessageIndex> {
        let condition = |message: &MessageIndex| self.table(*message).condition.as_ref();
        let told = messages.iter().find(|message| condition(message).is_some_and(|it| fits(it, payload)));
        told.or_else(|| messages.iter().find(|message| condition(message).is_none())).copied()
    }

    fn keys(
        &self,
        message: MessageIndex,
        own: Option<&RequestId>,
        payload: &Value,
    ) -> Vec<(KeyIndex, KeyValue)> {
        let keys = self.table(message).keys.iter();
        keys.filter_map(|carried| {
            let value = match &carried.place {
                KeyPlace::Path(path) => id(at(payload, path)),
                KeyPlace::Id => own.cloned(),
                KeyPlace::Member(_) => None,
            };
            Some((carried.key, value?))
        })
        .collect()
    }

    fn announced(&self, announcement: &Announcement, payload: &Value) -> Capabilities {
        let announced = at(payload, &announcement.path);
        let says = |path: &[Text]| says_of(path.iter().fold(announced, |value, key| &value[&**key]));
        Capabilities::announced(self.protocol, announcement, says)
    }

    fn announce(&mut self, message: MessageIndex, payload: &Value) {
        for announcement in self.protocol.announcements.iter().filter(|place| place.message == Some(message))
        {
            self.checker.announce(announcement.side, self.announced(announcement, payload));
        }
    }

    /// What a request grants while it runs: what it announces itself, and what is permitted during it.
    fn granted_by(&self, direction: Direction, request: MessageIndex, params: &Value) -> Capabilities {
        let side = if direction == Direction::Receive { Side::Client } else { Side::Server };
        let own = self.protocol.announcement_of_each_request(side);
        let own = own.map_or_else(Capabilities::none, |place| self.announced(place, params));
        let during = self.protocol.granted_during(request, |condition| fits(condition, params));
        own.join(&during.collect())
    }

    fn judge(&mut self, (by_client, message): &Line) -> Result<(), Violation> {
        let direction = if *by_client { Direction::Receive } else { Direction::Send };
        let own = id(&message["id"]);
        let params = &message["params"];
        let applies = |condition: &Condition| fits(condition, params);
        match (message["method"].as_str(), &own) {
            (Some(method), Some(own)) => {
                let Some(request) = self.pick(self.lookup.requests(method), params) else {
                    return self.checker.unknown_method(direction, Some(own), method).map(drop);
                };
                let keys = self.keys(request, Some(own), params);
                let token = id(&params["_meta"]["progressToken"]);
                let granted = self.granted_by(direction, request, params);
                let correlation = Correlation::keys(&keys).announcing(Some(&granted));
                self.checker.request_correlated(direction, request, own, token, correlation, applies)?;
                self.announce(request, params);
                Ok(())
            }
            (Some(method), None) => {
                let Some(notification) = self.pick(self.lookup.notifications(method), params) else {
                    return self.checker.unknown_method(direction, None, method).map(drop);
                };
                let table = self.table(notification);
                let cancelled = table.cancels.as_ref().and_then(|cancels| id(at(params, &cancels.id)));
                let token = table.reports.as_ref().and_then(|reports| id(at(params, &reports.token)));
                let about = match (&cancelled, &token) {
                    (Some(id), _) => About::Request(id),
                    (None, Some(token)) => About::Token(token),
                    (None, None) => About::Nothing,
                };
                let keys = self.keys(notification, None, params);
                let correlation = Correlation::keys(&keys);
                self.checker
                    .notification_correlated(direction, notification, about, correlation, applies)
                    .map(drop)
            }
            (None, Some(own)) => {
                let Awaiting::Request(request) = self.checker.awaiting(direction, own) else {
                    return self.checker.stray_reply(direction, own).map(drop);
                };
                let result = &message["result"];
                let reply = match message.get("error") {
                    Some(_) => self.lookup.refusal(request).unwrap(),
                    None => self.pick(self.lookup.replies(request), result).unwrap(),
                };
                let keys = self.keys(reply, Some(own), result);
                self.checker.reply_correlated(direction, own, reply, Correlation::keys(&keys))?;
                self.announce(reply, result);
                Ok(())
            }
            // An error without an id belongs to nothing.
            (None, None) => Ok(()),
        }
    }

    /// What is wrong with a whole session, each with the number of its message.
    fn follow(protocol: &'static Protocol, lines: &[Line]) -> Vec<(usize, Violation)> {
        let mut observer = Observer::new(protocol);
        let judged = lines.iter().map(|line| observer.judge(line)).enumerate();
        judged.filter_map(|(place, judged)| Some((place, judged.err()?))).collect()
    }
}

fn revision(version: &str) -> &'static Protocol {
    REVISIONS[VERSIONS.iter().position(|other| *other == version).unwrap()]
}

/// What was said of a session that is wrong, without the numbers.
fn said(found: &[(usize, Violation)]) -> Vec<String> {
    found.iter().map(|(_, violation)| violation.to_string()).collect()
}

#[test]
fn what_was_recorded_is_accepted_by_the_revision_that_was_agreed_on() {
    for name in ["everything-full", "real-ts240-se", "cancel-py130", "whole-2025-11-25"] {
        let found = Observer::follow(revision("2025-11-25"), &recorded(name));
        let expected: &[&str] = match name {
            // The recording ends with a method that there is not.
            "everything-full" => &["`no/such` is not a method that the client sends in `Mcp` 2025-11-25"],
            _ => &[],
        };
        assert_eq!(said(&found), expected, "{name}");
    }
    // This client asks first for what only the next revision has.
    let found = Observer::follow(revision("2025-11-25"), &recorded("real-py230-se"));
    assert_eq!(said(&found), ["`server/discover` is not a method that the client sends in `Mcp` 2025-11-25"]);
}

#[test]
fn what_was_recorded_of_the_revision_without_a_handshake_is_accepted() {
    for name in ["2026-07-28/rounds-ts240", "2026-07-28/rounds-py230"] {
        let found = Observer::follow(&mcp_2026_07_28::PROTOCOL, &recorded(name));
        assert_eq!(said(&found), [""; 0], "{name}");
    }
    // This client asks at the end for what the revision does not have.
    let found = Observer::follow(&mcp_2026_07_28::PROTOCOL, &recorded("2026-07-28/modern-ts240"));
    assert_eq!(said(&found), ["`initialize` is not a method that the client sends in `Mcp` 2026-07-28"]);
}

#[test]
fn mistakes_in_rounds_and_subscriptions_are_found() {
    let lines = recorded("2026-07-28/rounds-ts240");
    let planted = |plant: &dyn Fn(&mut Vec<Line>)| {
        let mut lines = lines.clone();
        plant(&mut lines);
        said(&Observer::follow(&mcp_2026_07_28::PROTOCOL, &lines)).join("; ")
    };
    let listened = place(&lines, |message| message["method"] == "subscriptions/listen");
    let acknowledged =
        place(&lines, |message| message["method"] == "notifications/subscriptions/acknowledged");
    let changed = place(&lines, |message| message["method"] == "notifications/tools/list_changed");
    let asked = place(&lines, |message| message["result"]["resultType"] == "input_required");

    // A change before the subscription is acknowledged, of another kind than was asked for, and of no subscription.
    let found = planted(&|lines| lines.swap(acknowledged, changed));
    assert!(found.contains("is not permitted in `Subscribing`"), "{found}");
    let found = planted(&|lines| lines[listened].1["params"]["notifications"] = json!({}));
    assert!(found.contains("notifications.toolsListChanged"), "{found}");
    let meta = "io.modelcontextprotocol/subscriptionId";
    let found = planted(&|lines| lines[changed].1["params"]["_meta"][meta] = json!(77));
    assert!(found.contains("77"), "{found}");
    // A message of the log that no request has asked for.
    let log = json!({ "method": "notifications/message", "params": { "level": "info", "data": "" } });
    let found = planted(&|lines| lines.insert(asked, (false, log.clone())));
    assert!(found.contains("logLevel"), "{found}");
    // The answer to a list cannot need input, and the id of a round that runs is not used again.
    let listed = place(&lines, |message| message["result"]["tools"].is_array());
    let found = planted(&|lines| lines[listed].1["id"] = json!("unknown"));
    assert!(!found.is_empty(), "{found}");
    let found = planted(&|lines| lines.insert(asked, lines[asked - 1].clone()));
    assert!(found.contains("is still running"), "{found}");
}

#[test]
fn what_three_revisions_share_is_accepted_by_each() {
    for version in &VERSIONS[..3] {
        assert_eq!(
            said(&Observer::follow(revision(version), &recorded("whole-2025-03-26"))),
            [""; 0],
            "{version}"
        );
    }
}

#[test]
fn the_older_revisions_refuse_what_is_new() {
    for version in &VERSIONS[..3] {
        let lines = recorded("whole-2025-11-25");
        let found = Observer::follow(revision(version), &lines);
        let mut methods: Vec<&str> =
            found.iter().filter_map(|(place, _)| lines[*place].1["method"].as_str()).collect();
        methods.sort_unstable();
        methods.dedup();
        let mut new = vec!["notifications/elicitation/complete", "notifications/tasks/status"];
        new.extend(["tasks/cancel", "tasks/get", "tasks/list", "tasks/result"]);
        if *version < "2025-06-18" {
            new.insert(0, "elicitation/create");
        }
        assert_eq!(methods, new, "{version}");
        let unknown = |(_, violation): &(usize, Violation)| violation.kind == ViolationKind::UnknownMethod;
        assert!(found.iter().all(unknown), "{:?}", said(&found));
    }
}

/// The place of the message for which this holds.
fn place(lines: &[Line], wanted: impl Fn(&Value) -> bool) -> usize {
    lines.iter().position(|(_, message)| wanted(message)).unwrap()
}

/// Removes what is at a path, wherever else the announcement goes on.
fn without(announced: &mut Value, path: &[mcp_protocol_machine::protocol::Text]) {
    let (last, way) = path.split_last().unwrap();
    let object = way.iter().fold(announced, |value, key| &mut value[&**key]);
    if let Some(object) = object.as_object_mut() {
        object.remove(&**last);
    }
}

#[test]
fn every_capability_is_missed_when_it_is_not_announced() {
    for (name, version) in [("whole-2025-11-25", "2025-11-25"), ("whole-2025-03-26", "2025-03-26")] {
        let protocol = revision(version);
        for (index, gate) in protocol.gates.iter().enumerate() {
            let mut asked = Vec::new();
            for announcer in ["params", "result"] {
                let mut lines = recorded(name);
                let hello = place(&lines, |message| message[announcer]["protocolVersion"].is_string());
                without(&mut lines[hello].1[announcer]["capabilities"], &gate.path);
                let found = Observer::follow(protocol, &lines);
                let missed = found.iter().any(|(_, violation)| {
                    matches!(&violation.kind, ViolationKind::NotNegotiated { capability, .. }
                        if *capability == gate.to_string())
                });
                asked.push((missed, found.is_empty()));
            }
            // One of the sides announces it, the other one may.
            assert!(asked.iter().any(|(missed, _)| *missed), "{version}: {gate}, {index}");
        }
    }
}

#[test]
fn what_comes_before_the_handshake_is_over_is_found() {
    for version in VERSIONS {
        let lines = recorded(if version == "2025-11-25" { "whole-2025-11-25" } else { "whole-2025-03-26" });
        let initialized = place(&lines, |message| message["method"] == "notifications/initialized");
        let mut early = lines.clone();
        early.remove(initialized);
        let found = Observer::follow(revision(version), &early);
        // The client may ask all the same; what the server asks and tells is too early.
        let (place, violation) = found.first().unwrap();
        assert!(!early[*place].0, "{version}: {violation}");
        assert_eq!(violation.states, ["AwaitingNotif"], "{violation}");
        let mut twice = lines.clone();
        twice.insert(initialized, lines[initialized].clone());
        assert_eq!(Observer::follow(revision(version), &twice).len(), 1, "{version}");
    }
}

#[test]
fn every_message_that_comes_twice_or_not_at_all_is_found_where_it_matters() {
    for version in VERSIONS {
        let lines = recorded(if version == "2025-11-25" { "whole-2025-11-25" } else { "whole-2025-03-26" });
        let protocol = revision(version);
        for place in 0..lines.len() {
            let message = &lines[place].1;
            let mut twice = lines.clone();
            twice.insert(place, lines[place].clone());
            let found = Observer::follow(protocol, &twice);
            let shown = format!("{version}: {message}");
            // Two requests of one id, two replies to one request: always wrong. Notifications may be said again.
            let notification = message.get("id").is_none();
            let first = message["method"] == "notifications/initialized";
            assert_eq!(found.is_empty(), notification && !first, "{shown}: {:?}", said(&found));
            if message.get("id").is_some() && message.get("method").is_some() {
                let mut lost = lines.clone();
                lost.remove(place);
                assert!(
                    !Observer::follow(protocol, &lost).is_empty(),
                    "{shown} is lost, and its reply is not"
                );
            }
        }
    }
}

#[test]
fn mistakes_about_tasks_are_found() {
    let protocol = revision("2025-11-25");
    let lines = recorded("whole-2025-11-25");
    let planted = |plant: &dyn Fn(&mut Vec<Line>)| {
        let mut lines = lines.clone();
        plant(&mut lines);
        let mut found = said(&Observer::follow(protocol, &lines));
        found.truncate(1);
        found.pop().unwrap_or_default()
    };
    let created = place(&lines, |message| !message["result"]["task"].is_null());
    let fetched = place(&lines, |message| message["method"] == "tasks/result");
    // A task of a server that has announced none.
    let found = planted(&|lines| {
        let hello = place(lines, |message| message["result"]["protocolVersion"].is_string());
        without(&mut lines[hello].1["result"]["capabilities"], &["tasks".into()]);
    });
    assert!(found.contains("`tasks.requests.tools.call`"), "{found}");
    // A task without an id.
    let found = planted(&|lines| lines[created].1["result"]["task"]["taskId"] = Value::Null);
    assert!(found.contains("does not carry the key `task`"), "{found}");
    // Two tasks of one id at once.
    let found = planted(&|lines| {
        let mut again = lines[created - 1].clone();
        let mut reply = lines[created].clone();
        (again.1["id"], reply.1["id"]) = (json!("again"), json!("again"));
        lines.splice(created + 1..created + 1, [again, reply]);
    });
    assert!(found.contains("\"t1\""), "{found}");
    // The result is asked for while it is waited for.
    let found = planted(&|lines| {
        let mut again = lines[fetched].clone();
        again.1["id"] = json!("again");
        lines.insert(fetched + 1, again);
    });
    assert!(found.contains("`Fetching`"), "{found}");
}
