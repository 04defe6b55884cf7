//! The head of a message: its method, its id, and where its payload stands.

use std::borrow::Cow;

use mcp_runtime::observer::{JsonValue, MessageText};
use mcp_runtime::protocol::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a message says of itself: what it asks for, or what it answers. Nothing of it is judged.
pub(crate) struct MessageHead<'a> {
    method: Option<Cow<'a, str>>,
    id: Option<&'a str>,
    result: Option<&'a str>,
    params: Option<&'a str>,
}

/// The same, as a text is read that was not read before.
#[derive(Deserialize)]
struct RawHead<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl<'a> MessageHead<'a> {
    /// Of a batch this is the head of the first message.
    pub(crate) fn of(message: MessageText<'a>) -> Option<MessageHead<'a>> {
        if let Some(members) = message.value().and_then(|value| value.plain_members()) {
            return MessageHead::of_members(members);
        }
        let bytes = message.bytes();
        let first = bytes.strip_prefix(b"[").map_or(bytes, |rest| rest.trim_ascii_start());
        let mut heads = serde_json::Deserializer::from_slice(first).into_iter::<RawHead<'_>>();
        let RawHead { method, id, result, params } = heads.next()?.ok()?;
        let [id, result, params] = [id, result, params].map(|value| value.map(RawValue::get));
        Some(MessageHead { method, id, result, params })
    }

    /// The id of the request, or of the one that a reply answers.
    pub(crate) fn id(&self) -> Option<RequestId> {
        serde_json::from_str(self.id?).ok()
    }

    /// The request that this is a reply to, if it is one.
    pub(crate) fn replies_to(&self) -> Option<RequestId> {
        self.id().filter(|_| self.method.is_none())
    }

    /// The id of the request that this is, if it is one.
    pub(crate) fn asks(&self) -> Option<RequestId> {
        self.id().filter(|_| self.method.is_some())
    }

    /// The result of a reply, as it is written.
    pub(crate) fn result(&self) -> Option<&'a str> {
        self.result
    }

    /// The method, if it has one.
    pub(crate) fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// The method, without the rest.
    pub(crate) fn into_method(self) -> Option<Cow<'a, str>> {
        self.method
    }

    /// The params, as they are written.
    pub(crate) fn params(&self) -> Option<&'a str> {
        self.params
    }

    fn of_members(members: impl Iterator<Item = (&'a str, JsonValue<'a>)>) -> Option<MessageHead<'a>> {
        let (mut method, mut id, mut result, mut params) = (None, None, None, None);
        for (key, value) in members {
            let place = match key {
                "method" => &mut method,
                "id" => &mut id,
                "result" => &mut result,
                "params" => &mut params,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        let there = |value: Option<JsonValue<'a>>| value.filter(|value| value.written() != "null");
        let method = match there(method) {
            Some(method) => Some(method.text()?),
            None => None,
        };
        let [id, result, params] = [id, result, params].map(|value| there(value).map(|it| it.written()));
        Some(MessageHead { method, id, result, params })
    }
}

/// Whether a text is a list of messages, if it is one at all.
pub(crate) fn is_batch(message: MessageText<'_>) -> bool {
    message.bytes().trim_ascii_start().starts_with(b"[")
}
