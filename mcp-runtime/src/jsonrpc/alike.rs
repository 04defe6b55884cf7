//! Texts that are alike: they differ in numbers and in what stands between quotes, and in nothing else.
//!
//! Most lines of a log are of a few kinds, and what is in them stands at the same places. Reading a line of a hundred bytes
//! takes more than twice as many instructions as comparing it with an earlier one of its kind. What is equal need not be read,
//! because it was JSON before; a value that is not equal is read by itself, as [`recognise`](super::recognise) reads it.

use super::recognise::{end_of_number, end_of_text};
use super::span::{Span, SpanKind};

/// How many kinds of texts are remembered.
const KEPT: usize = 6;
/// How many texts are passed over at most where those before them were like no other: comparing them all in vain takes as long
/// as reading one.
const LONGEST_PAUSE: u32 = 63;
/// How long a text may be to be remembered, in bytes.
const LONGEST: usize = 4 * 1024;

/// The last texts that were read, one of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct AlikeTexts {
    known: Vec<KnownText>,
    /// The place of the text that came last.
    last: usize,
    /// The one that is replaced next.
    oldest: usize,
    /// How many texts are passed over after the last one that was like no other.
    pause: u32,
    /// How many of them are left.
    left: u32,
    /// Used while texts are compared; it keeps its room.
    shifts: Vec<Shift>,
}

/// A text that was read.
///
/// Invariant: `values` is where the values in `text` stand, which is JSON, and `depth` is how many lists and objects are inside
/// one another in it. `leaves` are the words among them, and the texts without escapes that are not keys, in their order.
#[derive(Clone, Debug, Default)]
struct KnownText {
    text: Vec<u8>,
    values: Vec<Span>,
    /// Those of them that may be others in a text that is like this one.
    leaves: Vec<Span>,
    depth: u32,
    /// The place of the text that came after it: requests and their replies take turns.
    next: usize,
}

/// A value ends elsewhere than the one that it replaces, and so does what stands behind it.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    /// Where the value ended.
    end: u32,
    /// How much longer it is. A shorter one wraps around.
    by: u32,
}

impl AlikeTexts {
    /// The place of a remembered text that this one is like. It is this text from here on.
    #[inline]
    pub(super) fn find(&mut self, text: &str, deepest: u32) -> Option<usize> {
        if text.len() > LONGEST || self.left > 0 {
            return None;
        }
        let expected = self.known.get(self.last)?.next;
        if self.becomes(expected, text, deepest) {
            (self.last, self.pause) = (expected, 0);
            return Some(expected);
        }
        let mut others = (0..self.known.len()).filter(|place| *place != expected);
        let place = others.find(|place| self.becomes(*place, text, deepest))?;
        self.follow(place);
        self.pause = 0;
        Some(place)
    }

    fn becomes(&mut self, place: usize, text: &str, deepest: u32) -> bool {
        let known = self.known.get_mut(place).filter(|known| known.depth <= deepest);
        known.is_some_and(|known| known.becomes(text, &mut self.shifts).is_some())
    }

    /// The values of a remembered text, and how many lists and objects are inside one another in it.
    pub(super) fn values(&self, place: usize) -> (&[Span], u32) {
        self.known.get(place).map_or((&[], 0), |known| (&known.values, known.depth))
    }

    /// Remembers a text that was read, unless it was passed over.
    pub(super) fn note(&mut self, text: &str, values: &[Span], depth: u32) {
        if text.len() > LONGEST {
            return;
        }
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        if self.known.len() == KEPT {
            self.pause = (2 * self.pause + 1).min(LONGEST_PAUSE);
            self.left = self.pause;
        }
        let place = match self.known.len() {
            KEPT => {
                let next = (self.oldest + 1) % KEPT;
                std::mem::replace(&mut self.oldest, next)
            }
            // What comes after the first one is expected to be like it.
            all => {
                self.known.push(KnownText { next: all, ..KnownText::default() });
                all
            }
        };
        if let Some(known) = self.known.get_mut(place) {
            known.set(text, values, depth);
        }
        self.follow(place);
    }

