//! `sessionc lsp`: the language server, on the standard streams.

use lsp_protocols::lsp_3_17::LspServer;
use mcp_runtime::transport::{Framing, stdio};
use mcp_runtime::{Options, Report};

use crate::end::End;
use crate::files::Failure;
use crate::lsp::{ExitCode, serve};
use crate::print::complain;

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
        let options = Options::new().on_report(log);
        let server = LspServer::with_options(stdio().framing(Framing::ContentLength), options);
        serve(server).await
    });
    // What is still being answered has no reader.
    runtime.shutdown_background();
    match code.map_err(Failure::Session)? {
        ExitCode::Clean => Ok(End::Clean),
        ExitCode::Unclean => Ok(End::Findings),
    }
}

/// Writes into the log of the editor, which is standard error, what it has sent that cannot be read: a document, for
/// instance, whose URI is not one.
fn log(report: &Report) {
    if matches!(report, Report::Undecodable { .. }) {
        complain(format!("sessionc: {report}"));
    }
}
