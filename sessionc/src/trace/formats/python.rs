//! Messages as Python shows them: dictionaries, `{'jsonrpc': '2.0', 'id': 1, 'params': None}`; objects of the Python
//! SDK, `JSONRPCRequest(method='ping', params=None, jsonrpc='2.0', id=1)`; and bytes, `b'{"jsonrpc":"2.0","id":1}'`.

use serde::de::IgnoredAny;

use super::escapes::{byte, code};

/// How deep lists and dictionaries may lie in one another.
const DEEPEST: usize = 128;

/// The dictionary at the beginning of a text, as JSON; nothing if there is none, or if something in it has no form in JSON.
pub(super) fn dictionary(text: &str) -> Option<String> {
    let mut reader = Reader { rest: text, json: String::new() };
    reader.rest.starts_with('{').then(|| reader.value(0))??;
    Some(reader.json)
}

/// What an object of the Python SDK is: a message has the first field, and a request or a notification may begin with
/// the other.
const FIELDS: [&str; 2] = ["jsonrpc='2.0'", "method='"];
/// What a message has one of, as JSON.
const MEMBERS: [&str; 3] = ["\"method\":", "\"result\":", "\"error\":"];
/// What the names of its classes for messages begin with.
const CLASSES: &str = "JSONRPC";

/// A message in a line, as an object of the Python SDK.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownObject<'a> {
    /// What stands before it.
    pub(super) prefix: &'a str,
    /// It as JSON; nothing if a part of it has no form in JSON, or is not there.
    pub(super) json: Option<String>,
}

/// The message that a line has as an object of the Python SDK. Its text has the name of a class, or nothing but the
/// fields:
/// `jsonrpc='2.0' id=1 result={}`.
pub(super) fn object(line: &str) -> Option<ShownObject<'_>> {
    let [version, method] = FIELDS;
    let named = line.match_indices(CLASSES).find_map(|(start, _)| {
        let (name, fields) = line.get(start..)?.split_once('(')?;
        let is_message = name.chars().all(char::is_alphanumeric) && name != "JSONRPCMessage";
        is_message.then_some((start, fields))
    });
    let (start, fields, close) = match named {
        Some((start, fields)) => (start, fields, Some(')')),
        None => {
            let start = line.find(version)?;
            let start = line.find(method).map_or(start, |method| method.min(start));
            // Behind a bracket it is a part of another object.
            line.get(..start).filter(|prefix| prefix.is_empty() || prefix.ends_with(' '))?;
            (start, line.get(start..)?, None)
        }
    };
    let mut reader = Reader { rest: fields, json: String::new() };
    let are_read = reader.fields(close, 0).is_some();
    let has = |member: &str| reader.json.contains(member);
    let is_whole = are_read && has("\"jsonrpc\":\"2.0\"") && MEMBERS.into_iter().any(has);
    // A line may name a class and have no message.
    if !is_whole && !fields.contains(method) && !fields.contains(version) {
        return None;
    }
    Some(ShownObject { prefix: line.get(..start)?, json: is_whole.then_some(reader.json) })
}

/// The text that a line has as bytes, from a place in them on.
///
/// The place is that behind `prefix`, which has the beginning of the bytes: `b'data: `.
pub(super) fn bytes(prefix: &[u8], rest: &[u8]) -> Option<String> {
    let quote = quote_of_bytes(prefix)?;
    let mut text = Vec::new();
    let mut characters = str::from_utf8(rest).ok()?.char_indices();
    loop {
        let (_, character) = characters.next()?;
        match character {
            _ if character == quote => break,
            '\\' => text.push(byte(&mut characters)?),
            _ => text.push(u8::try_from(character).ok()?),
        }
    }
    String::from_utf8(text).ok()
}

/// The text of a line that is shown with quotes, if it is JSON: `'{"jsonrpc":"2.0","id":1}'`.
///
/// `prefix` has the first quote.
pub(super) fn text(prefix: &[u8], rest: &str) -> Option<String> {
    prefix.ends_with(b"'").then_some(())?;
    let mut reader = Reader { rest: &format!("'{rest}"), json: String::new() };
    reader.string()?;
    let text: String = serde_json::from_str(&reader.json).ok()?;
    serde_json::from_str::<IgnoredAny>(&text).is_ok().then_some(text)
}

/// The quote of the bytes that begin in a text and do not end in it.
fn quote_of_bytes(text: &[u8]) -> Option<char> {
    // Few lines have one, and all are asked.
    memchr::memchr2(b'\'', b'"', text)?;
    let begins = |quote: u8| {
        let place = memchr::memmem::rfind(text, &[b'b', quote])?;
        let is_word =
            place.checked_sub(1).and_then(|before| text.get(before)).is_some_and(u8::is_ascii_alphanumeric);
        let ends = memchr::memchr(quote, text.get(place + 2..)?).is_some();
        (!is_word && !ends).then_some((place, quote))
    };
    [begins(b'\''), begins(b'"')].into_iter().flatten().min().map(|(_, quote)| char::from(quote))
}

