//! [`ListRequest`] and [`Page`]: a client wants a page of a list, and gets one.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_protocols::eras::Context;
use mcp_runtime::RpcError;
use mcp_runtime::error::Excerpt;

use super::super::failure::Failure;
use super::principal::principal_of;

/// A client wants a list, or the next page of one.
///
/// A list that returns all of its entries needs none of this: the server cuts it into pages. One that is too long for
/// that, such as a table, returns a [`Page`] for each request.
#[derive(Debug)]
pub struct ListRequest {
    context: Context,
    cursor: Option<String>,
    size: usize,
    /// Whether the list has looked at the cursor. One that has not does not page by it, so the cursor is not its own.
    is_read: AtomicBool,
}

impl ListRequest {
    pub(super) fn new(context: Context, cursor: Option<String>, size: usize) -> ListRequest {
        ListRequest { context, cursor, size, is_read: AtomicBool::new(false) }
    }

    /// The request: which revision governs it, what the client can do, whether it was cancelled.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The principal that makes the request: over HTTP, what the function of `ServerOptions::principal` has named.
    pub fn principal(&self) -> Option<String> {
        principal_of(&self.context)
    }

    /// How many entries the page should have, at least one: as many as [`Server::page_size`](super::Server::page_size)
    /// says, less those of other lists that go ahead on the same page. A page may have more or fewer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where the page begins: the cursor that [`Page::next_cursor`] of the page before said; `None` for the first page.
    /// `T` is what the list makes cursors of, such as a number or a `String`.
    ///
    /// # Errors
    /// If the cursor is not a `T`, so that it is not one of this list: the client gets -32602.
    pub fn cursor<T: FromStr>(&self) -> Result<Option<T>, Failure> {
        self.is_read.store(true, Ordering::Relaxed);
        match &self.cursor {
            Some(cursor) => cursor.parse().map(Some).map_err(|_| self.unknown_cursor()),
            None => Ok(None),
        }
    }

    /// The error for a cursor that is not one of this list, or not any more: the client gets -32602, and may begin at
    /// the first page again.
    pub fn unknown_cursor(&self) -> Failure {
        unknown_cursor(self.cursor.as_deref()).into()
    }

    /// Whether the cursor, if there is one, may be one of the list that has answered.
    pub(super) fn is_of_list(&self) -> bool {
        self.cursor.is_none() || self.is_read.load(Ordering::Relaxed)
    }
}

pub(super) fn unknown_cursor(cursor: Option<&str>) -> RpcError {
    let cursor = cursor.unwrap_or_default();
    RpcError::invalid_params(format!("`{}` is not a cursor of this server", Excerpt(cursor)))
}

/// Entries of a list: all that there are, or those of one page, with the cursor of the next one. A server returns them, and a
/// [`Connection`](crate::Connection) has them of a server, with [`tools_page`](crate::Connection::tools_page).
///
/// What is made of a `Vec`, or collected, is the whole list, or its last page. A page that others follow says so:
///
/// ```
/// use mcp_kit::types::Resource;
/// use mcp_kit::{Failure, ListRequest, Page};
///
/// # struct Table;
/// # impl Table { async fn rows(&self, after: Option<u64>, most: usize) -> Result<Vec<u64>, Failure> { Ok(vec![]) } }
/// async fn list(table: &Table, request: &ListRequest) -> Result<Page<Resource>, Failure> {
///     let rows = table.rows(request.cursor()?, request.size()).await?;
///     let next = rows.last().copied().filter(|_| rows.len() == request.size());
///     let page: Page<_> = rows.iter().map(|id| Resource::new(format!("row://{id}"), format!("Row {id}"))).collect();
///     Ok(page.next_cursor(next))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// What the client sends for the next page; `None` if there is none.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Sets where the next page begins, if there is one: [`ListRequest::cursor`] of the next request.
    #[must_use]
    pub fn next_cursor(mut self, cursor: Option<impl ToString>) -> Page<T> {
        self.next_cursor = cursor.map(|cursor| cursor.to_string());
        self
    }
}

/// None at all.
impl<T> Default for Page<T> {
    fn default() -> Page<T> {
        Page::from(Vec::new())
    }
}

/// All that there are.
impl<T> From<Vec<T>> for Page<T> {
    fn from(entries: Vec<T>) -> Page<T> {
        Page { entries, next_cursor: None }
    }
}

/// All that there are.
impl<T> FromIterator<T> for Page<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Page<T> {
        Page::from(entries.into_iter().collect::<Vec<T>>())
    }
}
