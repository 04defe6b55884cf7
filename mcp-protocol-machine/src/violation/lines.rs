//! A violation as several lines, one thing a line.

use std::fmt;

use super::sentence::ExpectedList;
use super::{Details, Expected, ViolationKind};
use crate::protocol::{Direction, Strictness};

/// A violation line by line.
pub(super) struct Lines<'a>(pub(super) &'a Details);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = self.0;
        details.sentence(formatter)?;
        write!(formatter, "\n  protocol  {}", details.protocol)?;
        if let Some(version) = &details.version {
            write!(formatter, " {version}")?;
        }
        write!(formatter, "\n  role      {}, the {}", details.role, details.side.word())?;
        let direction = match details.direction {
            Direction::Send => "sent by this role",
            Direction::Receive => "received by this role",
        };
        write!(formatter, "\n  direction {direction}")?;
        write!(formatter, "\n  state     {}", details.states.join(" and "))?;
        let messages = |messages: &[Expected]| match messages {
            [] => "nothing".to_owned(),
            messages => ExpectedList(messages).to_string(),
        };
        if details.kind == ViolationKind::NotPermitted {
            write!(formatter, "\n  expected  {}", messages(&details.expected))?;
            if !details.awaited.is_empty() {
                write!(formatter, "\n  awaited   {}", messages(&details.awaited))?;
            }
        }
        write!(formatter, "\n  got       {}", details.got)?;
        if let Some(id) = &details.got.id {
            write!(formatter, " with the id {id}")?;
        }
        if details.kind == ViolationKind::NotPermitted && !details.permitted_in.is_empty() {
            write!(formatter, "\n  elsewhere permitted in {}", details.permitted_in.join(", "))?;
        }
        let strictness = match details.strictness {
            Strictness::Must => "must",
            Strictness::Should => "should",
        };
        match &details.rule {
            Some(rule) => write!(formatter, "\n  rule      {rule}, {strictness}")?,
            None => write!(formatter, "\n  rule      none by name, {strictness}")?,
        }
        write!(formatter, "\n  to blame  the {}", details.sender.word())
    }
}
