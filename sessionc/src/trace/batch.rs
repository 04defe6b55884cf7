//! What is in a batch where none is permitted.

use mcp_runtime::protocol::RequestId;

use super::formats::elements::for_each_element;
use crate::message_head::MessageHead;

/// The requests and replies in a batch that was refused as a whole.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// The ids of its requests.
    pub(super) asked: Vec<RequestId>,
    /// The ids that it replies to.
    pub(super) answered: Vec<RequestId>,
}

impl Batch {
    /// What is in a text, if it was refused because it is a batch.
    pub(super) fn refused(text: &[u8], problem: &str) -> Option<Batch> {
        if !problem.starts_with("a batch ") {
            return None;
        }
        let mut batch = Batch::default();
        let read = for_each_element(text.trim_ascii(), |element| {
            let Some(head) = MessageHead::of(element.get().as_bytes().into()) else { return };
            batch.asked.extend(head.asks());
            batch.answered.extend(head.replies_to());
        });
        read.ok().map(|()| batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_batch_is_known_by_its_ids() {
        let text = br#"[{"id":1,"method":"ping"},{"id":2,"result":{}},{"method":"a"},{"id":3,"error":{}},7]"#;
        let [asked, answered] =
            [vec![1], vec![2, 3]].map(|ids| ids.into_iter().map(RequestId::Number).collect());
        assert_eq!(Batch::refused(text, "a batch is not permitted here"), Some(Batch { asked, answered }));
        assert_eq!(Batch::refused(b"[info] ready", "it is not JSON"), None);
    }
}
