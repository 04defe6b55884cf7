//! What a side can do: sets of gates, and the lattice they form.

use std::cmp::Ordering;

use crate::protocol::{Announcement, Capability, GateIndex, Holder, Kind, Protocol, Side, Text};

/// What an announcement says of one capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// Nothing: it is not there, or `null`.
    Nothing,
    /// That it is not there: `false`.
    No,
    /// That it is there, and no more: `{}`, `true`, a number or a text.
    Bare,
    /// That it is there, with something in it.
    Parts,
}

/// A set of capabilities, over [`Protocol::gates`](crate::Protocol::gates).
///
/// The sets form a lattice by inclusion: [`none`](Self::none) is its least element, [`unknown`](Self::unknown) its
/// greatest, [`meet`](Self::meet) the intersection, and `<=` says that one set grants nothing that the other does
/// not.
///
/// ```
/// use mcp_protocol_machine::Capabilities;
/// use mcp_protocol_machine::protocol::GateIndex;
///
/// let (tools, prompts) = (GateIndex(0), GateIndex(1));
/// let announced = Capabilities::from_gates([tools, prompts]);
/// assert!(announced.grants(prompts));
/// assert!(!announced.meet(&Capabilities::from_gates([tools])).grants(prompts));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Capabilities {
    /// Every gate is open, whatever its index.
    every: bool,
    /// One bit a gate; without zeros at the end, so that equal sets are equal values. Empty where `every` is set.
    words: Vec<u64>,
}

impl Capabilities {
    /// Grants nothing. This is what a side has before it announces.
    pub const fn none() -> Capabilities {
        Capabilities { every: false, words: Vec::new() }
    }

    /// What was announced is not known: every gate is open. For sessions that were opened elsewhere.
    pub const fn unknown() -> Capabilities {
        Capabilities { every: true, words: Vec::new() }
    }

    /// Grants these gates.
    pub fn from_gates(gates: impl IntoIterator<Item = GateIndex>) -> Capabilities {
        let mut words: Vec<u64> = Vec::new();
        for gate in gates {
            let (word, bit) = position(gate);
            if words.len() <= word {
                words.resize(word + 1, 0);
            }
            if let Some(word) = words.get_mut(word) {
                *word |= bit;
            }
        }
        Capabilities { every: false, words }
    }

    /// What an announcement grants. `said` returns what the announcement says at a path.
    pub fn announced(
        protocol: &Protocol,
        announcement: &Announcement,
        said: impl Fn(&[Text]) -> Said,
    ) -> Capabilities {
        let gates = (0..=u16::MAX).map(GateIndex).zip(protocol.gates.iter());
        // What is granted by requests is not announced.
        let announceable = gates.filter(|(_, table)| table.during.is_none());
        let granted = announceable.filter(|(gate, table)| {
            let default = || announcement.defaults.contains(gate);
            match (said(&table.path), table.path.split_last()) {
                (Said::Bare | Said::Parts, _) => true,
                (Said::No, _) => false,
                // A default is granted by the capability around it, if the announcement names no part of that.
                (Said::Nothing, Some((_, around))) if !around.is_empty() && default() => {
                    said(around) == Said::Bare
                }
                (Said::Nothing, _) => false,
            }
        });
        granted.map(|(gate, _)| gate).collect()
    }

    /// The capabilities of a side that a text names: one by its path, or all that the messages of a method need of that
    /// side. A text that names nothing grants nothing.
    ///
    /// ```
    /// use mcp_protocol_machine::protocol::{Gate, GateIndex, Side};
    /// use mcp_protocol_machine::{Capabilities, Protocol};
    ///
    /// static GATES: [Gate; 1] = [Gate::at(&[std::borrow::Cow::Borrowed("bell")])];
    /// static SHOP: Protocol = Protocol::table("Shop", &[]).gates(&GATES);
    ///
    /// assert!(Capabilities::named(&SHOP, Side::Server, ["bell"]).grants(GateIndex(0)));
    /// assert!(Capabilities::named(&SHOP, Side::Server, ["wine"]).is_none());
    /// ```
    pub fn named<'n>(
        protocol: &Protocol,
        side: Side,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Capabilities {
        let mut gates = Vec::new();
        for name in names {
            let indexed = (0..=u16::MAX).map(GateIndex).zip(protocol.gates.iter());
            gates.extend(indexed.filter(|(_, gate)| gate.to_string() == name).map(|(gate, _)| gate));
            let named = protocol.messages.iter().filter(|message| {
                matches!(message.kind, Kind::Request | Kind::Notification) && message.method == name
            });
            let requires = named.flat_map(|message| message.requires.iter());
            let of_side = requires.filter(|requirement| match requirement.holder {
                Holder::Side(holder) => holder == side,
                Holder::Sender | Holder::Receiver => true,
            });
            let announced = |gate: &GateIndex| protocol.gate(*gate).is_none_or(|gate| gate.during.is_none());
            gates.extend(of_side.map(|requirement| requirement.gate).filter(announced));
        }
        Capabilities::from_gates(gates)
    }

