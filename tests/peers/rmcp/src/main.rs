//! The official Rust SDK as a peer of the tests. `rmcp-peer notes MODE stdio COMMAND…` or `rmcp-peer notes MODE http URL
//! TOKEN` is a client of the example `notes`; `rmcp-peer eras MODE …` is one of `eras`, and `rmcp-peer revisions MODE …` one
//! of `revisions`, which has sessions only. The mode is `initialize`, in which it begins a session, `discover`, in which it
//! asks for `server/discover`, or `auto`, in which it begins a session if the server does not know that. A client prints what
//! it saw as JSON. `rmcp-peer stdio` is a server with the tools of `eras`; `rmcp-peer http plain` is one that takes a free
//! port of the loopback and prints its address.

mod client;
mod server;

use std::error::Error;

/// Handlers run in the order in which their messages come: there is one thread.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stdio"] => server::over_stdio().await,
        ["http", "plain"] => server::over_http().await,
        [example, mode, over, first, rest @ ..] => {
            let client = client::connect(mode, over, first, rest).await?;
            let seen = match *example {
                "notes" => client.notes().await?,
                "eras" => client.eras().await?,
                "revisions" => client.revisions().await?,
                other => {
                    return Err(
                        format!("no client is of `{other}`: try `notes`, `eras` or `revisions`").into()
                    );
                }
            };
            println!("{seen}");
            Ok(())
        }
        other => Err(format!(
            "unknown arguments {other:?}: try `stdio`, `http plain`, or `notes auto stdio COMMAND…`"
        )
        .into()),
    }
}
