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
