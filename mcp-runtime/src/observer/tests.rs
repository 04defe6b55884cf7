use mcp_protocol_machine::Token;
use mcp_protocol_machine::protocol::edges::{receive, send};
use mcp_protocol_machine::protocol::{
    Dialect, Key, KeyIndex, Message, MessageIndex, MessageKey, Path, Protocol, Role, Side, State, StateIndex,
    StateKind, Text,
};

use super::*;
use crate::options::Options;

const OPEN: MessageIndex = MessageIndex(0);
const OPENED: MessageIndex = MessageIndex(1);
const OPEN_REFUSED: MessageIndex = MessageIndex(2);
const ADD: MessageIndex = MessageIndex(3);

static MESSAGES: [Message; 4] = [
    Message::request("Open", "open"),
    Message::reply("Opened", OPEN),
    Message::refusal("OpenError", OPEN),
    Message::notification("Add", "add"),
];
static CLIENT: [State; 3] = [
    State::linear("Closed", &[send(OPEN, StateIndex(1))]),
    State::linear("Opening", &[receive(OPENED, StateIndex(2)), receive(OPEN_REFUSED, StateIndex(0))]),
    State::linear("Ready", &[send(ADD, StateIndex(2))]),
];
static SERVER: [State; 3] = [
    State::linear("Closed", &[receive(OPEN, StateIndex(1))]),
    State::linear("Opening", &[send(OPENED, StateIndex(2)), send(OPEN_REFUSED, StateIndex(0))]),
    State::linear("Ready", &[receive(ADD, StateIndex(2))]),
];
static COUNTER: Protocol = Protocol::table("Counter", &MESSAGES)
    .client(Role::table("Teller", &CLIENT))
    .server(Role::table("Counter", &SERVER));

fn observer() -> Observer {
    Observer::new(&COUNTER, Options::new()).unwrap()
}

/// What an observer says of one message.
fn one(observer: &mut Observer, sender: Side, text: &str) -> Observed {
    let mut all = observer.observe(sender, text.as_bytes());
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

fn said(observer: &mut Observer, sender: Side, text: &str) -> String {
    let all: Vec<String> = one(observer, sender, text).reports.iter().map(ToString::to_string).collect();
    all.join("; ")
}

const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"open"}"#;
const ANSWERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const ADDED: &str = r#"{"jsonrpc":"2.0","method":"add"}"#;

#[test]
fn a_session_that_follows_the_protocol_is_clean() {
    let mut observer = observer();
    for (sender, text) in [(Side::Client, ASKED), (Side::Server, ANSWERED), (Side::Client, ADDED)] {
        let observed = one(&mut observer, sender, text);
        assert!(observed.is_clean() && observed.step.is_some(), "{observed:?}");
    }
    assert_eq!(observer.state(), "Ready");
    assert!(observer.observe(Side::Client, b" \n").is_empty());
}

#[test]
fn a_message_out_of_order_changes_nothing() {
    let mut observer = observer();
    assert!(said(&mut observer, Side::Client, ADDED).contains("`add` is not permitted in `Closed`"));
    assert_eq!(observer.state(), "Closed");
    assert!(one(&mut observer, Side::Client, ASKED).is_clean());
    assert!(
        said(&mut observer, Side::Client, r#"{"jsonrpc":"2.0","id":2,"method":"open"}"#).contains("Opening")
    );
    // The error that answers it is not a second mistake.
    let refused = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}"#;
    assert_eq!(said(&mut observer, Side::Server, refused), "");
    assert_eq!(observer.unanswered().len(), 1);
    assert_eq!(observer.unanswered()[0].message, OPEN);
}

