//! Tables in use: how a checker holds a protocol, and the test that a protocol can be run at all.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::protocol::{Direction, Kind, MessageIndex, Protocol, Role, Side, StateIndex, StateKind};

/// A protocol that many sessions share: a constant of generated code, or one read at run time.
#[derive(Clone, Debug)]
pub enum ProtocolRef {
    /// A constant.
    Static(&'static Protocol),
    /// Read at run time.
    Shared(Arc<Protocol>),
}

impl Deref for ProtocolRef {
    type Target = Protocol;

    fn deref(&self) -> &Protocol {
        match self {
            ProtocolRef::Static(protocol) => protocol,
            ProtocolRef::Shared(protocol) => protocol,
        }
    }
}

impl From<&'static Protocol> for ProtocolRef {
    fn from(protocol: &'static Protocol) -> ProtocolRef {
        ProtocolRef::Static(protocol)
    }
}

impl From<Arc<Protocol>> for ProtocolRef {
    fn from(protocol: Arc<Protocol>) -> ProtocolRef {
        ProtocolRef::Shared(protocol)
    }
}

impl From<&Arc<Protocol>> for ProtocolRef {
    fn from(protocol: &Arc<Protocol>) -> ProtocolRef {
        ProtocolRef::Shared(Arc::clone(protocol))
    }
}

impl From<Protocol> for ProtocolRef {
    fn from(protocol: Protocol) -> ProtocolRef {
        ProtocolRef::Shared(Arc::new(protocol))
    }
}

impl From<&ProtocolRef> for ProtocolRef {
    fn from(protocol: &ProtocolRef) -> ProtocolRef {
        protocol.clone()
    }
}

/// What is derived from tables that are constants, once for all sessions. From tables that were read at run time it is
/// derived for each session.
///
/// Invariant: an entry is of a constant, which is where it is for as long as the process runs.
#[derive(Debug)]
pub struct Derived<T>(Mutex<BTreeMap<usize, Arc<T>>>);

impl<T> Derived<T> {
    /// Nothing is derived yet.
    pub const fn new() -> Derived<T> {
        Derived(Mutex::new(BTreeMap::new()))
    }

    /// What `derive` makes of the tables; that of a constant is kept.
    pub fn of(&self, protocol: &ProtocolRef, derive: impl FnOnce(&Protocol) -> T) -> Arc<T> {
        let ProtocolRef::Static(constant) = protocol else { return Arc::new(derive(protocol)) };
        let place = std::ptr::from_ref::<Protocol>(constant).addr();
        // What is done under the lock does not panic.
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        if let Some(known) = known {
            return known;
        }
        let derived = Arc::new(derive(constant));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another session may have been as fast.
        Arc::clone(all.entry(place).or_insert(derived))
    }
}

impl<T> Default for Derived<T> {
    fn default() -> Derived<T> {
        Derived::new()
    }
}

/// Why a protocol cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// The protocol does not say what this side does.
    NoRole(Side),
    /// The state does not exist.
    NoState(StateIndex),
    /// The message does not exist.
    NoMessage(MessageIndex),
    /// A message needs a capability that is not in the list.
    NoGate(MessageIndex),
    /// A message carries a key that is not in the list.
    NoKey(MessageIndex),
    /// The edges of a state are not sorted by direction and message, or name one pair twice.
    Unsorted(StateIndex),
    /// A fork has fewer than two parts, has edges, or is a part of itself.
    BadFork(StateIndex),
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::NoRole(Side::Client) => formatter.write_str("the protocol declares no client"),
            TableError::NoRole(Side::Server) => formatter.write_str("the protocol declares no server"),
            TableError::NoState(state) => write!(formatter, "the protocol has no state number {}", state.0),
            TableError::NoMessage(message) => {
                write!(formatter, "the protocol has no message number {}", message.0)
            }
            TableError::NoGate(message) => {
                write!(formatter, "message number {} needs a capability that is not in the list", message.0)
            }
            TableError::NoKey(message) => {
                write!(formatter, "message number {} carries a key that is not in the list", message.0)
            }
            TableError::Unsorted(state) => {
                write!(formatter, "the edges of state number {} are not sorted", state.0)
            }
            TableError::BadFork(state) => {
                write!(formatter, "state number {} is not a well-formed fork", state.0)
            }
        }
    }
}

impl std::error::Error for TableError {}

/// Looks once at everything that the checker will follow blindly. Returns the role of the side.
pub(crate) fn examine(protocol: &Protocol, side: Side) -> Result<&Role, TableError> {
    for during in protocol.gates.iter().filter_map(|gate| gate.during.as_ref()) {
        for request in during.requests.iter() {
            protocol.message(*request).ok_or(TableError::NoMessage(*request))?;
        }
    }
    for (index, message) in protocol.indexed() {
        if let Kind::Reply { request } | Kind::Refusal { request } = message.kind {
            protocol.message(request).ok_or(TableError::NoMessage(request))?;
        }
        if message.requires.iter().any(|requirement| protocol.gate(requirement.gate).is_none()) {
            return Err(TableError::NoGate(index));
        }
        if message.keys.iter().any(|carried| protocol.key(carried.key).is_none()) {
            return Err(TableError::NoKey(index));
        }
    }
    let role = protocol.role(side).ok_or(TableError::NoRole(side))?;
    role.state(Role::START).ok_or(TableError::NoState(Role::START))?;
    for (index, state) in (0..=u32::MAX).map(StateIndex).zip(role.states.iter()) {
        let mut before: Option<(Direction, MessageIndex)> = None;
        for edge in state.edges.iter() {
            protocol.message(edge.message).ok_or(TableError::NoMessage(edge.message))?;
            role.state(edge.action.target()).ok_or(TableError::NoState(edge.action.target()))?;
            let here = (edge.direction, edge.message);
            if before.is_some_and(|before| before >= here) {
                return Err(TableError::Unsorted(index));
            }
            before = Some(here);
        }
        for part in state.parts.iter() {
            role.state(*part).ok_or(TableError::NoState(*part))?;
        }
        if state.kind == StateKind::Fork
            && (state.parts.len() < 2 || !state.edges.is_empty() || circular(role, index))
        {
            return Err(TableError::BadFork(index));
        }
    }
    Ok(role)
}

/// Whether a fork is, through forks, a part of itself.
fn circular(role: &Role, fork: StateIndex) -> bool {
    let mut seen = vec![];
    let mut open = vec![fork];
    while let Some(state) = open.pop() {
        let Some(table) = role.state(state).filter(|table| table.kind == StateKind::Fork) else { continue };
        for part in table.parts.iter() {
            if *part == fork {
                return true;
            }
            if !seen.contains(part) {
                seen.push(*part);
                open.push(*part);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_looked_at_once_and_other_tables_each_time() {
        static ONE: Protocol = Protocol::table("One", &[]);
        static TWO: Protocol = Protocol::table("Two", &[]);
        let names: Derived<String> = Derived::new();
        let of = |protocol: &ProtocolRef| names.of(protocol, |protocol| protocol.name.to_string());
        let (one, two) = (of(&(&ONE).into()), of(&(&TWO).into()));
        assert_eq!((&**one, &**two), ("One", "Two"));
        assert!(Arc::ptr_eq(&one, &of(&(&ONE).into())));
        let read = ProtocolRef::from(ONE.clone());
        assert!(!Arc::ptr_eq(&of(&read), &of(&read)));
    }
}
