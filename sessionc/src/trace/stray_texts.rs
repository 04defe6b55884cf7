//! Texts that are not messages, and follow one another.

use mcp_runtime::protocol::Side;

use super::causes::Again;
use super::formats::record::Place;

/// How many findings are remembered.
const REMEMBERED: usize = 256;

/// The texts of a session that are not messages: a banner of several lines, or a message in several lines, is one finding.
///
/// Invariant: texts that count as one have the same sender, and no message between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrayTexts {
    /// Each first text, with what followed it.
    found: Vec<Again>,
    /// The side that has sent the last of them, if nothing has come behind it.
    open: Option<Side>,
}

impl StrayTexts {
    /// A text that is not a message. Returns whether it is a finding of its own.
    pub(crate) fn is_first(&mut self, place: Place, sender: Side, text: &[u8]) -> bool {
        let may_be_whole = text.starts_with(b"{") && text.len() > 1;
        let before = self.open.replace(sender);
        if before == Some(sender)
            && !may_be_whole
            && let Some(first) = self.found.last_mut()
        {
            (first.count, first.last) = (first.count + 1, place);
            return false;
        }
        if self.found.len() == REMEMBERED {
            self.found.remove(0);
        }
        self.found.push(Again { first: place, count: 0, last: place });
        true
    }

    /// A message has come: what is not one behind it is another mistake.
    pub(crate) fn end(&mut self) {
        self.open = None;
    }

    /// The findings that were followed by more of the same, in their order.
    pub(crate) fn again(&self) -> impl Iterator<Item = Again> {
        self.found.iter().filter(|again| again.count > 0).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64) -> Place {
        Place { line, entry: None }
    }

    #[test]
    fn texts_that_follow_one_another_are_one_finding() {
        let mut texts = StrayTexts::default();
        assert!(texts.is_first(at(1), Side::Server, b"Server"));
        assert!(!texts.is_first(at(2), Side::Server, b"is running"));
        // It may have been meant as a message.
        assert!(texts.is_first(at(3), Side::Server, b"{\"jsonrpc\""));
        assert!(texts.is_first(at(4), Side::Client, b"ok"));
        texts.end();
        assert!(texts.is_first(at(6), Side::Client, b"ok"));
        assert_eq!(texts.again().collect::<Vec<_>>(), [Again { first: at(1), count: 1, last: at(2) }]);
    }
}
