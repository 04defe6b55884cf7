//! Cases that failed once, kept as they failed: a protocol, and the messages that one seat saw.
//!
//! A case is a file of `cases/`: the text, which begins with what was wrong; a line `== SIDE`, the role that is followed;
//! the messages, one in a line; and a line `== VERDICT`, which is the observer's on the last message, or `Undecided` where
//! it cannot be compared with the checker's. A random case that fails is printed in this form, without the verdict.

use std::path::Path;

use mcp_protocol_machine::protocol::Side;

use crate::event::Event;
use crate::judging::last_verdict;
use crate::sources::Source;

/// What stands before the side and before the verdict.
pub(crate) const MARK: &str = "== ";

#[test]
fn what_failed_once_is_judged_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checker/cases");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let wrong: Vec<String> =
        paths.iter().filter_map(|path| Some(format!("{}: {}", path.display(), judge(path).err()?))).collect();
    assert!(!paths.is_empty() && wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judge(path: &Path) -> Result<(), String> {
    let case = std::fs::read_to_string(path).unwrap();
    let mark = format!("\n{MARK}");
    let parts: Vec<&str> = case.split(&mark).collect();
    let [text, talk, expected] = parts[..] else {
        return Err(format!("a case is a text, `{MARK}SIDE`, messages, and `{MARK}VERDICT`"));
    };
    let source = Source::new(text)?;
    let mut lines = talk.lines();
    let side = match lines.next() {
        Some("Client") => Side::Client,
        Some("Server") => Side::Server,
        other => return Err(format!("{other:?} is not a side")),
    };
    let seen = lines.map(|line| Event::read(line, &source.protocol)).collect::<Result<Vec<_>, _>>()?;
    let verdict = last_verdict(&source, side, &seen)?;
    let verdict = verdict.map_or_else(|| "Undecided".to_owned(), |verdict| format!("{verdict:?}"));
    if verdict != expected.trim_end() {
        return Err(format!("the last message is {verdict}"));
    }
    Ok(())
}
