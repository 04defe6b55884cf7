//! Where in the grammar a position is, as far as the tokens before it tell.

use mcp_protocol_compiler::ast::{BOOLEANS, BUILT_IN};
use mcp_protocol_compiler::lexer::{self, Kind, Token};
use mcp_protocol_compiler::parser::words;
use mcp_protocol_compiler::source::{FileId, SourceMap};
use mcp_protocol_compiler::symbols::SymbolKind;

/// What may stand at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionPlace {
    /// An item.
    Item,
    /// A message behind `!` or `?`.
    Action,
    /// A message or group in a declaration.
    Message,
    /// A message that has a key in its payload, or what says that it is elsewhere.
    KeyField,
    /// The same behind `open`.
    OpenKeyField,
    /// A request or a group, of whose replies or ids something is said.
    Request,
    /// A request, a notification or a group, in whose envelopes a key is.
    Opening,
    /// Where capabilities or the version are announced.
    Announced,
    /// What may follow where one message announces capabilities.
    OfCapabilities,
    /// What may follow where each request announces capabilities.
    OfCapabilitiesInRequests,
    /// What may follow where each request says its version.
    OfVersion,
    /// A session type.
    SessionType,
    /// A definition behind `dual`.
    Dual,
    /// The name of a role behind `client` or `server`: a definition of it may be there already.
    /// It holds a name for one that has none.
    RoleName(&'static str),
    /// A role, `client`, `server` and the like.
    Side,
    /// A payload, of which nothing is written.
    Payload,
    /// A shape.
    Shape,
    /// What may follow a declared message.
    Modifier,
    /// The path of a file, in its quotes.
    Import,
    /// A new name, text, a comment: nothing can be proposed.
    Nothing,
}

impl CompletionPlace {
    /// Whether a message or group of this kind may stand here.
    pub(super) fn takes_message(self, kind: SymbolKind) -> bool {
        match self {
            CompletionPlace::Action | CompletionPlace::Message | CompletionPlace::Announced => true,
            // Where a key is in payloads, each message is named.
            CompletionPlace::KeyField | CompletionPlace::OpenKeyField => kind != SymbolKind::Group,
            CompletionPlace::Request => matches!(kind, SymbolKind::Request | SymbolKind::Group),
            CompletionPlace::Opening => kind != SymbolKind::Reply,
            _ => false,
        }
    }

    /// The words of the language that may stand here.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        let words: &[&str] = match self {
            CompletionPlace::Item => &words::ITEMS,
            CompletionPlace::Action => &["reply"],
            CompletionPlace::Message => &["replies"],
            CompletionPlace::KeyField => &["id of", "open"],
            CompletionPlace::OpenKeyField => &["id of"],
            CompletionPlace::Announced => &["each request"],
            CompletionPlace::OfCapabilities => &["open until announced", "default"],
            CompletionPlace::OfCapabilitiesInRequests => &["default", "with error"],
            CompletionPlace::OfVersion => &["with error"],
            CompletionPlace::SessionType => &["End", "rec", "dual"],
            CompletionPlace::Side => &["client", "server", "own", "peer"],
            CompletionPlace::Payload => &["null"],
            CompletionPlace::Shape => &BUILT_IN,
            CompletionPlace::Modifier => &words::MODIFIERS,
            CompletionPlace::Request
            | CompletionPlace::Opening
            | CompletionPlace::Dual
            | CompletionPlace::RoleName(_)
            | CompletionPlace::Import
            | CompletionPlace::Nothing => &[],
        };
        // A declaration may end anywhere, and another item begin.
        let more: &[&str] = match self {
            CompletionPlace::Modifier
            | CompletionPlace::OfCapabilities
            | CompletionPlace::OfCapabilitiesInRequests
            | CompletionPlace::OfVersion => &words::ITEMS,
            CompletionPlace::Shape => &BOOLEANS,
            _ => &[],
        };
        words.iter().chain(more).copied()
    }
}

