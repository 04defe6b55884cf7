//! Requests that are cancelled: what works on them is dropped.

/// What a handler returns; nothing if its request is cancelled before, with which the handler is dropped. So what it has
/// asked for is cancelled, too, and what it has opened is closed.
pub(crate) async fn unless_cancelled<T>(
    cancelled: impl Future<Output = ()>,
    handler: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        returned = handler => Some(returned),
        () = cancelled => None,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_there_goes_before_a_cancel() {
        assert_eq!(unless_cancelled(ready(()), ready(1)).await, Some(1));
        assert_eq!(unless_cancelled(ready(()), pending::<i32>()).await, None);
    }
}
