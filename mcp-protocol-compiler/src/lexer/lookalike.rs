//! Characters that are not of the language but look like one that is.

use super::token::Kind;

/// What a character was meant to be, and how that is written.
pub(super) fn meant(character: char) -> Option<(Kind, &'static str)> {
    Some(match character {
        '·' | '∙' | '⋅' | '•' | '․' | '。' | '．' => (Kind::Dot, "."),
        '，' | '、' | '‚' => (Kind::Comma, ","),
        '（' | '❨' | '⟨' => (Kind::Open, "("),
        '）' | '❩' | '⟩' => (Kind::Close, ")"),
        '［' => (Kind::OpenBracket, "["),
        '］' => (Kind::CloseBracket, "]"),
        '！' | '¡' => (Kind::Exclamation, "!"),
        '？' | '¿' => (Kind::Question, "?"),
        '＆' => (Kind::Ampersand, "&"),
        '＝' | '≔' => (Kind::Equals, "="),
        '→' | '⟶' | '⇒' | '➔' => (Kind::Arrow, "->"),
        '∗' | '×' | '＊' | '⋆' | '★' => (Kind::Star, "*"),
        '｜' | '¦' | '∣' | '│' => (Kind::Bar, "|"),
        '⨁' | '⊞' | '∔' | '＋' | '+' => (Kind::Internal, "⊕` or `(+)"),
        '∷' => (Kind::DoubleColon, "::"),
        '：' => (Kind::Colon, ":"),
        '𝛍' | '𝜇' | '𝝁' | '𝝻' | '𝞵' => (Kind::Mu, "μ` or `rec"),
        _ => return None,
    })
}

/// Whether a character opens or closes text elsewhere.
pub(super) fn is_quote(character: char) -> bool {
    matches!(character, '“' | '”' | '„' | '‟' | '«' | '»' | '＂' | '‘' | '’' | '\'' | '`' | '″')
}

/// Whether a character is a dash that is not `-`.
pub(super) fn is_dash(character: char) -> bool {
    matches!(character, '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '－')
}

/// Whether a dash is as wide as two of `-`, as which word processors write them.
pub(super) fn is_wide_dash(character: char) -> bool {
    matches!(character, '–' | '—' | '―')
}

/// Whether a character is not seen at all.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character, '\u{00AD}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
}

/// What to do about a character that resembles nothing.
pub(super) fn advice(character: char) -> Option<&'static str> {
    Some(match character {
        '∧' | '∨' | '∪' | '∩' => {
            "write `⊕` or `(+)` where this role chooses, `&` where the peer chooses"
        }
        '∥' | '‖' | '⊗' | '⅋' => "write `(A, B)` for channels side by side",
        '∀' | '∃' | 'λ' | '\\' => "write `rec α . …` for a loop",
        _ => return None,
    })
}

/// Whether a character is one of Unicode's explicit directional controls.
pub(super) fn changes_direction(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// A character's number as Unicode writes it.
pub(super) fn number(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}
