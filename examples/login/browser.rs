//! The system's browser, and a listener on the loopback to which the user comes back.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use mcp_auth::client::{Url, UserAgent};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How long the user has to log in.
const WITHIN: Duration = Duration::from_secs(5 * 60);

/// The longest head of a request that is read, in bytes.
const MOST: u64 = 16 * 1024;

/// Opens addresses for the user, who comes back to a port of the loopback.
pub(crate) struct Browser<O = fn(&Url)> {
    listener: TcpListener,
    back: Url,
    open: O,
}

impl Browser {
    /// The system's browser.
    pub(crate) async fn new() -> io::Result<Browser> {
        Browser::opening(open as fn(&Url)).await
    }
}

impl<O: Fn(&Url) + Send + Sync> Browser<O> {
    /// Opens addresses in this way.
    pub(crate) async fn opening(open: O) -> io::Result<Browser<O>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let back = format!("http://{}/back", listener.local_addr()?);
        Ok(Browser { listener, back: Url::parse(&back).map_err(io::Error::other)?, open })
    }

    /// Waits for the request with which the user comes back. Browsers also ask for other things, such as an icon.
    async fn come_back(&self) -> io::Result<Url> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            // A connection on which nothing comes does not keep the others waiting for long.
            let answered = tokio::time::timeout(Duration::from_secs(5), self.answer(stream)).await;
            if let Ok(Ok(Some(address))) = answered {
                return Ok(address);
            }
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<Option<Url>> {
        let mut lines = BufReader::new((&mut stream).take(MOST)).lines();
        let request = lines.next_line().await?.unwrap_or_default();
        while lines.next_line().await?.is_some_and(|line| !line.is_empty()) {}
        let target = request.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        let address = target.and_then(|target| self.back.join(target).ok());
        // A target may name another host.
        let is_back =
            |address: &Url| address.origin() == self.back.origin() && address.path() == self.back.path();
        let address = address.filter(is_back);
        let (status, text) = match &address {
            Some(_) => ("200 OK", "You are back. You may close this page."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\n");
        let answer = format!("{head}content-length: {}\r\n\r\n{text}", text.len());
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        Ok(address)
    }
}

impl<O: Fn(&Url) + Send + Sync + 'static> UserAgent for Browser<O> {
    type Error = io::Error;

    fn redirect_uri(&self) -> String {
        self.back.to_string()
    }

    async fn visit(&self, address: Url) -> io::Result<Url> {
        (self.open)(&address);
        let late = || Err(io::Error::new(io::ErrorKind::TimedOut, "no user has logged in within 5 minutes"));
        tokio::time::timeout(WITHIN, self.come_back()).await.unwrap_or_else(|_| late())
    }
}

/// Opens the system's browser, and says where to go if there is none.
fn open(address: &Url) {
    eprintln!("log in at {}:\n{address}", address.host_str().unwrap_or_default());
    let (program, first) = match std::env::consts::OS {
        "macos" => ("open", None),
        // The handler takes the address as it is: a shell would read parts of it.
        "windows" => ("rundll32", Some("url.dll,FileProtocolHandler")),
        _ => ("xdg-open", None),
    };
    let mut command = Command::new(program);
    command
        .args(first)
        .arg(address.as_str())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        eprintln!("the browser was not opened: {error}");
    }
}
