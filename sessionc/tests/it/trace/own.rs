//! Protocols that are not shipped, and logs of them.

use std::fs;
use std::path::Path;

use super::command::{Found, trace_of};

/// Judges a log by a protocol. A line begins with `>` where the client sends it, and with `<` where the server does.
fn judged(name: &str, protocol: &str, log: &str) -> Found {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.session"));
    fs::write(&file, protocol).unwrap();
    let line = |line: &str| {
        let (direction, rest) = line.trim().split_once(' ').unwrap();
        let direction = if direction == ">" { "c2s" } else { "s2c" };
        let rest = rest.strip_prefix('{').unwrap();
        format!("{{\"dir\":\"{direction}\",\"msg\":{{\"jsonrpc\":\"2.0\",{rest}}}\n")
    };
    trace_of(&[file.to_str().unwrap()], log.lines().map(line).collect::<String>())
}

const LIFE: &str = r#"protocol N "1"
notification Hi "hi"
request Ask "ask" -> Answer
request Quit "quit" -> Gone
request Use "use" -> Used
client C
server S = dual C
"#;

#[test]
fn a_step_is_not_missing_where_what_came_may_come_without_it() {
    for (number, rest) in [
        "C = !Hi . Ready\nReady = *( !Ask . ?reply . End ) ⊕ !Quit . ?Gone . *( !Use . ?reply . End )",
        "C = !Hi . (*( !Ask . ?reply . End ), Life)\nLife = !Quit . ?Gone . *( !Use . ?reply . End )",
        "C = !Hi . rec on . ( !Ask . ?reply . on ⊕ !Quit . ?Gone . *( !Use . ?reply . End ) )",
    ]
    .into_iter()
    .enumerate()
    {
        let (name, protocol) = (format!("life-{number}"), format!("{LIFE}{rest}\n"));
        let log = "> {\"method\":\"hi\"}\n> {\"id\":1,\"method\":\"ask\"}\n< {\"id\":1,\"result\":{}}";
        assert_eq!(judged(&name, &protocol, log).places(), [], "{protocol}");
        // What may come only after it shows that it is missing.
        let log = format!("{log}\n> {{\"id\":2,\"method\":\"use\"}}\n< {{\"id\":2,\"result\":{{}}}}");
        assert_eq!(judged(&name, &protocol, &log).lines(), [4], "{protocol}");
    }
}

#[test]
fn a_session_that_never_leaves_its_first_state_is_judged_from_its_beginning() {
    let keyed = r#"type K = { k: string }
request Open "open" (K) -> Opened
notification Step "step" (K)
key k = Open.k | Step.k
client A
server B = dual A
Sub = !Open . ?Opened . rec on . !Step . on
"#;
    let log = r#"> {"id":1,"method":"open","params":{"k":"a"}}
< {"id":1,"result":{}}
> {"method":"step","params":{"k":"b"}}
< {"id":7,"result":{}}"#;
    for (number, rest) in [
        "A = *Sub",
        "A = (*Sub, *( !More . End ))\nnotification More \"more\"",
        "A = (*Sub, rec on . !More . on)\nnotification More \"more\"",
        "A = (*Sub, Life)\nLife = !Quit . ?Gone . End\nrequest Quit \"quit\" -> Gone",
    ]
    .into_iter()
    .enumerate()
    {
        let (name, protocol) = (format!("first-{number}"), format!("protocol V \"1\"\n{keyed}{rest}\n"));
        let found = judged(&name, &protocol, log);
        let expected = [(3, "correlation".to_owned()), (4, "correlation".to_owned())];
        assert_eq!((found.places(), found.unobserved()), (expected.to_vec(), vec![]), "{protocol}");
        // A mistake of another kind does not hide them.
        let found = judged(&name, &protocol, &format!("{log}\n< {{\"method\":\"nope\"}}"));
        assert_eq!(found.lines(), [3, 4, 5], "{protocol}");
        // What does not begin a session is held against neither side.
        let rest = log.split_once('\n').unwrap().1;
        let found = judged(&name, &protocol, rest);
        assert_eq!((found.places(), found.unobserved().len()), (Vec::new(), 1), "{protocol}");
    }
}

