//! An MCP server and a client for every revision, with a handshake and without one: `cargo run --example eras --features
//! http,rounds`.
//!
//! Without arguments the client starts the server as a child, once in each era. `-- call COMMAND…` starts another server, and
//! `-- call URL` speaks HTTP; the client finds out which era that server is in. `-- serve` serves the standard streams, and
//! `-- serve 127.0.0.1:8080` HTTP, for any client.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

mod client;
mod server;

use std::error::Error;
use std::process::Command;

use mcp_protocols::eras::Era;
use mcp_runtime::transport::http::{HttpClient, HttpServer, ServerOptions};
use mcp_runtime::transport::{Child, stdio};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            for era in [Era::Requests, Era::Handshake] {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("serve");
                print(
                    client::talk(client::connector().era(era).connect(Child::spawn(command)?).await?).await?,
                );
            }
            Ok(())
        }
        ["serve"] => Ok(server::server()?.serve(stdio()).await?),
        ["serve", address] => serve(TcpListener::bind(address).await?).await,
        ["call", url] if url.starts_with("http") => {
            let client = client::connector().connect_to(url, || HttpClient::new(url)).await?;
            print(client::talk(client).await?);
            Ok(())
        }
        ["call", program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            print(client::talk(client::connector().connect(Child::spawn(command)?).await?).await?);
            Ok(())
        }
        other => {
            Err(format!("unknown arguments {other:?}: try none, `serve [ADDRESS]`, or `call URL|COMMAND…`")
                .into())
        }
    }
}

fn print(said: Vec<String>) {
    said.iter().for_each(|line| println!("{line}"));
}

/// Serves clients of both eras at one endpoint, until Ctrl+C.
async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    let desk = server::server()?;
    let changes = desk.handler().changes.clone();
    let http = HttpServer::new(ServerOptions::default(), move |transport| {
        let desk = desk.clone();
        async move {
            if let Err(error) = desk.serve(transport).await {
                eprintln!("a session has ended: {error}");
            }
        }
    });
    let router = axum::Router::new().route("/mcp", http.method_router());
    println!("serving http://{}/mcp", listener.local_addr()?);
    let stop = async move {
        drop(tokio::signal::ctrl_c().await);
        changes.end();
    };
    http.serve(listener, router, stop).await?;
    Ok(())
}
