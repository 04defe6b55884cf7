//! The batches of the peer that have not been answered, and the replies that wait in them for one another.

use std::collections::BTreeMap;

use crate::driver::RequestTag;

/// Names a batch of the peer that has not been answered.
pub(crate) type BatchKey = u64;

/// The batches that have not been answered.
///
/// Invariants: keys are not used twice. `bytes` is the length of all replies that are held back.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    open: BTreeMap<BatchKey, Batch>,
    next: BatchKey,
    /// How much the replies that are held back take.
    bytes: usize,
}

/// Where the answer to a request goes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReplyTo {
    /// The batch that the request came in.
    pub(crate) batch: Option<BatchKey>,
    /// What the transport calls the message that the request came in.
    pub(crate) tag: Option<RequestTag>,
}

/// A batch of the peer.
#[derive(Debug)]
pub(crate) struct Batch {
    /// What the transport calls the message that was the batch.
    pub(crate) tag: Option<RequestTag>,
    /// How many replies are still to come, and one more as long as the batch is being judged.
    waiting: usize,
    /// The replies that are there, as a list without its end.
    replies: Vec<u8>,
}

impl Batches {
    /// A batch came. It is answered only once it is left as often as it was joined, and once more.
    pub(crate) fn begin(&mut self, tag: Option<RequestTag>) -> BatchKey {
        let key = self.next;
        self.next = key.wrapping_add(1);
        self.open.insert(key, Batch { tag, waiting: 1, replies: Vec::new() });
        key
    }

    /// How many bytes are held back.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A request of a batch was accepted: the replies of the batch wait for its reply, too.
    pub(crate) fn join(&mut self, key: BatchKey) {
        if let Some(batch) = self.open.get_mut(&key) {
            batch.waiting += 1;
        }
    }

    /// Whether a result of that many bytes may wait in its batch with what waits already. If none may, it is refused:
    /// one that is asked for on its own needs not wait.
    pub(crate) fn has_room(&self, to: ReplyTo, bytes: usize, most: usize) -> bool {
        to.batch.is_none() || self.bytes.saturating_add(bytes) <= most
    }

    /// Writes a reply into its batch; `false` if there is none, and the reply goes straight to the peer.
    pub(crate) fn write(&mut self, key: Option<BatchKey>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let Some(batch) = key.and_then(|key| self.open.get_mut(&key)) else {
            return false;
        };
        let before = batch.replies.len();
        batch.replies.push(if before == 0 { b'[' } else { b',' });
        write(&mut batch.replies);
        // What is written is a whole line; here its end comes behind the last reply of all.
        batch.replies.pop();
        self.bytes += batch.replies.len().saturating_sub(before);
        true
    }

    /// A request of a batch is answered, or will not be. Returns the batch if that was the last one.
    pub(crate) fn leave(&mut self, key: BatchKey) -> Option<Batch> {
        let batch = self.open.get_mut(&key)?;
        batch.waiting = batch.waiting.saturating_sub(1);
        if batch.waiting > 0 {
            return None;
        }
        let batch = self.open.remove(&key)?;
        self.bytes = self.bytes.saturating_sub(batch.replies.len());
        Some(batch)
    }

    /// Takes all batches with what was replied so far.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Batch> {
        self.bytes = 0;
        std::mem::take(&mut self.open).into_values()
    }
}

impl Batch {
    /// Writes the replies as one list; `false` if there are none.
    pub(crate) fn finish(self, into: &mut Vec<u8>) -> bool {
        if self.replies.is_empty() {
            return false;
        }
        into.extend(self.replies);
        into.extend_from_slice(b"]\n");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(batches: &mut Batches, key: BatchKey, text: &str) -> bool {
        batches.write(Some(key), |into| {
            into.extend_from_slice(text.as_bytes());
            into.push(b'\n');
        })
    }

    #[test]
    fn a_batch_is_answered_when_its_last_request_is() {
        let (mut batches, mut written) = (Batches::default(), Vec::new());
        let key = batches.begin(None);
        batches.join(key);
        batches.join(key);
        assert!(reply(&mut batches, key, "1") && batches.leave(key).is_none());
        assert!(batches.leave(key).is_none(), "the whole batch was read");
        assert!(reply(&mut batches, key, "2") && batches.bytes() == 4);
        assert!(batches.leave(key).is_some_and(|batch| batch.finish(&mut written)));
        assert_eq!((written.as_slice(), batches.bytes()), (b"[1,2]\n".as_slice(), 0));
        assert!(!reply(&mut batches, key, "3"), "what is late goes straight to the peer");
        assert_ne!(batches.begin(None), key);
    }

    #[test]
    fn what_was_replied_is_taken_at_the_end() {
        let mut batches = Batches::default();
        let keys = [batches.begin(None), batches.begin(None)];
        assert!(reply(&mut batches, keys[1], "1"));
        assert_eq!(batches.take_all().filter(|batch| !batch.replies.is_empty()).count(), 1);
        assert_eq!(batches.bytes(), 0);
        assert!(!batches.has_room(ReplyTo { batch: Some(9), tag: None }, 2, 1));
    }
}
