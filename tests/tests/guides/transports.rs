//! The examples of `docs/transports.md`, which run here.

use std::io;
use std::path::Path;
use std::sync::Arc;

use mcp_protocols::mcp_2025_03_26::{McpClient, McpServer, PROTOCOL, Uninit, server};
use mcp_protocols::types::*;
use mcp_runtime::driver::{End, Endpoint, MessagePort, PortEvent};
use mcp_runtime::protocol::Side;
use mcp_runtime::session::Outcome;
use mcp_runtime::transport::{
    ByteStream, Child, Division, Framing, Part, Successive, Transport, duplex, stdio,
};
use mcp_runtime::{CheckedSession, Options, RpcError};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::process::Command;
use tokio::sync::mpsc;

type Failure = Box<dyn std::error::Error>;

/// What the client says first.
fn hello() -> InitializeParams {
    InitializeParams::new("2025-03-26", ClientCapabilities::new(), Implementation::new("this side", "1"))
}

struct Tools;

impl server::Handler for Tools {
    async fn list_tools(
        &self,
        _: server::Context,
        _: Option<PaginatedParams>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult::new([Tool::new("add", ObjectSchema::new())]))
    }
}

/// Serves one session to its end.
async fn serve(session: McpServer<Uninit>) {
    let serving = tokio::spawn(session.incoming().serve(Tools));
    let capabilities = ServerCapabilities::new().tools(ToolsCapability::new());
    let welcome = InitializeResult::new("2025-03-26", capabilities, Implementation::new("that side", "1"));
    let (_, session) = session.recv_initialize().await.unwrap();
    let session = session.send_initialize_result(welcome).await.unwrap().recv_initialized().await.unwrap();
    serving.await.unwrap();
    drop(session);
}

/// Shakes hands, asks for the tools, and closes the session.
async fn ask(client: McpClient<Uninit>) -> usize {
    let (_, client) = client.initialize(hello()).await.unwrap();
    let client = client.send_initialized().await.unwrap();
    let tools = client.list_tools(None).await.unwrap().tools.len();
    client.close().await.unwrap();
    tools
}

#[tokio::test]
async fn sessions_over_connections_that_the_program_has_opened() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(serve(McpServer::new(ByteStream::new(connection))));
        }
    });
    let client = McpClient::new(ByteStream::new(TcpStream::connect(address).await?));
    assert_eq!(ask(client).await, 1);
    Ok(())
}

async fn framed(command: Command, path: &Path) -> Result<[String; 3], Failure> {
    let server = Child::builder(command).framing(Framing::ContentLength).spawn()?;
    let own = stdio().framing(Framing::ContentLength);
    let socket = ByteStream::new(UnixStream::connect(path).await?).framing(Framing::ContentLength);
    Ok([format!("{server:?}"), format!("{own:?}"), format!("{socket:?}")])
}

#[tokio::test]
async fn three_transports_have_a_framing() {
    let path = std::env::temp_dir().join(format!("transports-guide-{}", std::process::id()));
    let _listener = UnixListener::bind(&path).unwrap();
    let shown = framed(Command::new("cat"), &path).await;
    std::fs::remove_file(&path).unwrap();
    assert!(shown.unwrap().iter().all(|transport| transport.contains("ContentLength")));
}

#[tokio::test]
async fn a_header_that_cannot_be_read_says_what_to_write() -> Result<(), Failure> {
    let (near, mut peer) = tokio::io::duplex(1024);
    let stream = ByteStream::new(near).framing(Framing::ContentLength);
    let mut server = CheckedSession::start(stream, &PROTOCOL, Side::Server, Options::default());
    peer.write_all(b"{\"jsonrpc\":\"2.0\"}\n").await?;
    let Err(error) = server.next().await else { panic!("the session goes on") };
    assert!(error.to_string().contains(
        "is not a header field: write `Content-Length: <bytes>` and an empty line before each message, \
         or choose `lines` as the framing if the peer writes one message on each line"
    ));
    Ok(())
}

/// Carries a session over two channels of messages.
struct Channels {
    incoming: mpsc::Receiver<Vec<u8>>,
    outgoing: mpsc::Sender<Vec<u8>>,
}

