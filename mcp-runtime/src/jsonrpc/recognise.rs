//! The fast path for reading an envelope: one pass over plain, well-formed messages.
//!
//! A general parser hands out each value by way of visitors and keeps a stack on the heap; for messages of a hundred
//! bytes that took four times as long as looking at the bytes. All of it is inlined into [`members`], so that the place in
//! the text stays in a register: that is a quarter of its instructions.

use super::members::Parts;

/// How many open brackets are kept track of; each is a bit of one number.
const DEEPEST: u32 = 128;

/// Finds the members of a message, if it is plain and its brackets nest at most `deepest` levels.
pub(super) fn members(text: &str, deepest: usize) -> Option<Parts<'_, &str>> {
    let mut parts = Parts::default();
    each_member(text, deepest, |key, value| parts.add(key, value, || value))?;
    Some(parts)
}

/// Takes the members of an object one by one, if its keys have no escapes and its brackets nest at most `deepest` levels.
/// Where it is not, some may have been taken.
#[inline(always)]
pub(crate) fn each_member<'a>(
    text: &'a str,
    deepest: usize,
    mut take: impl FnMut(&'a str, &'a str),
) -> Option<()> {
    // The object itself is a level of its own.
    let deepest = u32::try_from(deepest).unwrap_or(DEEPEST).min(DEEPEST).checked_sub(1)?;
    let mut reader = Recogniser::new(text);
    reader.space();
    reader.expect(b'{')?;
    reader.space();
    if !reader.takes(b'}') {
        loop {
            let key = reader.key()?;
            reader.space();
            take(key, reader.raw(deepest)?);
            reader.space();
            if reader.takes(b'}') {
                break;
            }
            reader.expect(b',')?;
            reader.space();
        }
    }
    reader.end()
}

/// Reads a whole text, if it is JSON, and tells `nesting` where the values in it are.
pub(super) fn read(text: &str, nesting: &mut impl Nesting) -> Option<()> {
    let mut reader = Recogniser::new(text);
    reader.space();
    reader.value(nesting)?;
    reader.end()
}

/// The end of a text without escapes, whose closing quote is the next byte from `at` on that is not one of its own.
#[inline(always)]
pub(super) fn end_of_text(json: &str, at: usize) -> Option<usize> {
    let end = mark(json.as_bytes(), at);
    (json.as_bytes().get(end) == Some(&b'"')).then_some(end + 1)
}

/// The end of a number that begins at `at`.
#[inline(always)]
pub(super) fn end_of_number(json: &str, at: usize) -> Option<usize> {
    let mut reader = Recogniser { at, ..Recogniser::new(json) };
    reader.number()?;
    Some(reader.at)
}

/// What is kept of the brackets that are open, and of the values that have been read.
pub(super) trait Nesting {
    /// A list or an object begins. Nothing if it is one too many inside one another.
    fn open(&mut self, start: usize, is_object: bool) -> Option<()>;

    /// The innermost list or object ends.
    fn close(&mut self, end: usize);

    /// Whether the innermost open bracket is that of an object; nothing if none is open.
    fn is_in_object(&self) -> Option<bool>;

    /// The key of a member of the innermost object. A plain one has no escapes.
    fn key(&mut self, start: usize, end: usize, is_plain: bool);

    /// A text that is not a key.
    fn text(&mut self, start: usize, end: usize, is_plain: bool);

    /// A number, `true`, `false` or `null`.
    fn word(&mut self, start: usize, end: usize);
}

/// Keeps the brackets alone, for values that are passed over.
struct Brackets {
    /// The innermost bracket is the lowest bit: set for an object, clear for a list.
    open: u128,
    depth: u32,
    deepest: u32,
}

impl Nesting for Brackets {
    #[inline(always)]
    fn open(&mut self, _start: usize, is_object: bool) -> Option<()> {
        if self.depth == self.deepest {
            return None;
        }
        self.depth += 1;
        self.open = (self.open << 1) | u128::from(is_object);
        Some(())
    }

    #[inline(always)]
    fn close(&mut self, _end: usize) {
        self.depth -= 1;
        self.open >>= 1;
    }

    #[inline(always)]
    fn is_in_object(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.open & 1 == 1)
    }

    #[inline(always)]
    fn key(&mut self, _start: usize, _end: usize, _is_plain: bool) {}

    #[inline(always)]
    fn text(&mut self, _start: usize, _end: usize, _is_plain: bool) {}

    #[inline(always)]
    fn word(&mut self, _start: usize, _end: usize) {}
}

/// How many words of eight bytes are looked at before the text is taken for a long one.
const SHORT: usize = 4;

