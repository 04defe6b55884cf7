//! Servers at `https` addresses: the small server of the tests of `probe`, behind TLS. `authority.pem` is what the commands
//! trust, `certificate.pem` and `key.pem` are the server's. They are for these tests alone, and are valid for a hundred years.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests, and the server that they share with those of `probe` is a program there"
)]

#[path = "../probe/http.rs"]
mod http;
#[path = "../probe/server.rs"]
#[allow(dead_code, reason = "the tests of `probe` start it as a program, too")]
mod server;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/https").join(name)
}

/// Puts TLS in front of a server for as long as this program runs. Returns its new address.
fn behind_tls(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let chain = CertificateDer::pem_file_iter(file("certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(chain.map(Result::unwrap).collect(), key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/{path}", listener.local_addr().unwrap());
    listener.set_nonblocking(true).unwrap();
    let host = host.to_owned();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, host) = (acceptor.clone(), host.clone());
                tokio::spawn(async move {
                    // A client that does not trust the certificate goes away.
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut server = TcpStream::connect(host).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
                });
            }
        });
    });
    address
}

/// The command, which trusts this authority.
fn sessionc(authority: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sessionc"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command.env("SSL_CERT_FILE", file(authority)).env_remove("SSL_CERT_DIR").args(arguments);
    command
}

/// What `probe` prints about the server at an address.
fn probed(authority: &str, url: &str) -> String {
    let arguments = ["probe", "examples/counter/counter.session", "--wait", "0", "--url", url];
    let output = sessionc(authority, &arguments).output().unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
}

#[test]
fn a_server_behind_tls_is_probed_as_one_without() {
    let plain = probed("authority.pem", &http::start("lenient"));
    assert!(plain.contains("faults: what the server did"), "{plain}");
    assert_eq!(probed("authority.pem", &behind_tls(&http::start("lenient"))), plain);
}

#[test]
fn a_server_behind_tls_is_guarded() {
    let url = behind_tls(&http::start("lenient"));
    let arguments = ["guard", "examples/counter/counter.session", "--listen", "127.0.0.1:0", "--to", &url];
    let mut guard = sessionc("authority.pem", &arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut reports = BufReader::new(guard.stderr.take().unwrap());
    let mut line = String::new();
    reports.read_line(&mut line).unwrap();
    let own = line.split("http://").nth(1).unwrap().split(',').next().unwrap();
    let through = probed("authority.pem", &format!("http://{own}/counter"));
    guard.kill().unwrap();
    guard.wait().unwrap();
    assert_eq!(through, probed("authority.pem", &http::start("lenient")));
}

#[test]
fn a_certificate_that_the_system_does_not_trust_is_refused() {
    // The server's own certificate is not an authority.
    let said = probed("certificate.pem", &behind_tls(&http::start("correct")));
    assert!(said.contains("certificate"), "{said}");
}