#[test]
fn what_cannot_be_read_is_reported_once() {
    let mut observer = observer();
    assert!(said(&mut observer, Side::Client, "{").contains("not JSON"));
    let complaint = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what"}}"#;
    assert_eq!(said(&mut observer, Side::Server, complaint), "");
    assert!(said(&mut observer, Side::Server, complaint).contains("could not read a message"));
    assert!(
        said(&mut observer, Side::Client, r#"{"jsonrpc":"2.0","id":1.5,"method":"open"}"#).contains("1.5")
    );
    let echo = r#"{"jsonrpc":"2.0","id":1.5,"error":{"code":-32600,"message":"what"}}"#;
    assert_eq!(said(&mut observer, Side::Server, echo), "");
    assert!(said(&mut observer, Side::Client, r#"{"jsonrpc":"2.0","id":9}"#).contains("id 9"));
    let answer = r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"what"}}"#;
    assert_eq!(said(&mut observer, Side::Server, answer), "");
}

#[test]
fn an_observer_may_begin_in_the_middle() {
    let mut observer = observer();
    let unknown = observer.begin_in("Redy").unwrap_err();
    assert_eq!(unknown.known(), ["Closed", "Opening", "Ready"]);
    observer.begin_in("Ready").unwrap();
    assert!(one(&mut observer, Side::Client, ADDED).is_clean());
    // The request that this answers was sent before.
    assert_eq!(said(&mut observer, Side::Server, ANSWERED), "");
}

#[test]
fn a_refused_request_leads_back() {
    let mut observer = observer();
    one(&mut observer, Side::Client, ASKED);
    let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#;
    let observed = one(&mut observer, Side::Server, refused);
    assert_eq!(observed.message, Some(OPEN_REFUSED));
    assert_eq!(observed.error.map(|error| error.code), Some(-32000));
    assert_eq!(observer.state(), "Closed");
    assert_eq!(observer.permitted(Side::Client), [OPEN]);
    assert!(observer.permits(Side::Client, OPEN) && !observer.permits(Side::Server, OPEN));
}

#[test]
fn an_observer_says_what_a_session_waits_for() {
    let mut observer = observer();
    assert_eq!(observer.state_names(), ["Closed", "Opening", "Ready"]);
    let owed = observer.owes();
    assert_eq!(owed.len(), 1);
    assert_eq!((owed[0].side, owed[0].message, &*owed[0].state), (Side::Client, OPEN, "Closed"));
    assert_eq!(owed[0].next, ["Opening"]);
    assert_eq!(observer.needing(&owed[0]), [ADD]);
    assert!(observer.begins_session(OPEN) && !observer.begins_session(ADD));
    // A reply is not a step that is owed, and neither is one after which the state is the same.
    one(&mut observer, Side::Client, ASKED);
    assert_eq!(observer.owes(), []);
    assert!(!observer.unanswered()[0].stays_open);
    one(&mut observer, Side::Server, ANSWERED);
    assert_eq!(observer.owes(), []);
}

#[test]
fn a_clone_goes_its_own_way() {
    let mut observer = observer();
    let mut other = observer.clone();
    assert!(one(&mut other, Side::Client, ASKED).is_clean());
    assert_eq!((observer.state(), other.state()), ("Closed".to_owned(), "Opening".to_owned()));
    assert!(one(&mut observer, Side::Client, ASKED).is_clean());
}

static TOKEN: [Text; 1] = [Text::Borrowed("token")];
static TOKENS: [Path; 1] = [Path::Borrowed(&TOKEN)];
static REPORTING: [Message; 4] = [
    Message::request("Count", "count"),
    Message::reply("Counted", OPEN),
    Message::refusal("CountError", OPEN),
    Message::notification("Progress", "progress").reports(&TOKEN, &TOKENS),
];
static COUNTING: [State; 2] = [
    State::linear("Idle", &[receive(OPEN, StateIndex(1))]),
    State::linear("Busy", &[send(OPENED, StateIndex(0)), send(OPEN_REFUSED, StateIndex(0))]),
];
static REPORTS: Protocol = Protocol::table("Reports", &REPORTING).server(Role::table("Counter", &COUNTING));

#[test]
fn a_message_has_the_token_of_its_request() {
    let mut observer = Observer::new(&REPORTS, Options::new()).unwrap();
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"count","params":{"token":"t"}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"progress","params":{"token":"t"}}"#;
    assert_eq!(one(&mut observer, Side::Client, asked).token, Some(Token::from("t")));
    let running = one(&mut observer, Side::Server, progress);
    assert_eq!((running.token, running.about), (Some(Token::from("t")), Some(RequestId::Number(1))));
    one(&mut observer, Side::Server, ANSWERED);
    // The request is over: what it was is known by the token alone.
    let late = one(&mut observer, Side::Server, progress);
    assert_eq!((late.token, late.about), (Some(Token::from("t")), None));
    assert_eq!(late.step, Some(StepKind::Swallowed));
}

