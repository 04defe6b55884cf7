//! The members of an envelope, before anything is made of them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::key::JsonKey;

/// The members of an envelope, each raw.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a, P> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<P>,
    pub(super) result: Option<P>,
    pub(super) error: Option<&'a str>,
    pub(super) twice: Option<&'static str>,
}

impl<P> Default for Parts<'_, P> {
    fn default() -> Self {
        Parts { jsonrpc: None, id: None, method: None, params: None, result: None, error: None, twice: None }
    }
}

impl<'de> Deserialize<'de> for Parts<'de, &'de str> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor;

        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts<'de, &'de str>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut parts = Parts::default();
                while let Some(key) = map.next_key::<JsonKey<'de>>()? {
                    let value = map.next_value::<&'de RawValue>()?.get();
                    parts.add(&key.0, value, || value);
                }
                Ok(parts)
            }
        }

        deserializer.deserialize_map(PartsVisitor)
    }
}

impl<'a, P> Parts<'a, P> {
    /// Takes a member, as it is or as it is written; those that mean nothing here are dropped.
    #[inline(always)]
    pub(super) fn add(&mut self, key: &str, value: P, written: impl FnOnce() -> &'a str) {
        let (is_again, name) = match key {
            "jsonrpc" => (self.jsonrpc.replace(written()).is_some(), "jsonrpc"),
            "id" => (self.id.replace(written()).is_some(), "id"),
            "method" => (self.method.replace(written()).is_some(), "method"),
            "params" => (self.params.replace(value).is_some(), "params"),
            "result" => (self.result.replace(value).is_some(), "result"),
            "error" => (self.error.replace(written()).is_some(), "error"),
            _ => return,
        };
        if is_again {
            self.twice = Some(name);
        }
    }
}