/// A position among the tokens.
pub(super) struct Context {
    /// What may stand there.
    pub(super) place: CompletionPlace,
    /// Where the word begins that is being typed, or the position.
    pub(super) start: u32,
    /// Where the item begins that the position is in.
    pub(super) item: u32,
}

impl Context {
    /// The context of an offset.
    pub(super) fn at(sources: &SourceMap, file: FileId, offset: u32) -> Context {
        let lexed = lexer::lex(sources, file);
        let in_comment = lexed.comments.iter().any(|comment| comment.start < offset && offset <= comment.end)
            || lexed.documentation.iter().any(|line| line.start < offset && offset <= line.end);
        let here = lexed.tokens.iter().find(|token| token.start < offset && offset <= token.end);
        let word = here.filter(|token| token.kind == Kind::Word);
        let start = word.map_or(offset, |token| token.start);
        let before: Vec<Token> = lexed
            .tokens
            .iter()
            .copied()
            .filter(|token| token.end <= start && token.kind != Kind::EndOfFile)
            .collect();
        let text = |token: &Token| sources.slice(token.span(file));
        let item = CurrentItem::around(&before, text);
        let in_text =
            here.is_some_and(|token| matches!(token.kind, Kind::Text | Kind::Number | Kind::Unknown));
        let place = match (in_comment, here.filter(|_| in_text)) {
            (true, _) => CompletionPlace::Nothing,
            (false, Some(token)) => {
                let is_import =
                    before.iter().rfind(|other| other.end <= token.start).map(text) == Some("import");
                let start = token.start + 1;
                if is_import && sources.slice(token.span(file)).starts_with('"') {
                    return Context { place: CompletionPlace::Import, start, item: item.start };
                }
                CompletionPlace::Nothing
            }
            (false, None) => item.place(&before, text),
        };
        Context { place, start, item: item.start }
    }
}

/// The item that a position is in.
struct CurrentItem<'t> {
    kind: ItemKind<'t>,
    start: u32,
    /// Its tokens among those before the position.
    first: usize,
}

enum ItemKind<'t> {
    /// There is none.
    None,
    /// One that begins with a word of the language.
    Word(&'t str),
    /// `Name = …`
    Definition,
}

