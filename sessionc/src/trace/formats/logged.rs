//! A message that is a member of what a program logs, or stands in a text that is one.

use mcp_runtime::observer::JsonValue;
use serde_json::Value;

use super::envelope::{EnvelopeParts, read_parts};
use super::journal;
use super::record::{Broken, LogReader, Place};
use super::said_around::SaidAround;

/// What a line has in place of a message: programs write what they log for people as a member of an object, too.
#[derive(Debug)]
pub(super) struct LoggedText {
    /// Otherwise why it is not read.
    pub(super) text: Result<String, String>,
    pub(super) said: SaidAround,
}

/// The bytes of `"jsonrpc"` as `tshark -T json` shows them.
const BYTES_OF_MARK: &[u8] = b"22:6a:73:6f:6e:72:70:63:22";

/// How deep in what a program logs a message is looked for.
const DEEPEST: usize = 4;

/// Finds the message in an object that is not a message, as it may be a member of what a program logs. Returns the texts
/// that the object has in its place.
#[cold]
pub(super) fn read(
    place: Place,
    object: JsonValue<'_>,
    parts: &EnvelopeParts<'_>,
    reader: &mut impl LogReader,
) -> Result<Vec<LoggedText>, String> {
    if let Some(text) = journal::text(object)? {
        let said = SaidAround::default();
        let text = Some(text).filter(|text| text.contains("jsonrpc"));
        return Ok(text.map(|text| LoggedText { text: Ok(text), said }).into_iter().collect());
    }
    if memchr::memmem::find(object.written().as_bytes(), BYTES_OF_MARK).is_some() {
        return Err("the object shows the bytes of a message as numbers: `tshark -r FILE -q -z follow,tcp,ascii,0` writes the \
                    text of the first connection, and with 1, 2, … that of the next ones"
            .to_owned());
    }
    let words = parts.content();
    let marks = |text: &str| memchr::memmem::find_iter(text.as_bytes(), b"jsonrpc").count();
    if marks(object.written()) == words.map_or(0, marks) {
        if words.is_some() || parts.seems_request {
            read_parts(place, || object.into(), parts, reader);
        }
        return Ok(Vec::new());
    }
    let found = find(object, &SaidAround::default(), DEEPEST);
    if found.iter().all(|one| matches!(one, FoundLogged::Unread { .. })) {
        return Err(match path_of_list(object.written()) {
            Some(path) => format!(
                "the object has messages in a list: write each element of it on a line of its own, as \
                 `jq -c '{path}' FILE | sessionc trace … -` does"
            ),
            None => "the object has a message in it, and not as a member: write the message on the line, or \
                     as `msg` with its `dir`"
                .to_owned(),
        });
    }
    // Texts are read later, and what follows one of them stays behind it.
    if found.iter().any(|one| matches!(one, FoundLogged::Text(_))) {
        return Ok(found.into_iter().map(FoundLogged::into_text).collect());
    }
    // Which replies may be in what is not read, its place says.
    let has_gap = found.iter().any(|one| matches!(one, FoundLogged::Unread { .. }));
    for (entry, one) in (1..).zip(found) {
        let place = if has_gap { Place { entry: Some(entry), ..place } } else { place };
        match one {
            FoundLogged::Message(value, said) => {
                let parts = EnvelopeParts::of_value(value).unwrap_or_default();
                read_parts(place, || value.into(), &parts, &mut said.fill(reader));
            }
            FoundLogged::Text(_) => {}
            FoundLogged::Unread { member, is_list } => {
                reader.broken(Broken { place, may_be_message: true, problem: unread(member, is_list) });
            }
        }
    }
    Ok(Vec::new())
}

/// The elements of the lists in which an object has messages, as `jq` names them: `.hits.hits[]`.
fn path_of_list(object: &str) -> Option<String> {
    let has_message = |value: &&Value| value.to_string().contains("jsonrpc");
    let (mut path, mut end) = (String::new(), 0);
    let mut value: Value = serde_json::from_str(object).ok()?;
    loop {
        value = match value {
            Value::Object(members) => {
                let (name, member) = members.into_iter().find(|(_, member)| has_message(&member))?;
                let is_word =
                    !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
                match is_word {
                    true => path.push_str(&format!(".{name}")),
                    false => path.push_str(&format!("[{}]", Value::from(name))),
                }
                member
            }
            Value::Array(elements) => {
                path.push_str("[]");
                end = path.len();
                elements.into_iter().find(|element| has_message(&element))?
            }
            _ => break,
        };
        if value.get("jsonrpc").is_some() {
            break;
        }
    }
    path.truncate(end);
    (!path.is_empty()).then_some(path)
}

