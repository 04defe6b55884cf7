//! What is said on the wire, as a hand-written program would declare it: no field that the benches do not use.
//!
//! The floor and the typed sessions of `echo.session` read and write the same types, so that what differs between
//! them is everything but the JSON.

use serde::{Deserialize, Serialize};

/// Params and result of `initialize`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The revision.
    pub protocol_version: String,
}

impl Default for Hello {
    /// The one greeting.
    fn default() -> Hello {
        Hello { protocol_version: "2025-03-26".to_owned() }
    }
}

/// Params of `tools/call`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// What it is given.
    pub arguments: Arguments,
}

/// What a tool is given.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Arguments {
    /// Some words.
    pub text: String,
}

/// Result of `tools/call`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Told {
    /// One text.
    pub content: Vec<Content>,
}

/// A piece of a result.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Content {
    /// A text.
    Text {
        /// The words.
        text: String,
    },
}

impl Call {
    /// A call of `tool`.
    pub fn of(tool: Tool) -> Call {
        Call { name: tool.name().to_owned(), arguments: Arguments { text: "hello".to_owned() } }
    }
}

impl Told {
    /// What the tool says.
    pub fn by(call: Call) -> Told {
        let text = said(&call.name, call.arguments.text);
        Told { content: vec![Content::Text { text }] }
    }

    /// How long it is, so that a bench can see that the whole result has come.
    pub fn length(&self) -> usize {
        self.content.iter().map(|Content::Text { text }| text.len()).sum()
    }
}

/// The tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Says what it was told.
    Echo,
    /// Says 10 kB.
    Long,
}

impl Tool {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Echo => "echo",
            Tool::Long => "long",
        }
    }

    /// The length of what it says.
    pub fn length(self) -> usize {
        match self {
            Tool::Echo => "hello".len(),
            Tool::Long => LONG,
        }
    }
}

const LONG: usize = 10_000;

/// What the tool of this name says when told `text`.
pub fn said(tool: &str, text: String) -> String {
    if tool == Tool::Long.name() { "x".repeat(LONG) } else { text }
}
