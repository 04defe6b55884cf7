//! Where arrows leave and reach a box: each has a place of its own on the box's border.

use super::layout::{Layout, PADDING, Rect, SPACING};
use super::order::Layers;

/// A border of a box, and what the box is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Border {
    item: usize,
    lower: bool,
}

/// An end of an arrow, and where the arrow comes from or goes to.
struct End {
    border: Border,
    /// The middle of what the arrow passes next.
    towards: i64,
    arrow: usize,
    first: bool,
}

/// The places each arrow passes.
pub(super) fn attach(layers: &Layers, layout: &Layout) -> Vec<Vec<Rect>> {
    let mut ways: Vec<Vec<Rect>> =
        layers.ways.iter().map(|(way, _)| way.iter().map(|item| layout.place(*item)).collect()).collect();
    let mut ends = Vec::new();
    for (arrow, (way, _)) in layers.ways.iter().enumerate() {
        if let [upper, next, .., before, lower] | [upper, next @ before, lower] = way.as_slice() {
            let end = |item: usize, towards: usize, first: bool| End {
                border: Border { item, lower: first },
                towards: layout.place(towards).x,
                arrow,
                first,
            };
            ends.push(end(*upper, *next, true));
            ends.push(end(*lower, *before, false));
        }
    }
    ends.sort_by_key(|end| (end.border, end.towards, end.arrow));
    for group in ends.chunk_by(|left, right| left.border == right.border) {
        let Some(of) = group.first().map(|end| layout.place(end.border.item)) else { continue };
        let wanted: Vec<i64> = group.iter().map(|end| end.towards).collect();
        for (end, x) in group.iter().zip(spread(&wanted, of)) {
            let Some(way) = ways.get_mut(end.arrow) else { continue };
            let place = if end.first { way.first_mut() } else { way.last_mut() };
            if let Some(place) = place {
                place.x = x;
            }
        }
    }
    ways
}

/// Puts what is wanted, in order, on the border of a box: as near as there is room for.
fn spread(wanted: &[i64], of: Rect) -> Vec<i64> {
    let count = i64::try_from(wanted.len()).unwrap_or(i64::MAX / 1024);
    let (left, right) = (of.left() + PADDING, of.left() + of.width - PADDING);
    let spacing = SPACING.min((right - left).max(0) / count.max(1));
    let mut places = Vec::with_capacity(wanted.len());
    let mut least = left;
    for (number, wanted) in (0_i64..).zip(wanted) {
        let most = right - spacing * (count - 1 - number);
        let x = (*wanted).min(most).max(least);
        least = x + spacing;
        places.push(x);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_on_one_border_keep_apart_and_in_order() {
        let of = Rect { x: 100, y: 0, width: 120, height: 20 };
        assert_eq!(spread(&[20, 21, 400], of), [50, 64, 150]);
        assert_eq!(spread(&[100, 100], of), [100, 114]);
        let crowded = spread(&[0; 50], of);
        assert!(crowded.is_sorted() && crowded.iter().all(|x| (50..=150).contains(x)), "{crowded:?}");
    }
}
