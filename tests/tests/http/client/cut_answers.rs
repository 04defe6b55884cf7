//! The answer to a call, cut at each of its bytes, as JSON and as a stream: the call has its result, or an error that says
//! that it was not delivered, and the session goes on. A stream whose first id has come is resumed, and all of it comes
//! once.
//!
//! Many calls at once, because a client waits before it resumes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_protocols::mcp_2025_03_26::{Active, McpClient};
use mcp_runtime::Error;
use mcp_runtime::transport::http::{HttpClient, ListenOptions, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::test_server::{TestServer, guarded};
use super::{call, ready, said};

/// How many calls there are at once.
const AT_ONCE: usize = 128;

/// Stands between clients and a server. It passes on as many bytes of the answer to a call as the argument `cut` of the
/// call says, and then closes the connection.
struct Relay {
    url: String,
    /// How many bytes the last answer to a call had.
    passed: Arc<AtomicUsize>,
}

impl Relay {
    async fn to(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let passed: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&passed);
        test_support::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(server).await.unwrap();
                test_support::spawn(carry(near, far, Arc::clone(&counted)));
            }
        });
        Relay { url, passed }
    }
}

/// Carries one connection.
async fn carry(near: TcpStream, far: TcpStream, passed: Arc<AtomicUsize>) {
    let (mut from_client, mut to_client) = near.into_split();
    let (mut from_server, mut to_server) = far.into_split();
    let (mut asked, mut answer, mut head_on) = (Vec::new(), Vec::new(), String::new());
    // How much more of the answer to a call is passed on.
    let mut left: Option<usize> = None;
    loop {
        tokio::select! {
            read = from_client.read_buf(&mut asked) => {
                if !matches!(read, Ok(1..)) || to_server.write_all(&asked).await.is_err() {
                    return;
                }
                // Since the last head, which may come in pieces, as what follows it may.
                head_on.push_str(&String::from_utf8_lossy(&asked));
                if let Some(head) = head_on.rfind(" HTTP/1.1") {
                    head_on.drain(..=head);
                    left = None;
                }
                let cut = head_on.split("\"cut\":").nth(1).and_then(|rest| rest.split_once(['}', ',']));
                if let Some((cut, _)) = cut {
                    left = Some(cut.parse().unwrap());
                    passed.store(0, Ordering::SeqCst);
                    head_on.clear();
                }
                asked.clear();
            }
            read = from_server.read_buf(&mut answer) => {
                if !matches!(read, Ok(1..)) {
                    return;
                }
                let most = left.unwrap_or(usize::MAX).min(answer.len());
                if to_client.write_all(&answer[..most]).await.is_err() {
                    return;
                }
                if let Some(left) = &mut left {
                    *left -= most;
                    passed.fetch_add(most, Ordering::SeqCst);
                }
                answer.clear();
            }
        }
        if left == Some(0) {
            return;
        }
    }
}

/// The progress and the result of a call whose answer is cut behind so many bytes.
async fn cut_behind(
    session: &McpClient<Active>,
    tool: &str,
    cut: u32,
) -> (Vec<String>, Result<String, Error>) {
    let progress: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&progress);
    let called = session
        .call_tool(call(tool).with_argument("cut", cut))
        .on_progress(move |report| heard.lock().unwrap().push(report.progress.to_string()))
        .await;
    let progress = std::mem::take(&mut *progress.lock().unwrap());
    (progress, called.map(|result| said(&result).to_owned()))
}

/// Cuts the answer at each byte. Returns how many bytes it has, and how many of the calls have failed: those whose answers
/// were cut first. The others have all of their progress.
async fn cut_everywhere(tool: &str, result: &str, progress: &[&str]) -> (usize, usize) {
    let options = ServerOptions::default().retry(Duration::from_millis(50));
    let mut host = TestServer::listening_with(options, ListenOptions::default()).await;
    host.gates.hold.add_permits(1_000_000);
    let relay = Relay::to(host.address()).await;
    let (session, _) = ready(HttpClient::new(&relay.url).unwrap()).await.unwrap();
    assert_eq!(cut_behind(&session, tool, u32::MAX).await.1.unwrap(), result);
    // The end of a stream may come behind its last message.
    session.ping().await.unwrap();
    let length = relay.passed.load(Ordering::SeqCst);
    let cuts: Vec<u32> = (0..u32::try_from(length).unwrap()).collect();
    let mut all = Vec::new();
    for some in cuts.chunks(AT_ONCE) {
        all.extend(join_all(some.iter().map(|cut| cut_behind(&session, tool, *cut))).await);
    }
    let failed = all.iter().take_while(|(_, called)| called.is_err()).count();
    for (cut, (reported, called)) in all.into_iter().enumerate() {
        match called {
            Ok(said) => {
                assert!(cut >= failed, "cut behind {cut}");
                assert_eq!(
                    (said.as_str(), reported.as_slice()),
                    (result, &*strings(progress)),
                    "cut behind {cut}"
                );
            }
            Err(error) => {
                assert!(cut < failed, "cut behind {cut}: {error}");
                assert!(matches!(error, Error::NotDelivered(_)), "cut behind {cut}: {error}");
            }
        }
    }
    assert_eq!(session.list_tools(None).await.unwrap().tools.len(), 1, "the session goes on");
    session.close().await.unwrap();
    host.stop().serving.await.unwrap().unwrap();
    (length, failed)
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn as_json() {
    guarded(async {
        let (length, failed) = cut_everywhere("echo", "hello", &[]).await;
        assert!(length > 100 && failed == length, "only the whole answer is one: {failed} of {length}");
    })
    .await;
}

#[tokio::test]
async fn as_a_stream() {
    guarded(async {
        let (length, failed) = cut_everywhere("talk", "talked", &["1", "2"]).await;
        assert!(
            failed > 100 && failed < length / 2,
            "from its first id on a stream is resumed: {failed} of {length}"
        );
    })
    .await;
}
