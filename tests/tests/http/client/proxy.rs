//! A connection that can be cut, between a client and a server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};

/// Passes bytes on.
pub struct Proxy {
    pub address: SocketAddr,
    /// How many connections there were.
    pub connections: Arc<AtomicUsize>,
    open: Arc<Mutex<Vec<AbortHandle>>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub async fn to(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(Mutex::new(Vec::new()));
        let (count, kept) = (Arc::clone(&connections), Arc::clone(&open));
        let accepting = test_support::spawn(async move {
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let passing = test_support::spawn(async move {
                    let mut far = TcpStream::connect(server).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
                kept.lock().unwrap().push(passing.abort_handle());
            }
        });
        Proxy { address, connections, open, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Cuts everything that is open.
    pub fn cut(&self) {
        self.open.lock().unwrap().drain(..).for_each(|passing| passing.abort());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}
