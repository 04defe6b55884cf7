//! The scanner: one pass over the text.

mod braces;
mod comments;
mod conflicts;
mod meant;
mod shapes;

use self::braces::Braces;
use self::conflicts::Conflicts;
use self::shapes::ShapeBraces;
use super::codes::{LONGEST_NAME, LONGEST_TEXT, MALFORMED_NUMBER, TOO_LONG, UNKNOWN_CHARACTER};
use super::lookalike::{
    advice, changes_direction, is_dash, is_invisible, is_quote, is_wide_dash, meant, number,
};
use super::quoted::{self, UNKNOWN_ESCAPE, UNTERMINATED_TEXT};
use super::token::{CHOICES, CONDITIONS, CommentToken, Documentation, Kind, LOOPS, Lexed, Token};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::source::{FileId, SourceMap, Span};

pub(super) struct Scanner<'s> {
    sources: &'s SourceMap,
    file: FileId,
    text: &'s str,
    at: usize,
    /// Where the current line begins.
    line: usize,
    starts_line: bool,
    /// How many `{` have been reported whose `}` has not come: one report is enough for both.
    braces: usize,
    /// Which of them belong together, once one was met.
    pairs: Option<Braces>,
    /// The braces that have a meaning.
    shapes: ShapeBraces,
    /// The end of the last unknown character and the character, so that a run of one character is one finding.
    run: Option<(usize, char)>,
    /// The end of the line in which a closing quote is missing.
    unterminated_until: usize,
    /// Whether no `*/` stands behind this place, once one was looked for.
    no_comment_ends: bool,
    conflicts: Conflicts,
    lexed: Lexed,
}

impl<'s> Scanner<'s> {
    pub(super) fn new(sources: &'s SourceMap, file: FileId) -> Self {
        let text = sources.text(file);
        let lexed = Lexed::default();
        Scanner {
            sources,
            file,
            text,
            at: 0,
            line: 0,
            starts_line: true,
            braces: 0,
            pairs: None,
            shapes: ShapeBraces::default(),
            run: None,
            unterminated_until: 0,
            no_comment_ends: false,
            conflicts: Conflicts::default(),
            lexed,
        }
    }

    pub(super) fn run(mut self) -> Lexed {
        while let Some(character) = self.peek() {
            self.step(character);
        }
        self.token(Kind::EndOfFile, 0);
        self.lexed
    }

    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character `length` bytes on.
    fn peek_behind(&self, length: usize) -> Option<char> {
        self.text.get(self.at + length..)?.chars().next()
    }

    /// Takes `length` bytes as one token.
    fn token(&mut self, kind: Kind, length: usize) {
        let start = self.at as u32;
        self.at += length;
        let starts_line = std::mem::take(&mut self.starts_line);
        self.lexed.tokens.push(Token { kind, starts_line, start, end: self.at as u32 });
    }

    fn step(&mut self, character: char) {
        let length = character.len_utf8();
        let second = self.peek_behind(length);
        match character {
            '\n' => {
                let line = self.text.get(self.line..self.at).unwrap_or("");
                if line.trim().is_empty() {
                    self.lexed.empty_lines.push(self.line as u32);
                }
                self.starts_line = true;
                self.at += 1;
                self.line = self.at;
            }
            '<' | '|' | '=' | '>' if self.at == self.line && self.conflict() => {}
            _ if character.is_whitespace() || changes_direction(character) => self.at += length,
            '-' if second == Some('-') => self.comment(),
            '-' if second == Some('=') => self.token(Kind::MinusEquals, 2),
            '-' if second == Some('>') => self.token(Kind::Arrow, 2),
            '-' if second.is_some_and(|next| next.is_ascii_digit()) => self.number(1),
            '+' if second == Some('=') => self.token(Kind::PlusEquals, 2),
            '+' if self.repeats() => self.token(Kind::Plus, 1),
            '(' if self.rest().starts_with("(+)") => self.token(Kind::Internal, 3),
            ':' if second == Some(':') => self.token(Kind::DoubleColon, 2),
            '"' => self.quoted(character),
            '{' if self.opens_record() => self.token(Kind::OpenBrace, 1),
            '}' if self.shapes.closes(&self.lexed.tokens) => self.token(Kind::CloseBrace, 1),
            'μ' | 'µ' => self.token(Kind::Mu, length),
            _ if character.is_ascii_digit() => self.number(0),
            _ => match punctuation(character) {
                Some(kind) => self.token(kind, length),
                None if starts_word(character) => {
                    let end = self.rest().find(|next| !continues_word(next)).unwrap_or(self.rest().len());
                    self.word(end);
                }
                None => self.foreign(character, second),
            },
        }
    }

