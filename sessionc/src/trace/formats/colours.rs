//! The colours of a log that a program has written for a terminal.

use std::borrow::Cow;

/// What begins an escape sequence that sets a colour, `\x1b[1;34m`.
const ESCAPE: u8 = b'\x1b';

/// A line without its colours. In JSON they cannot stand: texts write the character that begins them as `\u001b`.
pub(super) fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(ESCAPE, line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = memchr::memchr(ESCAPE, rest) {
        let (before, escape) = rest.split_at(start);
        plain.extend_from_slice(before);
        let length = length(escape);
        // Another control character stays where it is, and is found by what reads the line.
        if length == 1 {
            plain.push(ESCAPE);
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

/// How many bytes the escape sequence at the beginning of a text has: one if it is none that sets a colour or clears a line.
fn length(escape: &[u8]) -> usize {
    let Some(inside) = escape.strip_prefix(b"\x1b[") else { return 1 };
    let parameters = inside.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    match inside.get(parameters) {
        Some(b'm' | b'K') => parameters + 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_away_and_nothing_else() {
        for (line, plain) in [
            ("{\"a\":1}", "{\"a\":1}"),
            ("\u{1b}[36mnotes | \u{1b}[0m{\u{1b}[1;34m\"a\"\u{1b}[39m:1}\u{1b}[K", "notes | {\"a\":1}"),
            ("a\u{1b}b\u{1b}[2Jc\u{1b}", "a\u{1b}b\u{1b}[2Jc\u{1b}"),
            ("a\u{1b}[", "a\u{1b}["),
        ] {
            assert_eq!(without_colours(line.as_bytes()), plain.as_bytes(), "{line:?}");
        }
    }
}
