//! Identifies the client of a request, by address and by principal.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::HeaderName;
use axum::http::request::Parts;

use super::options::{Identify, ServerOptions};
use crate::driver::PeerIdentity;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Who makes a request, as far as that is known.
pub(super) fn identified(parts: &Parts, options: &ServerOptions) -> PeerIdentity {
    let principal = options.principal.as_ref().and_then(|Identify(identify)| identify(parts));
    PeerIdentity { address: address(parts, &options.trusted_proxies), principal: principal.map(Into::into) }
}

/// The address that a request comes from. One that was forwarded counts only as far as the senders are trusted: the
/// last address that none of them has is where it came from.
fn address(parts: &Parts, trusted: &[IpAddr]) -> Option<IpAddr> {
    let ConnectInfo(address) = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
    let mut address = address.ip().to_canonical();
    if !trusted.contains(&address) {
        return Some(address);
    }
    let values: Vec<&str> =
        parts.headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok()).collect();
    let mut forwarded = values.iter().rev().flat_map(|value| value.rsplit(','));
    while trusted.contains(&address) {
        let Some(before) = forwarded.next().and_then(|text| read(text.trim())) else { break };
        address = before.to_canonical();
    }
    Some(address)
}

/// Reads an address, perhaps with a port.
fn read(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(from: &str, forwarded: &[&str], trusted: &[&str]) -> String {
        let from: SocketAddr = from.parse().unwrap();
        let mut request = axum::http::Request::builder().extension(ConnectInfo(from));
        for value in forwarded {
            request = request.header(FORWARDED_FOR, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let trusted: Vec<IpAddr> = trusted.iter().map(|address| address.parse().unwrap()).collect();
        address(&parts, &trusted).unwrap().to_string()
    }

    #[test]
    fn forwarded_addresses_count_only_if_their_sender_is_trusted() {
        assert_eq!(seen("10.0.0.1:1", &["1.2.3.4"], &[]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1:1", &["1.2.3.4"], &["10.0.0.2"]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1:1", &["1.2.3.4"], &["10.0.0.1"]), "1.2.3.4");
        // What a client says of itself stands before what the proxy has seen.
        assert_eq!(seen("10.0.0.1:1", &["9.9.9.9, 1.2.3.4"], &["10.0.0.1"]), "1.2.3.4");
        assert_eq!(seen("10.0.0.1:1", &["9.9.9.9", "1.2.3.4"], &["10.0.0.1"]), "1.2.3.4");
        let both = ["10.0.0.1", "10.0.0.2"];
        assert_eq!(seen("10.0.0.1:1", &["9.9.9.9, 1.2.3.4, 10.0.0.2"], &both), "1.2.3.4");
        assert_eq!(seen("10.0.0.1:1", &["nonsense"], &["10.0.0.1"]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1:1", &[], &["10.0.0.1"]), "10.0.0.1");
        assert_eq!(seen("[::ffff:10.0.0.1]:1", &["[2001:db8::1]:80"], &["10.0.0.1"]), "2001:db8::1");
    }

    #[test]
    fn a_request_without_a_connection_has_no_address() {
        let request = axum::http::Request::builder().header(FORWARDED_FOR, "1.2.3.4");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert!(address(&parts, &[]).is_none());
    }
}