    fn word(&mut self, length: usize) {
        if self.is_longer(length, LONGEST_NAME) {
            self.too_long(length, "name", LONGEST_NAME);
        } else {
            self.token(Kind::Word, length);
        }
    }

    /// Whether the next `length` bytes are more than `most` characters.
    fn is_longer(&self, length: usize, most: usize) -> bool {
        length > most && self.rest().get(..length).is_some_and(|text| text.chars().nth(most).is_some())
    }

    fn too_long(&mut self, length: usize, what: &str, most: usize) {
        let diagnostic = Diagnostic::error(TOO_LONG, self.span(length), format!("this {what} is too long"))
            .help(format!("write at most {most} characters"));
        self.report(diagnostic);
        self.token(Kind::Unknown, length);
    }

    /// `-- …` to the end of the line; exactly three dashes are documentation.
    fn comment(&mut self) {
        let rest = self.rest();
        let line = rest.get(..rest.find('\n').unwrap_or(rest.len())).unwrap_or("");
        let dashes = line.len() - line.trim_start_matches('-').len();
        if dashes == 3 {
            let behind = line.get(dashes..).unwrap_or("");
            let space = usize::from(behind.starts_with(' '));
            let text = self.at + dashes + space;
            self.lexed.documentation.push(Documentation {
                start: self.at as u32,
                text: text as u32,
                end: (self.at + line.trim_end().len()).max(text.min(self.at + line.len())) as u32,
                next: self.lexed.tokens.len(),
                starts_line: self.starts_line,
            });
        } else {
            self.lexed.comments.push(CommentToken {
                start: self.at as u32,
                end: (self.at + line.trim_end().len()) as u32,
                starts_line: self.starts_line,
            });
        }
        self.at += line.len();
    }

    /// Digits, behind `sign` bytes of sign. Letters right behind them are part of the mistake.
    fn number(&mut self, sign: usize) {
        let rest = self.rest();
        let behind = rest.get(sign..).unwrap_or("");
        let length = sign + behind.find(|next| !continues_word(next)).unwrap_or(behind.len());
        let word = rest.get(..length).unwrap_or("");
        if behind.bytes().take(length - sign).all(|byte| byte.is_ascii_digit()) {
            return self.token(Kind::Number, length);
        }
        let diagnostic = Diagnostic::error(
            MALFORMED_NUMBER,
            self.span(length),
            format!("`{}` starts with a digit", shorten(word)),
        )
        .label("neither a name nor a number")
        .help("start a name with a letter; in a JSON path, put the key into quotes");
        self.report(diagnostic);
        self.token(Kind::Unknown, length);
    }

    /// Text in quotes. Without a closing quote it ends where a method or a rule would.
    fn quoted(&mut self, opening: char) {
        // Only one text of a line is looked for to the line's end: many of them would take the square of its length.
        if self.unterminated_until > self.at {
            return self.token(Kind::Unknown, opening.len_utf8());
        }
        let line = self.rest();
        let mut at = opening.len_utf8();
        let mut end = None;
        let mut escapes = Vec::new();
        while let Some(character) = line.get(at..).and_then(|behind| behind.chars().next()) {
            if character == '\n' {
                break;
            }
            if character == '\\' {
                let (length, meaning) = quoted::escape(line.get(at..).unwrap_or(""));
                if meaning.is_none() {
                    escapes.push((at, length));
                }
                at += length;
                continue;
            }
            at += character.len_utf8();
            if quoted::closes(opening, character) {
                end = Some(at);
                break;
            }
        }
        let Some(end) = end else {
            self.unterminated_until = self.at + at;
            return self.unterminated(opening, line);
        };
        if self.is_longer(end, LONGEST_TEXT + 2) {
            return self.too_long(end, "text", LONGEST_TEXT);
        }
        for (start, length) in escapes {
            let span = self.span_of(self.at + start, length);
            let wrong = line.get(start..start + length).unwrap_or("");
            let diagnostic = Diagnostic::error(UNKNOWN_ESCAPE, span, format!("unknown escape `{wrong}`"))
                .with_note("the escapes are `\\\"`, `\\\\`, `\\n`, `\\r`, `\\t` and `\\u{…}`")
                .suggest("write `\\\\` for a backslash", [Edit::before(span, "\\")]);
            self.lexed.findings.push(diagnostic);
        }
        if opening != '"' {
            let text = quoted::quote(&quoted::value(line.get(..end).unwrap_or("")));
            let message = format!("`{opening}` is not a quotation mark here");
            let diagnostic = Diagnostic::error(UNKNOWN_CHARACTER, self.span(end), message).suggest(
                format!("write `{}`", shorten(&text)),
                [Edit::replace(self.span(end), text.as_str())],
            );
            self.lexed.findings.push(diagnostic);
        }
        self.token(Kind::Text, end);
    }

