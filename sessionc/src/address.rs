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

/// Reads the address of a server that is guarded. Clients call the guard with a path of their own, so a query and what
/// authorizes them is theirs, too.
///
/// # Errors
/// The same, and if the address has what clients send.
pub(crate) fn guarded(written: &str) -> Result<Uri, Failure> {
    let uri = server(written)?;
    let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    match (has_user, uri.query()) {
        (true, _) => Err(Failure::OfClients("a name before the `@`")),
        (false, Some(_)) => Err(Failure::OfClients("a query behind the `?`")),
        (false, None) => Ok(uri),
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
    fn what_clients_send_does_not_belong_to_the_address_of_the_server() {
        for (written, what) in [
            ("http://127.0.0.1:3001/mcp?token=secret", "a query behind the `?`"),
            ("http://user:secret@127.0.0.1:3001/mcp", "a name before the `@`"),
        ] {
            let problem = guarded(written).unwrap_err().to_string();
            assert!(problem.contains(what) && !problem.contains("secret"), "{problem}");
        }
        guarded("http://127.0.0.1:3001/mcp").unwrap();
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
