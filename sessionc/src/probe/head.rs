//! What can be wrong around a message that the protocol permits: the head of its HTTP request, and the revision it names.

use mcp_protocol_machine::protocol::{Protocol, Strictness};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::payload::set;

/// A revision that there is not.
pub(crate) const NO_REVISION: &str = "1900-01-01";
/// The id of a session that there is not.
const NO_SESSION: &str = "probe-of-no-session";

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Where a request says its revision whose head repeats it.
const REVISION_PATH: [&str; 2] = ["_meta", "io.modelcontextprotocol/protocolVersion"];
/// The first revision whose requests say it in their heads.
const FIRST_WITH_HEADER: &str = "2025-06-18";

/// A permitted request that is sent in a wrong way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The request names a revision that there is not, in its head as well.
    NoRevision,
    OtherRevision,
    NoMethod,
    OtherMethod,
    NoSession,
    OtherSession,
}

impl Head {
    const ALL: [Head; 6] = [
        Head::NoRevision,
        Head::OtherRevision,
        Head::NoMethod,
        Head::OtherMethod,
        Head::NoSession,
        Head::OtherSession,
    ];

    /// Those that a protocol forbids over HTTP, or over streams.
    pub(crate) fn forbidden(protocol: &Protocol, over_http: bool) -> impl Iterator<Item = Head> {
        let stands_alone = protocol.version_of_each_request().is_some();
        let has_header = protocol.version.as_ref().is_some_and(|version| &**version >= FIRST_WITH_HEADER);
        Head::ALL.into_iter().filter(move |head| match head {
            Head::NoRevision => stands_alone,
            Head::OtherRevision => over_http && has_header,
            Head::NoMethod | Head::OtherMethod => over_http && stands_alone,
            Head::NoSession | Head::OtherSession => over_http && !stands_alone,
        })
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Head::NoRevision => "a request of a revision that does not exist",
            Head::OtherRevision => "a request whose head names another revision",
            Head::NoMethod => "a request whose head does not name its method",
            Head::OtherMethod => "a request whose head names another method",
            Head::NoSession => "a request without the id of its session",
            Head::OtherSession => "a request with the id of a session that does not exist",
        }
    }

    /// How strictly it is forbidden.
    pub(crate) const fn strictness(self) -> Strictness {
        if matches!(self, Head::NoSession) { Strictness::Should } else { Strictness::Must }
    }

    /// What is to be done about it.
    pub(crate) const fn rule(self) -> &'static str {
        match self {
            Head::NoRevision => "a server refuses a request of a revision that it does not speak [must]",
            Head::OtherRevision => "`MCP-Protocol-Version` names the revision that governs [must]",
            Head::NoMethod | Head::OtherMethod => "`Mcp-Method` names the method of the request [must]",
            Head::NoSession => "a request without the id of its session is refused with 400 [should]",
            Head::OtherSession => "a request of a session that does not exist is refused with 404 [must]",
        }
    }

    /// Changes the params of the request.
    pub(crate) fn change_params(self, protocol: &Protocol, params: &mut Option<Value>) {
        if let (Head::NoRevision, Some(place)) = (self, protocol.version_of_each_request()) {
            let none = if protocol.numeric_version { u64::MAX.into() } else { Value::from(NO_REVISION) };
            set(params, &place.path, none);
        }
    }

    /// Changes the head that its message has. Returns whether there was something to change.
    pub(crate) fn change(self, headers: &mut HeaderMap) -> bool {
        let mut say = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value)).is_some()
        };
        match self {
            // The head repeats what the message says.
            Head::NoRevision => true,
            Head::OtherRevision => say(REVISION, NO_REVISION),
            Head::OtherMethod => say(METHOD, "probe/other"),
            Head::OtherSession => say(SESSION, NO_SESSION),
            Head::NoMethod => headers.remove(METHOD).is_some(),
            Head::NoSession => headers.remove(SESSION).is_some(),
        }
    }
}

/// What the head of a request repeats of its message, if the message says its revision.
pub(crate) fn repeated(message: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Ok(message) = serde_json::from_slice::<Value>(message) else { return headers };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let params = message.get("params");
    let meta = params.and_then(|params| params.get(REVISION_PATH[0]));
    let Some(revision) = text(meta.and_then(|meta| meta.get(REVISION_PATH[1]))) else { return headers };
    let method = text(message.get("method"));
    let of_params = |name: &str| text(params.and_then(|params| params.get(name)));
    let name = match method.as_deref() {
        Some("tools/call" | "prompts/get") => of_params("name"),
        Some("resources/read") => of_params("uri"),
        _ => None,
    };
    for (header, value) in [(REVISION, Some(revision)), (METHOD, method), (NAME, name)] {
        // What cannot stand in a header comes from a sample: the server says what it thinks of it.
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(header, value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use mcp_protocols::{mcp_2024_11_05, mcp_2025_11_25, mcp_2026_07_28};
    use serde_json::json;

    use super::*;

    fn names(protocol: &Protocol, over_http: bool) -> Vec<Head> {
        Head::forbidden(protocol, over_http).collect()
    }

    #[test]
    fn what_can_be_wrong_follows_from_the_revision_and_the_transport() {
        use Head::{NoMethod, NoRevision, NoSession, OtherMethod, OtherRevision, OtherSession};
        let alone = &mcp_2026_07_28::PROTOCOL;
        assert_eq!(names(alone, false), [NoRevision]);
        assert_eq!(names(alone, true), [NoRevision, OtherRevision, NoMethod, OtherMethod]);
        let session = &mcp_2025_11_25::PROTOCOL;
        assert_eq!(names(session, false), []);
        assert_eq!(names(session, true), [OtherRevision, NoSession, OtherSession]);
        assert_eq!(names(&mcp_2024_11_05::PROTOCOL, true), [NoSession, OtherSession]);
    }

    #[test]
    fn the_head_repeats_what_a_request_says_that_stands_alone() {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let request = |method: &str, params: Value| {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let headers = repeated(message.to_string().as_bytes());
            [REVISION, METHOD, NAME]
                .map(|name| headers.get(name).map(|value| value.to_str().unwrap().to_owned()))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            request("tools/call", json!({ "name": "add", "_meta": meta })),
            [some("2026-07-28"), some("tools/call"), some("add")]
        );
        assert_eq!(
            request("resources/read", json!({ "uri": "demo://one", "_meta": meta })),
            [some("2026-07-28"), some("resources/read"), some("demo://one")]
        );
        // A request of a session does not.
        assert_eq!(request("tools/call", json!({ "name": "add" })), [None, None, None]);
        assert!(repeated(b"{").is_empty());
    }

    #[test]
    fn a_head_is_changed_where_it_has_what_is_to_be_wrong() {
        let mut headers = HeaderMap::new();
        assert!(!Head::NoSession.change(&mut headers) && !Head::OtherMethod.change(&mut headers));
        let mut headers = HeaderMap::from_iter([(SESSION, HeaderValue::from_static("7"))]);
        assert!(Head::OtherSession.change(&mut headers));
        assert_eq!(headers[SESSION], NO_SESSION);
        assert!(Head::NoSession.change(&mut headers) && headers.is_empty());
        let mut params =
            Some(json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }));
        Head::NoRevision.change_params(&mcp_2026_07_28::PROTOCOL, &mut params);
        assert_eq!(params.unwrap()["_meta"]["io.modelcontextprotocol/protocolVersion"], NO_REVISION);
    }
}
