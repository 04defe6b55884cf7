//! [`Redirect`]: where a server redirects to, in so far as it is said without an address, which may hold secrets.

use reqwest::Url;
use reqwest::header::LOCATION;

use super::response::Response;

/// Where a server redirects to. Redirects are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redirect {
    /// To the same address with a `/` at the end of its path.
    SlashAdded,
    /// To the same address without the `/` at the end of its path.
    SlashRemoved,
    /// To the same address with `https`.
    Https,
    /// To another address.
    Elsewhere,
}

impl Redirect {
    /// Where this answer to a request for a URL redirects to, if it does.
    pub(super) fn of(response: &Response, url: &Url) -> Option<Redirect> {
        if !response.status().is_redirection() {
            return None;
        }
        let location = response.headers().get(LOCATION)?.to_str().ok()?;
        Some(Redirect::from_to(url, &url.join(location).ok()?))
    }

    /// The scheme counts only where all else is the same: a server behind a proxy often does not know that it is reached
    /// with `https`.
    fn from_to(from: &Url, to: &Url) -> Redirect {
        if from.host() != to.host() {
            Redirect::Elsewhere
        } else if to.path().strip_suffix('/') == Some(from.path()) {
            Redirect::SlashAdded
        } else if from.path().strip_suffix('/') == Some(to.path()) {
            Redirect::SlashRemoved
        } else if from.path() == to.path() && (from.scheme(), to.scheme()) == ("http", "https") {
            Redirect::Https
        } else {
            Redirect::Elsewhere
        }
    }

    /// What to do about it.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Redirect::SlashAdded => {
                "it redirects to the same address with a `/` at the end, which is not followed: give `HttpClient` that one"
            }
            Redirect::SlashRemoved => {
                "it redirects to the same address without the `/` at the end, which is not followed: give `HttpClient` that one"
            }
            Redirect::Https => {
                "it redirects to `https`, which is not followed: give `HttpClient` the address that begins with `https://`"
            }
            Redirect::Elsewhere => {
                "it redirects to another address, which is not followed: give `HttpClient` the final one"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_in_the_address_is_said() {
        for (from, location, redirect) in [
            ("http://a.example/mcp", "/mcp/", Redirect::SlashAdded),
            ("https://a.example/mcp", "http://a.example/mcp/", Redirect::SlashAdded),
            ("http://a.example:8000/mcp/", "http://a.example:8000/mcp", Redirect::SlashRemoved),
            ("http://a.example/mcp", "https://a.example/mcp", Redirect::Https),
            ("http://a.example/mcp", "https://a.example/login", Redirect::Elsewhere),
            ("http://a.example/mcp", "http://b.example/mcp/", Redirect::Elsewhere),
            ("http://a.example", "/mcp/", Redirect::Elsewhere),
        ] {
            let from = Url::parse(from).unwrap();
            let to = from.join(location).unwrap();
            assert_eq!(Redirect::from_to(&from, &to), redirect, "{from} {location}");
        }
    }
}