/// The next byte that means something in a text: a quote, a backslash, a control character.
#[inline(always)]
fn mark(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // A byte of the word is zero where its high bit is set afterwards, for the lowest such byte at least.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut words = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        // With this bit turned over, quotes come right behind the control characters, and spaces behind them.
        let turned = word ^ (ONES * 0x02);
        let controls_and_quotes = turned.wrapping_sub(ONES * 0x21) & !turned & HIGHS;
        let marks = controls_and_quotes | zeros(word ^ (ONES * u64::from(b'\\')));
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
        words += 1;
        if words == SHORT {
            at = long(bytes, at);
        }
    }
    while bytes.get(at).is_some_and(|byte| !is_mark(*byte)) {
        at += 1;
    }
    at
}

#[inline(always)]
fn is_mark(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// The place up to which a long text has no such byte, in steps that the compiler makes vectors of.
#[inline(never)]
fn long(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        if chunk.iter().fold(false, |any, byte| any | is_mark(*byte)) {
            return at;
        }
        at += 32;
    }
    at
}

/// A text in quotes that was recognised.
struct Quoted {
    /// It has no escapes.
    is_plain: bool,
}

struct Recogniser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Recogniser<'a> {
    #[inline(always)]
    fn new(text: &'a str) -> Recogniser<'a> {
        Recogniser { text, bytes: text.as_bytes(), at: 0 }
    }

    /// One value, as it is written.
    #[inline(always)]
    fn raw(&mut self, deepest: u32) -> Option<&'a str> {
        let start = self.at;
        self.value(&mut Brackets { open: 0, depth: 0, deepest })?;
        self.text.get(start..self.at)
    }

    /// Nothing follows.
    #[inline(always)]
    fn end(&mut self) -> Option<()> {
        self.space();
        (self.at == self.bytes.len()).then_some(())
    }

    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn takes(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    #[inline(always)]
    fn space(&mut self) {
        // Between the parts of most messages there is none.
        while self.peek().is_some_and(|byte| byte <= b' ' && matches!(byte, b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// A key without escapes, and the colon behind it.
    #[inline(always)]
    fn key(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        if !self.string()?.is_plain {
            return None;
        }
        let key = self.text.get(start..self.at - 1)?;
        self.space();
        self.expect(b':')?;
        Some(key)
    }

    /// One value, whatever it holds. Blanks are looked for only where nothing else is there: between the parts of most
    /// messages there are none.
    #[inline(always)]
    fn value(&mut self, nesting: &mut impl Nesting) -> Option<()> {
        loop {
            // A value is next.
            let start = self.at;
            match self.peek()? {
                b'"' => {
                    let quoted = self.string()?;
                    nesting.text(start, self.at, quoted.is_plain);
                }
                bracket @ (b'{' | b'[') => {
                    nesting.open(start, bracket == b'{')?;
                    self.at += 1;
                    self.space();
                    if bracket == b'[' {
                        if self.peek()? != b']' {
                            continue;
                        }
                    } else if self.peek()? != b'}' {
                        self.inner_key(nesting)?;
                        continue;
                    }
                    // It is empty, and closed below.
                }
                b' ' | b'\n' | b'\t' | b'\r' => {
                    self.space();
                    continue;
                }
                first => {
                    match first {
                        b'-' | b'0'..=b'9' => self.number()?,
                        b't' => self.literal(b"true")?,
                        b'f' => self.literal(b"false")?,
                        b'n' => self.literal(b"null")?,
                        _ => return None,
                    }
                    nesting.word(start, self.at);
                }
            }
            // A value has ended, or an empty bracket waits to be closed.
            loop {
                let Some(in_object) = nesting.is_in_object() else { return Some(()) };
                match self.peek()? {
                    b'}' if in_object => {}
                    b']' if !in_object => {}
                    b',' => {
                        self.at += 1;
                        if in_object {
                            self.space();
                            self.inner_key(nesting)?;
                        }
                        break;
                    }
                    b' ' | b'\n' | b'\t' | b'\r' => {
                        self.space();
                        continue;
                    }
                    _ => return None,
                }
                self.at += 1;
                nesting.close(self.at);
            }
        }
    }

    /// A key inside of a value, and the colon behind it; the key may have escapes.
    #[inline(always)]
    fn inner_key(&mut self, nesting: &mut impl Nesting) -> Option<()> {
        let start = self.at;
        let quoted = self.string()?;
        nesting.key(start, self.at, quoted.is_plain);
        if !self.takes(b':') {
            self.space();
            self.expect(b':')?;
        }
        Some(())
    }

    /// A text in quotes.
    #[inline(always)]
    fn string(&mut self) -> Option<Quoted> {
        self.expect(b'"')?;
        let mut is_plain = true;
        loop {
            self.at = mark(self.bytes, self.at);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(Quoted { is_plain });
                }
                b'\\' => {
                    is_plain = false;
                    self.at += 1;
                    match self.peek()? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
                        b'u' => {
                            let digits = self.bytes.get(self.at + 1..self.at + 5)?;
                            if !digits.iter().all(u8::is_ascii_hexdigit) {
                                return None;
                            }
                            self.at += 5;
                        }
                        _ => return None,
                    }
                }
                // A control character.
                _ => return None,
            }
        }
    }

    #[inline(always)]
    fn number(&mut self) -> Option<()> {
        self.takes(b'-');
        if !self.takes(b'0') {
            self.digits()?;
        }
        // Most numbers are whole.
        if matches!(self.peek(), Some(b'.' | b'e' | b'E')) { self.fraction() } else { Some(()) }
    }

    /// What may stand behind the whole part of a number.
    #[inline(always)]
    fn fraction(&mut self) -> Option<()> {
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            if !self.takes(b'+') {
                self.takes(b'-');
            }
            self.digits()?;
        }
        Some(())
    }

    #[inline(always)]
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    #[inline(always)]
    fn literal(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Texts that are nearly JSON: values written out, with a few bytes changed, left out or repeated.
    pub(in crate::jsonrpc) fn nearly_json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("false".to_owned()),
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| Value::from(number).to_string()),
            Just("-0.5e+10".to_owned()),
            Just("1E5".to_owned()),
            any::<String>().prop_map(|text| Value::from(text).to_string()),
            Just(r#""\u00e9\n\/ \ud800""#.to_owned()),
        ];
        let value = leaf.prop_recursive(5, 40, 5, |inner| {
            let key = prop_oneof![
                Just("\"id\"".to_owned()),
                Just("\"method\"".to_owned()),
                Just("\"params\"".to_owned()),
                any::<String>().prop_map(|text| Value::from(text).to_string()),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5)
                    .prop_map(|parts| format!("[{}]", parts.join(" ,"))),
                prop::collection::vec((key, inner), 0..5).prop_map(|parts| {
                    let parts: Vec<String> =
                        parts.iter().map(|(key, value)| format!("{key} : {value}")).collect();
                    format!("{{ {} }}", parts.join(","))
                }),
            ]
        });
        let damage = prop::collection::vec(
            (
                any::<prop::sample::Index>(),
                0..3_u8,
                prop::sample::select(b"{}[]:,\"\\0.-eEtu \n\x01x".to_vec()),
            ),
            0..3,
        );
        (value, damage).prop_map(|(text, damage)| {
            let mut bytes = text.into_bytes();
            for (place, kind, byte) in damage {
                let place = place.index(bytes.len().max(1)).min(bytes.len());
                match kind {
                    0 => bytes.insert(place, byte),
                    1 if place < bytes.len() => bytes[place] = byte,
                    _ if place < bytes.len() => drop(bytes.remove(place)),
                    _ => {}
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn members_are_those_that_serde_finds(text in nearly_json()) {
            let mut keys = Vec::new();
            if each_member(&text, 100, |key, _| keys.push(key.to_owned())).is_some() {
                let thorough: std::collections::HashMap<String, &serde_json::value::RawValue> =
                    serde_json::from_str(&text).unwrap();
                prop_assert!(keys.iter().all(|key| thorough.contains_key(key)));
            }
        }

        #[test]
        fn a_whole_text_is_read_if_serde_reads_it(text in nearly_json()) {
            let is_read = read(&text, &mut Brackets { open: 0, depth: 0, deepest: DEEPEST }).is_some();
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(is_read, is_json, "{}", text);
        }

        #[test]
        fn takes_nothing_that_serde_refuses_and_finds_the_same(text in nearly_json()) {
            let thorough = serde_json::from_str::<Parts<'_, &str>>(&text).ok();
            match (members(&text, 100), thorough) {
                (Some(found), Some(thorough)) => prop_assert_eq!(found, thorough),
                (Some(_), None) => prop_assert!(false, "took {}", text),
                // What it may leave to the thorough reader: keys with escapes.
                (None, Some(_)) => prop_assert!(text.contains('\\'), "left {}", text),
                (None, None) => {}
            }
        }
    }

    #[test]
    fn the_first_mark_is_found_whatever_stands_around_it() {
        for (one, other) in (0..=u8::MAX).flat_map(|one| (0..=u8::MAX).map(move |other| (one, other))) {
            let bytes = [b'a', one, other, b'b', one, b'c', b'd', other, one, b'"'];
            let first = bytes.iter().position(|byte| is_mark(*byte)).unwrap();
            assert_eq!(mark(&bytes, 0), first, "{bytes:?}");
        }
    }

    #[test]
    fn depth_counts_the_object_itself() {
        let nested = |levels: usize| format!(r#"{{"id":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert!(members(&nested(9), 10).is_some());
        assert!(members(&nested(10), 10).is_none());
        assert!(members(&nested(127), 1000).is_some());
        assert!(members(&nested(200), 1000).is_none(), "left to the thorough reader");
    }

    #[test]
    fn commas_stand_between_values_only() {
        for text in [
            r#"{"a":[,1]}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":{,"b":1}}"#,
            r#"{"a":{"b":1,}}"#,
            r#"{,"a":1}"#,
            r#"{"a":1,}"#,
        ] {
            assert!(members(text, 100).is_none(), "{text}");
        }
    }
}