/// What is left of the text, and the JSON of what was read.
struct Reader<'a> {
    rest: &'a str,
    json: String,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '{' => self.items(['{', '}'], depth, |reader, depth| {
                reader.string()?;
                reader.sign(':')?;
                reader.json.push(':');
                reader.value(depth)
            }),
            '[' => self.items(['[', ']'], depth, Reader::value),
            // JSON has no tuples.
            '(' => self.items(['(', ')'], depth, Reader::value),
            '\'' | '"' => self.string(),
            _ => self.word(depth),
        }
    }

    /// Items between brackets, with commas between them and maybe behind the last.
    fn items(
        &mut self,
        [open, close]: [char; 2],
        depth: usize,
        item: impl Fn(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        let is_object = open == '{';
        self.sign(open)?;
        self.json.push(if is_object { '{' } else { '[' });
        let mut is_first = true;
        while self.sign(close).is_none() {
            if !is_first {
                self.json.push(',');
            }
            is_first = false;
            item(self, depth + 1)?;
            if self.sign(',').is_none() {
                self.sign(close)?;
                break;
            }
        }
        self.json.push(if is_object { '}' } else { ']' });
        Some(())
    }

    fn sign(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(sign)?;
        Some(())
    }

    /// A text in quotes of either kind. What stands in it is written as JSON has it.
    fn string(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|first| ['\'', '"'].contains(first))?;
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        let end = loop {
            match characters.next()? {
                (place, character) if character == quote => break place,
                (_, '\\') => {
                    let (_, escape) = characters.next()?;
                    text.push(match escape {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        '\\' | '\'' | '"' => escape,
                        'x' => code(&mut characters, 2)?,
                        'u' => code(&mut characters, 4)?,
                        'U' => code(&mut characters, 8)?,
                        _ => return None,
                    });
                }
                (_, character) => text.push(character),
            }
        };
        self.rest = self.rest.get(end + 1..)?;
        self.json.push_str(&serde_json::to_string(&text).ok()?);
        Some(())
    }

    /// The fields of an object: up to a bracket with commas between them, or with spaces between them as far as they
    /// go.
    fn fields(&mut self, close: Option<char>, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        self.json.push('{');
        let mut is_first = true;
        while close.is_none_or(|close| self.sign(close).is_none()) {
            let Some((name, value)) = field(self.rest) else {
                // What stands behind the fields does not belong to them.
                close.is_none().then_some(())?;
                break;
            };
            self.rest = value;
            let before = self.json.len();
            if !is_first {
                self.json.push(',');
            }
            self.json.push_str(&format!("\"{name}\":"));
            let from = self.json.len();
            self.value(depth + 1)?;
            // A field that was not set is shown as `None`. An error may have an id that is null.
            if self.json.get(from..) == Some("null") && name != "id" {
                self.json.truncate(before);
            } else {
                is_first = false;
            }
            let is_next = close.is_none() || self.sign(',').is_some();
            if !is_next {
                self.sign(close?)?;
                break;
            }
        }
        self.json.push('}');
        Some(())
    }

    /// An object of a class: its fields, or the text that it is made of.
    fn instance(&mut self, depth: usize) -> Option<()> {
        let (name, fields) = self.rest.split_once('(')?;
        name.chars().all(|letter| letter.is_alphanumeric() || letter == '_').then_some(())?;
        self.rest = fields.trim_start();
        if !self.rest.starts_with(['\'', '"']) {
            return self.fields(Some(')'), depth);
        }
        self.string()?;
        self.sign(')')
    }

    /// A number, a truth value or `None`, or an object of a class.
    fn word(&mut self, depth: usize) -> Option<()> {
        let length = self
            .rest
            .find(|character: char| !(character.is_ascii_alphanumeric() || "+-._".contains(character)));
        let (word, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        let json = match word {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            _ if rest.starts_with('(') => return self.instance(depth + 1),
            number => {
                serde_json::from_str::<serde_json::Number>(number).ok()?;
                number
            }
        };
        self.json.push_str(json);
        self.rest = rest;
        Some(())
    }
}

