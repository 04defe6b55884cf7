//! A key of an object.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

/// A key, borrowed where it has no escapes.
pub(crate) struct JsonKey<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for JsonKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonKey<'de>, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = JsonKey<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonKey<'de>, E> {
                Ok(JsonKey(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<JsonKey<'de>, E> {
                Ok(JsonKey(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Either)
    }
}
