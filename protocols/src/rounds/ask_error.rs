//! [`AskError`]: why a question has no answer.

use std::fmt;

use mcp_runtime::RpcError;

use super::declared::{Need, undeclared};
use crate::mcp_2026_07_28::types::{ClientCapabilities, InputRequest};

/// Why a question has no answer. A handler may return it: it becomes the error that the revision has for it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskError {
    /// The request does not declare that the client can answer. As an error of the request it has the code -32021.
    NotDeclared {
        /// The name of the question.
        name: String,
        /// What the question needs.
        needs: Needs,
    },
    /// The revision of the session does not have the question. As an error of the request it has the code -32021.
    NotInRevision {
        /// The name of the question.
        name: String,
        /// What the question needs.
        needs: Needs,
    },
    /// The client has not sent `initialized`, before which it is not asked: not within 10 seconds, or the server's
    /// `Options::timeout` if that is less. Clients of the latest revision do not send it.
    NotInitialized {
        /// The name of the question.
        name: String,
    },
    /// The client has answered with something else.
    WrongAnswer {
        /// The name of the question.
        name: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The client refuses to answer. A client of an older revision answers each question by itself, and may refuse it; a later
    /// one does not send its request again.
    Refused {
        /// The name of the question.
        name: String,
        /// What the client says.
        error: Box<RpcError>,
    },
    /// The client has not answered within `Options::timeout`. A client of the latest revision has the lifetime of
    /// [`Rounds`](super::Rounds) instead.
    TimedOut {
        /// The name of the question.
        name: String,
    },
    /// The request is over, or the session has ended, as in a shutdown: the client cannot be asked any more.
    Over,
}

/// What a question needs of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs(Need);

impl fmt::Display for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.name())
    }
}

impl AskError {
    pub(crate) fn wrong(name: &str, problem: impl fmt::Display) -> AskError {
        AskError::WrongAnswer { name: name.to_owned(), problem: problem.to_string() }
    }

    /// The answer is one to another kind of question, such as the directories where a form was shown.
    pub(crate) fn of_another_kind(name: &str) -> AskError {
        AskError::wrong(name, "it answers another kind of question")
    }

    /// Fails if a client does not declare that it can answer one of some questions.
    pub(crate) fn undeclared<'a>(
        declared: &ClientCapabilities,
        questions: impl IntoIterator<Item = (&'a String, &'a InputRequest)>,
    ) -> Result<(), AskError> {
        match undeclared(declared, questions) {
            Some((name, need)) => Err(AskError::NotDeclared { name: name.to_owned(), needs: Needs(need) }),
            None => Ok(()),
        }
    }

    /// The revision of the client does not have the question.
    #[cfg(feature = "eras")]
    pub(crate) fn unknown(name: &str, question: &InputRequest) -> AskError {
        AskError::NotInRevision { name: name.to_owned(), needs: Needs(Need::of(question)) }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NotDeclared { name, needs } => write!(
                formatter,
                "`{name}` needs the capability `{needs}` of the client, which the request does not declare"
            ),
            AskError::NotInRevision { name, needs } => write!(
                formatter,
                "`{name}` needs the capability `{needs}` of the client, which the revision of this session does not have"
            ),
            AskError::NotInitialized { name } => write!(
                formatter,
                "`{name}` is asked once the client has sent `notifications/initialized`, which has not come"
            ),
            AskError::WrongAnswer { name, problem } => {
                write!(formatter, "the answer to `{name}` cannot be used: {problem}")
            }
            AskError::Refused { name, error } => {
                write!(formatter, "the client refuses to answer `{name}`: {error}")
            }
            AskError::TimedOut { name } => write!(formatter, "the client has not answered `{name}` in time"),
            AskError::Over => formatter
                .write_str("the client cannot be asked any more: the request or its session has ended"),
        }
    }
}

impl std::error::Error for AskError {}

/// The code of the error that says that the client cannot do what a request needs.
const MISSING_CAPABILITY: i64 = -32021;

impl From<AskError> for RpcError {
    fn from(error: AskError) -> RpcError {
        match &error {
            AskError::NotDeclared { needs, .. } | AskError::NotInRevision { needs, .. } => {
                let refusal = RpcError::new(MISSING_CAPABILITY, error.to_string());
                match serde_json::to_value(needs.0.data()) {
                    Ok(data) => refusal.with_data(data),
                    Err(_) => refusal,
                }
            }
            AskError::NotInitialized { .. } => RpcError::invalid_request(error.to_string()),
            AskError::WrongAnswer { .. } => RpcError::invalid_params(error.to_string()),
            AskError::Refused { .. } | AskError::TimedOut { .. } | AskError::Over => {
                RpcError::internal_error(error.to_string())
            }
        }
    }
}
