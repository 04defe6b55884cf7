//! What keeps messages from arriving at the server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use mcp_protocol_machine::Excerpt;

use crate::guard::repeated::Repeated;
use crate::guard::report::Reporter;

/// How many different failures are known again. Of those after them, which a server may word in another way each time,
/// the reporter says the first and then their number.
const KNOWN: usize = 64;

/// Reports what keeps messages from arriving: the server cannot be reached, breaks off, or answers with a status that no client
/// can do anything about. Each is said once, because it concerns all sessions, and then how often it has come.
#[derive(Debug)]
pub(super) struct Failures {
    reporter: Reporter,
    said: Mutex<HashMap<String, Repeated>>,
}

impl Failures {
    pub(super) fn new(reporter: Reporter) -> Failures {
        Failures { reporter, said: Mutex::default() }
    }

    /// The server has not answered, or not to the end.
    pub(super) fn report(&self, what: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(repeated) = said.get_mut(what) {
            repeated.again().into_iter().for_each(|again| self.reporter.event(None, again));
            return;
        }
        match said.len() {
            place @ 0..KNOWN => {
                said.insert(what.to_owned(), Repeated::new(place, what.to_owned()));
                self.reporter.event(None, what);
            }
            _ => self.reporter.one_of_many(None, what),
        }
    }

    /// The server has not sent an answer to its end. Returns what is said of it.
    pub(super) fn broke_off(&self, problem: &axum::Error) -> String {
        let what = format!("the server broke off its answer: {problem}");
        self.report(&what);
        what
    }

    /// The server has rejected a message.
    pub(super) fn rejected(&self, status: StatusCode, headers: &HeaderMap, has_session: bool, body: &[u8]) {
        let answers = format!("the server answers a message with the status {status}");
        let location = headers.get(LOCATION).filter(|_| status.is_redirection());
        let what = match (status, location) {
            // The client logs in, waits, or begins another session.
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS, _) => return,
            (StatusCode::NOT_FOUND, _) if has_session => return,
            (_, Some(location)) => format!(
                "{answers}, which redirects it to `{}`, where it is not judged: give that address with `--to`",
                Excerpt(&String::from_utf8_lossy(location.as_bytes()))
            ),
            (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
                format!("{answers}: correct the path of `--to`, if messages go to another one")
            }
            _ if body.trim_ascii().is_empty() => answers,
            _ => format!("{answers}, and says `{}`", Excerpt(&String::from_utf8_lossy(body.trim_ascii()))),
        };
        self.report(&what);
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        let said = self.said.get_mut().unwrap_or_else(PoisonError::into_inner);
        Repeated::rest(said.values_mut()).into_iter().for_each(|what| self.reporter.event(None, what));
    }
}