#[test]
fn a_reply_to_a_message_that_was_missed_is_not_reported() {
    let reply = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    let mut observer = observer();
    assert!(!said(&mut observer, Side::Server, reply).is_empty());
    observer.missed_messages();
    assert_eq!(said(&mut observer, Side::Server, reply), "");
}

#[test]
fn a_message_that_was_read_with_its_line_is_judged_as_its_text_is() {
    let messages = [
        (Side::Client, ASKED),
        (Side::Server, ANSWERED),
        (Side::Client, r#"{"jsonrpc":"2.0","\u0069d":2,"method":"open"}"#),
        (Side::Client, r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"open"}"#),
        (Side::Client, r#"{"jsonrpc":"1.0","id":4,"method":"open","params":{"a":[1]}}"#),
        (Side::Server, r#"{"jsonrpc":"2.0","id":9,"error":{"code":"no"}}"#),
        (Side::Client, "[]"),
        (Side::Client, "7"),
    ];
    let deep =
        format!(r#"{{"jsonrpc":"2.0","method":"add","params":{}{}}}"#, "[".repeat(110), "]".repeat(110));
    let (mut of_texts, mut of_values) = (observer(), observer());
    let mut reader = JsonReader::default();
    let mut observed = Vec::new();
    for (sender, text) in messages.into_iter().chain([(Side::Client, &*deep)]) {
        let line = format!(r#"{{"t":1,"msg": {text} }}"#);
        let message = reader.read(&line).and_then(|line| line.member("msg")).unwrap();
        assert_eq!(of_values.request_of(sender, message), of_texts.request_of(sender, text.as_bytes()));
        of_values.observe_into(sender, message, &mut observed);
        let expected = of_texts.observe(sender, text.as_bytes());
        assert_eq!(format!("{observed:?}"), format!("{expected:?}"), "{text}");
        observed.clear();
    }
    assert_eq!(of_texts.request_of(Side::Client, ASKED.as_bytes()), Some((OPEN, RequestId::Number(1))));
}

#[test]
fn a_message_that_did_not_arrive_can_be_sent_again() {
    let mut observer = observer();
    let asked = one(&mut observer, Side::Client, ASKED);
    assert_eq!((observer.state(), observer.unanswered().len()), ("Opening".to_owned(), 1));
    observer.withdraw(&asked);
    assert_eq!((observer.state(), observer.unanswered().len()), ("Closed".to_owned(), 0));
    assert!(one(&mut observer, Side::Client, ASKED).is_clean(), "its id is free");
    // That it is used now is not undone by the message that used it once more.
    let again = one(&mut observer, Side::Client, ASKED);
    assert!(again.violation().is_some());
    observer.withdraw(&again);
    assert_eq!(observer.unanswered().len(), 1);
    assert!(one(&mut observer, Side::Server, ANSWERED).is_clean());
    assert!(said(&mut observer, Side::Client, ASKED).contains("has used before"));
    // The request that was refused as a violation did not arrive either.
    let early = r#"{"jsonrpc":"2.0","id":2,"method":"open"}"#;
    let refused = one(&mut observer, Side::Client, early);
    observer.withdraw(&refused);
    assert!(said(&mut observer, Side::Client, early).contains("`open` is not permitted in `Ready`"));
}

#[test]
fn a_token_and_a_step_that_did_not_arrive_are_free() {
    let mut observer = Observer::new(&REPORTS, Options::new()).unwrap();
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"count","params":{"token":"t"}}"#;
    let request = one(&mut observer, Side::Client, asked);
    observer.withdraw(&request);
    assert_eq!(observer.state(), "Idle");
    // It arrived all the same.
    assert_eq!(said(&mut observer, Side::Server, ANSWERED), "");
    assert!(one(&mut observer, Side::Client, asked).is_clean());
    let progress = r#"{"jsonrpc":"2.0","method":"progress","params":{"token":"t"}}"#;
    assert!(one(&mut observer, Side::Server, progress).is_clean());
}

static BEGUN: [Message; 4] = [
    Message::notification("Begin", "begin"),
    Message::request("Ask", "ask"),
    Message::reply("Asked", OPENED),
    Message::refusal("AskError", OPENED),
];
static BEGINNING: [State; 4] = [
    State::linear("Closed", &[receive(OPEN, StateIndex(1))]),
    State::linear("Ready", &[send(OPENED, StateIndex(2)).spawn()]),
    State::linear("Asking", &[receive(OPEN_REFUSED, StateIndex(3)), receive(ADD, StateIndex(3))]),
    State::linear("Over", &[]),
];

/// A session that begins with a notification, and whose server may ask for something any number of times.
fn beginning() -> Protocol {
    let mut protocol = Protocol::table("Begins", &BEGUN).server(Role::table("Server", &BEGINNING));
    let states = protocol.server.as_mut().unwrap().states.to_mut();
    states[1].kind = StateKind::Replicated;
    states[3].kind = StateKind::End;
    protocol
}

#[test]
fn a_notification_and_a_reply_that_did_not_arrive_can_be_sent_again() {
    let mut observer = Observer::new(beginning(), Options::new()).unwrap();
    let begin = r#"{"jsonrpc":"2.0","method":"begin"}"#;
    let begun = one(&mut observer, Side::Client, begin);
    assert_eq!(observer.state(), "Ready");
    observer.withdraw(&begun);
    assert_eq!(observer.state(), "Closed");
    assert!(one(&mut observer, Side::Client, begin).is_clean());
    assert!(one(&mut observer, Side::Server, r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#).is_clean());
    let reply = one(&mut observer, Side::Client, ANSWERED);
    assert!(reply.is_clean() && observer.unanswered().is_empty());
    observer.withdraw(&reply);
    assert_eq!(observer.unanswered().len(), 1);
    assert!(one(&mut observer, Side::Client, ANSWERED).is_clean());
    assert!(!said(&mut observer, Side::Client, ANSWERED).is_empty());
}

#[test]
fn a_request_that_was_passed_on_out_of_order_is_followed() {
    let mut observer = Observer::new(beginning(), Options::new()).unwrap();
    let early = one(&mut observer, Side::Server, r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#);
    assert!(early.violation().is_some() && observer.unanswered().is_empty());
    assert!(observer.passed_on(&early));
    assert_eq!(observer.state(), "Closed");
    assert_eq!(observer.unanswered().len(), 1);
    let answered = one(&mut observer, Side::Client, ANSWERED);
    assert!(answered.is_clean() && observer.unanswered().is_empty());
    assert_eq!(answered.message, Some(OPEN_REFUSED), "it is the reply to this request");
    assert!(!said(&mut observer, Side::Client, ANSWERED).is_empty(), "there is one reply");
    // The id belongs to a request that has its reply.
    let again = one(&mut observer, Side::Server, r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#);
    assert!(!observer.passed_on(&again));
    assert!(observer.unanswered().is_empty());
    // It did not arrive after all.
    let other = r#"{"jsonrpc":"2.0","id":2,"method":"ask"}"#;
    let early = one(&mut observer, Side::Server, other);
    assert!(observer.passed_on(&early));
    observer.withdraw(&early);
    assert!(observer.unanswered().is_empty());
    assert!(said(&mut observer, Side::Server, other).contains("is not permitted in `Closed`"));
}

#[test]
fn a_request_that_leads_to_another_state_is_not_followed_out_of_order() {
    let mut observer = observer();
    one(&mut observer, Side::Client, ASKED);
    let second = one(&mut observer, Side::Client, r#"{"jsonrpc":"2.0","id":2,"method":"open"}"#);
    assert!(!observer.passed_on(&second));
    assert_eq!(observer.unanswered().len(), 1);
    assert_eq!(said(&mut observer, Side::Server, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#), "");
}

#[test]
fn a_reply_that_cannot_be_read_uses_no_id_of_its_sender() {
    for reply in [
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}"#,
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
    ] {
        let mut observer = Observer::new(beginning(), Options::new()).unwrap();
        one(&mut observer, Side::Client, r#"{"jsonrpc":"2.0","method":"begin"}"#);
        let ask = r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#;
        assert!(one(&mut observer, Side::Server, ask).is_clean());
        assert!(!one(&mut observer, Side::Client, reply).is_clean());
        // An error of the server with this id would answer a request of the client.
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#;
        assert!(!said(&mut observer, Side::Server, error).is_empty(), "{reply}");
    }
}

/// The messages of a protocol, with a session in the envelope of one of them.
fn with_session_member(dialect: Dialect) -> Observer {
    let mut protocol = COUNTER.clone();
    protocol.dialect = dialect;
    protocol.keys = vec![Key::named("session")].into();
    let key = MessageKey::member(KeyIndex(0), "session");
    protocol.messages.to_mut()[3].keys = vec![key].into();
    Observer::new(Arc::new(protocol), Options::new()).unwrap()
}

#[test]
fn an_error_reply_is_of_the_dialect_and_has_the_members_of_the_message() {
    let error = RpcError::new(1, "x");
    let id = RequestId::from(1);
    let cases = [
        (Dialect::Standard, r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"},"session":"S"}"#),
        (Dialect::WithoutJsonrpc, r#"{"id":1,"error":{"code":1,"message":"x"},"session":"S"}"#),
        (Dialect::Version1, r#"{"id":1,"result":null,"error":{"code":1,"message":"x"},"session":"S"}"#),
    ];
    for (dialect, expected) in cases {
        let observer = with_session_member(dialect);
        // It need not be a message that the protocol has, and not even one of JSON-RPC.
        for message in [
            &br#"{"id":1,"method":"nothing","session":"S","other":2}"#[..],
            br#"{"id":{},"method":"add","session":"S"}"#,
        ] {
            let written = observer.error_reply(message, Some(&id), &error);
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
        let cut_off = observer.error_reply(br#"{"session":"S","met"#, None, &error);
        let cut_off: serde_json::Value = serde_json::from_slice(&cut_off).unwrap();
        assert_eq!((&cut_off["id"], cut_off.get("session")), (&serde_json::Value::Null, None));
    }
}

#[test]
fn an_error_in_place_of_a_reply_has_the_members_of_its_request() {
    let mut protocol = COUNTER.clone();
    protocol.keys = vec![Key::named("session")].into();
    let key = MessageKey::member(KeyIndex(0), "session");
    protocol.messages.to_mut()[usize::from(OPEN.0)].keys = vec![key].into();
    let protocol = Arc::new(protocol);
    let (id, error) = (RequestId::from(1), RpcError::new(1, "x"));
    for (asked, members) in
        [(ASKED.replace('}', r#","session":"S"}"#), r#","session":"S""#), (ASKED.to_owned(), "")]
    {
        let mut observer = Observer::new(Arc::clone(&protocol), Options::new()).unwrap();
        assert_eq!(said(&mut observer, Side::Client, &asked), "");
        let wrong = ANSWERED.replace("}}", r#"},"session":"T"}"#);
        assert!(said(&mut observer, Side::Server, &wrong).contains("\"T\""), "{asked}");
        let written = String::from_utf8(observer.error_in_place(Side::Server, &id, &error)).unwrap();
        let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}"#;
        assert_eq!(written, format!("{expected}{members}}}"));
        assert_eq!(said(&mut observer, Side::Server, &written), "");
        assert_eq!(observer.awaited(Side::Server, &id), None);
    }
}
