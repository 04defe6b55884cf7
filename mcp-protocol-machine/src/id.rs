//! Ids, as they stand on the wire and in the books, and how much of them is kept.

use std::fmt;
use std::hash::{Hash, Hasher};

/// The id of a request: a number or a text. Zero is an id like any other, and `1` is not `"1"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestId {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Box<str>),
}

/// The value that ties a `reports` notification to its request. It has the shape of an id.
pub type Token = RequestId;

/// Ids are looked up several times for each message, and most are numbers: these are hashed in one step.
impl Hash for RequestId {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self {
            RequestId::Number(number) => hasher.write_i64(*number),
            RequestId::Text(text) => text.hash(hasher),
        }
    }
}

impl RequestId {
    /// How many bytes of text it holds.
    pub(crate) fn text_length(&self) -> usize {
        match self {
            RequestId::Number(_) => 0,
            RequestId::Text(text) => text.len(),
        }
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> RequestId {
        RequestId::Number(number)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> RequestId {
        RequestId::Text(text.into())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> RequestId {
        RequestId::Text(text.into())
    }
}

/// As in JSON: a number plainly, a text in quotes. Long texts are cut, because ids stand in messages to people.
impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 64;
        match self {
            RequestId::Number(number) => write!(formatter, "{number}"),
            RequestId::Text(text) => match text.char_indices().nth(SHOWN) {
                None => write!(formatter, "{text:?}"),
                Some((end, _)) => {
                    write!(formatter, "{:?}", format!("{}…", text.get(..end).unwrap_or_default()))
                }
            },
        }
    }
}

/// A number, or a text.
#[cfg(feature = "serde")]
impl serde_core::Serialize for RequestId {
    fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RequestId::Number(number) => serializer.serialize_i64(*number),
            RequestId::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// From a whole number or a text; not from a fraction, and not from `null`.
#[cfg(feature = "serde")]
impl<'de> serde_core::Deserialize<'de> for RequestId {
    fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> Result<RequestId, D::Error> {
        struct Id;

        impl serde_core::de::Visitor<'_> for Id {
            type Value = RequestId;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number of 64 bits or a string")
            }

            fn visit_i64<E>(self, number: i64) -> Result<RequestId, E> {
                Ok(RequestId::Number(number))
            }

            fn visit_u64<E: serde_core::de::Error>(self, number: u64) -> Result<RequestId, E> {
                let id = i64::try_from(number);
                id.map(RequestId::Number)
                    .map_err(|_| E::invalid_value(serde_core::de::Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E>(self, text: &str) -> Result<RequestId, E> {
                Ok(RequestId::from(text))
            }
        }

        deserializer.deserialize_any(Id)
    }
}

/// How much a checker keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many exchanges each side may have running at once; a request beyond that is refused.
    pub running: usize,
    /// How many entries each of the memories for finished exchanges may have. A run of numbers is one entry.
    pub remembered: usize,
    /// How many bytes of text each of these memories may hold.
    pub remembered_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { running: 65_536, remembered: 1_024, remembered_bytes: 128 * 1_024 }
    }
}

/// The value of a key. It has the shape of an id.
pub type KeyValue = RequestId;

/// A running sub-session. Numbers are not used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubSessionNumber(pub u64);
