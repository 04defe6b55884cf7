//! Matches each `{` with its `}`.

/// The braces of a text that belong together. Braces in comments and in quoted text count: what the author meant by
/// braces, which the language does not have, cannot be known.
///
/// Invariant: sorted by the place of the `{`.
#[derive(Debug)]
pub(super) struct Braces {
    pairs: Vec<(usize, usize)>,
}

impl Braces {
    /// The braces from a place on.
    pub(super) fn new(text: &str, from: usize) -> Braces {
        let mut open = Vec::new();
        let mut pairs = Vec::new();
        for (at, character) in text.bytes().enumerate().skip(from) {
            match character {
                b'{' => open.push(at),
                b'}' => pairs.extend(open.pop().map(|start| (start, at))),
                _ => {}
            }
        }
        pairs.sort_unstable();
        Braces { pairs }
    }

    /// The place of the `}` that closes the `{` at a place.
    pub(super) fn close_of(&self, open: usize) -> Option<usize> {
        let place = self.pairs.binary_search_by_key(&open, |(start, _)| *start).ok()?;
        self.pairs.get(place).map(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_paired_from_the_inside() {
        let braces = Braces::new("} {a{b}c} {", 0);
        assert_eq!([2, 4, 10].map(|open| braces.close_of(open)), [Some(8), Some(6), None]);
        assert_eq!(Braces::new("{ {x}", 2).close_of(2), Some(4));
    }
}