    fn unterminated(&mut self, opening: char, line: &str) {
        let behind = line.get(opening.len_utf8()..).unwrap_or("");
        let stop = |character: char| character.is_whitespace() || matches!(character, ')' | ']' | ',');
        let length = opening.len_utf8() + behind.find(stop).unwrap_or(behind.len());
        let word = line.get(opening.len_utf8()..length).unwrap_or("");
        let diagnostic =
            Diagnostic::error(UNTERMINATED_TEXT, self.span(length), "text without a closing quote")
                .label("opened here, not closed in this line");
        let help =
            if word.is_empty() { "delete it".to_owned() } else { format!("write `\"{}\"`", shorten(word)) };
        let written = if word.is_empty() { String::new() } else { format!("\"{word}\"") };
        self.report(diagnostic.suggest(help, [Edit::replace(self.span(length), written)]));
        let kind = if self.is_longer(length, LONGEST_TEXT) { Kind::Unknown } else { Kind::Text };
        self.token(kind, length);
    }

    /// A character that is not of the language.
    fn foreign(&mut self, character: char, second: Option<char>) {
        let length = character.len_utf8();
        let slashes = character == '/' && matches!(second, Some('/' | '*'));
        if is_wide_dash(character)
            || slashes
            || character == '#'
            || (is_dash(character) && second == Some(character))
        {
            self.foreign_comment(character, if slashes { 2 } else { length });
        } else if is_dash(character) {
            self.dash(character, second);
        } else if character == ';' && self.shapes.is_open() {
            let edit = Edit::replace(self.span(1), ",");
            let diagnostic = self.unknown(character, 1).suggest("write `,` between fields", [edit]);
            self.lexed.findings.push(diagnostic);
            self.token(Kind::Comma, 1);
        } else if character == ';' {
            let (advice, instead) = match self.is_last_of_line() {
                true => ("delete it", ""),
                false => ("write `.` between two actions", " ."),
            };
            let edit = Edit::replace(self.span(1), instead);
            let diagnostic = self.unknown(character, 1).suggest(advice, [edit]);
            // The line can be read without the one at its end.
            match instead {
                "" => self.lexed.findings.push(diagnostic),
                _ => self.report(diagnostic),
            }
            self.at += 1;
        } else if is_invisible(character) {
            let message = format!("invisible character {}", number(character));
            let span = self.span(length);
            let diagnostic = Diagnostic::error(UNKNOWN_CHARACTER, span, message)
                .suggest("delete it", [Edit::delete(span)]);
            self.report(diagnostic);
            self.at += length;
        } else if character == '…' && self.is_before_rest(second) {
            // The parser knows how many dots belong there.
            self.token(Kind::Dot, length);
        } else if character == '{' || character == '}' {
            self.brace(character);
        } else if is_quote(character) {
            self.quoted(character);
        } else if let Some((kind, spelling)) = meant(character) {
            // Where there are two spellings the first is typed.
            let first = spelling.split('`').next().unwrap_or(spelling);
            let edit = Edit::replace(self.span(length), first);
            let diagnostic = self.unknown(character, length).suggest(format!("write `{spelling}`"), [edit]);
            self.lexed.findings.push(diagnostic);
            self.token(kind, length);
        } else {
            self.unreadable(character);
        }
    }

