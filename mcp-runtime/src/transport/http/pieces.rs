//! Collects a body, up to a limit.

use bytes::Bytes;

/// The part of a body that has arrived.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    first: Bytes,
    /// All of it, if it is more than one piece.
    several: Vec<u8>,
}

impl Pieces {
    /// Takes one more; `false`, without it, if that would be more bytes than permitted.
    pub(super) fn add(&mut self, piece: Bytes, most: usize) -> bool {
        let before = self.first.len().max(self.several.len());
        if before.saturating_add(piece.len()) > most {
            return false;
        }
        if self.first.is_empty() {
            self.first = piece;
        } else {
            if self.several.is_empty() {
                self.several.extend_from_slice(&self.first);
            }
            self.several.extend_from_slice(&piece);
        }
        true
    }

    /// How many bytes of memory it takes.
    #[cfg(feature = "http-server")]
    pub(super) fn held(&self) -> usize {
        self.first.len().max(self.several.capacity())
    }

    /// All of it.
    pub(super) fn whole(self) -> Bytes {
        if self.several.is_empty() { self.first } else { self.several.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_one_and_not_too_long() {
        let mut pieces = Pieces::default();
        assert!(pieces.add(Bytes::new(), 4));
        assert!(pieces.add(Bytes::from_static(b"ab"), 4));
        assert!(pieces.add(Bytes::from_static(b"c"), 4));
        assert!(!pieces.add(Bytes::from_static(b"de"), 4));
        assert!(pieces.add(Bytes::from_static(b"d"), 4));
        assert_eq!(pieces.whole(), "abcd");
    }

    #[test]
    fn one_piece_is_not_copied() {
        let body = Bytes::from_static(b"{}");
        let mut pieces = Pieces::default();
        assert!(pieces.add(body.clone(), 2));
        assert_eq!(pieces.whole().as_ptr(), body.as_ptr());
    }
}
