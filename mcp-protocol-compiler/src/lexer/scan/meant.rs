//! What was meant by a character that is not of the language, as far as what stands around it tells.

use super::{Scanner, continues_word, starts_word};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::codes::UNKNOWN_CHARACTER;
use crate::lexer::token::{Kind, Token};

impl Scanner<'_> {
    /// Whether a payload begins here, behind its `(` or where that is missing.
    pub(super) fn is_payload(&self) -> bool {
        let mut before = self.lexed.tokens.iter().rev().map(|token| token.kind).peekable();
        let opened = before.next_if_eq(&Kind::Open).is_some();
        match (before.next(), before.next()) {
            // A condition may stand before it.
            (Some(Kind::Text | Kind::Word | Kind::Number), _) if opened => true,
            (Some(Kind::Text), Some(Kind::Word)) => true,
            (Some(Kind::Word), Some(Kind::Arrow | Kind::Bar)) => true,
            _ => false,
        }
    }

    /// What to write where a type stands in braces, in place of the parentheses of a payload.
    pub(super) fn type_in_braces(&self) -> Option<String> {
        let behind = self.rest().strip_prefix('{')?;
        if self.lexed.tokens.last()?.kind == Kind::Open || !self.is_payload() {
            return None;
        }
        let inner: String = behind.chars().take(60).take_while(|next| !matches!(next, '}' | '\n')).collect();
        let inner = inner.trim();
        let is_type = inner.split("::").all(|part| {
            let part = part.strip_suffix('?').unwrap_or(part);
            part.starts_with(starts_word) && part.chars().all(continues_word)
        });
        is_type.then(|| format!("write `({inner})`"))
    }

    /// Whether a `(` around this place lacks its `)`, as far as the text tells up to the next empty line.
    pub(super) fn lacks_parenthesis(&self) -> bool {
        const FAR: usize = 300;
        let (before, behind) = self.text.as_bytes().split_at(self.at);
        let paragraph = |text: &[u8]| {
            let empty = text.windows(2).position(|pair| pair == b"\n\n").unwrap_or(text.len());
            let inside = text.get(..empty).unwrap_or_default();
            let count = |sign: u8| inside.iter().filter(|byte| **byte == sign).count();
            (count(b'('), count(b')'))
        };
        let reversed: Vec<u8> = before.iter().rev().take(FAR).copied().collect();
        let (opened, closed) = paragraph(&reversed);
        let (more_opened, more_closed) = paragraph(behind.get(..FAR.min(behind.len())).unwrap_or_default());
        opened + more_opened > closed + more_closed
    }

    /// Whether this sign stands in place of the `(` of a payload, `"method" -Name)` or `-> Reply -Name)`.
    pub(super) fn opens_payload(&self) -> bool {
        let behind = self.rest().get(1..).unwrap_or_default();
        let name = behind.trim_start_matches(continues_word);
        let is_behind = match self.lexed.tokens.as_slice() {
            [.., last] if last.kind == Kind::Text => true,
            [.., sign, last] => last.kind == Kind::Word && matches!(sign.kind, Kind::Arrow | Kind::Bar),
            _ => false,
        };
        is_behind && name.len() < behind.len() && name.starts_with(')')
    }

    /// What to do where a record ends here and its `{` is missing: what stands in place of the `{`, before the first
    /// field, gives way to it.
    pub(super) fn lost_brace(&self) -> Option<(String, Edit)> {
        self.lost_brace_of_payload().or_else(|| self.lost_brace_of_type())
    }

    /// The same in a payload: the fields begin behind `(`, `[`, `|` or `map`, with at most one token before them.
    fn lost_brace_of_payload(&self) -> Option<(String, Edit)> {
        const FAR: usize = 60;
        let tokens = &self.lexed.tokens;
        let word = |token: &Token| self.sources.slice(token.span(self.file));
        let (mut inner, mut colon) = (0usize, None);
        let far = tokens.len().saturating_sub(FAR);
        let before = tokens.iter().enumerate().skip(far).rev().find(|(index, token)| {
            match token.kind {
                Kind::Close | Kind::CloseBracket | Kind::CloseBrace => inner += 1,
                Kind::Open | Kind::OpenBracket | Kind::OpenBrace if inner > 0 => inner -= 1,
                Kind::Open | Kind::OpenBracket | Kind::OpenBrace => return true,
                Kind::Bar => return inner == 0 && colon.is_some(),
                Kind::Word if word(token) == "map" => return inner == 0 && colon.is_some(),
                Kind::Colon if inner == 0 => colon = Some(*index),
                _ => {}
            }
            false
        });
        let (index, before) = before?;
        let is_optional = tokens.get(colon?.checked_sub(1)?)?.kind == Kind::Question;
        let first = colon?.checked_sub(if is_optional { 2 } else { 1 })?;
        let name = tokens.get(first).filter(|name| matches!(name.kind, Kind::Word | Kind::Text))?;
        if before.kind == Kind::OpenBrace || first > index + 2 {
            return None;
        }
        // Of two parentheses, one stands in its place.
        let is_twice = before.kind == Kind::Open
            && index
                .checked_sub(1)
                .and_then(|index| tokens.get(index))
                .is_some_and(|token| token.kind == Kind::Open);
        let start = if is_twice { before.start } else { before.end } as usize;
        let written = if matches!(before.kind, Kind::Open | Kind::OpenBracket) { "{ " } else { " { " };
        let edit = Edit::replace(self.span_of(start, name.start as usize - start), written);
        Some((format!("write `{{` before `{}`", shorten(word(name))), edit))
    }

    fn lost_brace_of_type(&self) -> Option<(String, Edit)> {
        let before = self.text.get(..self.at)?;
        let line = self.line_before()?;
        if !line.trim_start().starts_with("type ") || line.contains("--") || line.contains('{') {
            return None;
        }
        let equals = before.len() - line.len() + line.find('=')? + 1;
        let fields = before.get(equals..)?;
        let named = fields.get(..fields.find(':')?)?.trim_end_matches([' ', '?']);
        let name = named.trim_start_matches(|next: char| next != ' ').trim_start();
        let name = name.rsplit(' ').next().filter(|name| name.starts_with(starts_word))?;
        let first = equals + named.len() - name.len();
        let edit = Edit::replace(self.span_of(equals, first - equals), " { ");
        Some((format!("write `{{` before `{}`", shorten(name)), edit))
    }

    /// How the `-` at this place and the digits of an error's code are joined, where `error` stands before it; what
    /// stands between them moves behind the digits. Without digits in the line the suggestion has no edit.
    pub(super) fn cut_code(&self) -> Option<Vec<Edit>> {
        let behind = self.rest().strip_prefix('-')?;
        let last = self.lexed.tokens.last()?;
        if self.sources.slice(last.span(self.file)) != "error" {
            return None;
        }
        let between: String =
            behind.chars().take(60).take_while(|next| matches!(next, ' ' | '\t' | ']')).collect();
        let digits: String =
            behind.chars().skip(between.len()).take(60).take_while(char::is_ascii_digit).collect();
        let edit = Edit::replace(
            self.span_of(self.at + 1, between.len() + digits.len()),
            format!("{digits}{}", between.trim()),
        );
        Some((!digits.is_empty()).then_some(edit).into_iter().collect())
    }

    /// What was probably meant as one word with this character in it, `tools/call`, `x-y`, and how much of it stands
    /// before this place.
    pub(super) fn around(&self, character: char) -> Option<(usize, String)> {
        if !matches!(character, '$' | '@' | '%' | '/' | '-' | '~') {
            return None;
        }
        // Methods have dots in them, keys of a path do not.
        let within = |next: char| {
            continues_word(next)
                || matches!(next, '$' | '@' | '%' | '/' | '-' | '~')
                || (next == '.' && character == '/')
        };
        let before =
            self.text.get(..self.at)?.chars().rev().take(60).take_while(|next| within(*next)).count();
        let rest = self.rest();
        let after: String = rest.chars().take(60).take_while(|next| within(*next)).collect();
        let start: String = self.text.get(..self.at)?.chars().rev().take(before).collect();
        let whole: String = start.chars().rev().chain(after.chars()).collect();
        whole.chars().any(continues_word).then_some((start.len(), whole))
    }

    /// Whether a session type may begin here, and not a key of a path.
    fn begins_session_type(&self) -> bool {
        let spaced = self.text.get(..self.at).is_some_and(|before| before.ends_with(char::is_whitespace));
        let signs =
            [Kind::Equals, Kind::Dot, Kind::Internal, Kind::Ampersand, Kind::Comma, Kind::Open, Kind::Star];
        let last = self.lexed.tokens.last();
        last.is_some_and(|last| signs.contains(&last.kind) && (spaced || last.kind != Kind::Dot))
    }

    /// A word with a foreign character in it: a method or a key without its quotes, or what is not a name.
    pub(super) fn unquoted(&mut self, foreign: Diagnostic, before: usize, whole: &str) {
        let span = self.span_of(self.at - before, whole.len());
        // The parser knows which message has this method.
        if let [.., sign, name] = self.lexed.tokens.as_slice()
            && matches!(sign.kind, Kind::Exclamation | Kind::Question)
            && (name.kind, name.start) == (Kind::Word, span.start)
            && whole.contains('/')
        {
            return self.token(Kind::Unknown, whole.len() - before);
        }
        let mut tokens = self.lexed.tokens.iter().rev().skip_while(|token| token.start >= span.start);
        let (last, previous) = (tokens.next(), tokens.next());
        let declares =
            |token: &Token| matches!(self.sources.slice(token.span(self.file)), "request" | "notification");
        let is_method = previous.is_some_and(declares) && last.is_some_and(|last| last.kind == Kind::Word);
        let diagnostic = if is_method || whole.contains('/') {
            let (shown, what) = (shorten(whole), if is_method { "the method " } else { "" });
            let message = format!("{what}`{shown}` stands without quotes");
            let help = match whole.split_once('.').filter(|_| !is_method) {
                // These are words of their own, behind which one key stands.
                Some((head @ ("_meta" | "client" | "server" | "peer" | "own"), key)) => {
                    format!("write `{head}.\"{}\"`", shorten(key))
                }
                Some(_) => "put the key that has `/` in it in quotes, as in `_meta.\"a/b\"`".to_owned(),
                None => format!("write `\"{shown}\"`"),
            };
            let edit = help.split('`').nth(1).map(|written| Edit::replace(span, written));
            let edit = edit.filter(|_| shown == whole && help.starts_with("write `"));
            Diagnostic::error(UNKNOWN_CHARACTER, span, message).suggest(help, edit)
        } else if whole.starts_with('~') && self.begins_session_type() {
            let name = whole.trim_start_matches('~');
            let edit = Edit::replace(span, format!("dual {name}"));
            foreign.suggest(format!("write `dual {}` for the other side of it", shorten(name)), [edit])
        } else {
            let name: String =
                whole.chars().map(|next| if continues_word(next) { next } else { '_' }).collect();
            let edit = Edit::replace(span, name.as_str());
            foreign.suggest(format!("write `{name}`, or, as a key of a JSON path, `\"{whole}\"`"), [edit])
        };
        self.report(diagnostic);
        self.token(Kind::Unknown, whole.len() - before);
    }
}