    /// Whether dots may stand here, in a record or in the brackets of a tuple, with a shape behind them.
    fn is_before_rest(&self, second: Option<char>) -> bool {
        let begins = second.is_some_and(|next| !next.is_whitespace() && !matches!(next, ')' | '.'));
        let last = self.lexed.tokens.last().map(|last| last.kind);
        begins && matches!(last, Some(Kind::OpenBracket | Kind::OpenBrace | Kind::Comma))
    }

    /// A dash that is not `-`, where `-` has a meaning.
    fn dash(&mut self, character: char, second: Option<char>) {
        let length = character.len_utf8();
        if !second.is_some_and(|next| next.is_ascii_digit() || next == '>' || next == '=') {
            return self.unreadable(character);
        }
        let edit = Edit::replace(self.span(length), "-");
        let diagnostic = self.unknown(character, length).suggest("write `-`", [edit]);
        self.lexed.findings.push(diagnostic);
        match second {
            Some('>') => self.token(Kind::Arrow, length + 1),
            Some('=') => self.token(Kind::MinusEquals, length + 1),
            // The number's text would begin with the wrong sign.
            _ => {
                self.at += length;
                self.number(0);
            }
        }
    }

    fn opens_record(&mut self) -> bool {
        let (sources, file) = (self.sources, self.file);
        let behind = self.rest().get(1..).unwrap_or_default();
        let (is_payload, is_type) = (self.is_payload(), self.type_in_braces().is_some());
        let word = |token: Token| sources.slice(token.span(file));
        self.shapes.opens(&self.lexed.tokens, behind, is_payload, is_type, word)
    }

    /// A brace that has no meaning in this place.
    fn brace(&mut self, character: char) {
        if character == '{' && self.foreign_braces() {
            return;
        }
        // The parser says how a loop or a choice is written.
        let of_statement = character == '{' && self.is_behind_statement();
        if !of_statement && (character == '{' || self.braces == 0) {
            let lost = if character == '}' { self.lost_brace() } else { None };
            let (help, edits) = match lost {
                Some((help, edit)) => (help, vec![edit]),
                None => self.in_place_of_brace(character),
            };
            let diagnostic = self.unknown(character, 1).suggest(help, edits);
            self.report(diagnostic);
        }
        match character {
            '{' => self.braces += 1,
            _ => self.braces = self.braces.saturating_sub(1),
        }
        self.token(if character == '{' { Kind::Open } else { Kind::Close }, 1);
    }

    /// Whether the last token is a word that begins a loop or a condition elsewhere.
    fn is_behind_statement(&self) -> bool {
        let last = self.lexed.tokens.last().map(|last| self.sources.slice(last.span(self.file)));
        last.is_some_and(|last| [&LOOPS[..], &CONDITIONS, &CHOICES].iter().any(|words| words.contains(&last)))
    }

    /// What to write in place of a brace that has no meaning.
    fn in_place_of_brace(&mut self, character: char) -> (String, Vec<Edit>) {
        let help = match self.type_in_braces() {
            Some(help) => help,
            None if character == '}' && !self.lacks_parenthesis() => {
                return ("delete it".to_owned(), vec![Edit::delete(self.span(1))]);
            }
            None => "write parentheses".to_owned(),
        };
        let mut edits = self.parentheses_instead(character, &help);
        // A dot stands between a loop and its body.
        if let ([.., word, name], '{') = (self.lexed.tokens.as_slice(), character)
            && (word.kind == Kind::Mu || self.sources.slice(word.span(self.file)) == "rec")
            && name.kind == Kind::Word
            && !edits.is_empty()
        {
            edits.push(Edit::after(name.span(self.file), " ."));
            return ("write `. ( … )`".to_owned(), edits);
        }
        (help, edits)
    }

    /// Reports a type in braces where a payload is, or JSON that is all of a file, and passes over it; nothing if neither
    /// stands here, or its end is missing.
    fn foreign_braces(&mut self) -> bool {
        let is_all = self.lexed.tokens.is_empty();
        let meant = self.type_in_braces();
        if meant.is_none() && !is_all {
            return false;
        }
        let Some(close) = self.close_of_brace() else { return false };
        let diagnostic = self.unknown('{', 1);
        let diagnostic = match meant {
            Some(help) => {
                let edits = self.parentheses_instead('{', &help);
                diagnostic.suggest(help, edits)
            }
            None => diagnostic.help(
                "a file of this language is not JSON: it declares messages, such as `request Name \"method\" -> Reply`, \
                 and session types",
            ),
        };
        self.report(diagnostic);
        if !is_all {
            self.token(Kind::Open, 1);
        }
        let end = close + usize::from(is_all);
        if let Some(last) = self.text.get(self.at..end).and_then(|inner| inner.rfind('\n')) {
            self.line = self.at + last + 1;
        }
        self.token(Kind::Unknown, end - self.at);
        if !is_all {
            self.token(Kind::Close, 1);
        }
        true
    }