impl Transport for Channels {
    async fn run(mut self, endpoint: Arc<dyn Endpoint>) {
        let mut port = MessagePort::new(endpoint);
        let (mut open, mut message) = (true, None);
        loop {
            tokio::select! {
                received = self.incoming.recv(), if open => match received {
                    Some(received) => port.deliver(&received),
                    None => {
                        open = false;
                        port.input_ended(End::Eof);
                    }
                },
                permit = self.outgoing.reserve(), if message.is_some() => {
                    match (permit, message.take()) {
                        (Ok(permit), Some(message)) => permit.send(message),
                        _ => port.output_failed(io::ErrorKind::BrokenPipe.into()),
                    }
                    port.sent();
                }
                event = port.next() => match event {
                    PortEvent::Message(next) => message = Some(next),
                    PortEvent::Complete | PortEvent::Abandoned => break,
                },
            }
        }
        port.terminate(Outcome::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_over_two_channels() {
    let ((near, incoming), (far, outgoing)) = (mpsc::channel(16), mpsc::channel(16));
    let server = Channels { incoming: outgoing, outgoing: near };
    let client = McpClient::new(Channels { incoming, outgoing: far });
    tokio::spawn(serve(McpServer::new(server)));
    assert_eq!(ask(client).await, 1);
}

/// Neither side reads while it waits for room, or both would wait for good.
#[tokio::test(start_paused = true)]
async fn many_calls_over_narrow_channels() {
    let ((near, incoming), (far, outgoing)) = (mpsc::channel(1), mpsc::channel(1));
    tokio::spawn(serve(McpServer::new(Channels { incoming: outgoing, outgoing: near })));
    let client = McpClient::new(Channels { incoming, outgoing: far });
    let (_, client) = client.initialize(hello()).await.unwrap();
    let client = client.send_initialized().await.unwrap();
    let calls: Vec<_> = (0..200).map(|_| tokio::spawn(client.handle().list_tools(None))).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().tools.len(), 1);
    }
    client.close().await.unwrap();
}

/// The other side of the channels goes away.
#[tokio::test(start_paused = true)]
async fn a_session_over_channels_that_are_dropped_ends() {
    let ((near, incoming), (far, outgoing)) = (mpsc::channel(1), mpsc::channel(1));
    let client = McpClient::new(Channels { incoming, outgoing: far });
    drop((near, outgoing));
    assert!(client.initialize(hello()).await.unwrap_err().to_string().contains("ended"));
}

/// What a peer begins with `initialize` is a session, and anything else is not.
async fn serve_both(transport: impl Transport) {
    let mut connection = Successive::divided(transport, |method| match method {
        "initialize" => Division::Begins,
        _ => Division::Continues,
    });
    while let Some(part) = connection.begun().await {
        match part.begins_with() {
            Some("initialize") => serve_session(part).await,
            _ => serve_requests(part).await,
        }
    }
}

async fn serve_session(part: Part) {
    let session = mcp_protocols::mcp_2025_11_25::McpServer::new(part);
    let (_, session) = session.recv_initialize().await.unwrap();
    drop(session);
}

async fn serve_requests(part: Part) {
    struct Nothing;
    impl mcp_protocols::mcp_2026_07_28::server::Handler for Nothing {}
    mcp_protocols::mcp_2026_07_28::McpServer::new(part).incoming().serve(Nothing).await;
}

#[tokio::test]
async fn two_protocols_on_one_connection() {
    let (near, far) = duplex();
    let serving = tokio::spawn(serve_both(far));
    let mut connection = Successive::new(near);
    let requests = mcp_protocols::mcp_2026_07_28::McpClient::new(connection.begin());
    let meta = mcp_protocols::eras::types::RequestMeta::new(
        "2026-07-28",
        mcp_protocols::eras::types::ClientCapabilities::new(),
    );
    let refused = requests.discover(mcp_protocols::eras::types::RequestParams::new(meta)).await;
    assert!(matches!(refused, Err(mcp_runtime::Error::Refused(_))), "{refused:?}");
    let options = Options::new().first_id(10);
    let session = mcp_protocols::mcp_2025_11_25::McpClient::with_options(connection.begin(), options);
    drop(requests);
    let program = Implementation::new("two", "1");
    let params = InitializeParams::new("2025-11-25", ClientCapabilities::new(), program);
    // The server takes it, and ends.
    assert!(session.initialize(params).await.is_err());
    serving.await.unwrap();
}

fn squeezed(code: &str) -> String {
    code.chars().filter(|character| !character.is_whitespace()).collect()
}

#[test]
fn every_example_of_the_page_is_here() {
    let page = include_str!("../../../docs/transports.md");
    let here = squeezed(include_str!("transports.rs"));
    let mut examples = 0;
    for block in page.split("```rust\n").skip(1) {
        let code = block.split("```").next().unwrap();
        assert!(here.contains(&squeezed(code)), "this is not compiled:\n{code}");
        examples += 1;
    }
    assert_eq!(examples, 6);
}
