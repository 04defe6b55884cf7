//! Finds the kind and the id of a message that is too long or not JSON, in constant memory.

use mcp_protocol_machine::RequestId;

use super::id::parse_id;

/// The longest id that is picked out of a broken message.
const LONGEST_ID: usize = 512;
/// What some programs begin their output with. It is not JSON, but what follows it is.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Longer keys are not among those that matter.
const LONGEST_KEY: usize = 8;

/// What the keys at the top of a message say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// The id, if there is one that can be used.
    pub(crate) id: Option<RequestId>,
    /// There is a `method`.
    pub(crate) method: bool,
    /// There is a `result` or an `error`.
    pub(crate) outcome: bool,
    /// The line is a list.
    pub(crate) list: bool,
    /// The line starts like JSON-RPC does, with an object or a list.
    pub(crate) structured: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScanState {
    /// Before the first character.
    Start,
    /// In the top object, where a key is next.
    Key,
    /// In the top object, in a key.
    InKey,
    /// In the top object, after a key.
    Colon,
    /// In the top object, in a value.
    Value,
    /// After the top object, or in something that is not an object.
    Outside,
}

/// Finds the id while bytes go by.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    place: ScanState,
    /// Brackets open inside the value at hand.
    depth: u64,
    in_text: bool,
    escaped: bool,
    /// The bytes of the key, or of the value of `id`.
    kept: Vec<u8>,
    /// The value at hand is the id's.
    is_id: bool,
    sketch: Sketch,
}

impl Scanner {
    pub(crate) fn new() -> Scanner {
        Scanner {
            place: ScanState::Start,
            depth: 0,
            in_text: false,
            escaped: false,
            kept: Vec::new(),
            is_id: false,
            sketch: Sketch::default(),
        }
    }

    /// Looks at a whole line.
    pub(crate) fn scan(line: &[u8]) -> Sketch {
        let mut scanner = Scanner::new();
        scanner.feed(line);
        scanner.finish()
    }

    /// Looks at the next bytes of the line.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.byte(*byte);
        }
    }

    /// What was found by the end of the line.
    pub(crate) fn finish(self) -> Sketch {
        self.sketch
    }

    fn byte(&mut self, byte: u8) {
        match self.place {
            ScanState::Start => match byte {
                b'{' => {
                    self.sketch.structured = true;
                    self.place = ScanState::Key;
                }
                b'[' => {
                    self.sketch.structured = true;
                    self.sketch.list = true;
                    self.place = ScanState::Outside;
                }
                _ if byte.is_ascii_whitespace() || BYTE_ORDER_MARK.contains(&byte) => {}
                _ => self.place = ScanState::Outside,
            },
            ScanState::Key => match byte {
                b'"' => {
                    self.kept.clear();
                    self.place = ScanState::InKey;
                }
                b'}' => self.place = ScanState::Outside,
                _ => {}
            },
            ScanState::InKey if self.escaped => self.escaped = false,
            ScanState::InKey => match byte {
                b'"' => self.place = ScanState::Colon,
                b'\\' => {
                    self.escaped = true;
                    self.keep(byte, LONGEST_KEY);
                }
                _ => self.keep(byte, LONGEST_KEY),
            },
            ScanState::Colon => {
                if byte == b':' {
                    self.key_ended();
                    self.place = ScanState::Value;
                }
            }
            ScanState::Value => self.value_byte(byte),
            ScanState::Outside => {}
        }
    }

    fn value_byte(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b',' if self.depth == 0 => return self.value_ended(ScanState::Key),
                b'}' if self.depth == 0 => return self.value_ended(ScanState::Outside),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        if self.is_id {
            self.keep(byte, LONGEST_ID);
        }
    }

    fn key_ended(&mut self) {
        match self.kept.as_slice() {
            b"method" => self.sketch.method = true,
            b"result" | b"error" => self.sketch.outcome = true,
            b"id" => self.is_id = true,
            _ => {}
        }
        self.kept.clear();
    }

    fn value_ended(&mut self, next: ScanState) {
        if self.is_id {
            self.sketch.id = std::str::from_utf8(&self.kept).ok().and_then(parse_id);
            self.is_id = false;
        }
        self.kept.clear();
        self.place = next;
    }

    fn keep(&mut self, byte: u8, most: usize) {
        // One byte more than fits is kept, so that what is too long cannot pass for what it begins with.
        if self.kept.len() <= most {
            self.kept.push(byte);
        }
    }
}

/// Whether the brackets of a line nest deeper than `limit`.
pub(crate) fn too_deep(line: &[u8], limit: usize) -> bool {
    // Counting is many times faster than following the text, and few messages have that many brackets at all.
    let opening = line.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if opening <= limit {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in line {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_of(line: &str) -> Option<RequestId> {
        Scanner::scan(line.as_bytes()).id
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let seven = Some(RequestId::Number(7));
        assert_eq!(id_of(r#"{"id":7,"method":"x","params":{"id":9}}"#), seven);
        assert_eq!(id_of(r#"{"params":{"id":9,"a":"}\"{,"},"id":7}"#), seven);
        assert_eq!(id_of(r#" { "id" : 7 , oops"#), seven);
        assert_eq!(id_of("\u{feff}{\"id\":7,\"method\":\"x\"}"), seven);
        assert_eq!(id_of(r#"{"id":"a,\"b","#), Some(RequestId::Text("a,\"b".into())));
        assert_eq!(id_of(r#"{"params":[[{"id":1}],"id"],"id":7}"#), seven);
    }

    #[test]
    fn no_id_is_invented() {
        for line in [
            r#"{"id":7"#,
            r#"{"id":[7]}"#,
            r#"{"id":null}"#,
            r#"{"identity":7}"#,
            r#"{"\u0069d":7}"#,
            r#"[{"id":7}]"#,
            r#""id":7,"#,
            "garbage",
            "",
        ] {
            assert_eq!(id_of(line), None, "{line}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(2000));
        assert_eq!(id_of(&long), None);
    }

    #[test]
    fn the_kind_is_recognised() {
        let sketch = Scanner::scan(br#"{"method":"a","id":1,"#);
        assert!(sketch.method && !sketch.outcome && sketch.structured);
        let sketch = Scanner::scan(br#"{"id":1,"result":{"method":1}}"#);
        assert!(sketch.outcome && !sketch.method);
        assert!(Scanner::scan(b" [").list);
        assert!(!Scanner::scan(b"starting server...").structured);
    }

    #[test]
    fn depth_is_measured_outside_of_texts() {
        assert!(!too_deep(b"[[[]]]", 3));
        assert!(too_deep(b"[[[[]]]]", 3));
        assert!(!too_deep(b"[[],[],[],[]]", 2));
        assert!(!too_deep(br#"["[[[[[\"[["]"#, 2));
    }
}
