//! Which braces are those of a record: they stand in a `type` item or in the payload of a message, and nowhere else.

use crate::lexer::token::{BEFORE_SHAPES, Kind, TYPES, Token};
use crate::suggest::nearest;

/// The braces of records that are open.
///
/// Invariants: `open` is how many `{` of a shape stand before this place without their `}`. `looked_back` has the
/// answer of `begins_before` for so many of the first tokens; `declares` is that of `is_in_message` for the first `seen`.
/// Tokens are only ever added.
#[derive(Debug, Default)]
pub(super) struct ShapeBraces {
    open: usize,
    /// How many tokens there are up to the last `}` that closed all of them.
    closed_at: Option<usize>,
    /// How many tokens there were when the last brace was looked at, and the answer. The next look back ends there, so that
    /// many braces in a row are read in linear time.
    looked_back: Option<(usize, bool)>,
    seen: usize,
    declares: bool,
}

impl ShapeBraces {
    /// Whether a `{` between these tokens and this text begins a record; then it is counted. `is_payload` says whether the
    /// payload of a message begins here, and `is_type` whether a type stands in braces. `word` gives a token's text.
    pub(super) fn opens<'s>(
        &mut self,
        tokens: &[Token],
        behind: &str,
        is_payload: bool,
        is_type: bool,
        word: impl Fn(Token) -> &'s str + Copy,
    ) -> bool {
        // The parser says what is wrong before the `=`.
        let is_defined = tokens.last().is_some_and(|last| last.kind == Kind::Equals);
        let declares = self.is_in_message(tokens, word);
        let opens = self.open > 0
            || (is_payload || declares) && !is_type
            || self.is_in_shape(tokens, word)
            || is_foreign(tokens, word)
            || is_defined && begins_field(behind);
        self.open += usize::from(opens);
        opens
    }

    /// Whether a `}` behind these tokens ends a record; then it is counted.
    pub(super) fn closes(&mut self, tokens: &[Token]) -> bool {
        let closes = self.open > 0;
        self.open = self.open.saturating_sub(1);
        if closes && self.open == 0 {
            self.closed_at = Some(tokens.len() + 1);
        }
        closes
    }

    /// Whether a record is open.
    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Whether these tokens end in the declaration of a message, whose braces are all those of its payloads: where one has
    /// no place, the parser says what is wrong before it.
    fn is_in_message<'s>(&mut self, tokens: &[Token], word: impl Fn(Token) -> &'s str) -> bool {
        let new = tokens.get(self.seen..).unwrap_or_default();
        let first = new.iter().rfind(|token| token.starts_line && token.kind == Kind::Word);
        self.declares =
            first.map_or(self.declares, |first| matches!(word(*first), "request" | "notification"));
        self.seen = tokens.len();
        self.declares
    }

    /// Whether a part of a shape may begin behind these tokens: going back over what a shape consists of, `type Name =`
    /// is met, the `(` of a payload, or a record of the same item.
    fn is_in_shape<'s>(&mut self, tokens: &[Token], word: impl Fn(Token) -> &'s str) -> bool {
        let is = |token: Option<&Token>, text: &str| {
            token.is_some_and(|token| token.kind == Kind::Word && word(*token) == text)
        };
        let before = |end: usize| end.checked_sub(1).and_then(|index| tokens.get(index));
        let Some(last) = tokens.last() else { return false };
        let before_shape = BEFORE_SHAPES.iter().any(|word| is(Some(last), word)) && !last.starts_line;
        // The `=` may have been forgotten.
        if last.kind == Kind::Word && !is(Some(last), "map") {
            let earlier = before(tokens.len() - 1);
            // The name and the `=` may have changed places.
            let swapped = earlier.is_some_and(|earlier| earlier.kind == Kind::Equals);
            let declares = is(earlier, "type") || swapped && is(before(tokens.len() - 2), "type");
            if declares || !before_shape {
                return declares;
            }
        }
        let may_go_on = matches!(
            last.kind,
            Kind::Equals
                | Kind::Bar
                | Kind::OpenBracket
                | Kind::Open
                | Kind::Word
                | Kind::Colon
                | Kind::Comma
                | Kind::Ampersand
        );
        if !may_go_on && !is_of_dots(tokens, tokens.len() - 1) {
            return false;
        }
        let begins = self.begins_before(tokens, word);
        self.looked_back = Some((tokens.len(), begins));
        begins
    }

    /// Whether going back over what a shape consists of meets `type Name =`, the `(` of a payload, or a record of the same
    /// item. The fields of a record that lacks its braces are passed over.
    fn begins_before<'s>(&self, tokens: &[Token], word: impl Fn(Token) -> &'s str) -> bool {
        let is = |token: Option<&Token>, text: &str| {
            token.is_some_and(|token| token.kind == Kind::Word && word(*token) == text)
        };
        let before = |end: usize| end.checked_sub(1).and_then(|index| tokens.get(index));
        for (index, token) in tokens.iter().enumerate().rev() {
            if self.closed_at == Some(index + 1) {
                return true;
            }
            if let Some((_, begins)) = self.looked_back.filter(|(count, _)| *count == index + 1) {
                return begins;
            }
            let earlier = before(index);
            match token.kind {
                Kind::Equals => {
                    let begins = index.checked_sub(2).and_then(|index| tokens.get(index));
                    // The parser says that `tpe` is misspelt; the braces behind it are those of a record all the same.
                    return earlier.is_some_and(|name| name.kind == Kind::Word)
                        && begins.is_some_and(|begins| {
                            is(Some(begins), "type")
                                || begins.kind == Kind::Word
                                    && begins.starts_line
                                    && nearest(word(*begins), ["type"]).is_some()
                        });
                }
                // The name of a reply, and what it carries.
                Kind::Arrow => return true,
                // A method, a condition or the name of a reply stands before a payload.
                Kind::Open
                    if earlier.is_some_and(|earlier| {
                        matches!(earlier.kind, Kind::Text | Kind::Word | Kind::Number)
                    }) =>
                {
                    return true;
                }
                // Two words in a row are of another item, but for `map Name` and `1 as Name`.
                Kind::Word | Kind::Text | Kind::Number => {
                    let goes_on = is(earlier, "map") || is(earlier, "as") || is(Some(token), "as");
                    if earlier.is_some_and(|earlier| earlier.kind == Kind::Word) && !goes_on {
                        return false;
                    }
                }
                Kind::Bar | Kind::OpenBracket | Kind::CloseBracket | Kind::Open | Kind::Close => {}
                Kind::Ampersand | Kind::Colon | Kind::Comma | Kind::Question => {}
                Kind::Dot if is_of_dots(tokens, index) => {}
                _ => return false,
            }
        }
        false
    }
}

