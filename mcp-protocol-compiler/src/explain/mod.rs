//! A page for every code: what a finding means, with a wrong and a right example.
//!
//! Returns the [`Page`] of a code, or the code that was probably meant. The pages are text; a test compiles their
//! examples and compares the findings.
//!
//! A page is Markdown. Its examples are blocks whose first line says ```` ```session,wrong ```` or `right`, and perhaps
//! how the block becomes a file: `bytes` (`\xE9` stands for that byte), `times=N` (the block N times, with `#` replaced
//! by the number), `also=CODE` (another code is found with it), `expand` (found when code is generated). `-- in NAME:`
//! in a line of its own begins another file.

use crate::diagnostic::Code;
use crate::{checks, diagnostic, findings, lexer, parser, relation};

/// What a code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The code.
    pub code: Code,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// The whole page in Markdown, with the title in its first line.
    pub text: &'static str,
}

impl Page {
    /// The page as it is to be read: its examples without what only the test needs.
    pub fn readable(&self) -> String {
        let mut out = String::new();
        for line in self.text.lines() {
            out.push_str(if line.starts_with("```") { "```" } else { line });
            out.push('\n');
        }
        out
    }
}

/// A block of code on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block<'a> {
    /// What stands behind the quotes that open it, at its commas.
    pub tags: Vec<&'a str>,
    /// Its lines.
    pub text: String,
    /// The line of the quotes that open it, from 1.
    pub line: usize,
}

impl Block<'_> {
    /// Whether it has this tag.
    pub fn has(&self, tag: &str) -> bool {
        self.tags.contains(&tag)
    }

    /// What stands behind `name=` in its tags.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The blocks of code of a Markdown text, in order.
pub fn blocks(markdown: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open = false;
    for (number, line) in markdown.lines().enumerate() {
        match (line.strip_prefix("```"), open, blocks.last_mut()) {
            (Some(tags), false, _) => {
                open = true;
                let tags = tags.trim().split(',').collect();
                blocks.push(Block { tags, text: String::new(), line: number + 1 });
            }
            (Some(_), true, _) => open = false,
            (None, true, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, ..) => {}
        }
    }
    blocks
}

/// The page of a code, `S0301`, `s301` or `301`.
///
/// ```
/// let page = mcp_protocol_compiler::explain::page("301").unwrap();
/// assert_eq!(page.title, "a reply without its request");
/// ```
pub fn page(typed: &str) -> Option<&'static Page> {
    let wanted = normal(typed)?;
    PAGES.iter().find(|page| page.code.0 == wanted)
}

/// Every page, in the order of the codes.
pub fn pages() -> &'static [Page] {
    &PAGES
}

/// The code that was probably meant by one that does not exist.
pub fn nearest(typed: &str) -> Option<&'static Page> {
    let digits = typed.trim().trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let wanted: u16 = digits.parse().ok()?;
    PAGES.iter().min_by_key(|page| {
        let number: u16 = page.code.0.trim_start_matches('S').parse().unwrap_or(u16::MAX);
        number.abs_diff(wanted)
    })
}

/// `S` and four digits.
fn normal(typed: &str) -> Option<String> {
    let typed = typed.trim();
    let digits = typed.strip_prefix(['S', 's']).unwrap_or(typed);
    let number: u16 = digits.parse().ok()?;
    Some(format!("S{number:04}"))
}

/// The table from code, page and title.
macro_rules! pages {
    ($($code:path, $page:literal, $title:literal;)*) => {
        [$(Page { code: $code, title: $title, text: include_str!(concat!($page, ".md")) }),*]
    };
}

