//! What is never a message of the protocol, and what is hard to read.

use mcp_protocol_machine::protocol::{Dialect, Protocol};
use serde_json::{Value, json};

use super::payload::NOTHING;
use super::session::{complete, written};

/// How long the text of [`Wire::Large`] is, in bytes.
const LARGE: usize = 4 << 20;
/// How many lists are nested in [`Wire::Deep`].
const DEEP: usize = 10_000;

/// Bytes that are wrong in any state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    NotJson,
    NotUtf8,
    NoJsonrpc,
    OldJsonrpc,
    NullId,
    FractionId,
    ObjectId,
    NumberMethod,
    Batch,
    EmptyBatch,
    RequestWithoutId,
    NotificationWithId,
    UnknownMethod,
    UnknownNotification,
    UsedId,
    ReplyToNothing,
    ErrorToNothing,
    ResultAndError,
    Large,
    Deep,
}

/// A request that is permitted, which is written in a wrong way.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    pub(crate) method: String,
    pub(crate) params: Option<Value>,
    /// The members of its envelope that the protocol has of its own.
    pub(crate) members: Vec<(String, Value)>,
}

/// What the bytes are made of.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The request, if one is permitted.
    pub(crate) carrier: Option<Carrier>,
    /// A notification of the client.
    pub(crate) notification: Option<String>,
    /// An id that is not used yet.
    pub(crate) id: Value,
    /// An id that is used.
    pub(crate) used: Option<Value>,
}

/// Bytes to send.
#[derive(Clone, Debug)]
pub(crate) struct WrittenOffence {
    pub(crate) bytes: Vec<u8>,
    /// The id by which an answer is known.
    pub(crate) id: Option<Value>,
    /// The bytes are a request whose id can be read: a server that does not answer keeps its client waiting.
    pub(crate) wants_answer: bool,
}