/// Whether a token is one of several dots, as before the rest of a tuple, or one character that shows three.
fn is_of_dots(tokens: &[Token], index: usize) -> bool {
    let is_dot = |index: usize| tokens.get(index).is_some_and(|token| token.kind == Kind::Dot);
    let is_wide = tokens.get(index).is_some_and(|token| token.end - token.start > 1);
    is_dot(index) && (is_wide || is_dot(index + 1) || index.checked_sub(1).is_some_and(is_dot))
}

/// Whether braces begin behind these tokens that other languages have there: `struct Name {`, `import {`,
/// `capabilities server {`. The parser says what is written here.
fn is_foreign<'s>(tokens: &[Token], word: impl Fn(Token) -> &'s str) -> bool {
    let at_start = |token: &Token, words: &[&str]| {
        token.starts_line && token.kind == Kind::Word && words.contains(&word(*token))
    };
    match tokens {
        [.., first, name] if name.kind == Kind::Word && !name.starts_line && at_start(first, &TYPES) => true,
        [.., first, _, extends, base]
            if base.kind == Kind::Word && matches!(word(*extends), "extends" | "implements") =>
        {
            TYPES.contains(&word(*first))
        }
        [.., export, first, name]
            if name.kind == Kind::Word && export.starts_line && TYPES.contains(&word(*first)) =>
        {
            !first.starts_line && !name.starts_line
        }
        [.., first, name, colon]
            if colon.kind == Kind::Colon && name.kind == Kind::Word && at_start(first, &["type"]) =>
        {
            true
        }
        [.., first, role] if role.kind == Kind::Word && at_start(first, &["capabilities"]) => true,
        [.., first] => at_start(first, &["import"]),
        [] => false,
    }
}

/// Whether a text begins as a field of a record does, `name:` or `name?:`, or with the fields of another record.
fn begins_field(text: &str) -> bool {
    let text = text.trim_start();
    let name = text.trim_start_matches(|character: char| character.is_alphanumeric() || character == '_');
    let is_named = name.len() < text.len();
    let rest = name.trim_start();
    let rest = rest.strip_prefix('?').map_or(rest, str::trim_start);
    text.starts_with("...") || is_named && rest.starts_with(':') && !rest.starts_with("::")
}