    /// Where the `}` stands that closes the `{` here.
    fn close_of_brace(&mut self) -> Option<usize> {
        let (text, at) = (self.text, self.at);
        self.pairs.get_or_insert_with(|| Braces::new(text, at)).close_of(at)
    }

    /// The edits that write parentheses for the brace here and the one that closes it.
    fn parentheses_instead(&mut self, character: char, help: &str) -> Vec<Edit> {
        if character == '}' {
            return vec![Edit::replace(self.span(1), ")")];
        }
        let at = self.at;
        let Some(close) = self.close_of_brace() else { return Vec::new() };
        match help.split('`').nth(1) {
            Some(written) => vec![Edit::replace(self.span(close + 1 - at), written)],
            None => {
                vec![Edit::replace(self.span(1), "("), Edit::replace(self.span_of(close, 1), ")")]
            }
        }
    }

    fn unreadable(&mut self, character: char) {
        let length = character.len_utf8();
        if self.run != Some((self.at, character)) {
            let mut diagnostic = self.unknown(character, length);
            if let Some(advice) = advice(character) {
                let meant = advice.split('`').nth(1).unwrap_or_default();
                let edit = (meant == "⊕").then(|| Edit::replace(self.span(length), meant));
                diagnostic = diagnostic.suggest(advice, edit);
            } else if character == '-' && !self.is_behind_word() && self.lacks_an_arrow() {
                diagnostic = match self.up_to_name() {
                    Some(length) => {
                        let span = self.span(length);
                        let help = match self.sources.slice(span).trim_end() {
                            "-" | "- >" => "write `->`".to_owned(),
                            torn => format!("write `->` in place of `{torn}`"),
                        };
                        diagnostic.suggest(help, [Edit::replace(span, "-> ")])
                    }
                    None => diagnostic.help("an arrow and the name of the reply stand here"),
                };
            } else if character == '-' && self.opens_payload() {
                diagnostic = diagnostic.suggest("write `(`", [Edit::replace(self.span(length), "(")]);
            } else if let Some((before, whole)) = self.around(character) {
                return self.unquoted(diagnostic, before, &whole);
            } else if character == '-' && self.is_first_of_line() {
                diagnostic = diagnostic
                    .suggest("a comment starts with `--`", [Edit::replace(self.span(length), "--")]);
            } else if let Some(joined) = self.cut_code().filter(|_| character == '-') {
                diagnostic = match joined.is_empty() {
                    false => diagnostic.suggest("write the code right behind its sign", joined),
                    true => diagnostic.help("the code of the error is missing behind its sign"),
                };
            } else {
                diagnostic = diagnostic.suggest("delete it", [Edit::delete(self.span(length))]);
            }
            self.report(diagnostic);
        }
        self.token(Kind::Unknown, length);
        self.run = Some((self.at, character));
    }

    /// Whether this place is in the declaration of a request, and no `->` stands before it.
    fn lacks_an_arrow(&self) -> bool {
        let line = self.line_before().unwrap_or("").trim_start();
        line.starts_with("request ") && !line.contains("->") && line.contains('"')
    }

    /// How much of a torn arrow stands here, `-` or `- >`, if a name follows it. Where two words follow, and the second one
    /// begins as names do, the first one stands in place of the `>`.
    fn up_to_name(&self) -> Option<usize> {
        let behind = self.rest().get(1..)?;
        let mut name = behind.trim_start_matches([' ', '>']);
        let next = name.trim_start_matches(continues_word).trim_start_matches(' ');
        if next.starts_with(char::is_uppercase) && next.len() < name.len() {
            name = next;
        }
        let length = 1 + behind.len() - name.len();
        name.starts_with(starts_word).then_some(length).filter(|length| *length < 60)
    }

