//! What gets a name in the generated code, in words.

use std::fmt;

use crate::plan::names::{snake, try_ident};
use crate::source::Span;

/// Something that gets a name in the generated code.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) span: Span,
    pub(super) thing: Thing<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Thing<'a> {
    /// The error type, which is called after the protocol.
    ErrorType,
    Role(&'a str),
    State(&'a str),
    /// A message, as a constant.
    Message(&'a str),
    /// A message, as a branch of a choice.
    Branch(&'a str),
    /// A step, which is called after its message.
    Step(&'a str),
    /// A call, which may have a name of its own, and that name.
    Call(&'a str, Option<&'a str>),
    /// The call for page after page, which is called after the call; the name of the call if it has one of its own.
    Pages(&'a str, Option<&'a str>),
    /// A method that sessions have in a state, whatever its messages are called.
    Method(&'a str),
    SubSessions(&'a str),
    /// A payload shape.
    Shape(&'a str),
    /// The inputs that are waited for in a state.
    Choice(&'a str),
    /// The enum of the replies to a request.
    Replies(&'a str),
}

impl fmt::Display for Thing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Thing::ErrorType => formatter.write_str("the protocol's error type"),
            Thing::Role(name) => write!(formatter, "the role `{name}`"),
            Thing::State(name) => write!(formatter, "the state `{name}`"),
            Thing::Message(name) | Thing::Branch(name) => write!(formatter, "the message `{name}`"),
            Thing::Step(name) => write!(formatter, "the step of `{name}`"),
            Thing::Call(name, _) => write!(formatter, "the call of `{name}`"),
            Thing::Pages(name, _) => write!(formatter, "the pages of `{name}`"),
            Thing::Method(name) => write!(formatter, "the method `{name}` that sessions have here"),
            Thing::SubSessions(name) => write!(formatter, "the instances `{name}`"),
            Thing::Shape(name) => write!(formatter, "the shape `{name}`"),
            Thing::Choice(state) => write!(formatter, "the choice in `{state}`"),
            Thing::Replies(request) => write!(formatter, "the enum of the replies to `{request}`"),
        }
    }
}

impl Thing<'_> {
    /// How to get out of a clash.
    pub(super) fn help(&self, clash: &str) -> String {
        match self {
            Thing::ErrorType => "rename the protocol".into(),
            Thing::Role(name) => format!("rename the role, for instance to `{}`", other(name)),
            Thing::State(name) => {
                format!("rename the definition that names the state, for instance to `{}`", other(name))
            }
            Thing::Shape(name) => {
                format!("rename the shape, for instance to `{}`: its name is not sent", other(name))
            }
            Thing::Message(name) => {
                format!("rename one of the messages, for instance `{name}` to `{}`", other(name))
            }
            Thing::Method(_) => "rename the message".into(),
            Thing::SubSessions(name) | Thing::Choice(name) => {
                format!("rename the definition, for instance to `{}`", other(name))
            }
            Thing::Step(name) | Thing::Branch(name) | Thing::Replies(name) => {
                format!(
                    "rename the message `{name}`, for instance to `{}`: its name is not sent",
                    other(name)
                )
            }
            Thing::Pages(name, called) => call(name, *called, &format!("do_{}", snake(name))),
            Thing::Call(name, called) => {
                let own = snake(name);
                match called {
                    Some(called) if own != clash && try_ident(&own).is_some() => {
                        format!("delete `as {called}`, and the call is `{own}`")
                    }
                    _ => call(name, *called, &format!("do_{clash}")),
                }
            }
        }
    }
}

/// How to call a call by another name.
fn call(name: &str, called: Option<&str>, other: &str) -> String {
    match called {
        Some(called) => format!("write `as {other}` in place of `as {called}`"),
        None => format!("write `as {other}` at the end of the declaration of `{name}`"),
    }
}

/// Another name, written as the one that is taken.
fn other(name: &str) -> String {
    if name.starts_with(char::is_lowercase) { format!("my_{name}") } else { format!("My{name}") }
}
