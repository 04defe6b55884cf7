//! [`MismatchError`]: why a payload does not fit its message.

use std::fmt;

use mcp_protocol_machine::Excerpt;

use mcp_protocol_machine::protocol::{Condition, Text};
use mcp_protocol_machine::shape::ShapeMismatch;

use super::version::{AnnouncedVersion, OTHERS, either};

/// Why a payload does not fit its message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MismatchError {
    /// It does not fit the condition of the message.
    Lacks(Condition),
    /// It fits the condition of another message, as which the peer would read it.
    ReadAs {
        /// The other message, by its name in the `.session` file.
        message: Text,
        /// Its condition.
        condition: Condition,
    },
    /// It is the result of a request, and fits the condition of none of its replies.
    FitsNone(Vec<Condition>),
    /// It announces a version of the protocol that this side may not announce.
    Version {
        /// What it announces.
        announced: AnnouncedVersion,
        /// What it may announce: the version that was asked for, or where this side does not speak that, those which
        /// it speaks.
        versions: Vec<String>,
    },
    /// It asks for a version of the protocol that this side does not accept.
    Asks {
        /// What it asks for.
        version: String,
        /// The versions that this side accepts.
        accepted: Vec<String>,
    },
    /// The message stands for the methods of a pattern, and the method that was given is not one of them.
    Method {
        /// The method.
        method: String,
        /// The pattern.
        pattern: Text,
        /// The message that the peer would read, by its name in the `.session` file.
        read_as: Option<Text>,
    },
    /// It does not have the shape that the protocol has for it. Payloads are judged if
    /// [`Options::judge_payloads`](crate::Options::judge_payloads) says so.
    Shape(ShapeMismatch),
    /// It reports no more progress than the report before it did.
    NotMore {
        /// What was reported before.
        before: f64,
        /// What it reports.
        now: f64,
    },
}

impl fmt::Display for MismatchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MismatchError::Lacks(condition) => {
                write!(formatter, "does not have what tells the message from others: `{condition}`")
            }
            MismatchError::ReadAs { message, condition } => {
                write!(formatter, "would be read as `{message}`, because of what it holds: `{condition}`")
            }
            MismatchError::Version { announced, versions } => {
                match announced {
                    AnnouncedVersion::Named(version) => {
                        write!(formatter, "announces version `{}`", Excerpt(version))?
                    }
                    AnnouncedVersion::NotAString(json) => {
                        write!(formatter, "announces the version `{json}`, which is not a string")?;
                    }
                    AnnouncedVersion::NotANumber(json) => {
                        write!(formatter, "announces the version `{json}`, which is not a whole number")?;
                    }
                    AnnouncedVersion::Missing => formatter.write_str("announces no version")?,
                }
                write!(formatter, ", and has to announce {}", either(versions))
            }
            MismatchError::Asks { version, accepted } => {
                write!(
                    formatter,
                    "asks for version `{}`, and this side accepts {}{OTHERS}",
                    Excerpt(version),
                    either(accepted)
                )
            }
            MismatchError::Method { method, pattern, read_as } => {
                write!(formatter, "stands for methods that fit `{pattern}`, ")?;
                match read_as {
                    Some(read_as) => {
                        write!(formatter, "and `{}` would be read as `{read_as}`: send that", Excerpt(method))
                    }
                    None => write!(formatter, "and `{}` does not fit it", Excerpt(method)),
                }
            }
            MismatchError::NotMore { before, now } => {
                write!(formatter, "reports the progress {now} after {before}: each report must say more")
            }
            MismatchError::Shape(mismatch) => write!(formatter, "does not have its shape: {mismatch}"),
            MismatchError::FitsNone(conditions) => {
                formatter.write_str("is the result of no kind that there is")?;
                for (place, condition) in conditions.iter().enumerate() {
                    write!(formatter, "{} `{condition}`", if place == 0 { ":" } else { " or" })?;
                }
                Ok(())
            }
        }
    }
}
