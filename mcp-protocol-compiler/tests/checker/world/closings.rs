//! Messages by which one side has narrowed what one side can do, while the other side may not have read them.

use mcp_protocol_machine::protocol::{Direction, GateIndex, Side};

use super::heard::Heard;

/// How many are remembered of one side about one side, by `docs/semantics.md`.
const KEPT: usize = 16;

#[derive(Clone)]
struct Closing {
    holder: Side,
    closer: Direction,
    at: u64,
    /// What was open before; nothing where older closings are forgotten, and anything may have been.
    before: Option<Vec<GateIndex>>,
}

/// The closings that may be unread.
///
/// Invariant: oldest first, and at most [`KEPT`] by one side of what one side can do.
#[derive(Clone, Default)]
pub(super) struct Closings(Vec<Closing>);

impl Closings {
    /// A message has closed gates of those that were open before it.
    pub(super) fn add(
        &mut self,
        (holder, closer): (Side, Direction),
        at: u64,
        before: Vec<GateIndex>,
        heard: &Heard,
    ) {
        self.0.retain(|closing| closing.closer != closer || !heard.is_read(closer, closing.at));
        self.0.push(Closing { holder, closer, at, before: Some(before) });
        let is_alike = |closing: &Closing| (closing.holder, closing.closer) == (holder, closer);
        let alike: Vec<usize> = (0..self.0.len()).filter(|place| is_alike(&self.0[*place])).collect();
        if alike.len() > KEPT {
            self.0[alike[1]].before = None;
            self.0.remove(alike[0]);
        }
    }

    /// Whether a gate was open before a message that may be unread.
    pub(super) fn may_have_been_open(
        &self,
        holder: Side,
        gate: GateIndex,
        may_be_unread: impl Fn(Direction, u64) -> bool,
    ) -> bool {
        self.0.iter().filter(|closing| closing.holder == holder).any(|closing| {
            may_be_unread(closing.closer, closing.at)
                && closing.before.as_ref().is_none_or(|before| before.contains(&gate))
        })
    }
}
