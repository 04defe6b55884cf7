//! The members of an envelope, before anything is made of them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::key::JsonKey;

/// The members of an envelope, each raw.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    pub(super) twice: Option<&'static str>,
}

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parts<'de>, D::Error> {
        struct PartsVisitor;

        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut parts = Parts::default();
                while let Some(key) = map.next_key::<JsonKey<'de>>()? {
                    parts.add(&key.0, map.next_value::<&'de RawValue>()?.get());
                }
                Ok(parts)
            }
        }

        deserializer.deserialize_map(PartsVisitor)
    }
}

impl<'a> Parts<'a> {
    /// Takes a member; those that mean nothing here are dropped.
    pub(super) fn add(&mut self, key: &str, value: &'a str) {
        let (place, name) = match key {
            "jsonrpc" => (&mut self.jsonrpc, "jsonrpc"),
            "id" => (&mut self.id, "id"),
            "method" => (&mut self.method, "method"),
            "params" => (&mut self.params, "params"),
            "result" => (&mut self.result, "result"),
            "error" => (&mut self.error, "error"),
            _ => return,
        };
        if place.replace(value).is_some() {
            self.twice = Some(name);
        }
    }
}