    /// A text has come that is remembered at this place.
    fn follow(&mut self, place: usize) {
        if let Some(last) = self.known.get_mut(self.last) {
            last.next = place;
        }
        self.last = place;
    }
}

impl KnownText {
    fn set(&mut self, text: &str, values: &[Span], depth: u32) {
        self.text.clear();
        self.text.extend_from_slice(text.as_bytes());
        self.values.clear();
        self.values.extend_from_slice(values);
        self.leaves.clear();
        let is_leaf = |value: &Span| {
            // A key has a colon behind it. Where something else is there than what ends a value, it may stand before that.
            matches!(value.kind, SpanKind::Plain | SpanKind::Word)
                && matches!(self.text.get(value.end as usize), Some(b',' | b'}' | b']'))
        };
        self.leaves.extend(values.iter().filter(|value| is_leaf(value)));
        self.depth = depth;
    }

    /// Takes the place of this text, with one that is like it; nothing if it is not.
    fn becomes(&mut self, text: &str, shifts: &mut Vec<Shift>) -> Option<()> {
        shifts.clear();
        self.compare(text, shifts)?;
        // The last one first: so what comes before it is still where it was.
        for shift in shifts.iter().rev() {
            for value in self.values.iter_mut().chain(&mut self.leaves) {
                value.start = value.start.wrapping_add(if value.start >= shift.end { shift.by } else { 0 });
                value.end = value.end.wrapping_add(if value.end >= shift.end { shift.by } else { 0 });
            }
        }
        self.text.clear();
        self.text.extend_from_slice(text.as_bytes());
        Some(())
    }

    /// Finds the values of a text that end elsewhere than in this one; nothing if it is not like this one.
    fn compare(&self, text: &str, shifts: &mut Vec<Shift>) -> Option<()> {
        let (before, after) = (self.text.as_slice(), text.as_bytes());
        let mut leaves = self.leaves.as_slice();
        // Up to where both texts are read.
        let (mut here, mut there) = (0, 0);
        loop {
            let (rest_before, rest_after) = (before.get(here..)?, after.get(there..)?);
            let same = equal_bytes(rest_before, rest_after);
            if same == rest_before.len() && same == rest_after.len() {
                return Some(());
            }
            (here, there) = (here + same, there + same);
            // The last leaf that begins before the difference. Each is taken once: where there is none, keys or brackets differ.
            let mut begun = None;
            while let [leaf, behind @ ..] = leaves
                && leaf.start as usize <= here
            {
                (begun, leaves) = (Some(leaf), behind);
            }
            let leaf = begun?;
            let (start, end) = (leaf.start as usize, leaf.end as usize);
            let ends = match leaf.kind {
                SpanKind::Plain if start < here && here < end => end_of_text(text, there)?,
                SpanKind::Word if here <= end => end_of_number(text, there - (here - start))?,
                _ => return None,
            };
            if ends - there != end - here {
                let by = (ends as u32).wrapping_sub(there as u32).wrapping_sub((end - here) as u32);
                shifts.push(Shift { end: leaf.end, by });
            }
            (here, there) = (end, ends);
        }
    }
}

/// How many bytes two texts have in common at their beginning.
#[inline(always)]
fn equal_bytes(one: &[u8], other: &[u8]) -> usize {
    let mut same = 0;
    // Most of a text is only compared, so many bytes are compared at once.
    for (words, others) in one.chunks_exact(16).zip(other.chunks_exact(16)) {
        let of = |bytes: &[u8]| bytes.first_chunk::<16>().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        let differ = of(words) ^ of(others);
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        same += 16;
    }
    let (mut one, mut other) = (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
    if let (Some((word, behind)), Some((others, behind_other))) =
        (one.split_first_chunk::<8>(), other.split_first_chunk::<8>())
    {
        let differ = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*others);
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        (one, other, same) = (behind, behind_other, same + 8);
    }
    same + one.iter().zip(other).take_while(|(byte, other)| byte == other).count()
}
