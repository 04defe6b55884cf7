//! The addresses of servers over HTTP, as they stand on a command line.

use axum::http::uri::{Scheme, Uri};

use crate::files::Failure;

/// Reads the address of a server that this program can reach: `http`, and with the feature `tls` `https`.
///
/// # Errors
/// If it is not the address of a server, or needs the feature.
pub(crate) fn server(written: &str) -> Result<Uri, Failure> {
    let uri: Uri = written.parse().map_err(|_| Failure::NotAnAddress(written.to_owned()))?;
    match (uri.scheme(), uri.authority()) {
        (Some(scheme), Some(_)) if *scheme == Scheme::HTTP => Ok(uri),
        (Some(scheme), Some(_)) if *scheme == Scheme::HTTPS && cfg!(feature = "tls") => Ok(uri),
        (Some(scheme), Some(_)) if *scheme == Scheme::HTTPS => Err(Failure::Encrypted(written.to_owned())),
        _ => Err(Failure::NotAnAddress(written.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_an_address_of_http_is_refused() {
        let problem = |written: &str| server(written).unwrap_err().to_string();
        for written in ["127.0.0.1:3001", "ws://127.0.0.1:3001", "localhost", "/mcp", "", "http://"] {
            assert!(problem(written).contains("write `http://HOST:PORT/PATH`"), "{written}");
        }
        server("http://127.0.0.1:3001/mcp").unwrap();
    }

    #[test]
    fn an_address_of_https_needs_its_feature() {
        let read = server("https://example.com/mcp");
        assert_eq!(read.is_ok(), cfg!(feature = "tls"));
        if let Err(problem) = read {
            assert!(problem.to_string().contains("--features tls"), "{problem}");
        }
    }
}