impl<'t> CurrentItem<'t> {
    fn around(before: &[Token], text: impl Fn(&Token) -> &'t str) -> CurrentItem<'t> {
        let found = before.iter().enumerate().rev().find_map(|(index, token)| {
            let word = text(token);
            if token.kind != Kind::Word || !token.starts_line {
                return None;
            }
            // `open key name = …`
            let is_open_key = word == "open" && before.get(index + 1).map(&text) == Some("key");
            let word = if is_open_key { "key" } else { word };
            if words::ITEMS.contains(&word) && word != "override" {
                return Some(CurrentItem { kind: ItemKind::Word(word), start: token.start, first: index });
            }
            // `Name =`, `Role::Name =`, `Name only =`: nothing else that begins a line has its `=` before a `.`.
            let rest = before.get(index + 1..).unwrap_or_default();
            let mut depth = 0usize;
            let mut header = rest.iter().take_while(|token| {
                match token.kind {
                    Kind::OpenBracket => depth += 1,
                    Kind::CloseBracket => depth = depth.saturating_sub(1),
                    _ => {}
                }
                let may_be_in_header = matches!(token.kind, Kind::DoubleColon | Kind::CloseBracket)
                    || (token.kind == Kind::Word && !token.starts_line)
                    || depth > 0;
                may_be_in_header || token.kind == Kind::Equals
            });
            let is_definition = header.any(|token| token.kind == Kind::Equals);
            is_definition.then_some(CurrentItem {
                kind: ItemKind::Definition,
                start: token.start,
                first: index,
            })
        });
        found.unwrap_or(CurrentItem { kind: ItemKind::None, start: 0, first: before.len() })
    }

    fn place(&self, before: &[Token], text: impl Fn(&Token) -> &'t str) -> CompletionPlace {
        let tokens = before.get(self.first..).unwrap_or_default();
        let Some(last) = tokens.last() else { return CompletionPlace::Item };
        let is_type = tokens.iter().any(|token| token.kind == Kind::Equals);
        match self.kind {
            ItemKind::None => CompletionPlace::Item,
            ItemKind::Definition => session_type(tokens, text),
            ItemKind::Word("client" | "server") if is_type => session_type(tokens, text),
            ItemKind::Word("client") if tokens.len() == 1 => CompletionPlace::RoleName("Client"),
            ItemKind::Word("server") if tokens.len() == 1 => CompletionPlace::RoleName("Server"),
            ItemKind::Word("request" | "notification") => message(tokens, text),
            ItemKind::Word("type") => shape(tokens, text),
            ItemKind::Word("version") => {
                announced(tokens, text, CompletionPlace::Item, CompletionPlace::OfVersion)
            }
            ItemKind::Word("capabilities") if is_type => announced(
                tokens,
                text,
                CompletionPlace::OfCapabilities,
                CompletionPlace::OfCapabilitiesInRequests,
            ),
            ItemKind::Word("key") if matches!(last.kind, Kind::Equals | Kind::Bar) => {
                CompletionPlace::KeyField
            }
            ItemKind::Word("key")
                if text(last) == "open"
                    && tokens
                        .iter()
                        .nth_back(1)
                        .is_some_and(|it| matches!(it.kind, Kind::Equals | Kind::Bar)) =>
            {
                CompletionPlace::OpenKeyField
            }
            ItemKind::Word("group" | "key" | "capabilities") => match last.kind {
                Kind::Equals | Kind::PlusEquals | Kind::MinusEquals | Kind::Bar => CompletionPlace::Message,
                Kind::Word if text(last) == "replies" => CompletionPlace::Request,
                Kind::Word if text(last) == "of" => match tokens.iter().rev().nth(1).map(text) {
                    Some("id") => CompletionPlace::Request,
                    _ => CompletionPlace::Opening,
                },
                Kind::Word if text(last) == "capabilities" => CompletionPlace::Side,
                Kind::Word if tokens.len() > 2 => CompletionPlace::Item,
                _ => CompletionPlace::Nothing,
            },
            // `protocol Name "1"`, `import "file"`, `types a::b`, `client Name`
            ItemKind::Word(_) if tokens.len() > 1 && last.kind != Kind::DoubleColon => CompletionPlace::Item,
            ItemKind::Word(_) => CompletionPlace::Nothing,
        }
    }
}

/// Behind `version =` and `capabilities role =`: what may follow a path in a message, or in each request.
fn announced<'t>(
    tokens: &[Token],
    text: impl Fn(&Token) -> &'t str,
    in_message: CompletionPlace,
    in_each_request: CompletionPlace,
) -> CompletionPlace {
    let Some(last) = tokens.last() else { return CompletionPlace::Nothing };
    let is_path = tokens.iter().any(|token| token.kind == Kind::Dot);
    let is_each = tokens.iter().any(|token| text(token) == "each");
    match last.kind {
        Kind::Equals => CompletionPlace::Announced,
        Kind::Word | Kind::Text if is_path && is_each => in_each_request,
        Kind::Word | Kind::Text if is_path => in_message,
        Kind::Word | Kind::Text | Kind::Number if is_path => CompletionPlace::Item,
        _ => CompletionPlace::Nothing,
    }
}

fn session_type<'t>(tokens: &[Token], text: impl Fn(&Token) -> &'t str) -> CompletionPlace {
    let Some(last) = tokens.last() else { return CompletionPlace::Nothing };
    let word = text(last);
    match last.kind {
        Kind::Exclamation | Kind::Question => CompletionPlace::Action,
        Kind::Word if word == "dual" => CompletionPlace::Dual,
        Kind::Word if word == "rec" => CompletionPlace::Nothing,
        Kind::Mu => CompletionPlace::Nothing,
        Kind::Dot
        | Kind::Equals
        | Kind::Open
        | Kind::Comma
        | Kind::Internal
        | Kind::Ampersand
        | Kind::Star => CompletionPlace::SessionType,
        // What is in parentheses may be whole, but they are open: no other item begins in them.
        _ if OpenBrackets::around(tokens).is_some() => CompletionPlace::Nothing,
        // The session type may be whole.
        _ => CompletionPlace::Item,
    }
}

