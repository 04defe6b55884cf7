//! One random session, by itself, as a sub-session, and as a sub-session of another one.
//!
//! Behind its first message it is one linear channel or two, perhaps with a replicated one next to them.

use std::fmt::Write;

use crate::channel::{Channel, Declared};
use crate::random::Random;

/// What a role does behind the first exchange, by the names of its channels.
fn body(name: &str, channels: &[Channel], next_to: Option<&str>, text: &mut String) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (place, channel) in channels.iter().enumerate() {
        let name = format!("{name}{}", ["a", "b"][place]);
        channel.write(&name, text);
        parts.push(format!("{name}0"));
    }
    parts.extend(next_to.map(str::to_owned));
    match parts.as_slice() {
        [only] => only.clone(),
        _ => format!("({})", parts.join(", ")),
    }
}

/// Where the session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Session,
    SubSession,
    /// In a sub-session of another one.
    Inner,
}

pub(crate) const PLACES: [Place; 3] = [Place::Session, Place::SubSession, Place::Inner];

/// What opens the sub-session around an inner one.
pub(crate) const BEGINS: &str = "Begins";

/// The reply to it.
pub(crate) const BEGUN: &str = "Begun";

/// What the sub-session around an inner one does then. It does not end: its end would cut the inner one off.
pub(crate) const GOES: &str = "Goes";

/// A session in each place, as text, and the name of its first message.
pub(crate) fn written(random: &mut Random) -> ([String; 3], String) {
    let mut declared = Declared::default();
    let mut client: Vec<Channel> =
        (0..1 + random.below(2)).map(|_| Channel::random(random, &mut declared)).collect();
    // A sub-session ends where its channels do, and in no other state.
    client.iter_mut().for_each(Channel::only_ends);
    let mut server: Vec<Channel> = client.iter().map(Channel::dual).collect();
    let mut compatible = "";
    if random.percent(50) {
        let place = random.below(server.len());
        server[place].spoil(random);
        server[place].only_ends();
        compatible = if random.percent(50) { " compatible" } else { "" };
    }
    let mut replicated = [None, None];
    if random.percent(30) {
        let note = declared.note();
        let sends = random.percent(50);
        replicated = [sends, !sends].map(|sends| {
            let sign = if sends { '!' } else { '?' };
            Some(format!("*( {sign}{note} . End )"))
        });
    }
    // The way of the first message, as each role sees it.
    let ways = if random.percent(50) { [['!', '?'], ['?', '!']] } else { [['?', '!'], ['!', '?']] };
    let (opener, answer) = match random.percent(50) {
        true => (declared.note(), None),
        false => {
            let (request, reply) = declared.request(false);
            (request, Some(reply))
        }
    };
    let openings = ways.map(|[out, back]| match &answer {
        None => format!("{out}{opener} . "),
        Some(reply) => format!("{out}{opener} . {back}{reply} . "),
    });
    let mut definitions = String::new();
    let bodies = [("C", &client), ("S", &server)].map(|(name, channels)| {
        let place = usize::from(name == "S");
        body(name, channels, replicated[place].as_deref(), &mut definitions)
    });
    let mut text = String::from("protocol Random \"1\"\ntypes wire\n");
    text.push_str(&declared.text);
    let keyed: Vec<String> =
        declared.text.lines().filter_map(|line| Some(format!("{}.k", line.split(' ').nth(1)?))).collect();
    if declared.has_cancellable {
        let reply = if random.percent(40) { " with reply error -32800" } else { "" };
        writeln!(text, "notification Cancel \"cancel\" (P) cancels id{reply}").unwrap();
    }
    let texts = PLACES.map(|place| {
        let mut text = text.clone();
        if place != Place::Session {
            writeln!(text, "key k = {}", keyed.join(" | ")).unwrap();
        }
        if place == Place::Inner {
            let keyed = keyed.join(" | ").replace(".k", ".o");
            writeln!(
                text,
                "request {BEGINS} \"begins\" (P) -> {BEGUN} (P)\nnotification {GOES} \"goes\" (P)"
            )
            .unwrap();
            writeln!(text, "key o = {BEGINS}.o | {GOES}.o | {keyed}").unwrap();
        }
        writeln!(text, "client C{compatible}\nserver S\n{definitions}").unwrap();
        for (name, role, [out, back]) in [("C", 0, ['!', '?']), ("S", 1, ['?', '!'])] {
            let session = format!("{}{}", openings[role], bodies[role]);
            let role = match place {
                Place::Session => session,
                Place::SubSession => format!("*( {session} )"),
                Place::Inner => {
                    format!(
                        "*( {out}{BEGINS} . {back}{BEGUN} . ( rec on . {out}{GOES} . on, *( {session} ) ) )"
                    )
                }
            };
            writeln!(text, "{name} = {role}").unwrap();
        }
        text
    });
    (texts, opener)
}
