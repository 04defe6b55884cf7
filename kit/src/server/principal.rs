//! Who makes a request.

use mcp_protocols::eras::Context;

/// The principal that makes a request: over HTTP, what `ServerOptions::principal` has named. There is none over standard streams.
pub fn principal_of(context: &Context) -> Option<String> {
    context.peer_identity().principal.map(|principal| principal.to_string())
}