/// A place in an object at which it has a message.
enum FoundLogged<'a> {
    /// It is a message, or an envelope with one.
    Message(JsonValue<'a>, SaidAround),
    Text(LoggedText),
    /// A message is in this member, and not where one is looked for.
    Unread {
        member: &'static str,
        is_list: bool,
    },
}

/// The members under which programs log what was asked, and what was answered.
const EXCHANGED: [[&str; 4]; 2] =
    [["request", "req", "requestBody", "request_body"], ["response", "res", "responseBody", "response_body"]];

/// Looks for a message among the members of an object, then for a text with one, then in its objects. An object may have
/// a request and the reply to it, in this order.
fn find<'a>(object: JsonValue<'a>, around: &SaidAround, deepest: usize) -> Vec<FoundLogged<'a>> {
    let own = EnvelopeParts::of_value(object);
    let said = own.as_ref().and_then(EnvelopeParts::said).unwrap_or_else(|| around.clone());
    if let [Some(request), Some(reply)] = EXCHANGED.map(|names| exchanged(object, names)) {
        return [request, reply]
            .into_iter()
            .flat_map(|(name, it)| find_part(name, it, &said, deepest))
            .collect();
    }
    if let Some((_, message)) = object.members().find(|(_, member)| is_message(*member)) {
        return vec![FoundLogged::Message(message, said)];
    }
    if let Some(text) = object.members().find_map(|(_, member)| text_of(member, &said)) {
        return vec![FoundLogged::Text(text)];
    }
    let inside = object.members().filter(|_| deepest > 1);
    inside
        .map(|(_, member)| find(member, &said, deepest - 1))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// The member of an object with one of these names, if a message seems to be in it.
fn exchanged<'a>(object: JsonValue<'a>, names: [&'static str; 4]) -> Option<(&'static str, JsonValue<'a>)> {
    object.members().find_map(|(key, member)| {
        let name = names.into_iter().find(|name| *name == key)?;
        member.written().contains("jsonrpc").then_some((name, member))
    })
}

/// What is found in one of the two parts of an exchange. The other one does not excuse what is not found there.
fn find_part<'a>(
    member: &'static str,
    value: JsonValue<'a>,
    said: &SaidAround,
    deepest: usize,
) -> Vec<FoundLogged<'a>> {
    if is_message(value) {
        return vec![FoundLogged::Message(value, said.clone())];
    }
    if let Some(text) = text_of(value, said) {
        return vec![FoundLogged::Text(text)];
    }
    let found = if deepest > 1 { find(value, said, deepest - 1) } else { Vec::new() };
    match found.is_empty() {
        true => vec![FoundLogged::Unread { member, is_list: path_of_list(value.written()).is_some() }],
        false => found,
    }
}

/// Whether a value is a message, or an envelope with one.
fn is_message(value: JsonValue<'_>) -> bool {
    let parts = EnvelopeParts::of_value(value);
    parts.is_some_and(|parts| parts.seems_message || parts.is_envelope() && !parts.has_words())
}

/// The text that a value is, if a message seems to be in it.
fn text_of(value: JsonValue<'_>, said: &SaidAround) -> Option<LoggedText> {
    let text = value.text().filter(|text| text.contains("jsonrpc"))?;
    Some(LoggedText { text: Ok(text.into_owned()), said: said.clone() })
}

impl FoundLogged<'_> {
    fn into_text(self) -> LoggedText {
        match self {
            FoundLogged::Message(value, said) => LoggedText { text: Ok(value.written().to_owned()), said },
            FoundLogged::Text(text) => text,
            FoundLogged::Unread { member, is_list } => {
                LoggedText { text: Err(unread(member, is_list)), said: SaidAround::default() }
            }
        }
    }
}

