//! Checks the head of a request before its session is looked up: host, origin, accepted types, version.

use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};

use super::options::{Allowed, ServerOptions};
use super::refusal::{RequestRefusal, refused};
use crate::transport::http::headers::{EITHER, EVENT_STREAM, JSON};

/// Whether a request is for this server, and from a place that may ask it.
pub(super) fn check_source(parts: &Parts, options: &ServerOptions) -> Result<(), RequestRefusal> {
    let named = only(&parts.headers, &HOST)?.map(|host| host.to_str().unwrap_or_default());
    let addressed = parts.uri.authority().map(|authority| authority.as_str());
    // Where both are present, both count: a proxy may have looked at either.
    let mut hosts = named.into_iter().chain(addressed).peekable();
    if hosts.peek().is_none() && options.hosts != Allowed::Any {
        return Err(refused(StatusCode::FORBIDDEN, "the request does not say for which host it is"));
    }
    if let Some(host) = hosts.find(|host| !host_allowed(host, &options.hosts)) {
        return Err(refused(
            StatusCode::FORBIDDEN,
            format!("the host `{host}` is not among those of `ServerOptions::hosts`"),
        ));
    }
    for origin in parts.headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if !origin_allowed(origin, &options.origins) {
            let problem = format!("the origin `{origin}` is not among those of `ServerOptions::origins`");
            return Err(refused(StatusCode::FORBIDDEN, problem));
        }
    }
    Ok(())
}

fn host_allowed(host: &str, allowed: &Allowed) -> bool {
    match allowed {
        Allowed::Any => true,
        Allowed::Loopback => is_loopback(host),
        Allowed::Listed(listed) => listed.iter().any(|entry| matches_entry(host, entry)),
    }
}

fn origin_allowed(origin: &str, allowed: &Allowed) -> bool {
    match allowed {
        Allowed::Any => true,
        Allowed::Loopback => {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(is_loopback)
        }
        Allowed::Listed(listed) => listed.iter().any(|entry| matches_entry(origin, entry)),
    }
}

/// Whether a name, perhaps with a port, is this machine's own.
fn is_loopback(host: &str) -> bool {
    let name = without_port(host).unwrap_or(host);
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn matches_entry(value: &str, entry: &str) -> bool {
    value.eq_ignore_ascii_case(entry)
        || without_port(value).is_some_and(|name| name.eq_ignore_ascii_case(entry))
}

/// A name without its port, if it has one.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = host.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    // The last part of an address such as `[::1]` is not a port.
    (is_port && (!name.contains(':') || name.ends_with(']') || name.contains("://"))).then_some(name)
}

/// Whether a body is JSON, and as it is, as its head says.
pub(super) fn check_content(headers: &HeaderMap) -> Result<(), RequestRefusal> {
    let kind = only(headers, &CONTENT_TYPE)?;
    // Most clients write it in this word, which need not be taken apart.
    let in_this_word = kind.is_some_and(|kind| kind == JSON);
    if !in_this_word && !is_json(kind) {
        return Err(refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("the content type must be `{JSON}`"),
        ));
    }
    // A few bytes can stand for as many as one likes, so nothing is unpacked.
    let packed = headers.get_all(CONTENT_ENCODING).iter().any(|coding| coding != "identity");
    if packed {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must not be compressed"));
    }
    Ok(())
}

/// Whether a content type is JSON, with whatever parameters.
fn is_json(kind: Option<&HeaderValue>) -> bool {
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

/// Whether the client reads what a POST may be answered with: JSON, or a stream.
pub(super) fn check_accepts_both(headers: &HeaderMap) -> Result<(), RequestRefusal> {
    // Most clients write it in the same words, which need not be taken apart.
    let in_these_words = headers.get(ACCEPT).is_some_and(|value| value == EITHER);
    if in_these_words || (accepts(headers, JSON) && accepts(headers, EVENT_STREAM)) {
        return Ok(());
    }
    let problem = format!("the client must accept both `{JSON}` and `{EVENT_STREAM}`");
    Err(refused(StatusCode::NOT_ACCEPTABLE, problem))
}

/// Whether the client reads a stream.
pub(super) fn check_accepts_stream(headers: &HeaderMap) -> Result<(), RequestRefusal> {
    if accepts(headers, EVENT_STREAM) {
        return Ok(());
    }
    Err(refused(StatusCode::NOT_ACCEPTABLE, format!("the client must accept `{EVENT_STREAM}`")))
}

fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut listed = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if listed.peek().is_none() {
        // Who names nothing takes anything.
        return true;
    }
    let (family, _) = wanted.split_once('/').unwrap_or((wanted, ""));
    listed.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let fits = name == "*/*"
            || name.eq_ignore_ascii_case(wanted)
            || name.strip_suffix("/*").is_some_and(|name| name.eq_ignore_ascii_case(family));
        let refuses = |part: &str| {
            let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
            weight.and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|weight| weight <= 0.0)
        };
        fits && !parts.any(refuses)
    })
}

