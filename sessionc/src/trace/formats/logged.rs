//! A message that is a member of what a program logs, or stands in a text that is one.

use mcp_runtime::observer::JsonValue;
use serde_json::Value;

use super::envelope::{EnvelopeParts, read_parts};
use super::journal;
use super::record::{LogReader, Place};
use super::said_around::SaidAround;

/// What a line has in place of a message: programs write what they log for people as a member of an object, too.
#[derive(Debug)]
pub(super) struct LoggedText {
    pub(super) text: String,
    pub(super) said: SaidAround,
}

/// The bytes of `"jsonrpc"` as `tshark -T json` shows them.
const BYTES_OF_MARK: &[u8] = b"22:6a:73:6f:6e:72:70:63:22";

/// How deep in what a program logs a message is looked for.
const DEEPEST: usize = 4;

/// Finds the message in an object that is not a message, as it may be a member of what a program logs.
#[cold]
pub(super) fn read(
    place: Place,
    object: JsonValue<'_>,
    parts: &EnvelopeParts<'_>,
    reader: &mut impl LogReader,
) -> Result<Option<LoggedText>, String> {
    if let Some(text) = journal::text(object)? {
        let said = SaidAround::default();
        return Ok(Some(text).filter(|text| text.contains("jsonrpc")).map(|text| LoggedText { text, said }));
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
        return Ok(None);
    }
    match find_logged(place, object, &SaidAround::default(), DEEPEST, reader) {
        FoundLogged::Message => Ok(None),
        FoundLogged::Text(text) => Ok(Some(text)),
        FoundLogged::Nothing => Err(match path_of_list(object.written()) {
            Some(path) => format!(
                "the object has messages in a list: write each element of it on a line of its own, as \
                 `jq -c '{path}' FILE | sessionc trace … -` does"
            ),
            None => "the object has a message in it, and not as a member: write the message on the line, or \
                     as `msg` with its `dir`"
                .to_owned(),
        }),
    }
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

enum FoundLogged {
    /// It was a message, and was taken.
    Message,
    Text(LoggedText),
    Nothing,
}

/// The members under which programs log what was asked, and what was answered.
const EXCHANGED: [[&str; 4]; 2] =
    [["request", "req", "requestBody", "request_body"], ["response", "res", "responseBody", "response_body"]];

/// Looks for a message among the members of an object, then for a text with one, then in its objects. An object may have
/// a request and the reply to it.
fn find_logged(
    place: Place,
    object: JsonValue<'_>,
    around: &SaidAround,
    deepest: usize,
    reader: &mut impl LogReader,
) -> FoundLogged {
    let own = EnvelopeParts::of_value(object);
    let said = own.as_ref().and_then(EnvelopeParts::said).unwrap_or_else(|| around.clone());
    if let [Some(request), Some(reply)] = EXCHANGED.map(|names| exchanged(object, names)) {
        let request = find_in_member(place, request, &said, deepest, reader);
        return request.and(|| find_in_member(place, reply, &said, deepest, reader));
    }
    if object.members().any(|(_, member)| take_message(place, member, &said, reader)) {
        return FoundLogged::Message;
    }
    let mut texts = object.members().filter_map(|(_, member)| text_of(member, &said));
    if let Some(text) = texts.next() {
        return FoundLogged::Text(text);
    }
    for (_, member) in object.members().filter(|_| deepest > 1) {
        match find_logged(place, member, &said, deepest - 1, reader) {
            FoundLogged::Nothing => {}
            found => return found,
        }
    }
    FoundLogged::Nothing
}

/// The member of an object with one of these names, if a message seems to be in it.
fn exchanged<'a>(object: JsonValue<'a>, names: [&str; 4]) -> Option<JsonValue<'a>> {
    let mut members = object.members().filter(|(name, _)| names.contains(&&**name));
    members.find_map(|(_, member)| member.written().contains("jsonrpc").then_some(member))
}

/// The same in a member of an object.
fn find_in_member(
    place: Place,
    member: JsonValue<'_>,
    said: &SaidAround,
    deepest: usize,
    reader: &mut impl LogReader,
) -> FoundLogged {
    match text_of(member, said) {
        _ if take_message(place, member, said, reader) => FoundLogged::Message,
        Some(text) => FoundLogged::Text(text),
        None if deepest > 1 => find_logged(place, member, said, deepest - 1, reader),
        None => FoundLogged::Nothing,
    }
}

/// Takes a value that is a message, or an envelope with one. Returns whether it is.
fn take_message(place: Place, value: JsonValue<'_>, said: &SaidAround, reader: &mut impl LogReader) -> bool {
    let parts = EnvelopeParts::of_value(value);
    let is_one = |parts: &EnvelopeParts<'_>| parts.seems_message || parts.is_envelope() && !parts.has_words();
    let Some(parts) = parts.filter(is_one) else { return false };
    read_parts(place, || value.into(), &parts, &mut said.fill(reader));
    true
}

/// The text that a value is, if a message seems to be in it.
fn text_of(value: JsonValue<'_>, said: &SaidAround) -> Option<LoggedText> {
    let text = value.text().filter(|text| text.contains("jsonrpc"))?;
    Some(LoggedText { text: text.into_owned(), said: said.clone() })
}

impl FoundLogged {
    /// This, and what is found after it.
    fn and(self, next: impl FnOnce() -> FoundLogged) -> FoundLogged {
        let FoundLogged::Text(mut text) = self else {
            return match (self, next()) {
                (found, FoundLogged::Nothing) => found,
                (_, found) => found,
            };
        };
        // Each message of a text has a line of its own.
        if let FoundLogged::Text(more) = next() {
            text.text.push('\n');
            text.text.push_str(&more.text);
        }
        FoundLogged::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use mcp_runtime::observer::JsonReader;

    use super::super::json_lines;
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
