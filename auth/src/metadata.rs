//! [`ResourceMetadata`]: what a protected resource says about itself (RFC 9728), and where.

use serde::{Deserialize, Serialize};
use url::Url;

/// The part of the path under which the metadata of a protected resource is.
pub(crate) const PROTECTED_RESOURCE: &str = "oauth-protected-resource";

/// What a protected resource says about itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bearer_methods_supported: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource_name: Option<String>,
}

/// The address of well-known metadata: the name stands between the host and the path of the address.
pub(crate) fn well_known(of: &Url, name: &str) -> Url {
    let mut url = at_root(of, name);
    url.set_path(&format!("/.well-known/{name}{}", of.path().trim_end_matches('/')));
    url
}

/// The same for the host as a whole.
pub(crate) fn at_root(of: &Url, name: &str) -> Url {
    let mut url = of.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(&format!("/.well-known/{name}"));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_stands_before_the_path() {
        let of = |address: &str| well_known(&Url::parse(address).unwrap(), PROTECTED_RESOURCE).to_string();
        assert_eq!(
            of("https://a.example/x/mcp?q#f"),
            "https://a.example/.well-known/oauth-protected-resource/x/mcp"
        );
        assert_eq!(
            of("https://a.example:8443/"),
            "https://a.example:8443/.well-known/oauth-protected-resource"
        );
        assert_eq!(
            of("https://a.example/mcp/"),
            "https://a.example/.well-known/oauth-protected-resource/mcp"
        );
        let root = at_root(&Url::parse("https://a.example/mcp").unwrap(), PROTECTED_RESOURCE);
        assert_eq!(root.path(), "/.well-known/oauth-protected-resource");
    }
}