/// Returns a header that may occur once. Of several, a proxy may have looked at another one.
pub(super) fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, RequestRefusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(refused(StatusCode::BAD_REQUEST, format!("`{name}` is there more than once"))),
        (value, None) => Ok(value),
    }
}

/// A header as text.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_distinguished_from_other_hosts() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.0.1:1", "[::1]", "[::1]:8080", "::1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "example.org",
            "localhost.example.org",
            "127.0.0.1.nip.io",
            "10.0.0.1:80",
            "",
            ":80",
            "[::2]:1",
            // Another name, as far as a browser is concerned, and what resolves it.
            "localhost.",
            "localhost.:80",
            "sub.localhost",
            // Other parsers take the part behind the `@`, or the last of several ports.
            "localhost@example.org",
            "localhost:80@example.org",
            "localhost:80:80",
            "[::1]:80:80",
            "[::1]x",
            "[::1",
            "::1:8080",
            "localhost:",
            "localhost:+80",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "0.0.0.0",
            " localhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn origins_need_their_scheme() {
        assert!(origin_allowed("http://localhost:3000", &Allowed::Loopback));
        assert!(origin_allowed("https://[::1]", &Allowed::Loopback));
        for origin in
            ["null", "localhost", "http://evil.example", "http://localhost.evil.example", "ftp://localhost"]
        {
            assert!(!origin_allowed(origin, &Allowed::Loopback), "{origin}");
        }
        for origin in [
            "http://localhost@evil.example",
            "http://localhost:80@evil.example",
            "http://evil.example#http://localhost",
            "http://localhost/",
            "http://localhost http://evil.example",
            "http://",
            "http:localhost",
        ] {
            assert!(!origin_allowed(origin, &Allowed::Loopback), "{origin}");
        }
        let listed = Allowed::Listed(vec!["https://example.org".to_owned()]);
        assert!(origin_allowed("https://example.org", &listed));
        assert!(origin_allowed("https://example.org:8443", &listed));
        assert!(!origin_allowed("http://example.org", &listed));
        assert!(!origin_allowed("https://example.org.evil.example", &listed));
    }

    #[test]
    fn listed_hosts() {
        let listed = Allowed::Listed(vec!["example.org".to_owned(), "one.example:81".to_owned()]);
        assert!(host_allowed("Example.org:99", &listed) && host_allowed("one.example:81", &listed));
        assert!(!host_allowed("one.example", &listed) && !host_allowed("localhost", &listed));
    }

    #[test]
    fn what_a_client_accepts() {
        let accepted = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, value.parse().unwrap());
            check_accepts_both(&headers).is_ok()
        };
        for value in [
            "application/json, text/event-stream",
            "*/*",
            "text/*;q=0.5,application/*",
            "Application/JSON,TEXT/event-stream",
        ] {
            assert!(accepted(value), "{value}");
        }
        for value in [
            "application/json",
            "text/event-stream",
            "text/html",
            "application/json, text/event-stream;q=0",
            "",
        ] {
            assert!(!accepted(value), "{value}");
        }
        assert!(check_accepts_both(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn content_types() {
        let taken = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, value.parse().unwrap());
            check_content(&headers).is_ok()
        };
        assert!(taken("application/json") && taken("application/JSON; charset=utf-8"));
        assert!(!taken("text/plain") && !taken("application/jsonp") && !taken(""));
        assert!(check_content(&HeaderMap::new()).is_err());
    }
}
