//! Texts that are not messages, and follow one another.

use mcp_runtime::protocol::Side;

use super::causes::Same;

/// The texts of a session that are not messages: a banner of several lines, or a message in several lines, is one finding.
///
/// Invariant: texts that count as one have the same sender, and no message between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrayTexts {
    /// The side that has sent the last of them, and the finding that they count as, if nothing has come behind them.
    open: Option<(Side, Same)>,
}

impl StrayTexts {
    /// A text that is not a message. Returns the finding of the texts before it, if it belongs to them; otherwise it is the
    /// first of its own finding.
    pub(crate) fn belongs_to(&mut self, sender: Side, text: &[u8], own: &Same) -> Option<Same> {
        let may_be_whole = text.starts_with(b"{") && text.len() > 1;
        match &self.open {
            Some((side, before)) if *side == sender && !may_be_whole => Some(before.clone()),
            _ => {
                self.open = Some((sender, own.clone()));
                None
            }
        }
    }

    /// A message has come: what is not one behind it is another mistake.
    pub(crate) fn end(&mut self) {
        self.open = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_follow_one_another_are_one_finding() {
        let mut texts = StrayTexts::default();
        let [line, object] = ["a line", "an object"].map(Same::example);
        let (server, client) = (Side::Server, Side::Client);
        assert_eq!(texts.belongs_to(server, b"Server", &line), None);
        assert_eq!(texts.belongs_to(server, b"is running", &object), Some(line.clone()));
        // It may have been meant as a message.
        assert_eq!(texts.belongs_to(server, b"{\"jsonrpc\"", &object), None);
        assert_eq!(texts.belongs_to(server, b"is running", &line), Some(object));
        assert_eq!(texts.belongs_to(client, b"ok", &line), None);
        texts.end();
        assert_eq!(texts.belongs_to(client, b"ok", &line), None);
    }
}
