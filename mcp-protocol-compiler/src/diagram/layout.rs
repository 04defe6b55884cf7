//! Places: where on the page each box and each label stands.
//!
//! In: a picture and its layers. Out: a [`Layout`] in pixels. Refuses to draw.

use mcp_protocol_machine::protocol::StateKind;

use super::order::{Item, Layers};
use super::picture::{Line, Node, Picture, closing};

/// The width of a character.
pub(super) const CHARACTER: i64 = 8;
/// The height of a line.
pub(super) const LINE: i64 = 17;
/// The room between a box's text and its border.
pub(super) const PADDING: i64 = 10;
/// The room between things side by side.
const BESIDE: i64 = 24;
/// The room between layers.
const BETWEEN: i64 = 22;
/// The room around everything.
const MARGIN: i64 = 20;
/// How often things are moved towards the middle of their neighbours.
const SWEEPS: usize = 12;

/// Where something stands: its middle, its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
}

impl Place {
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
    pub(super) places: Vec<Place>,
    pub(super) width: i64,
    pub(super) height: i64,
}

fn characters(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX / 1024)
}

fn lines(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 1024)
}

/// What stands below a box's title.
pub(super) fn content(node: &Node) -> Vec<Line> {
    let mut content = node.lines.clone();
    if node.kind != StateKind::End {
        let tone = super::picture::Tone::Quiet;
        content.extend(closing(node).map(|text| Line { text: text.to_owned(), tone }));
    }
    content
}

fn size(picture: &Picture, item: Item) -> (i64, i64) {
    let widest = |lines: &[Line]| lines.iter().map(|line| characters(&line.text)).max().unwrap_or(0);
    match item {
        Item::Node(node) => picture.nodes.get(node).map_or((0, 0), |node| {
            let content = content(node);
            let opener = node.opened_by.as_ref().map_or(0, |opener| characters(opener) + 2);
            let width = characters(&node.title).max(opener).max(widest(&content));
            let rows = 1 + content.len() + usize::from(node.opened_by.is_some());
            (width * CHARACTER + 2 * PADDING, lines(rows) * LINE + 2 * PADDING)
        }),
        Item::Label(arrow) => picture.arrows.get(arrow).map_or((0, 0), |arrow| {
            let width = widest(&arrow.labels);
            (if width == 0 { 4 } else { width * CHARACTER + 6 }, lines(arrow.labels.len()) * LINE)
        }),
        Item::Bend => (4, 0),
    }
}

impl Layout {
    pub(super) fn of(picture: &Picture, layers: &Layers) -> Layout {
        let mut layout = Layout::default();
        for item in &layers.items {
            let (width, height) = size(picture, *item);
            layout.places.push(Place { x: 0, y: 0, width, height });
        }
        let mut y = MARGIN;
        for row in &layers.rows {
            let height = row.iter().map(|item| layout.place(*item).height).max().unwrap_or(0);
            let mut x = MARGIN;
            for &item in row {
                if let Some(place) = layout.places.get_mut(item) {
                    place.x = x + place.width / 2;
                    place.y = y + height / 2;
                    x += place.width + BESIDE;
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
        let left = layout.places.iter().map(Place::left).min().unwrap_or(0);
        for place in &mut layout.places {
            place.x += MARGIN - left;
        }
        layout.width =
            layout.places.iter().map(|place| place.left() + place.width).max().unwrap_or(0) + MARGIN;
        layout.height = y - BETWEEN + MARGIN;
        layout
    }

    pub(super) fn place(&self, item: usize) -> Place {
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
            edge = x + width - width / 2 + BESIDE;
            right.push(x);
        }
        let mut left = Vec::with_capacity(wanted.len());
        let mut edge = i64::MAX / 4;
        for (x, width) in wanted.iter().rev() {
            let x = (*x).min(edge - (width - width / 2));
            edge = x - width / 2 - BESIDE;
            left.push(x);
        }
        for ((item, right), left) in row.iter().zip(right).zip(left.into_iter().rev()) {
            if let Some(place) = self.places.get_mut(*item) {
                place.x = i64::midpoint(right, left);
            }
        }
    }
}
