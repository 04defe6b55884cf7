//! Text in quotes.
//!
//! Escapes are `\"`, `\\`, `\n`, `\r`, `\t` and `\u{…}` with up to six hexadecimal digits.

use super::lookalike::changes_direction;
use crate::diagnostic::Code;

/// Text without a closing quote.
pub const UNTERMINATED_TEXT: Code = Code("S0011");
/// A `\` followed by something that means nothing.
pub const UNKNOWN_ESCAPE: Code = Code("S0012");

/// What a text in quotes stands for; an escape that is unknown stands for itself.
pub fn value(source: &str) -> String {
    let mut characters = source.chars();
    let Some(opening) = characters.next() else { return String::new() };
    let mut value = String::new();
    let mut rest = characters.as_str();
    while let Some(character) = rest.chars().next() {
        if character == '\\' {
            let (length, meaning) = escape(rest);
            match meaning {
                Some(meaning) => value.push(meaning),
                None => value.push_str(rest.get(..length).unwrap_or("")),
            }
            rest = rest.get(length..).unwrap_or("");
            continue;
        }
        if closes(opening, character) {
            break;
        }
        value.push(character);
        rest = rest.get(character.len_utf8()..).unwrap_or("");
    }
    value
}

/// The quotes around a text, with escapes where they are needed.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            unseen if unseen.is_control() || changes_direction(unseen) || unseen == '\u{FEFF}' => {
                quoted.push_str(&format!("\\u{{{:x}}}", u32::from(unseen)));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The length of the escape that `source` starts with, and what it stands for, if anything.
pub(super) fn escape(source: &str) -> (usize, Option<char>) {
    let mut characters = source.chars();
    characters.next();
    let Some(letter) = characters.next() else { return (source.len(), None) };
    if letter == '\n' {
        return (1, None);
    }
    let length = 1 + letter.len_utf8();
    match letter {
        '"' | '\\' => (length, Some(letter)),
        'n' => (length, Some('\n')),
        'r' => (length, Some('\r')),
        't' => (length, Some('\t')),
        'u' => {
            let Some(rest) = characters.as_str().strip_prefix('{') else { return (length, None) };
            // More than six digits are not looked at, however long the text is.
            let end = rest.bytes().take(7).position(|byte| byte == b'}');
            let digits = end.and_then(|end| rest.get(..end));
            // `from_str_radix` takes a sign.
            let Some(digits) =
                digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            else {
                return (length, None);
            };
            let meaning = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
            (length + digits.len() + 2, meaning)
        }
        _ => (length, None),
    }
}

/// Whether `character` closes what `opening` opened.
pub(super) fn closes(opening: char, character: char) -> bool {
    match opening {
        '"' => character == '"',
        '“' | '„' | '‟' | '”' => matches!(character, '”' | '“' | '"'),
        '«' => character == '»',
        '»' => character == '«',
        '‘' => character == '’',
        other => character == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_comes_back() {
        for text in ["", "tools/call", "a\"b", "a\\b", "α\n\r\t", "\u{202E}x", "\u{FEFF}", "\u{0}\u{7f}"] {
            assert_eq!(value(&quote(text)), text, "{text:?}");
            assert!(quote(text).chars().all(|character| !character.is_control()));
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(value(r#""\u{3bc}\"\\""#), "μ\"\\");
        assert_eq!(value(r#""\q\u{}\u{110000}\u{+1}""#), r"\q\u{}\u{110000}\u{+1}");
        assert_eq!(value("\"never closed"), "never closed");
        assert_eq!(value("“curly”"), "curly");
        assert_eq!(value(""), "");
        assert_eq!(value("\"\\"), "\\");
        // No escape goes over the end of its line.
        assert_eq!(escape("\\\nx"), (1, None));
        assert_eq!(escape("\\u{d8\n0}"), (2, None));
    }
}
