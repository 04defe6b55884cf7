//! What is wrong with messages that are of the last session, unless one before it still goes on.

use mcp_runtime::observer::MessageText;

use super::finding::Finding;
use super::session::{JudgedSession, Said};

/// How many messages are judged for both sessions. Each costs a copy of the last one; and a session that has gone on that
/// often goes on.
const JUDGED_TWICE: usize = 32;

/// What the last session makes of messages that were taken for those of one before it.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    doubts: Vec<Doubt>,
    /// How many messages have been judged.
    judged: usize,
}

#[derive(Debug)]
struct Doubt {
    method: String,
    found: Vec<Finding>,
}

impl Doubts {
    /// A message with this method may be of the `last` session. What a session does not permit once it does not permit again:
    /// the others with the method are the same mistake.
    pub(super) fn note(&mut self, method: &str, last: &JudgedSession, said: Said, message: MessageText<'_>) {
        if self.judged >= JUDGED_TWICE || self.doubts.iter().any(|doubt| doubt.method == method) {
            return;
        }
        self.judged += 1;
        let mut found = Vec::new();
        last.clone().take_here(said, message, &mut found);
        self.doubts.push(Doubt { method: method.to_owned(), found });
    }

    /// A session before the last one goes on: the messages are of that one.
    pub(super) fn clear(&mut self) {
        self.doubts.clear();
    }

    /// No message shows any more that a session before the last one goes on.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Finding> {
        std::mem::take(&mut self.doubts).into_iter().flat_map(|doubt| doubt.found)
    }
}
