//! [`Channel`]: the linear channel or sub-session that a value stands for.

use std::sync::Arc;

use mcp_protocol_machine::protocol::{
    Action, Direction, MessageIndex, Origin, Protocol, Role, State, StateIndex, StateKind,
};
use mcp_protocol_machine::{Capabilities, SubSessionNumber};

use super::within::Within;
use crate::engine::{Link, Moved, SubSessionLeft};
use crate::error::Error;

/// The channel that a value stands for, and the state that it is in there. Its drop notifies the engine.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) link: Link,
    pub(crate) state: StateIndex,
    /// The messages that come in on this channel, where there are several channels.
    pub(crate) inputs: Option<Arc<[MessageIndex]>>,
    /// The sub-session that the value stands for, or for a linear channel of.
    pub(crate) sub_session: Option<SubSessionNumber>,
    /// The capabilities that the value is restricted to, if it is. Whatever is made of the value inherits them.
    pub(crate) within: Within,
    /// The value was closed or split: dropping it has no effect.
    pub(super) left: bool,
}

impl Drop for Channel {
    fn drop(&mut self) {
        let ended = self.is_at_end();
        let split = self.inputs.is_some();
        let needed = !split || !ended && self.table().is_some_and(|state| state.reaches_end);
        match self.sub_session {
            Some(sub_session) => {
                let left = if ended { SubSessionLeft::AtEnd } else { SubSessionLeft::Before };
                self.link.speak(|engine, caller| {
                    engine.sub_session_value_dropped(caller, sub_session, left, needed);
                });
            }
            None if self.left => {}
            None => self.link.with(|engine| engine.value_dropped(needed)),
        }
    }
}

impl Channel {
    /// The channel of the session, or of a sub-session, that starts in a state.
    pub(super) fn new(
        link: Link,
        within: Within,
        sub_session: Option<SubSessionNumber>,
        state: StateIndex,
    ) -> Channel {
        Channel { link, state, inputs: None, sub_session, within, left: false }
    }

    /// One of several channels.
    pub(super) fn part(
        link: Link,
        within: Within,
        sub_session: Option<SubSessionNumber>,
        state: StateIndex,
    ) -> Channel {
        let inputs = inputs(link.protocol(), link.role(), state, sub_session.is_some());
        Channel { link, state, inputs: Some(inputs), sub_session, within, left: false }
    }

    /// Why a value of a sub-session can send nothing any more, if that is so.
    pub(super) fn sub_session_over(&self) -> Option<Error> {
        self.sub_session
            .and_then(|sub_session| self.link.with(|engine| engine.inbox().sub_session_over(sub_session)))
    }

    pub(crate) fn role(&self) -> Option<&Role> {
        self.link.role()
    }

    pub(crate) fn table(&self) -> Option<&State> {
        self.role()?.state(self.state)
    }

    /// Where a message leads from here; `None` where it is not for this value.
    pub(crate) fn target(&self, direction: Direction, message: MessageIndex) -> Option<StateIndex> {
        let edge = self.table()?.edge(direction, message)?;
        match edge.action {
            _ if edge.origin == Origin::Closure => None,
            Action::Step(state) => Some(state),
            Action::Spawn(_) => Some(self.state),
        }
    }

    /// Whether nothing is left of the channel.
    pub(crate) fn is_at_end(&self) -> bool {
        self.table().is_none_or(|state| state.kind == StateKind::End)
    }

    /// Moves the value. What waits for a state before is dropped.
    pub(crate) fn move_to(&mut self, state: StateIndex, moved: Moved) {
        if state != self.state {
            self.state = state;
            // What waits for a sub-session that is over is let go of with its value.
            if self.sub_session.is_some() && self.inputs.is_none() && self.is_at_end() {
                return;
            }
            self.link.with(|engine| {
                engine.leave_behind(self.sub_session, state, moved, |message| self.is_mine(message));
            });
        }
    }

    /// The capabilities that the value may use, as far as it is restricted.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.within.as_deref().cloned().unwrap_or_else(Capabilities::unknown)
    }

    /// Whether a message comes in on this value's channel.
    pub(crate) fn is_mine(&self, message: MessageIndex) -> bool {
        self.inputs.as_deref().is_none_or(|inputs| inputs.binary_search(&message).is_ok())
    }
}

/// The messages that can come in on the linear channel that starts in a state, sorted. In a sub-session, what opens
/// others within it is among them: it waits with the steps.
fn inputs(protocol: &Protocol, role: Option<&Role>, start: StateIndex, opens: bool) -> Arc<[MessageIndex]> {
    let mut seen = vec![start];
    let mut inputs = Vec::new();
    let mut next = 0;
    while let Some(state) = seen.get(next).copied() {
        next += 1;
        let Some(state) = role.and_then(|role| role.state(state)) else { continue };
        let mut reach = |state: StateIndex| {
            if !seen.contains(&state) {
                seen.push(state);
            }
        };
        state.parts.iter().copied().for_each(&mut reach);
        for edge in state.edges.iter() {
            match edge.action {
                Action::Step(target) => reach(target),
                Action::Spawn(_) if opens && edge.origin != Origin::Closure => {}
                Action::Spawn(_) => continue,
            }
            if edge.direction == Direction::Receive && protocol.message(edge.message).is_some() {
                inputs.push(edge.message);
            }
        }
    }
    inputs.sort();
    inputs.dedup();
    inputs.into()
}
