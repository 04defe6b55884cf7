//! [`Operation`]: what a request is about to do, for the scopes that this needs.

use serde::Deserialize;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// The method, such as `tools/call`.
    pub method: &'a str,
    /// What it names: a tool, a prompt, or the URI of a resource.
    pub name: Option<&'a str>,
}

#[derive(Deserialize)]
struct Message {
    method: Option<String>,
    params: Option<Params>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    name: Option<String>,
    uri: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    One(Message),
    Several(Vec<Message>),
}

/// Shows each operation in the body of a request. The server itself refuses what is not one.
pub(super) fn each(body: &[u8], mut show: impl FnMut(Operation<'_>)) {
    let messages = match serde_json::from_slice(body) {
        Ok(Body::One(message)) => vec![message],
        Ok(Body::Several(messages)) => messages,
        Err(_) => return,
    };
    for Message { method, params } in messages {
        let params = params.unwrap_or_default();
        if let Some(method) = &method {
            show(Operation { method, name: params.name.as_deref().or(params.uri.as_deref()) });
        }
    }
}
