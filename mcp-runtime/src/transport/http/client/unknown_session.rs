//! Whether an answer says that the server does not know the session that its request names.

use reqwest::StatusCode;

use super::identity::SessionIdentity;
use super::options::ClientOptions;
use super::response::Response;
use crate::jsonrpc::{ANY_DIALECT, Envelope, parse};

/// How a server says that it does not know a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownSession {
    /// With a status that says it.
    ByStatus,
    /// With 400, where MCP wants 404, and a text about the session. Servers that are written as the examples of the TypeScript
    /// SDK are do so: "Bad Request: No valid session ID provided". The text may mean something else, too.
    ByText,
}

/// Whether it depends on the text of an answer, which is then to be peeked at.
pub(super) fn may_say(identity: &SessionIdentity, response: &Response) -> bool {
    identity.id.is_some() && response.status() == StatusCode::BAD_REQUEST
}

/// Whether an answer says that the server does not know the session.
pub(super) fn said(
    options: &ClientOptions,
    identity: &SessionIdentity,
    response: &Response,
) -> Option<UnknownSession> {
    identity.id.as_ref()?;
    if options.unknown_session.contains(&response.status().as_u16()) {
        return Some(UnknownSession::ByStatus);
    }
    let by_text = may_say(identity, response) && is_about_session(response.peeked());
    by_text.then_some(UnknownSession::ByText)
}

/// Whether what a server says with 400 is about the session: an error that belongs to no request, or a line of text.
fn is_about_session(body: &[u8]) -> bool {
    match parse(body, usize::MAX, ANY_DIALECT) {
        Ok(Envelope::Complaint { error }) => names_session(error.message.as_bytes()),
        Ok(_) => false,
        // Neither other JSON nor a page, such as that of a proxy.
        Err(_) => !matches!(body.trim_ascii_start().first(), Some(b'{' | b'[' | b'<')) && names_session(body),
    }
}

fn names_session(text: &[u8]) -> bool {
    const WORD: &[u8] = b"session";
    text.windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_no_request_or_a_line_may_be_about_the_session() {
        for (body, is_about) in [
            (
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
                true,
            ),
            (r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid or expired Session"}}"#, true),
            ("Invalid or missing session ID", true),
            (r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"no such session"},"id":7}"#, false),
            (
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#,
                false,
            ),
            (r#"{"error":"Session not found"}"#, true),
            (r#"{"message":"session"}"#, false),
            (" <html>Your session has expired</html>", false),
            ("", false),
        ] {
            assert_eq!(is_about_session(body.as_bytes()), is_about, "{body}");
        }
    }
}
