//! The page: where each frame stands.

/// The width that a page should have, in pixels; a wider block makes a wider page.
pub(super) const PAGE: i64 = 900;
/// The room between blocks.
const GAP: i64 = 20;

/// The left upper corner of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corner {
    pub(super) x: i64,
    pub(super) y: i64,
}

/// How far down the page is taken, from left to right. The segments join and cover the page.
struct Skyline {
    /// Where each segment begins and how far down it reaches.
    segments: Vec<(i64, i64)>,
    width: i64,
}

impl Skyline {
    fn new(width: i64) -> Skyline {
        Skyline { segments: vec![(0, 0)], width }
    }

    /// How far down the page is taken between two places.
    fn height(&self, from: i64, to: i64) -> i64 {
        let ends = self.segments.iter().skip(1).map(|(x, _)| *x).chain([self.width]);
        let overlapping = self.segments.iter().zip(ends).filter(|((x, _), end)| *x < to && *end > from);
        overlapping.map(|((_, height), _)| *height).max().unwrap_or(0)
    }

    fn raise(&mut self, from: i64, to: i64, height: i64) {
        let to = to.min(self.width);
        let behind = self.segments.iter().rev().find(|(x, _)| *x <= to).map_or(0, |(_, height)| *height);
        self.segments.retain(|(x, _)| *x < from || *x > to);
        self.segments.push((from, height));
        if to < self.width {
            self.segments.push((to, behind));
        }
        self.segments.sort_unstable();
    }
}

/// Puts each block as far up, and then as far to the left, as there is room for it.
pub(super) fn pack(sizes: &[(i64, i64)]) -> Vec<Corner> {
    let width = sizes.iter().map(|(width, _)| width + GAP).max().unwrap_or(0).max(PAGE);
    let mut skyline = Skyline::new(width);
    let mut corners = Vec::with_capacity(sizes.len());
    for (wide, high) in sizes {
        let wide = wide + GAP;
        let places = skyline.segments.iter().map(|(x, _)| *x).filter(|x| x + wide <= width);
        let best = places.map(|x| (skyline.height(x, x + wide), x)).min().unwrap_or((0, 0));
        let (y, x) = best;
        skyline.raise(x, x + wide, y + high + GAP);
        corners.push(Corner { x, y });
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stand_side_by_side_while_there_is_room_and_then_below() {
        let corners = pack(&[(500, 300), (300, 100), (300, 100), (600, 50)]);
        let corner = |x, y| Corner { x, y };
        assert_eq!(corners, [corner(0, 0), corner(520, 0), corner(520, 120), corner(0, 320)]);
    }

    #[test]
    fn no_block_lies_on_another() {
        let sizes: Vec<(i64, i64)> = (0..60).map(|n| (20 + n * 37 % 400, 10 + n * 53 % 170)).collect();
        let corners = pack(&sizes);
        for (one, (a, (wide, high))) in corners.iter().zip(&sizes).enumerate() {
            assert!(a.x + wide <= PAGE);
            for (b, (other_wide, other_high)) in corners.iter().zip(&sizes).skip(one + 1) {
                let apart = a.x + wide <= b.x
                    || b.x + other_wide <= a.x
                    || a.y + high <= b.y
                    || b.y + other_high <= a.y;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }
}
