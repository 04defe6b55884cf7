//! Text of a peer, as it may stand in a log.

use std::fmt::{self, Write as _};

/// Text of a peer in a sentence: control characters, and those that change the direction of what stands behind them,
/// are escaped, and of a long text only the beginning is shown.
///
/// ```
/// use mcp_protocol_machine::Excerpt;
///
/// assert_eq!(Excerpt("tools/call").to_string(), "tools/call");
/// assert_eq!(Excerpt("one\ntwo\u{1b}[31m").to_string(), r"one\ntwo\u{1b}[31m");
/// assert!(Excerpt(&"x".repeat(1_000_000)).to_string().len() < 300);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a>(pub &'a str);

impl Excerpt<'_> {
    /// How many characters are shown.
    pub const LONGEST: usize = 200;
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.chars();
        for character in rest.by_ref().take(Excerpt::LONGEST) {
            if character.is_control() || turns(character) {
                write!(formatter, "{}", character.escape_debug())?;
            } else {
                formatter.write_char(character)?;
            }
        }
        match rest.as_str().len() {
            0 => Ok(()),
            more => write!(formatter, "… ({more} more bytes)"),
        }
    }
}

/// Whether a character is not seen itself and changes how others are shown.
fn turns(character: char) -> bool {
    matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(Excerpt("a\u{1b}]0;x\u{7}b\r\n").to_string(), r"a\u{1b}]0;x\u{7}b\r\n");
        assert_eq!(Excerpt("a\u{202e}b\u{200b}").to_string(), r"a\u{202e}b\u{200b}");
        assert_eq!(Excerpt("größer \"so\" \\ ✓").to_string(), "größer \"so\" \\ ✓");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = "é".repeat(300);
        let shown = Excerpt(&text).to_string();
        assert_eq!(shown, format!("{}… (200 more bytes)", "é".repeat(200)));
        assert_eq!(Excerpt(&"é".repeat(200)).to_string(), "é".repeat(200));
    }
}
