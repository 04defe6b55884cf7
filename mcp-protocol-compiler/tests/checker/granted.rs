//! What each side may be asked for, as messages announce, grant and revoke it.

use std::collections::HashMap;

use mcp_protocol_machine::RequestId;
use mcp_protocol_machine::protocol::{GateIndex, Kind, Protocol, Side};

use crate::event::Event;

/// The gates that are open, as far as no single request opens them.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    announced: HashMap<Side, Vec<GateIndex>>,
    /// How often each was granted since.
    given: HashMap<(Side, GateIndex), u32>,
    /// How often each was granted and not asked back.
    kept: HashMap<(Side, GateIndex), u32>,
    /// What the answer to a request revokes.
    pending: HashMap<(Side, RequestId), Vec<GateIndex>>,
}

impl Granted {
    pub(crate) fn new(protocol: &Protocol) -> Granted {
        let all: Vec<GateIndex> = (0_u16..).take(protocol.gates.len()).map(GateIndex).collect();
        let open = protocol.announcements.iter().filter(|announced| announced.open);
        let announced = open.map(|announced| (announced.side, all.clone())).collect();
        Granted { announced, given: HashMap::new(), kept: HashMap::new(), pending: HashMap::new() }
    }

    /// Whether a side has announced a gate, or it was granted.
    pub(crate) fn has(&self, side: Side, gate: GateIndex) -> bool {
        self.announced.get(&side).is_some_and(|announced| announced.contains(&gate))
            || self.given.get(&(side, gate)).is_some_and(|count| *count > 0)
    }

    /// The gates that are open for what needs something of a side.
    pub(crate) fn open(&self, protocol: &Protocol, side: Side) -> Vec<GateIndex> {
        let all = (0_u16..).take(protocol.gates.len()).map(GateIndex);
        all.filter(|gate| self.has(side, *gate)).collect()
    }

    /// Whose capabilities a message revokes.
    pub(crate) fn revoking_side(&self, protocol: &Protocol, event: &Event) -> Option<Side> {
        let table = protocol.message(event.message).unwrap();
        match (table.kind, &event.id) {
            (Kind::Notification, _) if table.revokes.is_some() => Some(event.from),
            (Kind::Reply { .. } | Kind::Refusal { .. }, Some(id)) => {
                let asker = event.from.other();
                self.pending.contains_key(&(asker, id.clone())).then_some(asker)
            }
            _ => None,
        }
    }

    /// Whether a message announces less than what its sender had announced before.
    pub(crate) fn narrows(&self, protocol: &Protocol, event: &Event) -> bool {
        let mut announcements = protocol.announcements.iter();
        let announces = announcements
            .any(|announced| announced.side == event.from && announced.message == Some(event.message));
        let before = self.announced.get(&event.from).map(Vec::as_slice).unwrap_or_default();
        announces && before.iter().any(|gate| !event.grants.contains(gate))
    }

    /// A message was sent, or received.
    pub(crate) fn note(&mut self, protocol: &Protocol, event: &Event) {
        let table = protocol.message(event.message).unwrap();
        let announces = |announced: &&mcp_protocol_machine::protocol::Announcement| {
            announced.side == event.from && announced.message == Some(event.message)
        };
        if protocol.announcements.iter().any(|announced| announces(&announced)) {
            self.announced.insert(event.from, event.grants.clone());
        }
        if table.grants.is_some() {
            for gate in &event.grants {
                *self.given.entry((event.from, *gate)).or_default() += 1;
                *self.kept.entry((event.from, *gate)).or_default() += 1;
            }
        }
        if table.revokes.is_some() {
            // What nothing has granted, or was asked back before, is not revoked once more.
            let mut revoked = event.grants.clone();
            revoked.retain(|gate| {
                let kept = self.kept.entry((event.from, *gate)).or_default();
                let has = *kept > 0;
                *kept = kept.saturating_sub(1);
                has
            });
            match &event.id {
                Some(id) => _ = self.pending.insert((event.from, id.clone()), revoked),
                None => self.take_back(event.from, &revoked),
            }
        }
        if let (Kind::Reply { .. } | Kind::Refusal { .. }, Some(id)) = (table.kind, &event.id)
            && let Some(gates) = self.pending.remove(&(event.from.other(), id.clone()))
        {
            self.take_back(event.from.other(), &gates);
        }
    }

    fn take_back(&mut self, side: Side, gates: &[GateIndex]) {
        for gate in gates {
            let count = self.given.entry((side, *gate)).or_default();
            *count = count.saturating_sub(1);
        }
    }
}