    /// Whether a gate is open.
    pub fn grants(&self, gate: GateIndex) -> bool {
        let (word, bit) = position(gate);
        self.every || self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether every gate is open, because it is not known what was announced.
    pub const fn is_unknown(&self) -> bool {
        self.every
    }

    /// Whether no gate is open.
    pub fn is_none(&self) -> bool {
        !self.every && self.words.is_empty()
    }

    /// What both grant.
    #[must_use]
    pub fn meet(&self, other: &Capabilities) -> Capabilities {
        match (self.every, other.every) {
            (true, _) => other.clone(),
            (_, true) => self.clone(),
            (false, false) => {
                let mut words: Vec<u64> =
                    self.words.iter().zip(&other.words).map(|(one, two)| one & two).collect();
                let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
                words.truncate(used);
                Capabilities { every: false, words }
            }
        }
    }

    /// What either grants.
    #[must_use]
    pub fn join(&self, other: &Capabilities) -> Capabilities {
        match self.every || other.every {
            true => Capabilities::unknown(),
            false => self.each().chain(other.each()).collect(),
        }
    }

    /// Whether this grants nothing that the other does not.
    pub fn is_within(&self, other: &Capabilities) -> bool {
        other.every
            || (!self.every
                && self.words.len() <= other.words.len()
                && self.words.iter().zip(&other.words).all(|(one, two)| one & !two == 0))
    }

    /// How many gates are open one by one.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The gates that are open one by one; none where every gate is.
    pub(crate) fn each(&self) -> impl Iterator<Item = GateIndex> {
        self.gates(self.words.len() * 64)
    }

    /// The open gates among the first `count`, in order.
    pub fn gates(&self, count: usize) -> impl Iterator<Item = GateIndex> {
        (0..=u16::MAX).take(count).map(GateIndex).filter(|gate| self.grants(*gate))
    }
}

impl PartialOrd for Capabilities {
    fn partial_cmp(&self, other: &Capabilities) -> Option<Ordering> {
        match (self.is_within(other), other.is_within(self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Capabilities {
        Capabilities::from_gates(capabilities.into_iter().map(|capability| capability.gate))
    }
}

impl FromIterator<GateIndex> for Capabilities {
    fn from_iter<I: IntoIterator<Item = GateIndex>>(gates: I) -> Capabilities {
        Capabilities::from_gates(gates)
    }
}

/// The word and the bit of a gate.
fn position(gate: GateIndex) -> (usize, u64) {
    (usize::from(gate.0 / 64), 1 << (gate.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::tests::random::Random;
    use crate::protocol::{Gate, MessageIndex};

    fn set(gates: &[u16]) -> Capabilities {
        gates.iter().copied().map(GateIndex).collect()
    }

    #[test]
    fn grants_exactly_its_gates() {
        let capabilities = set(&[0, 63, 64, 300]);
        let granted: Vec<u16> = capabilities.gates(400).map(|gate| gate.0).collect();
        assert_eq!(granted, [0, 63, 64, 300]);
        assert!(!capabilities.grants(GateIndex(u16::MAX)));
        assert!(Capabilities::unknown().grants(GateIndex(u16::MAX)));
        assert!(!Capabilities::none().grants(GateIndex(0)));
    }

    /// Gates at these paths, of which the last is a default of what it is a part of.
    fn granted(paths: &[&str], said: impl Fn(&str) -> Said) -> Vec<String> {
        let path = |written: &&str| written.split('.').map(|key| Text::Owned(key.to_owned())).collect();
        let mut protocol = Protocol::new("Test".into(), Vec::new().into());
        protocol.gates = paths.iter().map(|written| Gate::new(path(written))).collect();
        let announcement = Announcement {
            side: Side::Client,
            message: Some(MessageIndex(0)),
            path: path(&"capabilities"),
            defaults: vec![GateIndex(u16::try_from(paths.len() - 1).unwrap())].into(),
            open: false,
            error: None,
        };
        let granted = Capabilities::announced(&protocol, &announcement, |path| said(&path.join(".")));
        let open = granted.gates(paths.len()).map(|gate| protocol.gate(gate).unwrap().to_string());
        open.collect()
    }

    #[test]
    fn a_default_is_granted_by_what_says_no_more() {
        let paths = ["ask", "ask.url", "ask.form"];
        for (ask, url, form, open) in [
            (Said::Nothing, Said::Nothing, Said::Nothing, &[][..]),
            (Said::No, Said::Nothing, Said::Nothing, &[]),
            (Said::Bare, Said::Nothing, Said::Nothing, &["ask", "ask.form"]),
            (Said::Parts, Said::Nothing, Said::Nothing, &["ask"]),
            (Said::Parts, Said::Bare, Said::Nothing, &["ask", "ask.url"]),
            (Said::Parts, Said::Nothing, Said::Bare, &["ask", "ask.form"]),
            (Said::Parts, Said::Parts, Said::Parts, &["ask", "ask.url", "ask.form"]),
            (Said::Parts, Said::Nothing, Said::No, &["ask"]),
            // Nothing that reads JSON says this; what is denied stays closed.
            (Said::Bare, Said::Nothing, Said::No, &["ask"]),
        ] {
            let said = |path: &str| match path {
                "ask" => ask,
                "ask.url" => url,
                "ask.form" => form,
                other => panic!("{other}"),
            };
            assert_eq!(granted(&paths, said), open, "{ask:?} {url:?} {form:?}");
        }
    }

    #[test]
    fn a_default_that_is_part_of_nothing_is_a_capability_like_others() {
        assert_eq!(granted(&["ask"], |_| Said::Nothing), [""; 0]);
        assert_eq!(granted(&["ask"], |_| Said::Bare), ["ask"]);
    }

    #[test]
    fn the_meet_is_the_greatest_lower_bound() {
        let sets = [
            Capabilities::none(),
            Capabilities::unknown(),
            set(&[0]),
            set(&[1]),
            set(&[0, 1]),
            set(&[0, 70]),
            set(&[70]),
            set(&[200]),
        ];
        for one in &sets {
            for two in &sets {
                let meet = one.meet(two);
                assert_eq!(meet, two.meet(one));
                assert!(meet <= *one && meet <= *two, "{one:?} meet {two:?}");
                for three in &sets {
                    assert_eq!(three.is_within(one) && three.is_within(two), three.is_within(&meet));
                }
            }
        }
    }

    #[test]
    fn the_order_is_inclusion() {
        assert!(set(&[1]) < set(&[0, 1]));
        assert!(set(&[0, 1]) > set(&[1]));
        assert!(Capabilities::none() < set(&[9]));
        assert!(set(&[9]) < Capabilities::unknown());
        assert_eq!(set(&[1]).partial_cmp(&set(&[2])), None);
        assert_eq!(set(&[1, 100]).meet(&set(&[1, 101])), set(&[1]), "equal sets are equal values");
        assert!(set(&[1]).meet(&set(&[2])).is_none());
    }

    /// Sets at random, over more gates than fit into one word: the laws of a lattice's meet and order.
    #[test]
    fn the_sets_form_a_lattice() {
        let mut random = Random::new(11);
        let mut set = || match random.below(10) {
            0 => Capabilities::none(),
            1 => Capabilities::unknown(),
            _ => {
                let gates = 1 + random.below(130);
                let share = random.below(100);
                (0..gates).filter(|_| random.chance(share)).map(|gate| GateIndex(gate as u16)).collect()
            }
        };
        for _ in 0..2_000 {
            let (one, two, three) = (set(), set(), set());
            let meet = one.meet(&two);
            assert_eq!(meet, two.meet(&one));
            assert_eq!(meet.meet(&three), one.meet(&two.meet(&three)));
            assert_eq!(one.meet(&one), one);
            assert_eq!(one.meet(&Capabilities::unknown()), one);
            assert!(one.meet(&Capabilities::none()).is_none());
            // The order is the meet's, and a chain of meets only ever goes down.
            assert_eq!(one.is_within(&two), meet == one);
            assert!(meet.meet(&three) <= meet && meet <= one);
            for gate in (0..200).map(GateIndex) {
                assert_eq!(meet.grants(gate), one.grants(gate) && two.grants(gate));
            }
        }
    }
}
