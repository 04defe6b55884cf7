//! What generated code says of its types: the session values in their roles and states.

use mcp_protocol_machine::protocol::{Protocol, Side, StateIndex};

use super::session::Session;

/// What generated code makes of a session that has come to a state: its own type, with the state's marker.
pub trait InState {
    /// The value in that state.
    fn at(session: Session) -> Self;
}

/// A session type of generated code, in whatever state.
pub trait InRole: InState {
    /// The side of the role.
    const SIDE: Side;
    /// Whether it stands for a sub-session.
    const SUB_SESSION: bool;

    /// The protocol.
    fn protocol() -> &'static Protocol;
}

/// A session type of generated code, in one state.
///
/// ```
/// use mcp_runtime::CheckedSession;
/// use mcp_runtime::session::{NotTyped, Typed};
///
/// /// Any session type of generated code, in the state that its parameter says.
/// fn typed<S: Typed>(session: CheckedSession) -> Result<S, Box<NotTyped>> {
///     session.try_into_typed().map_err(Box::new)
/// }
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not a session in one of its states")]
pub trait Typed: InRole {
    /// The state.
    const STATE: StateIndex;
}

/// A sub-session that is over is nothing.
impl InState for () {
    fn at(_over: Session) {}
}