/// The name of a field at the beginning of a text, and what stands behind its `=`.
fn field(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.trim_start().split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_becomes_an_object() {
        for (python, json) in [
            ("{}", "{}"),
            ("{'jsonrpc': '2.0', 'id': 1} and more", r#"{"jsonrpc":"2.0","id":1}"#),
            (
                "{'a': None, 'b': [True, False, -1.5e-3,], 'c': (1,)}",
                r#"{"a":null,"b":[true,false,-1.5e-3],"c":[1]}"#,
            ),
            (
                r#"{'it': "it's", "q": 'a "b"', 'n': 'x\n\x41\u00e9\U0001f600\\'}"#,
                r#"{"it":"it's","q":"a \"b\"","n":"x\nAé😀\\"}"#,
            ),
        ] {
            assert_eq!(dictionary(python).as_deref(), Some(json), "{python}");
        }
    }

    #[test]
    fn what_is_none_is_left_alone() {
        let deep = "{'a': ".repeat(1000);
        for text in [
            "",
            "x",
            "{'a'",
            "{'a': <Object>}",
            "{'a': 'b",
            "{1: 2}",
            "{'a': nan}",
            "{'a': '\\ud800'}",
            "{'a': b'x'}",
            &deep,
        ] {
            assert_eq!(dictionary(text), None, "{text}");
        }
    }

    fn shown(line: &str) -> Option<(&str, Option<String>)> {
        object(line).map(|object| (object.prefix, object.json))
    }

    #[test]
    fn an_object_of_the_sdk_becomes_a_message() {
        for (line, prefix, json) in [
            (
                "Sending: root=JSONRPCRequest(method='tools/list', params=None, jsonrpc='2.0', id=1)",
                "Sending: root=",
                r#"{"method":"tools/list","jsonrpc":"2.0","id":1}"#,
            ),
            (
                "SessionMessage(message=JSONRPCMessage(root=JSONRPCResponse(jsonrpc='2.0', id='a', result={'x': None})), metadata=None)",
                "SessionMessage(message=JSONRPCMessage(root=",
                r#"{"jsonrpc":"2.0","id":"a","result":{"x":null}}"#,
            ),
            (
                "SSE message: jsonrpc='2.0' id=1 result={'a': 'b=c', 'd': []}",
                "SSE message: ",
                r#"{"jsonrpc":"2.0","id":1,"result":{"a":"b=c","d":[]}}"#,
            ),
            (
                "method='a' params={'it': \"it's\"} jsonrpc='2.0' and more",
                "",
                r#"{"method":"a","params":{"it":"it's"},"jsonrpc":"2.0"}"#,
            ),
            (
                "JSONRPCError(jsonrpc='2.0', id=None, error=ErrorData(code=-32700, message='no', data=None))",
                "",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
            ),
            (
                "JSONRPCRequest(jsonrpc='2.0', id=1, method='a', params={'uri': AnyUrl('file:///a')})",
                "",
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"uri":"file:///a"}}"#,
            ),
        ] {
            assert_eq!(shown(line), Some((prefix, Some(json.to_owned()))), "{line}");
        }
    }

    #[test]
    fn an_object_that_is_not_there_whole_has_no_json() {
        for line in [
            "JSONRPCRequest(method='a', params={'x': <object at 0x7f>}, jsonrpc='2.0', id=1)",
            "JSONRPCRequest(method='a', params={'x':",
            "a: jsonrpc='2.0' id=1 result={'x': ",
            "    jsonrpc='2.0' id=1",
        ] {
            assert!(matches!(shown(line), Some((_, None))), "{line}: {:?}", shown(line));
        }
        for line in [
            "handling a JSONRPCRequest (1)",
            "JSONRPCMessage(a)",
            "Received message: root=InitializedNotification(method='a', params=None, jsonrpc='2.0')",
            "{'jsonrpc': '2.0'}",
            "method='a'",
        ] {
            assert_eq!(shown(line), None, "{line}");
        }
        let deep = format!("JSONRPCRequest(jsonrpc='2.0', a={}", "A(a=".repeat(1000));
        assert_eq!(shown(&deep), Some(("", None)));
    }

    #[test]
    fn bytes_are_taken_from_the_middle() {
        for (prefix, rest, text) in [
            (
                r"Received JSON: b'",
                r#"{"a":"it\'s \\"x\\" \\n \xc3\xa9"}'"#,
                Some(r#"{"a":"it's \"x\" \n é"}"#),
            ),
            (r"chunk: b'data: ", r#"{}\r\n'"#, Some("{}\r\n")),
            (r#"got b""#, r#"{'a'}" more"#, Some("{'a'}")),
            (r"got b'", r#"{"a""#, None),
            (r"got b'a' ", r#"{}'"#, None),
            (r"web'", r#"{}'"#, None),
            (r"got b'", r#"{\xff}'"#, None),
            ("", "{}", None),
        ] {
            assert_eq!(bytes(prefix.as_bytes(), rest.as_bytes()).as_deref(), text, "{prefix}{rest}");
        }
    }
}
