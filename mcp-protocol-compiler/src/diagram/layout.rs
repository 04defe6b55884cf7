//! Places: where in its frame each box and each label stands.

use super::order::{LayerItem, Layers};
use super::picture::{DiagramNode, Frame, Line};

/// The width of a character.
pub(super) const CHARACTER: i64 = 8;
/// The height of a line.
pub(super) const LINE: i64 = 17;
/// The room between a box's text and its border.
pub(super) const PADDING: i64 = 10;
/// The room between things side by side.
const GAP: i64 = 24;
/// The room between two arrows on one border.
pub(super) const SPACING: i64 = 14;
/// The room between layers.
const BETWEEN: i64 = 22;
/// The room within a frame's border.
pub(super) const MARGIN: i64 = 20;
/// How often things are moved towards the middle of their neighbours.
const SWEEPS: usize = 12;

/// Where something stands: its middle, its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
}

impl Rect {
    pub(super) fn left(&self) -> i64 {
        self.x - self.width / 2
    }

    pub(super) fn top(&self) -> i64 {
        self.y - self.height / 2
    }

    pub(super) fn bottom(&self) -> i64 {
        self.top() + self.height
    }
}

/// Where everything stands.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The place of each item.
    pub(super) places: Vec<Rect>,
    pub(super) width: i64,
    pub(super) height: i64,
}

fn characters(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX / 1024)
}

fn lines(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 1024)
}

/// The lines of a box, the title included, and the place of the title among them.
pub(super) fn content(node: &DiagramNode) -> (Vec<Line>, usize) {
    let mut content = node.opened_by.clone();
    let title = content.len();
    content.push(Line::quiet(node.title.clone()));
    content.extend(node.lines.iter().cloned());
    content.extend(node.closing().map(Line::quiet));
    (content, title)
}

/// The size of a list of lines, with the room around it.
pub(super) fn list_size(content: &[Line]) -> (i64, i64) {
    (widest(content) * CHARACTER + 2 * PADDING, lines(content.len()) * LINE + 2 * PADDING)
}

pub(super) fn widest(lines: &[Line]) -> i64 {
    lines.iter().map(|line| characters(&line.text)).max().unwrap_or(0)
}

/// The size of an item on whose borders that many arrows end.
fn size(frame: &Frame, item: LayerItem, ends: i64) -> (i64, i64) {
    match item {
        LayerItem::Node(node) => frame.nodes.get(node).map_or((0, 0), |node| {
            let (width, height) = list_size(&content(node).0);
            (width.max((ends - 1) * SPACING + 2 * PADDING), height)
        }),
        LayerItem::Label(arrow) => frame.arrows.get(arrow).map_or((0, 0), |arrow| {
            let width = widest(&arrow.labels);
            (if width == 0 { 4 } else { width * CHARACTER + 6 }, lines(arrow.labels.len()) * LINE)
        }),
        LayerItem::Bend => (4, 0),
    }
}

impl Layout {
    pub(super) fn of(frame: &Frame, layers: &Layers) -> Layout {
        let mut layout = Layout::default();
        for (index, item) in layers.items.iter().enumerate() {
            let joined = |lists: &[Vec<usize>]| lines(lists.get(index).map_or(0, Vec::len));
            let ends = joined(&layers.above).max(joined(&layers.below));
            let (width, height) = size(frame, *item, ends);
            layout.places.push(Rect { x: 0, y: 0, width, height });
        }
        let mut y = MARGIN;
        for row in &layers.rows {
            let height = row.iter().map(|item| layout.place(*item).height).max().unwrap_or(0);
            let mut x = MARGIN;
            for &item in row {
                if let Some(place) = layout.places.get_mut(item) {
                    place.x = x + place.width / 2;
                    place.y = y + height / 2;
                    x += place.width + GAP;
                }
            }
            y += height + BETWEEN;
        }
        for sweep in 0..SWEEPS {
            let downwards = sweep % 2 == 0;
            let joined = if downwards { &layers.above } else { &layers.below };
            let rows: Vec<&Vec<usize>> =
                if downwards { layers.rows.iter().collect() } else { layers.rows.iter().rev().collect() };
            for row in rows {
                layout.centre(row, joined);
            }
        }
        let left = layout.places.iter().map(Rect::left).min().unwrap_or(0);
        for place in &mut layout.places {
            place.x += MARGIN - left;
        }
        layout.width =
            layout.places.iter().map(|place| place.left() + place.width).max().unwrap_or(0) + MARGIN;
        layout.height = y - BETWEEN + MARGIN;
        layout
    }

    pub(super) fn place(&self, item: usize) -> Rect {
        self.places.get(item).copied().unwrap_or_default()
    }

    /// Moves a row towards the middle of its neighbours, keeping its order. Where two want the same place both give
    /// way: the mean of pushing everything to the right and everything to the left.
    fn centre(&mut self, row: &[usize], joined: &[Vec<usize>]) {
        let wanted: Vec<(i64, i64)> = row
            .iter()
            .map(|item| {
                let neighbours = joined.get(*item).map(Vec::as_slice).unwrap_or_default();
                let sum: i64 = neighbours.iter().map(|item| self.place(*item).x).sum();
                let place = self.place(*item);
                (sum.checked_div(lines(neighbours.len())).unwrap_or(place.x), place.width)
            })
            .collect();
        let mut right = Vec::with_capacity(wanted.len());
        let mut edge = i64::MIN / 4;
        for (x, width) in &wanted {
            let x = (*x).max(edge + width / 2);
            edge = x + width - width / 2 + GAP;
            right.push(x);
        }
        let mut left = Vec::with_capacity(wanted.len());
        let mut edge = i64::MAX / 4;
        for (x, width) in wanted.iter().rev() {
            let x = (*x).min(edge - (width - width / 2));
            edge = x - width / 2 - GAP;
            left.push(x);
        }
        for ((item, right), left) in row.iter().zip(right).zip(left.into_iter().rev()) {
            if let Some(place) = self.places.get_mut(*item) {
                place.x = i64::midpoint(right, left);
            }
        }
    }
}