    /// Whether a word ends at this place.
    fn is_behind_word(&self) -> bool {
        self.text.get(..self.at).is_some_and(|before| before.ends_with(continues_word))
    }

    /// Whether nothing but spaces stands before this place in its line.
    fn is_first_of_line(&self) -> bool {
        self.line_before().is_some_and(|line| line.trim().is_empty())
    }

    /// What stands before this place in its line, unless the line is longer than lines are: each sign of a line may ask.
    fn line_before(&self) -> Option<&'s str> {
        const LONGEST_LINE: usize = 400;
        let before = self.text.as_bytes().get(..self.at)?;
        let start = before.iter().rev().take(LONGEST_LINE).position(|byte| *byte == b'\n');
        let start =
            start.map_or_else(|| (self.at < LONGEST_LINE).then_some(0), |back| Some(self.at - back))?;
        self.text.get(start..self.at)
    }

    /// Whether nothing but spaces stands behind the character at this place in its line.
    fn is_last_of_line(&self) -> bool {
        let mut behind = self.rest().chars().skip(1).take_while(|character| *character != '\n').take(200);
        behind.all(char::is_whitespace)
    }

    /// Whether the `+` at this place repeats what it stands right behind, as a grammar has it: no branch follows it.
    fn repeats(&self) -> bool {
        const FARTHEST: usize = 200;
        let behind = self.rest().get(1..).unwrap_or_default();
        let mut next = behind.chars().take(FARTHEST).skip_while(|next| next.is_whitespace());
        let is_on_line =
            behind.chars().take_while(|next| next.is_whitespace()).take(FARTHEST).all(|next| next != '\n');
        let before = self.text.get(..self.at).and_then(|before| before.chars().next_back());
        before.is_some_and(|before| before == ')' || continues_word(before))
            && next.next().is_none_or(|next| match next {
                '.' | ',' | ')' | '&' | '|' | '⊕' | '-' => true,
                next => !is_on_line && continues_word(next),
            })
    }

    fn unknown(&self, character: char, length: usize) -> Diagnostic {
        let span = self.span(length);
        let written = self.sources.slice(span);
        let shown =
            if character.is_control() { character.escape_unicode().to_string() } else { written.to_owned() };
        let message = if character.is_ascii() && !character.is_control() {
            format!("unknown character `{shown}`")
        } else {
            format!("unknown character `{shown}` ({})", number(character))
        };
        Diagnostic::error(UNKNOWN_CHARACTER, span, message)
    }

    /// Reports what makes the rest of the line unreliable.
    fn report(&mut self, diagnostic: Diagnostic) {
        let line = self.sources.line_number(self.file, self.at as u32);
        if self.lexed.unreadable_lines.last() != Some(&line) {
            self.lexed.unreadable_lines.push(line);
        }
        self.lexed.findings.push(diagnostic);
    }

    fn span(&self, length: usize) -> Span {
        self.span_of(self.at, length)
    }

    fn span_of(&self, start: usize, length: usize) -> Span {
        Span { file: self.file, start: start as u32, end: (start + length) as u32 }
    }
}

fn punctuation(character: char) -> Option<Kind> {
    Some(match character {
        '⊕' => Kind::Internal,
        '&' => Kind::Ampersand,
        '!' => Kind::Exclamation,
        '?' => Kind::Question,
        '.' => Kind::Dot,
        '*' => Kind::Star,
        ',' => Kind::Comma,
        '|' => Kind::Bar,
        '(' => Kind::Open,
        ')' => Kind::Close,
        '[' => Kind::OpenBracket,
        ']' => Kind::CloseBracket,
        '<' => Kind::Less,
        '>' => Kind::Greater,
        '=' => Kind::Equals,
        ':' => Kind::Colon,
        _ => return None,
    })
}

/// Whether a character goes on with a word. `μ` and `µ` are tokens of their own wherever they stand.
pub(super) fn continues_word(character: char) -> bool {
    (character.is_alphanumeric() || character == '_') && !matches!(character, 'μ' | 'µ')
}

/// Whether a character begins a word.
pub(super) fn starts_word(character: char) -> bool {
    (character.is_alphabetic() || character == '_')
        && !matches!(character, 'μ' | 'µ')
        && meant(character).is_none()
}
