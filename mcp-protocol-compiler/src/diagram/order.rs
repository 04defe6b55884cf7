//! Layers: which box stands above which, and in what order they stand side by side.
//!
//! Boxes stand on even layers, the labels between them on odd ones, so that a label never lies on a box. Arrows that
//! would close a circle are turned round for this; their heads are drawn at the right end all the same.

use std::collections::HashSet;

use super::picture::Frame;

/// Arrows over more layers than this are drawn without keeping clear of what they cross.
const FAR: usize = 40;

/// How often the order within the layers is improved.
const SWEEPS: usize = 8;

/// Something that takes room in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerItem {
    /// The box of a node.
    Node(usize),
    /// The label of an arrow.
    Label(usize),
    /// Where an arrow passes.
    Bend,
}

/// The items by layer, and how they are joined.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub(super) items: Vec<LayerItem>,
    /// The layer of each item.
    pub(super) level: Vec<usize>,
    /// The items of each layer, left to right.
    pub(super) rows: Vec<Vec<usize>>,
    /// The items each arrow passes, from the upper one to the lower one, and whether it points upwards.
    pub(super) ways: Vec<(Vec<usize>, bool)>,
    /// The neighbours of each item in the layer above.
    pub(super) above: Vec<Vec<usize>>,
    /// The neighbours of each item in the layer below.
    pub(super) below: Vec<Vec<usize>>,
}

impl Layers {
    pub(super) fn of(frame: &Frame) -> Layers {
        let upward = turned(frame);
        let depth = depths(frame, &upward);
        let mut layers = Layers::default();
        for (node, depth) in depth.iter().enumerate() {
            layers.add(LayerItem::Node(node), 2 * depth);
        }
        for (number, (arrow, &upward)) in frame.arrows.iter().zip(&upward).enumerate() {
            let (top, bottom) = if upward { (arrow.to, arrow.from) } else { (arrow.from, arrow.to) };
            let level = |node: usize| layers.level.get(node).copied().unwrap_or_default();
            let (from, to) = (level(top), level(bottom));
            let mut way = vec![top, layers.add(LayerItem::Label(number), from + 1)];
            if to.saturating_sub(from) <= 2 * FAR {
                way.extend(
                    (from + 2..to).map(|level| layers.add(LayerItem::Bend, level)).collect::<Vec<_>>(),
                );
            }
            way.push(bottom);
            for pair in way.windows(2) {
                if let [upper, lower] = *pair {
                    layers.join(upper, lower);
                }
            }
            layers.ways.push((way, upward));
        }
        layers.sort();
        layers
    }

    fn add(&mut self, item: LayerItem, level: usize) -> usize {
        let index = self.items.len();
        self.items.push(item);
        self.level.push(level);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        while self.rows.len() <= level {
            self.rows.push(Vec::new());
        }
        if let Some(row) = self.rows.get_mut(level) {
            row.push(index);
        }
        index
    }

    fn join(&mut self, upper: usize, lower: usize) {
        if let Some(below) = self.below.get_mut(upper) {
            below.push(lower);
        }
        if let Some(above) = self.above.get_mut(lower) {
            above.push(upper);
        }
    }

    /// Moves each item to the middle of its neighbours, from above and from below in turn.
    fn sort(&mut self) {
        let mut places: Vec<usize> = vec![0; self.items.len()];
        for row in &self.rows {
            number(row, &mut places);
        }
        for sweep in 0..SWEEPS {
            let downwards = sweep % 2 == 0;
            let joined = if downwards { &self.above } else { &self.below };
            let rows: Vec<usize> =
                if downwards { (0..self.rows.len()).collect() } else { (0..self.rows.len()).rev().collect() };
            for row in rows {
                let Some(row) = self.rows.get_mut(row) else { continue };
                row.sort_by_key(|item| {
                    let neighbours = joined.get(*item).map(Vec::as_slice).unwrap_or_default();
                    let place = |item: usize| places.get(item).copied().unwrap_or_default();
                    let sum: usize = neighbours.iter().map(|item| place(*item)).sum();
                    // In thousandths, so that two neighbours have a middle.
                    (sum * 1000).checked_div(neighbours.len()).unwrap_or(place(*item) * 1000)
                });
                number(row, &mut places);
            }
        }
    }
}

fn number(row: &[usize], places: &mut [usize]) {
    for (place, item) in row.iter().enumerate() {
        if let Some(slot) = places.get_mut(*item) {
            *slot = place;
        }
    }
}

/// Which arrows lead back to where their way came from.
fn turned(frame: &Frame) -> Vec<bool> {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); frame.nodes.len()];
    for (number, arrow) in frame.arrows.iter().enumerate() {
        if let Some(list) = leaving.get_mut(arrow.from) {
            list.push(number);
        }
    }
    let mut upward = vec![false; frame.arrows.len()];
    let mut done = HashSet::new();
    for first in 0..frame.nodes.len() {
        // Depth first without recursion: a node, and how many of its arrows were followed.
        let mut way = vec![(first, 0)];
        let mut on_way = HashSet::from([first]);
        while let Some((node, followed)) = way.last_mut() {
            let number = leaving.get(*node).and_then(|list| list.get(*followed)).copied();
            *followed += 1;
            match number {
                _ if done.contains(node) => {
                    on_way.remove(node);
                    way.pop();
                }
                None => {
                    on_way.remove(node);
                    done.insert(*node);
                    way.pop();
                }
                Some(number) => {
                    let Some(arrow) = frame.arrows.get(number) else { continue };
                    if on_way.contains(&arrow.to) {
                        if let Some(slot) = upward.get_mut(number) {
                            *slot = true;
                        }
                    } else if !done.contains(&arrow.to) {
                        on_way.insert(arrow.to);
                        way.push((arrow.to, 0));
                    }
                }
            }
        }
    }
    upward
}

/// How far down each node stands: one below the lowest that leads to it.
fn depths(frame: &Frame, upward: &[bool]) -> Vec<usize> {
    let downward = || {
        frame
            .arrows
            .iter()
            .zip(upward)
            .map(|(arrow, &upward)| if upward { (arrow.to, arrow.from) } else { (arrow.from, arrow.to) })
    };
    let count = frame.nodes.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut open = vec![0usize; count];
    for (top, bottom) in downward() {
        if let (Some(list), Some(count)) = (below.get_mut(top), open.get_mut(bottom)) {
            list.push(bottom);
            *count += 1;
        }
    }
    let mut depth = vec![0usize; count];
    let mut ready: Vec<usize> = (0..count).filter(|node| open.get(*node) == Some(&0)).collect();
    while let Some(node) = ready.pop() {
        let next = depth.get(node).copied().unwrap_or_default() + 1;
        for &lower in below.get(node).map(Vec::as_slice).unwrap_or_default() {
            if let (Some(slot), Some(count)) = (depth.get_mut(lower), open.get_mut(lower)) {
                *slot = next.max(*slot);
                *count -= 1;
                if *count == 0 {
                    ready.push(lower);
                }
            }
        }
    }
    depth
}