impl Wire {
    pub(crate) const ALL: [Wire; 20] = [
        Wire::NotJson,
        Wire::NotUtf8,
        Wire::NoJsonrpc,
        Wire::OldJsonrpc,
        Wire::NullId,
        Wire::FractionId,
        Wire::ObjectId,
        Wire::NumberMethod,
        Wire::Batch,
        Wire::EmptyBatch,
        Wire::RequestWithoutId,
        Wire::NotificationWithId,
        Wire::UnknownMethod,
        Wire::UnknownNotification,
        Wire::UsedId,
        Wire::ReplyToNothing,
        Wire::ErrorToNothing,
        Wire::ResultAndError,
        Wire::Large,
        Wire::Deep,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Wire::NotJson => "text that is not JSON",
            Wire::NotUtf8 => "text that is not UTF-8",
            Wire::NoJsonrpc => "a request without `jsonrpc`",
            Wire::OldJsonrpc => "a request with `jsonrpc` 1.0",
            Wire::NullId => "a request with the id null",
            Wire::FractionId => "a request with the id 1.5",
            Wire::ObjectId => "a request with an object as its id",
            Wire::NumberMethod => "a request with a number as its method",
            Wire::Batch => "a batch",
            Wire::EmptyBatch => "an empty batch",
            Wire::RequestWithoutId => "a request without an id",
            Wire::NotificationWithId => "a notification with an id",
            Wire::UnknownMethod => "a request with an unknown method",
            Wire::UnknownNotification => "a notification with an unknown method",
            Wire::UsedId => "a request with an id that was used before",
            Wire::ReplyToNothing => "a result that answers nothing",
            Wire::ErrorToNothing => "an error that answers nothing",
            Wire::ResultAndError => "a reply with a result and an error",
            Wire::Large => "a request of 4 MiB",
            Wire::Deep => "a request with 10000 nested lists",
        }
    }

    /// Whether the protocol forbids it at all.
    pub(crate) fn is_forbidden(self, protocol: &Protocol) -> bool {
        match self {
            Wire::Batch => !protocol.batch,
            Wire::NoJsonrpc | Wire::OldJsonrpc => protocol.dialect == Dialect::Standard,
            // Notifications have the id null there.
            Wire::RequestWithoutId => protocol.dialect != Dialect::Version1,
            Wire::UsedId => !protocol.reuses_ids,
            _ => true,
        }
    }

    /// Whether a server may read the bytes as a message without an id, and answer with an error that has none: they are not
    /// a request that is well formed.
    pub(crate) const fn hides_its_id(self) -> bool {
        !matches!(self, Wire::NotificationWithId | Wire::UnknownMethod | Wire::UsedId)
    }

    /// The message whose head the bytes are sent with, if not with their own: they cannot be read as a message, or as one
    /// that says what its head repeats.
    pub(crate) fn like(self, protocol: &Protocol, parts: &Parts) -> Option<String> {
        let names_other =
            matches!(self, Wire::UnknownMethod | Wire::UnknownNotification | Wire::NotificationWithId);
        let carrier = parts.carrier.as_ref().filter(|_| !names_other)?;
        Some(written(protocol, Some(&parts.id), &carrier.method, carrier.params.as_ref(), &carrier.members))
    }

    /// The bytes; nothing if what they are made of is missing.
    pub(crate) fn write(self, protocol: &Protocol, parts: &Parts) -> Option<WrittenOffence> {
        let id = &parts.id;
        let request = |id: &Value| {
            let carrier = parts.carrier.as_ref()?;
            Some(written(protocol, Some(id), &carrier.method, carrier.params.as_ref(), &carrier.members))
        };
        let changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let mut message: Value = serde_json::from_str(&request(id)?).ok()?;
            change(message.as_object_mut()?);
            Some(message.to_string())
        };
        let reply = |members: Value| {
            let mut message = json!({ "id": NOTHING });
            message.as_object_mut()?.extend(members.as_object()?.clone());
            complete(protocol, &mut message);
            Some(message.to_string())
        };
        let error = json!({ "code": -32603, "message": "of nothing" });
        let wants = |text: String| WrittenOffence {
            bytes: text.into_bytes(),
            id: Some(id.clone()),
            wants_answer: true,
        };
        let may = |text: String, id: &Value| WrittenOffence {
            bytes: text.into_bytes(),
            id: Some(id.clone()),
            wants_answer: false,
        };
        // What every request of the protocol says of itself.
        let plain = || {
            let params = parts.carrier.as_ref().and_then(|carrier| carrier.params.as_ref());
            let meta = params.and_then(|params| params.get("_meta"));
            meta.map_or_else(|| json!({}), |meta| json!({ "_meta": meta }))
        };
        let silent =
            |text: String| WrittenOffence { bytes: text.into_bytes(), id: None, wants_answer: false };
        Some(match self {
            Wire::NotJson => silent(request(id)?.trim_end_matches('}').to_owned() + ","),
            Wire::NotUtf8 => {
                let mut written = may(changed(&|message| insert(message, "note", json!("?")))?, id);
                // The only question mark is the one that was put there.
                let place = written.bytes.iter().rposition(|byte| *byte == b'?')?;
                *written.bytes.get_mut(place)? = 0xff;
                written
            }
            Wire::NoJsonrpc => wants(changed(&|message| drop(message.remove("jsonrpc")))?),
            Wire::OldJsonrpc => wants(changed(&|message| insert(message, "jsonrpc", json!("1.0")))?),
            Wire::NullId => may(request(&Value::Null)?, &Value::Null),
            Wire::FractionId => may(request(&json!(1.5))?, &json!(1.5)),
            Wire::ObjectId => may(request(&json!({ "n": 1 }))?, &json!({ "n": 1 })),
            Wire::NumberMethod => wants(changed(&|message| insert(message, "method", json!(5)))?),
            Wire::Batch => may(format!("[{}]", request(id)?), id),
            Wire::EmptyBatch => silent("[]".to_owned()),
            Wire::RequestWithoutId => {
                let carrier = parts.carrier.as_ref()?;
                silent(written(protocol, None, &carrier.method, carrier.params.as_ref(), &carrier.members))
            }
            Wire::NotificationWithId => {
                wants(written(protocol, Some(id), parts.notification.as_deref()?, Some(&plain()), &[]))
            }
            Wire::UnknownMethod => wants(written(protocol, Some(id), "probe/unknown", Some(&plain()), &[])),
            Wire::UnknownNotification => {
                silent(written(protocol, None, "probe/unknown", Some(&plain()), &[]))
            }
            Wire::UsedId => {
                let used = parts.used.as_ref()?;
                WrittenOffence {
                    bytes: request(used)?.into_bytes(),
                    id: Some(used.clone()),
                    wants_answer: true,
                }
            }
            Wire::ReplyToNothing => silent(reply(json!({ "result": {} }))?),
            Wire::ErrorToNothing => silent(reply(json!({ "error": error }))?),
            Wire::ResultAndError => silent(reply(json!({ "result": {}, "error": error }))?),
            Wire::Large => wants(padded(&request(id)?, &format!("\"{}\"", "a".repeat(LARGE)))?),
            Wire::Deep => wants(padded(&request(id)?, &("[".repeat(DEEP) + &"]".repeat(DEEP)))?),
        })
    }
}

