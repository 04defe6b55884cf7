//! Defaults of announcements: what a capability with nothing in it announces as well.

use std::collections::{BTreeMap, HashSet};

use mcp_protocol_machine::protocol::{GateIndex, Holder, Path, Side};

use crate::ast::JsonPath;
use crate::declarations::{Resolution, path};
use crate::diagnostic::Diagnostic;
use crate::findings::defaults as finding;

/// The gates that messages ask of each side, by their paths.
pub(super) struct Required(BTreeMap<(Side, Path), GateIndex>);

impl Required {
    pub(super) fn of(resolution: &Resolution) -> Required {
        let declarations = &resolution.declarations;
        let mut all = BTreeMap::new();
        for requirement in declarations.messages.iter().flat_map(|message| message.table.requires.iter()) {
            let Some(gate) = declarations.gates.get(usize::from(requirement.gate.0)) else { continue };
            // Which side sends is not known yet, and either may.
            let sides = match requirement.holder {
                Holder::Side(side) => [Some(side), None],
                Holder::Sender | Holder::Receiver => [Some(Side::Client), Some(Side::Server)],
            };
            for side in sides.into_iter().flatten() {
                all.insert((side, gate.path.clone()), requirement.gate);
            }
        }
        Required(all)
    }

    /// The defaults of one side.
    pub(super) fn defaults(
        &self,
        side: Side,
        written: &[JsonPath],
        resolution: &Resolution,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<GateIndex> {
        let mut defaults = Vec::new();
        let mut seen = HashSet::new();
        for field in written {
            let default = path(field);
            if default.len() < 2 {
                // Its parts, if it has any, follow it in the order of the paths.
                let mut behind = self.0.range((side, default.clone())..).map(|((_, path), _)| path);
                let part = behind.find(|path| **path != default).filter(|path| path.starts_with(&default));
                diagnostics.push(finding::default_of_nothing(field, part));
                continue;
            }
            match self.0.get(&(side, default.clone())) {
                Some(gate) if seen.insert(*gate) => defaults.push(*gate),
                Some(_) => diagnostics.push(finding::default_twice(field, &default)),
                None => {
                    let (_, inner) = default.split_at(1);
                    let inner =
                        self.0.get_key_value(&(side, inner.to_vec().into())).map(|((_, path), _)| path);
                    let of_side = self.0.keys().filter(|(holder, _)| *holder == side).map(|(_, path)| path);
                    let parts = of_side.take_while(|_| resolution.may_guess()).filter(|path| path.len() > 1);
                    diagnostics.push(finding::default_not_required(field, &default, side, inner, parts));
                }
            }
        }
        defaults
    }
}
