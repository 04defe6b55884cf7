//! What else must hold in a world: the wire may be ahead of a program, and neither side waits indefinitely.

use mcp_protocol_machine::protocol::{Action, Direction, Kind, Origin, StateIndex, StateKind};

use super::{Life, Oracle, Tag, World};
use crate::automaton::Edge;

impl Oracle<'_> {
    /// The wire may be ahead of the program by any part of what waits. If the program's message is a step there, too, the
    /// program is where the wire is once it has read that part. Otherwise the wire goes where the program will be: the
    /// message is late there, and changes nothing or leads where it leads before what crossed it.
    pub(super) fn lag(&self, world: &World, side: usize, edge: &Edge) -> Result<(), String> {
        let name = self.name(edge.message);
        let mut ahead = world.clone();
        let Some(mut behind) = self.send(world, side, edge) else { return Ok(()) };
        for item in &world.inbox[side] {
            let reply = |message| matches!(self.kind(message), Kind::Reply { .. } | Kind::Refusal { .. });
            let cancels = |message| self.kind(message) == Kind::Notification;
            let settles = edge.origin == Origin::Cancel && reply(item.message)
                || reply(edge.message) && cancels(item.message);
            if settles && matches!(item.tag, Tag::Request(_)) {
                // A cancellation or a reply that is too late is swallowed by its number.
                return Ok(());
            }
            self.receive(&mut ahead, side, *item)?;
            self.receive(&mut behind, side, *item)?;
            let step = self.edge(side, &ahead.main[side], Direction::Send, edge.message);
            let after = match step {
                Some((_, step)) => match self.send(&ahead, side, &step) {
                    Some(after) => after.main[side].clone(),
                    None => return Ok(()),
                },
                None => continue,
            };
            if after != behind.main[side] {
                return Err(format!("lag: `!{name}` leads elsewhere"));
            }
        }
        Ok(())
    }

    pub(super) fn sub_session_lag(
        &self,
        world: &World,
        side: usize,
        index: usize,
        from: StateIndex,
        edge: &Edge,
    ) -> Result<(), String> {
        let name = self.name(edge.message);
        let mut ahead = world.clone();
        let mut behind = world.clone();
        if let Life::At(at) = &world.sub_sessions[index].lives[side] {
            behind.sub_sessions[index].lives[side] = self.life(side, self.moved(side, at, from, edge.action));
        }
        for item in &world.inbox[side] {
            self.receive(&mut ahead, side, *item)?;
            self.receive(&mut behind, side, *item)?;
            let after = match &ahead.sub_sessions[index].lives[side] {
                Life::At(_)
                    if self.is_step(edge.message) && self.is_suspended(side, &ahead, Direction::Send) =>
                {
                    None
                }
                Life::At(at) => match self.edge(side, at, Direction::Send, edge.message) {
                    Some((from, step)) => Some(self.life(side, self.moved(side, at, from, step.action))),
                    None => continue,
                },
                // What is too late is swallowed before it is written.
                Life::Ended => return Ok(()),
                Life::Unborn => None,
            };
            if after.is_none_or(|after| after != behind.sub_sessions[index].lives[side]) {
                return Err(format!("lag: `!{name}` leads elsewhere in an instance"));
            }
        }
        Ok(())
    }

    /// Nothing is on its way.
    pub(super) fn rest(&self, world: &World) -> Result<(), String> {
        let mut somebody_closes = false;
        for side in [0, 1] {
            let own = self.may_close(side, &world.main[side], side);
            somebody_closes |= own;
            if own && !self.may_close(1 - side, &world.main[1 - side], side) {
                return Err(format!("unexpected close by side {side}"));
            }
        }
        if !somebody_closes && self.stuck(&world.main) {
            return Err("deadlock".to_owned());
        }
        for sub_session in &world.sub_sessions {
            match &sub_session.lives {
                [Life::At(client), Life::At(server)] => {
                    if self.stuck(&[client.clone(), server.clone()]) {
                        return Err("deadlock in an instance".to_owned());
                    }
                }
                [Life::Ended, Life::Ended] => {}
                _ => return Err("an instance is left over on one side".to_owned()),
            }
        }
        Ok(())
    }

    fn may_close(&self, side: usize, at: &[StateIndex], who: usize) -> bool {
        let states: Vec<_> = at.iter().map(|state| &self.role(side).states[state.0 as usize]).collect();
        let linear = states.iter().any(|state| matches!(state.kind, StateKind::Linear | StateKind::End));
        let mut able = states
            .iter()
            .filter(|state| {
                state.kind == StateKind::End || state.kind == StateKind::Linear && state.reaches_end
            })
            .peekable();
        if able.peek().is_none() {
            return !linear;
        }
        able.all(|state| {
            state.kind == StateKind::End || if who == side { state.may_close } else { state.peer_may_close }
        })
    }

    /// Whether a role waits for what the other will never send: the other sends nothing linear at all, and it has
    /// nothing to send itself, or, being the server, only what changes nothing.
    fn stuck(&self, at: &[Vec<StateIndex>; 2]) -> bool {
        // No role waits for what may come late.
        let linear = |side: usize, direction: Direction| {
            self.edges(side, &at[side], direction)
                .filter(|(_, edge)| edge.origin != Origin::Closure)
                .filter_map(|(from, edge)| match edge.action {
                    Action::Step(target) => Some(target == from),
                    Action::Spawn(_) => None,
                })
                .collect::<Vec<bool>>()
        };
        [0, 1].into_iter().any(|side| {
            let waits = !linear(side, Direction::Receive).is_empty();
            let sends = linear(side, Direction::Send);
            let idle = if side == 1 { sends.iter().all(|looped| *looped) } else { sends.is_empty() };
            waits && idle && linear(1 - side, Direction::Send).is_empty()
        })
    }
}
