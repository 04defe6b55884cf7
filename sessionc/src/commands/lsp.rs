//! `sessionc lsp`: the language server, on the standard streams.

use lsp_protocols::lsp_3_17::LspServer;
use mcp_runtime::transport::{Framing, stdio};

use crate::end::End;
use crate::files::Failure;
use crate::lsp::{ExitCode, serve};

/// How many questions are answered at the same time.
const THREADS: usize = 4;

/// Serves one editor until it asks the server to exit.
pub(crate) fn run() -> Result<End, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(THREADS)
        .build()
        .map_err(Failure::Start)?;
    let code = runtime.block_on(async {
        let server = LspServer::new(stdio().framing(Framing::ContentLength));
        serve(server).await
    });
    // What is still being answered has no reader.
    runtime.shutdown_background();
    match code.map_err(Failure::Session)? {
        ExitCode::Clean => Ok(End::Clean),
        ExitCode::Unclean => Ok(End::Findings),
    }
}
