//! Lists that come in pages, by cursors of their own.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_kit::prelude::*;
use mcp_kit::{Era, transport::duplex};
use mcp_protocols::mcp_2026_07_28::McpClient;
use mcp_protocols::mcp_2026_07_28::types::{PaginatedParams, RequestMeta};
use schemars::JsonSchema;
use serde::Deserialize;

/// Rows with the ids 0, 2, 4 and so on.
struct Table {
    rows: u64,
    /// How many rows were read.
    read: AtomicUsize,
}

impl Table {
    fn of(rows: u64) -> Table {
        Table { rows, read: AtomicUsize::new(0) }
    }

    /// The rows after one of them.
    fn page(&self, request: &ListRequest) -> Result<Page<u64>, Failure> {
        let first = match request.cursor::<u64>()? {
            Some(after) if after % 2 == 1 => return Err(request.unknown_cursor()),
            Some(after) => after / 2 + 1,
            None => 0,
        };
        let end = self.rows.min(first + request.size() as u64);
        self.read.fetch_add(end.saturating_sub(first) as usize, Ordering::Relaxed);
        let page: Page<_> = (first..end).map(|row| row * 2).collect();
        let next = page.entries.last().copied().filter(|_| end < self.rows);
        Ok(page.next_cursor(next))
    }
}

fn of_page<T, U>(page: Page<T>, entry: impl Fn(T) -> U) -> Page<U> {
    let next = page.next_cursor;
    page.entries.into_iter().map(entry).collect::<Page<_>>().next_cursor(next)
}

/// A row of the table
#[derive(Deserialize, JsonSchema)]
struct Row {
    #[expect(dead_code, reason = "it stands in the URI")]
    id: u64,
}

impl Resource<Table> for Row {
    const URI: &'static str = "row://{id}";
    type Needs = ();

    async fn read(self, _: &Table, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, "a row"))
    }

    async fn list(table: &Table, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok(of_page(table.page(request)?, |id| types::Resource::new(format!("row://{id}"), "row")))
    }
}

/// Five that are listed in full
#[derive(Deserialize, JsonSchema)]
struct Few {
    #[expect(dead_code, reason = "it stands in the URI")]
    id: u64,
}

impl Resource<Table> for Few {
    const URI: &'static str = "few://{id}";
    type Needs = ();

    async fn read(self, _: &Table, uri: &str, _: Client) -> Result<ResourceContents, Failure> {
        Ok(text_at(uri, "one of a few"))
    }

    async fn list(_: &Table, _: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok((0..5).map(|id| types::Resource::new(format!("few://{id}"), "few")).collect())
    }
}

/// What is known only while the server runs: the rows, and those that it has itself already.
struct Other;

impl Resources<Table> for Other {
    async fn list(table: &Table, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        let uri = |id| if id % 3 == 0 { format!("row://{id}") } else { format!("other://{id}") };
        Ok(of_page(table.page(request)?, |id| types::Resource::new(uri(id), "other")))
    }

    async fn read(_: &Table, _: &str, _: Client) -> Result<Option<Vec<ResourceContents>>, Failure> {
        Ok(None)
    }
}

/// Tools by the names of the rows, of which `tool_4` is the server's own.
impl Tools<Table> for Other {
    async fn list(table: &Table, request: &ListRequest) -> Result<Page<types::Tool>, Failure> {
        Ok(of_page(table.page(request)?, |id| types::Tool::new(format!("tool_{id}"), ObjectSchema::new())))
    }

    async fn call(_: &Table, _: &str, _: Object, _: Client) -> Result<Option<CallToolResult>, Failure> {
        Ok(None)
    }
}

/// Tools in full, with some of the names of [`Other`].
struct InFull;

impl Tools<Table> for InFull {
    async fn list(table: &Table, _: &ListRequest) -> Result<Page<types::Tool>, Failure> {
        let name = |id: u64| format!("tool_{}", id * 3);
        Ok((0..table.rows).map(|id| types::Tool::new(name(id), ObjectSchema::new())).collect())
    }

