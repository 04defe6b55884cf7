//! Messages that are permitted only during requests.

use std::collections::HashSet;
use std::fmt::Write;

use crate::random::Random;

/// How many random protocols in a hundred have such messages, and how many of their messages are.
const PROTOCOLS: usize = 40;
const MESSAGES: usize = 40;

/// The messages that each side sends, the client first, as the text of the client's role has them.
fn said(text: &str) -> [HashSet<&str>; 2] {
    let mut said: [HashSet<&str>; 2] = Default::default();
    for line in text.lines() {
        let is_server = line.starts_with("S::") || line.starts_with("S = ");
        let Some((_, body)) = line.split_once(" = ").filter(|_| !is_server) else { continue };
        for (side, sign) in ['!', '?'].into_iter().enumerate() {
            for behind in body.split(sign).skip(1) {
                let end = behind.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(behind.len());
                said[side].extend(behind.get(..end));
            }
        }
    }
    said
}

/// Gives some messages of a protocol requests during which they are permitted. Nothing else of a seed depends on them.
pub(super) fn add(mut random: Random, text: String) -> String {
    if !random.percent(PROTOCOLS) {
        return text;
    }
    let said = said(&text);
    let is_request = |name: &&str| text.contains(&format!("request {name} "));
    let asked = said.clone().map(|names| {
        let mut names: Vec<&str> = names.into_iter().filter(is_request).collect();
        names.sort_unstable();
        names
    });
    // A cancel crosses what is permitted during its request.
    let is_cancellable = |name: &&&str| {
        let declared = text.lines().find(|line| line.starts_with(&format!("request {name} ")));
        declared.is_some_and(|line| line.contains(" cancellable"))
    };
    let cancellable =
        asked.clone().map(|names| names.iter().filter(is_cancellable).copied().collect::<Vec<_>>());
    let mut changed = String::new();
    let mut groups = String::new();
    for line in text.lines() {
        changed += line;
        let mut words = line.split(' ');
        let (word, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let reports = name == "Progress";
        let is_drafted = name.starts_with(['N', 'R']) && matches!(word, "notification" | "request");
        // What either side may send is permitted during the requests of either.
        let senders: Vec<usize> = (0..2).filter(|side| reports || said[*side].contains(name)).collect();
        if (is_drafted || reports) && random.percent(MESSAGES) {
            let mut named: Vec<&str> = Vec::new();
            for sender in senders {
                for _ in 0..1 + random.below(3) {
                    let from = match random.percent(60) && !cancellable[1 - sender].is_empty() {
                        true => &cancellable[1 - sender],
                        false => &asked[1 - sender],
                    };
                    named.extend(random.one(from).filter(|name| !named.contains(name)));
                }
            }
            if !named.is_empty() {
                let when = if random.percent(50) { " if log" } else { "" };
                if random.percent(30) {
                    writeln!(groups, "group During{name} = {}", named.join(" | ")).unwrap();
                    write!(changed, " during During{name}{when}").unwrap();
                } else {
                    write!(changed, " during {}{when}", named.join(" | ")).unwrap();
                }
            }
        }
        changed.push('\n');
    }
    changed + &groups
}
