//! Pages of long lists.

use mcp_runtime::RpcError;
use mcp_runtime::error::Excerpt;

/// The entries of a list from a cursor on, and the cursor of the next page. A cursor says how many entries were before it.
pub(super) fn page<T>(
    entries: impl IntoIterator<Item = T>,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), RpcError> {
    let unknown =
        |cursor| RpcError::invalid_params(format!("`{}` is not a cursor of this server", Excerpt(cursor)));
    let before: usize = match cursor {
        Some(cursor) => cursor.parse().map_err(|_| unknown(cursor))?,
        None => 0,
    };
    let mut rest = entries.into_iter().skip(before);
    let entries: Vec<T> = rest.by_ref().take(size).collect();
    let next = rest.next().map(|_| before.saturating_add(size).to_string());
    Ok((entries, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_one_another_to_the_end() {
        let (first, next) = page(0..5, None, 2).unwrap();
        assert_eq!((first, next.as_deref()), (vec![0, 1], Some("2")));
        let (last, next) = page(0..5, Some("4"), 2).unwrap();
        assert_eq!((last, next), (vec![4], None));
        assert_eq!(page(0..4, Some("2"), 2).unwrap(), (vec![2, 3], None));
        // A list that has become shorter.
        assert_eq!(page(0..1, Some("4"), 2).unwrap(), (vec![], None));
        assert_eq!(page(0..1, Some("next"), 2).unwrap_err().code, -32602);
    }
}
