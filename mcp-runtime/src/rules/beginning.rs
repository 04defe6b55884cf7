//! The beginning of a session that is said once more, because the peer has lost the session.

use mcp_protocol_machine::protocol::Direction;

use super::names::announced;
use super::{Rules, alternatives, announcements, members};
use crate::error::Error;
use crate::jsonrpc::{Envelope, RpcError, parse, write};

/// What is said to a request that the peer makes before the session is opened again, and that is not a part of it:
/// one that the runtime answers by itself is answered, any other is refused. To anything else nothing is said.
pub(crate) fn answer_aside(rules: &Rules, message: &[u8]) -> Option<Vec<u8>> {
    let dialect = rules.dialect();
    let Ok(Envelope::Request { id, method, params }) = parse(message, rules.options.max_depth, dialect)
    else {
        return None;
    };
    let read = alternatives::read_as(rules, Direction::Receive, true, &method, params);
    let members = members::of_answer_to(rules, message.into());
    let mut answer = Vec::new();
    if read.and_then(|read| rules.message(read)).is_some_and(|table| table.answered) {
        write::result(&mut answer, dialect, &id, "{}", &members);
    } else {
        let error = RpcError::busy("the session is being begun: ask again later");
        write::error(&mut answer, dialect, Some(&id), &error, &members);
    }
    answer.pop_if(|last| *last == b'\n');
    Some(answer)
}

/// The beginning of the session was said once more: what it announces counts from now on. Returns why the program
/// cannot work with that, if so.
pub(crate) fn announced_again(rules: &mut Rules, request: &[u8], result: &[u8]) -> Vec<Error> {
    let mut failed = Vec::new();
    let protocol = rules.protocol.clone();
    let (deepest, dialect) = (rules.options.max_depth, rules.dialect());
    let (Ok(Envelope::Request { method, params, .. }), Ok(Envelope::Result { result, .. })) =
        (parse(request, deepest, dialect), parse(result, deepest, dialect))
    else {
        return failed;
    };
    let asked = rules.own_request(&method, params);
    let Some(reply) = asked.and_then(|asked| rules.reply_of(asked, result)) else { return failed };
    for announcement in protocol.announcements.iter().filter(|place| place.message == Some(reply)) {
        let capabilities = announced(&protocol, announcement, Some(result));
        let is_own = announcement.side == rules.side;
        let missing = announcements::missing(rules, announcement, Some(result), &capabilities);
        failed.extend(missing.filter(|_| !is_own));
        rules.checker.announce(announcement.side, capabilities);
    }
    failed
}
