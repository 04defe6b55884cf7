//! What the top of a message says: its id and its method.

use std::fmt;

use mcp_runtime::RequestId;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// The members of a message that say what it is.
#[derive(Debug, Default, Deserialize)]
pub(super) struct EnvelopeHead {
    pub(super) id: Option<RequestId>,
    pub(super) method: Option<String>,
}

impl EnvelopeHead {
    /// Reads a message. What is not an object has no members.
    pub(super) fn of(message: &[u8]) -> EnvelopeHead {
        serde_json::from_slice(message).unwrap_or_default()
    }
}

/// The ids of the requests in a text: a message, or a batch.
pub(super) fn requests_in(text: &[u8]) -> Vec<RequestId> {
    let heads = match text.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(text).unwrap_or_default(),
        _ => vec![EnvelopeHead::of(text)],
    };
    heads.into_iter().filter(|head: &EnvelopeHead| head.method.is_some()).filter_map(|head| head.id).collect()
}

/// The id in the beginning of a message, if it stands there. Of a frame with a header the header is skipped.
pub(super) fn id_in(beginning: &[u8]) -> Option<RequestId> {
    struct Seeker<'a>(&'a mut Option<RequestId>);

    impl<'de> Visitor<'de> for Seeker<'_> {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
            while let Some(key) = members.next_key::<String>()? {
                match key.as_str() {
                    "id" => *self.0 = Some(members.next_value()?),
                    _ => drop(members.next_value::<IgnoredAny>()?),
                }
            }
            Ok(())
        }
    }

    let start = beginning.iter().position(|byte| *byte == b'{')?;
    let mut id = None;
    let mut reader = serde_json::Deserializer::from_slice(beginning.get(start..)?);
    // Where the end is missing there is an error, and perhaps an id before it.
    let _ = (&mut reader).deserialize_map(Seeker(&mut id));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_before_the_end_of_a_message() {
        let id = |text: &str| id_in(text.as_bytes());
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"method":"a","params":["#), Some(RequestId::from(7)));
        assert_eq!(id("Content-Length: 9\r\n\r\n{\"id\":\"a\", \"x"), Some(RequestId::from("a")));
        assert_eq!(id(r#"{"params":{"id":7},"metho"#), None);
        assert_eq!(id(r#"{"params":[1,"#), None);
        assert_eq!(id("no message"), None);
    }
}
