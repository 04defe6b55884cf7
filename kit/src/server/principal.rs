//! Who makes a request.

use mcp_protocols::eras::Context;

/// The principal that makes a request: over HTTP, what [`ServerOptions::principal`] has named. There is none over other
/// transports.
///
/// [`ServerOptions::principal`]: mcp_runtime::transport::http::ServerOptions::principal()
#[cfg(feature = "http")]
pub fn principal(context: &Context) -> Option<String> {
    let head = context.extension::<mcp_runtime::transport::http::RequestHead>()?;
    head.principal().map(str::to_owned)
}

/// The principal that makes a request. Only HTTP, a feature, has principals.
#[cfg(not(feature = "http"))]
pub fn principal(_: &Context) -> Option<String> {
    None
}
