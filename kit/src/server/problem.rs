//! [`Problem`]: what is wrong with a server before it serves.

use std::fmt;

use mcp_protocols::eras::UnknownRevision;

/// What is wrong with a server: it is found before it serves.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The arguments of a tool or a prompt are not the fields of a struct.
    NoObject {
        /// The name of the tool or the prompt.
        name: String,
    },
    /// Two tools, two prompts or two resources have the same name.
    SameName {
        /// The name, or the URI.
        name: String,
    },
    /// The arguments of a tool cannot be repeated in headers, as its `x-mcp-header` says.
    NoHeader {
        /// The name of the tool.
        name: String,
        /// What is wrong with the header.
        reason: String,
    },
    /// The URI of a resource is not a template.
    NoTemplate {
        /// The URI.
        uri: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What [`Server::revisions`](super::Server::revisions) names is not a revision of MCP, or it names none.
    Revisions(UnknownRevision),
}

/// Writes the sentence: Rust prints an error that `main` returns in this form.
impl fmt::Debug for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Problem").field(&self.to_string()).finish()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoObject { name } => {
                write!(formatter, "the arguments of `{name}` are not the fields of a struct: make it one")
            }
            Problem::SameName { name } => {
                write!(formatter, "two have the name `{name}`: give one of them another `NAME`")
            }
            Problem::NoHeader { name, reason } => write!(formatter, "the tool `{name}`: {reason}"),
            Problem::NoTemplate { uri, reason } => {
                write!(formatter, "`{uri}` is not a URI template: {reason}")
            }
            Problem::Revisions(unknown) => unknown.fmt(formatter),
        }
    }
}

impl std::error::Error for Problem {}