#[test]
fn a_capability_is_missed_where_the_first_state_is_never_left() {
    let protocol = r#"protocol V "1"
type O = { capabilities: { tools?: {} } }
request Open "open" (O) -> Opened
notification Use "use" requires client.tools
capabilities client = Open.capabilities
client A
server B = dual A
A = (*( !Open . ?reply . End ), *( !Use . End ))
"#;
    let log = r#"> {"id":1,"method":"open","params":{"capabilities":{}}}
< {"id":1,"result":{}}
> {"method":"use"}"#;
    assert_eq!(judged("granted", protocol, log).places(), [(3, "capability".to_owned())]);
}

/// Many peers leave out params that would be an empty list.
#[test]
fn params_that_are_left_out_are_read_as_an_empty_list() {
    let protocol = r#"protocol Chain "1"
request Id "id" ([]) -> Name (string)
request Of "of" ([string, int?]) -> Amount (int)
client Wallet
server Node = dual Wallet
Wallet = (*( !Id . ?reply . End ), *( !Of . ?reply . End ))
"#;
    let log = r#"> {"id":1,"method":"id"}
< {"id":1,"result":"a"}
> {"id":2,"method":"of"}
< {"id":2,"error":{"code":-32602,"message":"whose?"}}"#;
    let found = judged("absent-params", protocol, log);
    assert_eq!(found.lines(), [3]);
    let said = found.findings[0]["message"].as_str().unwrap();
    assert_eq!(said, "`of` does not have its shape: [0]: expected a string, found nothing");
}

/// Protocols may name the sub-session of a message next to its params.
#[test]
fn a_key_in_the_envelope_ties_a_message_to_its_sub_session() {
    let protocol = r#"protocol Tabs "1"
request Attach "attach" ({ target: string }) -> Attached ({ session: string })
request Go "go" ({ url: string }) -> Gone
notification Over "over" ({ session: string })
key session = Attached.session | Over.session | session of Go
client Client
server Browser = dual Client
Client = *Tab
Tab = !Attach . ?Attached . (Watched, *( !Go . ?Gone . End ))
Watched = ?Over . End
"#;
    let log = r#"> {"id":1,"method":"attach","params":{"target":"a"}}
< {"id":1,"result":{"session":"A"}}
> {"id":2,"method":"attach","params":{"target":"b"}}
< {"id":2,"result":{"session":"B"}}
> {"id":3,"method":"go","params":{"url":"u"},"session":"A"}
> {"id":4,"method":"go","params":{"url":"u"},"session":"B"}
< {"id":4,"result":{},"session":"B"}
< {"id":3,"result":{}}
> {"id":5,"method":"go","params":{"url":"u"},"session":"A"}
< {"id":5,"result":{},"session":"B"}
< {"method":"over","params":{"session":"A"}}
> {"id":6,"method":"go","params":{"url":"u"}}
< {"method":"over","params":{"session":"B"}}"#;
    let found = judged("envelope", protocol, log);
    let correlation = |line: u64| (line, "correlation".to_owned());
    assert_eq!(found.places(), [correlation(10), correlation(12)]);
    for finding in &found.findings {
        let hint = finding["hint"].as_str().unwrap();
        assert!(hint.contains("in the member `session` of its envelope"), "{hint}");
    }
}

/// The ids of OVSDB's monitors are any JSON, of which only texts and whole numbers are compared.
#[test]
fn a_key_that_is_not_carried_is_said_with_its_place_and_its_form() {
    let protocol = r#"protocol Database "1"
request Monitor "monitor" ([database: string, id: any]) -> Rows
notification Update "update" ({ about: { id: any } })
notification Gone "gone" (any)
key monitor = Monitor.id | Update.about.id | Gone
client C
server S = dual C
C = *Monitored
Monitored = !Monitor . ?Rows . rec on . ( ?Update . on & ?Gone . End )
"#;
    for (message, place) in [
        (r#"> {"id":1,"method":"monitor","params":["d",["a","b"]]}"#, "at `1` of its payload"),
        (r#"< {"method":"update","params":{"about":{"id":null}}}"#, "at `about.id` of its payload"),
        (r#"< {"method":"gone","params":[]}"#, "as its payload"),
    ] {
        let found = judged("a-key-of-any-form", protocol, message);
        let hint =
            format!("carry the monitor of what the message belongs to, {place}: a text or a whole number");
        let hints: Vec<&str> =
            found.findings.iter().map(|finding| finding["hint"].as_str().unwrap()).collect();
        assert_eq!(hints, [hint], "{message}");
    }
}
