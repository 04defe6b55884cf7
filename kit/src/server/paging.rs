//! Pages of a list that consists of several.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_protocols::eras::Context;
use mcp_runtime::RpcError;

use super::page::{ListRequest, Page, unknown_cursor};

/// Where a page begins, which is what cursors say: in which list, and where in that.
#[derive(Debug, Default)]
struct ListPosition {
    list: usize,
    within: PositionWithin,
}

#[derive(Debug)]
enum PositionWithin {
    /// After so many entries of a list that is made in full.
    Entries(usize),
    /// At a cursor of the list.
    Cursor(String),
}

impl Default for PositionWithin {
    fn default() -> PositionWithin {
        PositionWithin::Entries(0)
    }
}

impl ListPosition {
    fn parse(text: &str) -> Option<ListPosition> {
        let (list, rest) = text.split_at_checked(text.find(['.', ':'])?)?;
        let within = match (rest.strip_prefix('.'), rest.strip_prefix(':')) {
            (Some(entries), _) => PositionWithin::Entries(entries.parse().ok()?),
            (_, Some(cursor)) => PositionWithin::Cursor(cursor.to_owned()),
            (None, None) => return None,
        };
        Some(ListPosition { list: list.parse().ok()?, within })
    }

    fn text(&self) -> String {
        match &self.within {
            PositionWithin::Entries(entries) => format!("{}.{entries}", self.list),
            PositionWithin::Cursor(cursor) => format!("{}:{cursor}", self.list),
        }
    }
}

/// The names that are taken, and the name of an entry.
type Names<T> = (HashSet<String>, fn(&T) -> &str);

/// Makes a page of a list that consists of several, which are added in their order. Those before the page are not
/// asked, unless their entries go ahead of later ones with the same name; neither are those after it, but one that
/// shows whether there is a next page.
pub(super) struct Paging<T> {
    context: Context,
    cursor: Option<String>,
    size: usize,
    /// How many lists were added.
    added: usize,
    begin: ListPosition,
    names: Option<Names<T>>,
    entries: Vec<T>,
    next: Option<ListPosition>,
}

impl<T> Paging<T> {
    pub(super) fn new(context: Context, cursor: Option<String>, size: usize) -> Result<Paging<T>, RpcError> {
        let begin = match &cursor {
            Some(cursor) => ListPosition::parse(cursor).ok_or_else(|| unknown_cursor(Some(cursor)))?,
            None => ListPosition::default(),
        };
        Ok(Paging { context, cursor, size, added: 0, begin, names: None, entries: Vec::new(), next: None })
    }

    /// Of entries with the same name the first one is listed. These names are taken.
    pub(super) fn unique(mut self, names: HashSet<String>, name: fn(&T) -> &str) -> Paging<T> {
        self.names = Some((names, name));
        self
    }

    /// Adds a list whose names are taken already.
    pub(super) fn add_own(&mut self, entries: impl Iterator<Item = T>) -> Result<(), RpcError> {
        let Some((index, within)) = self.next_list() else { return Ok(()) };
        match within {
            _ if index < self.begin.list => Ok(()),
            PositionWithin::Entries(_) => self.add_page(index, within, entries.collect()),
            PositionWithin::Cursor(_) => Err(self.unknown_cursor()),
        }
    }

    /// Adds a list.
    pub(super) async fn add<F>(&mut self, list: impl FnOnce(Arc<ListRequest>) -> F) -> Result<(), RpcError>
    where
        F: Future<Output = Result<Page<T>, RpcError>>,
    {
        let Some((index, within)) = self.next_list() else { return Ok(()) };
        let is_before = index < self.begin.list;
        if is_before && self.names.is_none() {
            return Ok(());
        }
        let cursor = match &within {
            PositionWithin::Cursor(cursor) => Some(cursor.clone()),
            PositionWithin::Entries(_) => None,
        };
        let request = Arc::new(ListRequest::new(self.context.clone(), cursor, self.room().max(1)));
        let mut page = list(Arc::clone(&request)).await?;
        if !request.is_of_list() {
            return Err(self.unknown_cursor());
        }
        if let Some((names, name)) = &mut self.names {
            page.entries.retain(|entry| names.insert(name(entry).to_owned()));
        }
        if is_before { Ok(()) } else { self.add_page(index, within, page) }
    }

    /// The entries of the page, and the cursor of the next one.
    pub(super) fn finish(self) -> Result<(Vec<T>, Option<String>), RpcError> {
        match self.cursor.is_some() && self.begin.list >= self.added {
            true => Err(self.unknown_cursor()),
            false => Ok((self.entries, self.next.as_ref().map(ListPosition::text))),
        }
    }

    /// Counts a list, and says where the page begins in it, unless the page is complete.
    fn next_list(&mut self) -> Option<(usize, PositionWithin)> {
        let index = self.added;
        self.added += 1;
        let within = match index == self.begin.list {
            true => std::mem::take(&mut self.begin.within),
            false => PositionWithin::default(),
        };
        self.next.is_none().then_some((index, within))
    }

    fn unknown_cursor(&self) -> RpcError {
        unknown_cursor(self.cursor.as_deref())
    }

    fn room(&self) -> usize {
        self.size.saturating_sub(self.entries.len())
    }

    fn add_page(&mut self, list: usize, within: PositionWithin, page: Page<T>) -> Result<(), RpcError> {
        let room = self.room();
        let next_page = page.next_cursor.map(PositionWithin::Cursor);
        let within = match (within, next_page) {
            // The list is here in full.
            (PositionWithin::Entries(before), None) => {
                let mut rest = page.entries.into_iter().skip(before);
                self.entries.extend(rest.by_ref().take(room));
                rest.next().map(|_| PositionWithin::Entries(before.saturating_add(room)))
            }
            // A full page: the first one of this list is the next.
            (PositionWithin::Entries(0), Some(_)) if room == 0 => Some(PositionWithin::default()),
            (PositionWithin::Entries(0) | PositionWithin::Cursor(_), next_page) => {
                self.entries.extend(page.entries);
                next_page
            }
            (PositionWithin::Entries(_), Some(_)) => return Err(self.unknown_cursor()),
        };
        self.next = within.map(|within| ListPosition { list, within });
        Ok(())
    }
}