fn insert(message: &mut serde_json::Map<String, Value>, key: &str, value: Value) {
    message.insert(key.to_owned(), value);
}

/// A request with one more member in its params. The member is put in as text, because it may be nested too deep for a
/// value.
fn padded(request: &str, member: &str) -> Option<String> {
    let mut message: Value = serde_json::from_str(request).ok()?;
    let members = message.as_object_mut()?;
    let mut params = members.remove("params").filter(Value::is_object).unwrap_or_else(|| json!({}));
    insert(params.as_object_mut()?, "probe", json!("PROBE"));
    insert(members, "params", params);
    Some(message.to_string().replacen("\"PROBE\"", member, 1))
}

#[cfg(test)]
mod tests {
    use mcp_protocols::mcp_2025_11_25::PROTOCOL;
    use mcp_runtime::Options;
    use mcp_runtime::observer::Observer;
    use mcp_runtime::protocol::Side;

    use super::*;

    fn parts() -> Parts {
        Parts {
            carrier: Some(Carrier { method: "ping".to_owned(), params: None, members: Vec::new() }),
            notification: Some("notifications/initialized".to_owned()),
            id: json!(7),
            used: Some(json!(1)),
        }
    }

    /// What the session accepts of these is only hard to read.
    #[test]
    fn each_is_refused_by_the_protocol_or_hard_to_read() {
        for wire in Wire::ALL {
            let mut observer = Observer::new(&PROTOCOL, Options::new()).unwrap();
            let used = written(&PROTOCOL, Some(&json!(1)), "ping", None, &[]);
            assert!(observer.observe(Side::Client, used.as_bytes()).iter().all(|one| one.is_clean()));
            observer.observe(Side::Server, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
            let bytes = wire.write(&PROTOCOL, &parts()).unwrap().bytes;
            let clean = observer.observe(Side::Client, &bytes).iter().all(|one| one.is_clean());
            assert_eq!(clean, wire == Wire::Large, "{}", wire.name());
        }
    }

    #[test]
    fn a_batch_is_forbidden_where_the_revision_has_none() {
        assert!(Wire::Batch.is_forbidden(&PROTOCOL));
        assert!(!Wire::Batch.is_forbidden(&mcp_protocols::mcp_2025_03_26::PROTOCOL));
    }

    #[test]
    fn what_needs_a_request_is_not_written_without_one() {
        let parts = Parts { carrier: None, ..parts() };
        assert!(Wire::NoJsonrpc.write(&PROTOCOL, &parts).is_none());
        assert!(Wire::EmptyBatch.write(&PROTOCOL, &parts).is_some());
    }
}
