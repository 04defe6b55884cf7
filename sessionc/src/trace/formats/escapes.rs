//! Bytes as C and Python write them in a text: `\n`, `\"`, `\xc3\xa9`.

/// The byte that is written behind a backslash; nothing if that is not such an escape.
pub(super) fn byte(characters: &mut impl Iterator<Item = (usize, char)>) -> Option<u8> {
    match characters.next()?.1 {
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        escape @ ('\\' | '\'' | '"') => u8::try_from(escape).ok(),
        'x' => u8::try_from(u32::from(code(characters, 2)?)).ok(),
        _ => None,
    }
}

/// The character whose number follows, in hexadecimal digits.
pub(super) fn code(digits: &mut impl Iterator<Item = (usize, char)>, count: usize) -> Option<char> {
    let mut number = 0;
    for _ in 0..count {
        number = number << 4 | digits.next()?.1.to_digit(16)?;
    }
    char::from_u32(number)
}

/// A text with escapes, up to a quote without one, or to the end. Nothing if something in it is not an escape: at the end of the
/// text, one may be cut off.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut characters = text.char_indices();
    while let Some((_, character)) = characters.next() {
        match character {
            '"' => break,
            '\\' => match byte(&mut characters) {
                Some(byte) => bytes.push(byte),
                None if characters.as_str().is_empty() => break,
                None => return None,
            },
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    String::from_utf8(bytes).ok()
}