static PAGES: [Page; 110] = pages! {
    diagnostic::encoding::NOT_UTF8, "S0001", "the file is not UTF-8";
    diagnostic::encoding::FILE_TOO_LARGE, "S0002", "the file is too large";
    diagnostic::limit::MORE_FINDINGS, "S0003", "there are more findings than are shown";
    lexer::UNKNOWN_CHARACTER, "S0010", "a character that has no meaning here";
    lexer::UNTERMINATED_TEXT, "S0011", "text without a closing quote";
    lexer::UNKNOWN_ESCAPE, "S0012", "an unknown escape";
    lexer::MALFORMED_NUMBER, "S0013", "neither a name nor a number";
    lexer::TEXT_DIRECTION, "S0014", "characters that change the direction of the text";
    lexer::TOO_LONG, "S0015", "a name or a text that is too long";
    lexer::MERGE_CONFLICT, "S0016", "a conflict that a merge has left";
    parser::EXPECTED_ITEM, "S0020", "something that does not begin an item";
    parser::MISSPELT_ITEM, "S0021", "an item word that is misspelt";
    parser::UNKNOWN_MODIFIER, "S0022", "an unknown modifier";
    parser::RESERVED_WORD, "S0023", "a reserved word as a name";
    parser::MISSING_NAME, "S0024", "a name is missing";
    parser::MALFORMED_DECLARATION, "S0025", "a declaration that stops, or goes on, in the wrong place";
    findings::shapes::MALFORMED_PAYLOAD, "S0026", "a payload that is not a type";
    parser::MALFORMED_PATH, "S0027", "a malformed path into JSON";
    parser::MALFORMED_LEVEL, "S0028", "a malformed level";
    parser::STRAY_DOCUMENTATION, "S0029", "documentation that belongs to no item";
    parser::MISSING_CONTINUATION, "S0030", "an action without a continuation";
    parser::MISSING_DOT, "S0031", "no `.` between two actions";
    parser::NOTHING_FOLLOWS, "S0032", "a `.` after something that nothing can follow";
    parser::MISSING_TYPE, "S0033", "no session type where one is expected";
    parser::UNCLOSED, "S0034", "a parenthesis that is not closed";
    parser::UNOPENED, "S0035", "a parenthesis that was not opened";
    parser::REPLICATED_SEQUENCE, "S0036", "`*` before more than one name or parenthesis";
    parser::MALFORMED_RECURSION, "S0037", "an incomplete loop";
    parser::MALFORMED_CHOICE, "S0038", "branches with a missing or wrong operator";
    parser::BARE_CHANNELS, "S0039", "channels side by side without parentheses";
    parser::TOO_DEEP, "S0040", "nesting that is too deep";
    findings::imports::UNREADABLE_IMPORT, "S0041", "an imported file cannot be read";
    findings::imports::CYCLIC_IMPORT, "S0042", "files that import one another in a cycle";
    parser::MALFORMED_SHAPE, "S0043", "a malformed shape";
    findings::declarations::UNDEFINED_MESSAGE, "S0101", "a message or group without a declaration";
    findings::declarations::DECLARED_TWICE, "S0102", "a name that is declared twice";
    findings::declarations::UNDEFINED_DEFINITION, "S0103", "a definition that does not exist";
    findings::declarations::UNKNOWN_ROLE, "S0104", "a role without a declaration or a session type";
    findings::declarations::SAME_ON_THE_WIRE, "S0105", "two messages that look the same on the wire";
    findings::declarations::BAD_GROUP, "S0106", "a malformed group";
    findings::declarations::BAD_OVERRIDE, "S0107", "`override` where there is nothing to replace";
    findings::declarations::MISPLACED_MODIFIER, "S0108", "a modifier on the wrong kind of message";
    findings::declarations::NO_TYPES, "S0109", "a payload type without a module";
    findings::size::TOO_MANY, "S0110", "more messages, gates or keys than can be numbered";
    findings::declarations::UNUSED_DEFINITION, "S0111", "a definition that no role reaches";
    checks::alternatives::NOT_TOLD_APART, "S0112", "alternatives that cannot be distinguished";
    checks::announcements::NEVER_ANNOUNCED, "S0113", "a capability without an announcement";
    checks::unused::UNUSED_MESSAGE, "S0114", "a message that no role uses";
    findings::size::TOO_LARGE, "S0115", "a protocol that is too large to be built";
    findings::declarations::NO_CURSOR, "S0116", "`pages` without a place for a cursor";
    findings::defaults::BAD_DEFAULT, "S0117", "a malformed default";
    findings::declarations::REPLY_AMONG_REQUESTS, "S0118", "a group with both replies and requests";
    checks::gates::NEVER_SENT, "S0119", "capabilities in a message that their side never sends";
    checks::gates::NEVER_OPEN, "S0120", "a gate that cannot open before its message";
    checks::gates::OWN_NOTIFICATION, "S0121", "a notification that needs what only requests announce";
    checks::gates::ANNOUNCED_BOTH_WAYS, "S0122", "capabilities in each request and somewhere else";
    findings::during::NOT_A_REQUEST, "S0123", "`during` something that is not a request";
    findings::during::NEVER_RUNS, "S0124", "`during` a request that the receiver never sends";
    checks::unused::UNUSED_SHAPE, "S0125", "a shape that no message carries";
    findings::declarations::NO_ROUND, "S0126", "`rounds` that lead nowhere";
    checks::unused::UNUSED_KEY, "S0127", "a correlation key that no sub-session needs";
    checks::read_otherwise::READ_OTHERWISE, "S0128", "a payload that a gate makes another message";
    findings::members::BAD_MEMBER, "S0129", "a key in a member of the envelope that it cannot be in";
    findings::recursion::UNGUARDED, "S0201", "a loop that does nothing";
    findings::recursion::ACROSS, "S0202", "a loop that leaves its channel";
    findings::recursion::BRANCH_OF_LOOP, "S0203", "a branch that the loop has taken in";
    findings::recursion::DUAL_OF_VARIABLE, "S0204", "`dual` before the variable of a loop";
    findings::recursion::NEVER_AGAIN, "S0205", "a loop that nothing starts again";
    findings::choices::TWO_OPERATORS, "S0211", "`⊕` and `&` at one level";
    findings::choices::NO_FIRST_ACTION, "S0212", "a branch that does not start with an action";
    findings::choices::SAME_FIRST_ACTION, "S0213", "two branches that start alike";
    findings::choices::AGAINST_OPERATOR, "S0214", "a choice against its operator";
    findings::replies::WITHOUT_REQUEST, "S0301", "a reply without its request";
    findings::replies::AMBIGUOUS, "S0302", "`reply` where several requests are open";
    findings::replies::OPEN_ALREADY, "S0303", "a request that is open already";
    findings::replies::OPEN_ACROSS_CHANNELS, "S0304", "a request that is open where channels start";
    findings::replies::NEVER_ANSWERED, "S0305", "a request that some path never answers";
    findings::refusals::WOULD_UNDO, "S0306", "a refusal that would undo another message";
    findings::refusals::STATES_COULD_PART, "S0307", "`cancellable` where the two sides could be in different states";
    findings::refusals::NOTHING_CANCELS, "S0308", "`cancellable` without a notification that cancels";
    findings::replies::NOT_ACCEPTED, "S0309", "a reply that may arrive is not accepted";
    findings::exchanges::NO_STEP, "S0310", "a cancel or progress as a step";
    findings::refusals::ENDS_THE_SUB_SESSION, "S0311", "a branch for the refusal of the message that opens a sub-session";
    findings::refusals::ALWAYS_UNTIL_REPLY, "S0312", "`until reply` where the reply follows every cancel";
    findings::refusals::NEEDS_MORE, "S0313", "a cancel that needs more than an id";
    findings::channels::OVERLAP, "S0401", "channels side by side that share a message";
    findings::channels::BODY_STARTS_WITH_REPLY, "S0402", "a `*` body that starts with a reply";
    findings::channels::BODY_MAY_BE_EMPTY, "S0403", "an instance that may do nothing";
    findings::channels::KEYLESS_STEP, "S0406", "a later step of a sub-session without a correlation key";
    findings::channels::COULD_BE_ANOTHER, "S0407", "a step that could be meant for the previous sub-session";
    findings::only::MISPLACED, "S0408", "`only` where sub-sessions are not suspended";
    findings::only::STOPS_NOTHING, "S0409", "`only` that suspends nothing";
    findings::members::WITHOUT_VALUE, "S0410", "a key in a member of the envelope without a value";
    relation::NOT_DUAL, "S0501", "the server is not the dual of the client";
    relation::NOT_COMPATIBLE, "S0502", "the client is not compatible with the server";
    relation::RACE, "S0503", "a race";
    relation::TOO_MANY, "S0504", "too many combinations of states";
    relation::CLOSED, "S0510", "a message that may arrive late is also accepted in the next state";
    checks::names::CLASH, "S0601", "two things that would have one name in Rust";
    checks::names::NOT_A_NAME, "S0602", "a name that is not possible in Rust";
    checks::typed_api::UNDECLARED, "S0603", "a message without a declaration";
    checks::typed_api::NOT_A_TYPE, "S0604", "a payload that is not a Rust type";
    findings::shapes::UNDEFINED_SHAPE, "S0701", "a shape without a declaration";
    findings::shapes::BAD_RECORD, "S0702", "a malformed record";
    findings::shapes::NEVER_CHOSEN, "S0703", "an alternative of a shape that is never chosen";
    findings::shapes::ENDLESS, "S0704", "a shape that contains itself without end";
    findings::shapes::NO_SUCH_FIELD, "S0705", "a path to nothing in its payload";
    findings::shapes::SHAPE_IN_QUOTES, "S0706", "the name of a shape in quotes, as in JSON";
    findings::shapes::BAD_VARIANT, "S0707", "the name of a variant that is not there, or stands there twice";
    checks::typed_api::LONG_SUB_SESSION, "S0902", "a sub-session without a name";
};
