//! Names that a garbled declaration was probably meant to declare.

use std::collections::HashSet;

use crate::lexer::{Kind, lex};
use crate::source::SourceMap;

/// Words behind which a name is declared.
const DECLARING: &[&str] = &["request", "notification", "group", "key", "client", "server", "rec"];

/// The names that some text seems to declare.
pub(crate) fn names(sources: &SourceMap) -> HashSet<String> {
    let mut names = HashSet::new();
    for file in sources.files() {
        let tokens = lex(sources, file).tokens;
        for pair in tokens.windows(2) {
            let [first, second] = pair else { continue };
            let text = |token: &crate::lexer::Token| sources.slice(token.span(file)).to_owned();
            let declares = first.kind == Kind::Word && DECLARING.contains(&sources.slice(first.span(file)));
            if second.kind == Kind::Word
                && (declares || matches!(first.kind, Kind::Arrow | Kind::Bar | Kind::Mu))
            {
                names.insert(text(second));
            }
            // A method stands behind the name of a message, whatever stands before it.
            if first.kind == Kind::Word && matches!(second.kind, Kind::Equals | Kind::PlusEquals | Kind::Text)
            {
                names.insert(text(first));
            }
        }
    }
    names
}
