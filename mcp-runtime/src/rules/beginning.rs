//! The beginning of a session that is said once more, because the peer has lost the session.

use mcp_protocol_machine::protocol::Direction;

use super::Rules;
use super::names::announced;
use crate::error::Error;
use crate::jsonrpc::{Envelope, RpcError, parse, write};

impl Rules {
    /// What is said to a request that the peer makes before the session is opened again, and that is not a part of it:
    /// one that the runtime answers by itself is answered, any other is refused. To anything else nothing is said.
    pub(crate) fn answer_aside(&self, message: &[u8]) -> Option<Vec<u8>> {
        let dialect = self.dialect();
        let Ok(Envelope::Request { id, method, params }) = parse(message, self.options.max_depth, dialect)
        else {
            return None;
        };
        let read = self.read_as(Direction::Receive, true, &method, params);
        let mut answer = Vec::new();
        if read.and_then(|read| self.message(read)).is_some_and(|table| table.answered) {
            write::result(&mut answer, dialect, &id, "{}");
        } else {
            let error = RpcError::busy("the session is being begun: ask again later");
            write::error(&mut answer, dialect, Some(&id), &error);
        }
        answer.pop_if(|last| *last == b'\n');
        Some(answer)
    }

    /// The beginning of the session was said once more: what it announces counts from now on. Returns why the program
    /// cannot work with that, if so.
    pub(crate) fn announced_again(&mut self, request: &[u8], result: &[u8]) -> Vec<Error> {
        let mut failed = Vec::new();
        let protocol = self.protocol.clone();
        let (deepest, dialect) = (self.options.max_depth, self.dialect());
        let (Ok(Envelope::Request { method, params, .. }), Ok(Envelope::Result { result, .. })) =
            (parse(request, deepest, dialect), parse(result, deepest, dialect))
        else {
            return failed;
        };
        let asked = self.own_request(&method, params);
        let Some(reply) = asked.and_then(|asked| self.reply_of(asked, result)) else { return failed };
        for announcement in protocol.announcements.iter().filter(|place| place.message == Some(reply)) {
            let capabilities = announced(&protocol, announcement, Some(result));
            let is_own = announcement.side == self.side;
            let missing = self.missing_capabilities(announcement, Some(result), &capabilities);
            failed.extend(missing.filter(|_| !is_own));
            self.checker.announce(announcement.side, capabilities);
        }
        failed
    }
}
