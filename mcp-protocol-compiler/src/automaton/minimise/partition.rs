//! States in blocks that are parted again and again.

use crate::lists::Lists;

/// The states in blocks, each state in one.
pub(super) struct Partition {
    /// All states, block behind block.
    members: Vec<usize>,
    blocks: Vec<StateBlock>,
    /// The block of each state and its place among the members.
    places: Vec<(usize, usize)>,
}

/// Which members are a block's: never none.
struct StateBlock {
    start: usize,
    end: usize,
    /// How many of them, the first ones, are named in the split that is under way.
    named: usize,
}

impl Partition {
    /// So many blocks, and which of them each state is in.
    pub(super) fn new(blocks: &[usize], count: usize) -> Partition {
        let lists = Lists::grouped(count, blocks.iter().enumerate().map(|(state, block)| (*block, state)));
        let mut members = Vec::with_capacity(blocks.len());
        let mut places = vec![(0, 0); blocks.len()];
        let mut bounds = Vec::with_capacity(count);
        for (block, list) in lists.iter().enumerate() {
            let start = members.len();
            for state in list {
                if let Some(place) = places.get_mut(*state) {
                    *place = (block, members.len());
                }
                members.push(*state);
            }
            bounds.push(StateBlock { start, end: members.len(), named: 0 });
        }
        Partition { members, blocks: bounds, places }
    }

    /// The states of a block.
    pub(super) fn members(&self, block: usize) -> &[usize] {
        self.blocks.get(block).and_then(|block| self.members.get(block.start..block.end)).unwrap_or_default()
    }

    /// How many blocks there are.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The block of a state.
    pub(super) fn block(&self, state: usize) -> Option<usize> {
        self.places.get(state).map(|(block, _)| *block)
    }

    /// Parts every block in those of its states that are named and those that are not, and adds the old and the new
    /// number of each block that was parted. Each state is named once; the work is that of the states named.
    pub(super) fn split(&mut self, named: impl Iterator<Item = usize>, parted: &mut Vec<(usize, usize)>) {
        let mut touched = Vec::new();
        for state in named {
            let Some((block, at)) = self.places.get(state).copied() else { continue };
            let Some(place) = self.blocks.get_mut(block) else { continue };
            if place.named == 0 {
                touched.push(block);
            }
            let front = place.start + place.named;
            place.named += 1;
            self.swap(at, front);
        }
        for block in touched {
            let new = self.blocks.len();
            let Some(rest) = self.blocks.get_mut(block) else { continue };
            let named = rest.start..rest.start + std::mem::take(&mut rest.named);
            if named.end == rest.end {
                continue;
            }
            rest.start = named.end;
            self.blocks.push(StateBlock { start: named.start, end: named.end, named: 0 });
            for state in self.members.get(named).unwrap_or_default() {
                if let Some(place) = self.places.get_mut(*state) {
                    place.0 = new;
                }
            }
            parted.push((block, new));
        }
    }

    /// Has two members change places.
    fn swap(&mut self, one: usize, other: usize) {
        self.members.swap(one, other);
        for at in [one, other] {
            if let Some(place) = self.members.get(at).and_then(|state| self.places.get_mut(*state)) {
                place.1 = at;
            }
        }
    }

    /// The block of each state; blocks are numbered by their first state.
    pub(super) fn numbered_by_first(&self) -> Vec<usize> {
        let mut numbers: Vec<Option<usize>> = vec![None; self.blocks.len()];
        let mut next = 0;
        let number = |(block, _): &(usize, usize)| {
            let Some(slot) = numbers.get_mut(*block) else { return 0 };
            *slot.get_or_insert_with(|| {
                next += 1;
                next - 1
            })
        };
        self.places.iter().map(number).collect()
    }
}
