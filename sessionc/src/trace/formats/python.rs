//! Messages as Python shows dictionaries: `{'jsonrpc': '2.0', 'id': 1, 'params': None}`.

/// How deep lists and dictionaries may lie in one another.
const DEEPEST: usize = 128;

/// The dictionary at the beginning of a text, as JSON; nothing if there is none, or if something in it has no form in JSON.
pub(super) fn dictionary(text: &str) -> Option<String> {
    let mut reader = Reader { rest: text, json: String::new() };
    reader.rest.starts_with('{').then(|| reader.value(0))??;
    Some(reader.json)
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
            _ => self.word(),
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

    /// A number, a truth value or `None`.
    fn word(&mut self) -> Option<()> {
        let length = self
            .rest
            .find(|character: char| !(character.is_ascii_alphanumeric() || "+-.".contains(character)));
        let (word, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        let json = match word {
            "True" => "true",
            "False" => "false",
            "None" => "null",
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

/// The character whose number follows, in hexadecimal digits.
fn code(digits: &mut impl Iterator<Item = (usize, char)>, count: usize) -> Option<char> {
    let mut number = 0;
    for _ in 0..count {
        number = number << 4 | digits.next()?.1.to_digit(16)?;
    }
    char::from_u32(number)
}

#[cfg(test)]
mod tests {
    use super::dictionary;

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
}