    async fn call(_: &Table, _: &str, _: Object, _: Client) -> Result<Option<CallToolResult>, Failure> {
        Ok(None)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

async fn connect<S: Send + Sync + 'static>(era: Era, server: Server<S>) -> Connection {
    let (near, far) = duplex();
    tokio::spawn(server.serve(far));
    ConnectOptions::new("test", "1").era(era).connect(near).await.unwrap()
}

/// What a client without a handshake gets for a cursor: the names on the page, and the next cursor.
async fn page_at(server: Server<Table>, cursor: &str) -> Result<(usize, Option<String>), RpcError> {
    let (near, far) = duplex();
    tokio::spawn(server.serve(far));
    let meta = RequestMeta::new("2026-07-28", ClientCapabilities::new());
    let params = PaginatedParams::new(meta).cursor(cursor);
    match McpClient::new(near).list_resources(params).await {
        Ok(result) => Ok((result.resources.len(), result.next_cursor)),
        Err(Error::Refused(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn pages_of_several_lists_follow_one_another_to_the_end() {
    for era in [Era::Handshake, Era::Requests] {
        for (rows, size) in (0..9).flat_map(|rows| (1..9).map(move |size| (rows, size))) {
            let server = Server::new("rows", "1", Table::of(rows)).page_size(size);
            let server = server.resource::<Few>().resource::<Row>().resources::<Other>();
            let listed = connect(era, server).await.resources().await.unwrap();
            let listed: Vec<_> = listed.into_iter().map(|resource| resource.uri).collect();
            let few = (0..5).map(|id| format!("few://{id}"));
            let own = (0..rows).map(|row| format!("row://{}", row * 2));
            let other =
                (0..rows).map(|row| row * 2).filter(|id| id % 3 != 0).map(|id| format!("other://{id}"));
            let expected: Vec<_> = few.chain(own).chain(other).collect();
            assert_eq!(listed, expected, "{rows} rows, {size} on a page");
        }
    }
}

#[tokio::test]
async fn of_tools_with_the_same_name_the_first_one_is_listed() {
    for (rows, size) in (0..9).flat_map(|rows| (1..9).map(move |size| (rows, size))) {
        let server = Server::new("rows", "1", Table::of(rows)).page_size(size);
        let server = server.tool_named("tool_4", "Four", |_: Nothing, _, _: Client| async { Ok(()) });
        let server = server.tools::<InFull>().tools::<Other>();
        let listed = connect(Era::Requests, server).await.tools().await.unwrap();
        let listed: Vec<_> = listed.into_iter().map(|tool| tool.name).collect();
        let in_full = (0..rows).map(|id| id * 3);
        let other = (0..rows).map(|row| row * 2).filter(|id| id % 3 != 0 || id / 3 >= rows);
        let expected = [4].into_iter().chain(in_full.chain(other).filter(|id| *id != 4));
        let expected: Vec<_> = expected.map(|id| format!("tool_{id}")).collect();
        assert_eq!(listed, expected, "{rows} rows, {size} on a page");
    }
}

/// A server in front of another one, which is not asked for more pages than the client.
struct Proxy;

impl Resources<Connection> for Proxy {
    async fn list(behind: &Connection, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok(behind.resources_page(request.cursor()?).await?)
    }

    async fn read(_: &Connection, _: &str, _: Client) -> Result<Option<Vec<ResourceContents>>, Failure> {
        Ok(None)
    }
}

impl Tools<Connection> for Proxy {
    async fn list(behind: &Connection, request: &ListRequest) -> Result<Page<types::Tool>, Failure> {
        Ok(behind.tools_page(request.cursor()?).await?)
    }

    async fn call(_: &Connection, _: &str, _: Object, _: Client) -> Result<Option<CallToolResult>, Failure> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_client_reads_one_page_through_a_proxy_also() {
    for (before, behind) in super::ERAS {
        let table = std::sync::Arc::new(Table::of(1_000_000));
        let server = Server::new("rows", "1", Shared(std::sync::Arc::clone(&table))).page_size(10);
        let behind = connect(behind, server.resources::<Other>()).await;
        let server = Server::new("proxy", "1", behind).resources::<Proxy>().tools::<Proxy>();
        let proxy = connect(before, server).await;
        let first = proxy.resources_page(None).await.unwrap();
        assert_eq!((first.entries.len(), &*first.entries[9].uri), (10, "other://18"));
        let second = proxy.resources_page(first.next_cursor).await.unwrap();
        assert_eq!((second.entries.len(), &*second.entries[9].uri), (10, "other://38"));
        assert_eq!(table.read.load(Ordering::Relaxed), 20, "no other page was read");
        let Err(Error::Refused(refused)) = proxy.resources_page(Some("next".to_owned())).await else {
            panic!()
        };
        assert_eq!(refused.code, -32602);
        // The server behind offers no tools, and the proxy no prompts.
        assert_eq!(proxy.tools_page(None).await.unwrap(), Page::default());
        assert_eq!(proxy.prompts_page(None).await.unwrap(), Page::default());
    }
}

#[tokio::test]
async fn a_table_is_read_page_by_page() {
    let table = std::sync::Arc::new(Table::of(1_000_000));
    let server = Server::new("rows", "1", Shared(std::sync::Arc::clone(&table))).resources::<Other>();
    let (near, far) = duplex();
    tokio::spawn(server.serve(far));
    let client = McpClient::new(near);
    let meta = RequestMeta::new("2026-07-28", ClientCapabilities::new());
    let mut pages = client.list_resources_pages(PaginatedParams::new(meta));
    for _ in 0..3 {
        assert_eq!(pages.next().await.unwrap().unwrap().resources.len(), 100);
    }
    assert_eq!(table.read.load(Ordering::Relaxed), 300);
}

/// A table of which the test has a clone.
struct Shared(std::sync::Arc<Table>);

impl Resources<Shared> for Other {
    async fn list(table: &Shared, request: &ListRequest) -> Result<Page<types::Resource>, Failure> {
        Ok(of_page(table.0.page(request)?, |id| types::Resource::new(format!("other://{id}"), "other")))
    }

    async fn read(_: &Shared, _: &str, _: Client) -> Result<Option<Vec<ResourceContents>>, Failure> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_cursor_that_the_server_has_not_made_is_refused() {
    let server = || {
        let server = Server::new("rows", "1", Table::of(10)).page_size(4);
        server.resource::<Few>().resource::<Row>()
    };
    // Those of the server itself.
    assert_eq!(page_at(server(), "0.4").await.unwrap(), (4, Some("1:4".to_owned())));
    assert_eq!(page_at(server(), "1:4").await.unwrap(), (4, Some("1:12".to_owned())));
    assert_eq!(page_at(server(), "1:12").await.unwrap(), (3, None));
    // A list that has become shorter.
    assert_eq!(page_at(server(), "0.6").await.unwrap(), (4, Some("1:6".to_owned())));
    // No cursors; of a list that the server does not have; of a list that has none; not one of the table; not any more
    // one of the table; and a number of entries, where the table has cursors.
    for cursor in ["", "next", "4", "0.", ".4", "0.x", "-1.4", "2.0", "7:4", "0:4", "1:x", "1:5", "1.4"] {
        let error = page_at(server(), cursor).await.unwrap_err();
        assert_eq!(error.code, -32602, "{cursor}: {error}");
        assert!(error.message.ends_with("is not a cursor of this server"), "{cursor}: {error}");
    }
}
