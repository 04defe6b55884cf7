//! Messages as JavaScript's `console.log` shows objects: `{ jsonrpc: '2.0', id: 1, params: { name: 'a' } }`. What
//! lies deep in an object is often left out there, as `[Object]`: such an object is not read.

use super::escapes::code;

/// How deep lists and objects may lie in one another.
const DEEPEST: usize = 128;

/// The object at the beginning of a text, as JSON; nothing if there is none, or if not all of it is shown.
pub(super) fn object(text: &str) -> Option<String> {
    let mut reader = ConsoleReader { rest: text, json: String::new() };
    reader.rest.starts_with('{').then(|| reader.object(0))??;
    Some(reader.json)
}

/// What is left of the text, and the JSON of what was read.
struct ConsoleReader<'a> {
    rest: &'a str,
    json: String,
}

/// A value that JSON has, or `undefined`, which `JSON.stringify` leaves out.
#[derive(PartialEq)]
enum ConsoleValue {
    Value,
    Undefined,
}

impl ConsoleReader<'_> {
    fn value(&mut self, depth: usize) -> Option<ConsoleValue> {
        if depth > DEEPEST {
            return None;
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '{' => self.object(depth)?,
            '[' => self.list(depth)?,
            '\'' | '"' | '`' => self.string()?,
            _ => return self.word(),
        }
        Some(ConsoleValue::Value)
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.sign('{')?;
        self.json.push('{');
        let mut is_first = true;
        while self.sign('}').is_none() {
            let before = self.json.len();
            if !is_first {
                self.json.push(',');
            }
            self.key()?;
            self.sign(':')?;
            self.json.push(':');
            match self.value(depth + 1)? {
                ConsoleValue::Value => is_first = false,
                ConsoleValue::Undefined => self.json.truncate(before),
            }
            if self.sign(',').is_none() {
                self.sign('}')?;
                break;
            }
        }
        self.json.push('}');
        Some(())
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        self.sign('[')?;
        self.json.push('[');
        let mut is_first = true;
        while self.sign(']').is_none() {
            if !is_first {
                self.json.push(',');
            }
            is_first = false;
            if self.value(depth + 1)? == ConsoleValue::Undefined {
                self.json.push_str("null");
            }
            if self.sign(',').is_none() {
                self.sign(']')?;
                break;
            }
        }
        self.json.push(']');
        Some(())
    }

    /// A key, which has quotes where it is not a word.
    fn key(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(['\'', '"']) {
            return self.string();
        }
        let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '$';
        let (word, rest) = self.rest.split_at(self.rest.find(|letter| !is_of_word(letter))?);
        (!word.is_empty()).then_some(())?;
        self.json.push_str(&serde_json::to_string(word).ok()?);
        self.rest = rest;
        Some(())
    }

    fn sign(&mut self, sign: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(sign)?;
        Some(())
    }

    /// A text in quotes of any kind. One of several lines is shown as several with `+` between them.
    fn string(&mut self) -> Option<()> {
        let mut text = String::new();
        self.quoted(&mut text)?;
        while self.sign('+').is_some() {
            self.rest = self.rest.trim_start();
            self.quoted(&mut text)?;
        }
        self.json.push_str(&serde_json::to_string(&text).ok()?);
        Some(())
    }

    fn quoted(&mut self, text: &mut String) -> Option<()> {
        let quote = self.rest.chars().next().filter(|first| ['\'', '"', '`'].contains(first))?;
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
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'v' => '\u{b}',
                        '\\' | '\'' | '"' | '`' => escape,
                        'x' => code(&mut characters, 2)?,
                        'u' => code(&mut characters, 4)?,
                        _ => return None,
                    });
                }
                (_, character) => text.push(character),
            }
        };
        self.rest = self.rest.get(end + 1..)?;
        Some(())
    }

    /// A number, a truth value, `null` or `undefined`.
    fn word(&mut self) -> Option<ConsoleValue> {
        let length =
            self.rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "+-.".contains(letter)));
        let (word, rest) = self.rest.split_at(length?);
        self.rest = rest;
        if word == "undefined" {
            return Some(ConsoleValue::Undefined);
        }
        if !matches!(word, "true" | "false" | "null") {
            serde_json::from_str::<serde_json::Number>(word).ok()?;
        }
        self.json.push_str(word);
        Some(ConsoleValue::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_shown_whole_becomes_json() {
        for (shown, json) in [
            ("{}", "{}"),
            ("{ jsonrpc: '2.0', id: 1 } and more", r#"{"jsonrpc":"2.0","id":1}"#),
            (
                "{\n  jsonrpc: '2.0',\n  method: 'a/b',\n  params: undefined\n}",
                r#"{"jsonrpc":"2.0","method":"a/b"}"#,
            ),
            (
                "{ a: null, 'b-c': [ true, -1.5, 1e+21, undefined ], $d: {}, e: [] }",
                r#"{"a":null,"b-c":[true,-1.5,1e+21,null],"$d":{},"e":[]}"#,
            ),
            ("{ params: undefined, id: 1 }", r#"{"id":1}"#),
            (
                r#"{ a: "it's", b: `it's "b"`, c: 'x\n\x1B\u00e9\\ {' }"#,
                r#"{"a":"it's","b":"it's \"b\"","c":"x\n\u001bé\\ {"}"#,
            ),
            ("{\n  a: 'one\\n' +\n    'two'\n}", r#"{"a":"one\ntwo"}"#),
        ] {
            assert_eq!(object(shown).as_deref(), Some(json), "{shown}");
        }
    }

    #[test]
    fn an_object_of_which_something_is_left_out_is_not_read() {
        let deep = "{ a: ".repeat(1000);
        for shown in [
            "",
            "x",
            "{ a: [Object] }",
            "{ a: [ [Array] ] }",
            "{ a: [Function: b] }",
            "{ a: [ 1, ... 1 more item ] }",
            "{ a: 'b'... 4 more characters }",
            "{ a: <ref *1> }",
            "{ a: NaN }",
            "{ a: 1n }",
            "{ a: 'b",
            "{ a: 1",
            "{ a",
            "{ [Symbol(a)]: 1 }",
            "{ a: '\\ud800' }",
            &deep,
        ] {
            assert_eq!(object(shown), None, "{shown}");
        }
    }
}
