//! The ids that a side of a session has used.

use mcp_runtime::protocol::RequestId;

use super::requests::is_short;

/// The ids of a side: a session that begins counts from the start again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    first: Option<RequestId>,
    highest: Option<i64>,
}

impl Ids {
    pub(super) fn note(&mut self, id: &RequestId) {
        if self.first.is_none() && is_short(id) {
            self.first = Some(id.clone());
        }
        if let RequestId::Number(number) = id {
            self.highest = self.highest.max(Some(*number));
        }
    }

    /// Whether an id is the one after the highest.
    pub(super) fn is_next(&self, id: &RequestId) -> bool {
        matches!((id, self.highest), (RequestId::Number(number), Some(highest)) if highest.checked_add(1) == Some(*number))
    }

    /// Whether an id was used, as far as that is remembered.
    pub(super) fn has(&self, id: &RequestId) -> bool {
        match id {
            RequestId::Number(number) => self.highest.is_some_and(|highest| *number <= highest),
            RequestId::Text(_) => self.first.as_ref() == Some(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_up_and_of_texts_the_first_is_known() {
        let mut ids = Ids::default();
        for id in [RequestId::Text("a".into()), RequestId::Number(3), RequestId::Text("b".into())] {
            assert!(!ids.has(&id));
            ids.note(&id);
        }
        for id in [RequestId::Text("a".into()), RequestId::Number(2)] {
            assert!(ids.has(&id), "{id}");
        }
        for id in [RequestId::Text("b".into()), RequestId::Number(4)] {
            assert!(!ids.has(&id), "{id}");
        }
    }
}