/// Why the message in a member of an object was not found.
fn unread(member: &str, is_list: bool) -> String {
    match is_list {
        true => format!("`{member}` has messages in a list: write each of them on a line of its own"),
        false => {
            format!("`{member}` has a message in it, and not as a member: write it on a line of its own")
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_runtime::observer::JsonReader;
    use mcp_runtime::protocol::Side;

    use super::super::json_lines;
    use super::super::record::Sender;
    use super::super::record::tests::{Notes, notes as notes_of};
    use super::super::tests::notes as notes_of_log;
    use super::*;

    fn notes(log: &str) -> Notes {
        let mut json = JsonReader::default();
        notes_of(log, |place, line, notes| json_lines::read(place, line, &mut json, notes).map(drop))
    }

    #[test]
    fn an_object_may_have_a_request_and_its_reply() {
        let (asked, answered) =
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let event = format!("event: message\ndata: {answered}\n\n");
        let [asked_text, answered_text, event] =
            [asked, answered, &event].map(|text| Value::from(text).to_string());
        for line in [
            format!(r#"{{"request":{asked},"response":{answered}}}"#),
            format!(r#"{{"t":1,"response":{answered},"request":{asked}}}"#),
            format!(r#"{{"requestBody":{asked_text},"status":200,"responseBody":{answered_text}}}"#),
            format!(
                r#"{{"request":{{"body":{{"text":{asked_text}}}}},"response":{{"body":{{"text":{event}}}}}}}"#
            ),
            format!(r#"{{"exchange":{{"req":{{"body":{asked}}},"res":{{"body":{answered}}}}}}}"#),
            format!(r#"{{"req":{asked},"res":{{"body":{answered_text}}}}}"#),
            format!(r#"{{"req":{asked_text},"res":{{"body":{answered}}}}}"#),
        ] {
            for log in [format!("{line}\n"), format!("listening\nDEBUG done {line}\n")] {
                let found = notes_of_log(&log);
                let texts: Vec<&str> = found.messages.iter().map(|(.., text)| text.as_str()).collect();
                assert!(
                    matches!(texts[..], [first, second] if first == asked && second.ends_with(answered)),
                    "{log}: {found:?}"
                );
                assert!(found.broken.is_empty(), "{log}: {found:?}");
            }
        }
        // Each part names its own sender.
        let sides = format!(
            r#"{{"request":{{"from":"client","body":{asked_text}}},"response":{{"from":"server","body":{answered_text}}}}}"#
        );
        let found = notes_of_log(&sides);
        let senders = found.messages.iter().map(|(_, sender, _)| *sender);
        assert!(senders.eq([Side::Client, Side::Server].map(Sender::Is)), "{found:?}");
        // What is not read of one part is named, and the other one is read.
        for (line, name) in [
            (
                format!(r#"{{"request":{asked},"response":[{answered}]}}"#),
                "`response` has messages in a list",
            ),
            (
                format!(r#"{{"request":{asked_text},"response":{{"a":[{answered}]}}}}"#),
                "`response` has messages",
            ),
            (format!(r#"{{"request":[{asked}],"response":{answered}}}"#), "`request` has messages in a list"),
        ] {
            let found = notes_of_log(&line);
            assert_eq!((found.messages.len(), found.broken.len()), (1, 1), "{line}: {found:?}");
            assert!(found.broken[0].1.starts_with(name), "{line}: {found:?}");
        }
        // A reply that the program names with another message is not that of it.
        let alone = format!(r#"{{"request":{asked},"response":null}}"#);
        assert_eq!(notes_of_log(&alone).messages.len(), 1);
    }

    #[test]
    fn a_list_in_an_object_is_named_as_jq_names_it() {
        let one = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let shown = Value::from(one).to_string();
        for (object, path) in [
            (format!(r#"{{"n":1,"events":[{{"message":{shown}}}]}}"#), ".events[]"),
            (format!(r#"{{"hits":{{"hits":[{{}},{{"_source":{{"m":{shown}}}}}]}}}}"#), ".hits.hits[]"),
            (format!(r#"{{"a b":[{{"c":[{one}]}}]}}"#), r#"["a b"][].c[]"#),
        ] {
            let notes = notes(&object);
            assert!(notes.broken[0].1.contains(&format!("`jq -c '{path}' FILE |")), "{notes:?}");
        }
    }

    #[test]
    fn what_is_logged_may_have_members_of_messages() {
        let one = r#"{"jsonrpc":"2.0","method":"a"}"#;
        let shown = Value::from(one);
        for (line, message) in [
            (format!(r#"{{"id":"7","source":"lambda","line":{shown}}}"#), None),
            (format!(r#"{{"method":"POST","path":"/mcp","params":{one}}}"#), Some(one)),
            (
                format!(r#"{{"req":{{"id":1,"method":"POST","url":"/mcp","body":{one}}},"res":null}}"#),
                Some(one),
            ),
            (r#"{"id":1,"method":"GET","params":{},"level":3}"#.to_owned(), None),
            (r#"{"id":1,"result":"ok","level":3}"#.to_owned(), None),
            (r#"{"id":1,"session":"s"}"#.to_owned(), None),
        ] {
            let notes = notes(&line);
            let messages = notes.messages.iter().map(|(_, _, message)| message.as_str());
            assert_eq!(
                (messages.collect::<Vec<_>>(), notes.broken),
                (Vec::from_iter(message), vec![]),
                "{line}"
            );
        }
        // Without `jsonrpc`, and no other message is in it. Those of the Chrome DevTools Protocol name their session.
        for line in [
            r#"{"id":1,"method":"a"}"#,
            r#"{"id":1,"method":"a","params":{},"extra":1}"#,
            r#"{"id":1,"method":"a","sessionId":"s"}"#,
            r#"{"id":1,"result":{},"sessionId":"s"}"#,
            r#"{"id":1,"error":{"code":1,"message":""},"sessionId":"s"}"#,
        ] {
            assert_eq!(notes(line).messages.len(), 1, "{line}");
        }
    }
}