fn message<'t>(tokens: &[Token], text: impl Fn(&Token) -> &'t str) -> CompletionPlace {
    let Some(last) = tokens.last() else { return CompletionPlace::Nothing };
    let word = text(last);
    if let Some(inner) = open_payload(tokens)
        && !inner.is_empty()
    {
        return match shape(inner, text) {
            // The shape may be whole, but its payload is open.
            CompletionPlace::Item => CompletionPlace::Nothing,
            place => place,
        };
    }
    let modifier = tokens.iter().rev().map(&text).find(|word| words::MODIFIERS.contains(word));
    match last.kind {
        Kind::Open => CompletionPlace::Payload,
        Kind::Word if word == "requires" => CompletionPlace::Side,
        Kind::Word if matches!(word, "during" | "rounds") => CompletionPlace::Message,
        Kind::Bar if modifier == Some("during") => CompletionPlace::Message,
        Kind::Word if matches!(word, "request" | "notification" | "if" | "unless" | "as") => {
            CompletionPlace::Nothing
        }
        // The name of the message: its method follows.
        Kind::Word if tokens.len() == 2 => CompletionPlace::Nothing,
        Kind::Arrow | Kind::Bar | Kind::Dot | Kind::Less | Kind::DoubleColon | Kind::Equals => {
            CompletionPlace::Nothing
        }
        _ => CompletionPlace::Modifier,
    }
}

/// What stands in the parentheses of a payload that is not closed. Within them a union may have its own.
fn open_payload(tokens: &[Token]) -> Option<&[Token]> {
    let mut opened = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => opened.push(index),
            Kind::Close => drop(opened.pop()),
            _ => {}
        }
    }
    tokens.get(opened.first()? + 1..)
}

fn shape<'t>(tokens: &[Token], text: impl Fn(&Token) -> &'t str) -> CompletionPlace {
    let Some(last) = tokens.last() else { return CompletionPlace::Nothing };
    let within = OpenBrackets::around(tokens);
    let has_labels = |within: &OpenBrackets| within.kind == Kind::OpenBracket && within.has_labels;
    match last.kind {
        // The rest of a tuple has a label where the others have one.
        Kind::Dot if within.as_ref().is_some_and(has_labels) => CompletionPlace::Nothing,
        Kind::Colon | Kind::Equals | Kind::Bar | Kind::OpenBracket | Kind::Open | Kind::Dot => {
            CompletionPlace::Shape
        }
        Kind::Comma
            if within.is_some_and(|within| within.kind == Kind::OpenBracket && !within.has_labels) =>
        {
            CompletionPlace::Shape
        }
        Kind::Word if text(last) == "map" => CompletionPlace::Shape,
        Kind::OpenBrace | Kind::Comma => CompletionPlace::Nothing,
        Kind::Word if text(last) == "type" => CompletionPlace::Nothing,
        // The shape may be whole.
        _ if within.is_none() => CompletionPlace::Item,
        _ => CompletionPlace::Nothing,
    }
}

/// The innermost brackets that are not closed.
#[derive(Clone, Copy)]
struct OpenBrackets {
    /// How they open.
    kind: Kind,
    /// Whether a name with a colon stands in them.
    has_labels: bool,
}

impl OpenBrackets {
    fn around(tokens: &[Token]) -> Option<OpenBrackets> {
        let mut opened: Vec<OpenBrackets> = Vec::new();
        for token in tokens {
            match token.kind {
                Kind::Open | Kind::OpenBracket | Kind::OpenBrace => {
                    opened.push(OpenBrackets { kind: token.kind, has_labels: false });
                }
                Kind::Close | Kind::CloseBracket | Kind::CloseBrace => drop(opened.pop()),
                Kind::Colon => opened.last_mut().into_iter().for_each(|inner| inner.has_labels = true),
                _ => {}
            }
        }
        opened.pop()
    }
}
