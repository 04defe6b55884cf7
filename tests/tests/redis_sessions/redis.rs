//! A Redis server of the test's own, on a private socket.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use redis::aio::MultiplexedConnection;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The server, which ends with this, and what it has left behind.
pub(crate) struct Redis {
    server: Child,
    folder: PathBuf,
}

impl Redis {
    /// Starts a server that is empty and writes nothing down.
    pub(crate) async fn start() -> Redis {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        // The name of a socket must be short, so it is not in the target folder.
        let name = format!("mcp-redis-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let server = serve(&folder).await;
        Redis { server, folder }
    }

    /// Kills the server; its socket stays and leads nowhere.
    pub(crate) async fn stop(&mut self) {
        self.server.kill().await.unwrap();
    }

    /// Starts it again, empty, at the same address.
    pub(crate) async fn start_again(&mut self) {
        self.server = serve(&self.folder).await;
    }

    /// Has the server do nothing, with its connections open, or go on.
    pub(crate) async fn freeze(&self, frozen: bool) {
        let signal = if frozen { "STOP" } else { "CONT" };
        let command = format!("kill -{signal} {}", self.server.id().unwrap());
        assert!(Command::new("sh").args(["-c", &command]).status().await.unwrap().success());
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.join("socket").display())
    }

    /// One command, over a connection of its own.
    pub(crate) async fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        // A busy machine may take its time.
        let patient = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let connected = client.get_multiplexed_async_connection_with_config(&patient);
        let mut connection: MultiplexedConnection = connected.await.unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }

    /// How often a key was read.
    pub(crate) async fn reads(&self) -> usize {
        let statistics: String = self.command(&["INFO", "commandstats"]).await;
        let Some((_, counted)) = statistics.split_once("cmdstat_get:calls=") else { return 0 };
        counted.split(',').next().unwrap().parse().unwrap()
    }
}

async fn serve(folder: &std::path::Path) -> Child {
    let mut server = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no"])
        .arg("--dir")
        .arg(folder)
        .arg("--unixsocket")
        .arg(folder.join("socket"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut log = BufReader::new(server.stdout.take().unwrap()).lines();
    while !log.next_line().await.unwrap().expect("the server starts").contains("ready to accept connections")
    {
    }
    test_support::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
    server
}

impl Drop for Redis {
    fn drop(&mut self) {
        // The server may be there still; what it has opened stays open for it.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
