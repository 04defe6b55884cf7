//! Splits a JSON-RPC batch into its messages.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

#[cfg(any(feature = "http-server", feature = "http-client"))]
use mcp_protocol_machine::RequestId;

#[cfg(any(feature = "http-server", feature = "http-client"))]
use super::dialect::ANY_DIALECT;
#[cfg(any(feature = "http-server", feature = "http-client"))]
use super::envelope::{Envelope, parse};
use super::envelope::{Fault, Malformed, utf8};
use super::error::RpcError;
use super::scan::Scanner;

/// Whether a line holds a list rather than one message.
pub(crate) fn is_batch(line: &[u8]) -> bool {
    line.trim_ascii_start().first() == Some(&b'[')
}

/// Takes a batch apart.
pub(crate) fn batch(line: &[u8], most: usize) -> Result<Vec<&RawValue>, Malformed> {
    let text = utf8(line)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let elements = BatchElements { most }.deserialize(&mut reader).and_then(|elements| {
        reader.end()?;
        Ok(elements)
    });
    elements.map_err(|error| {
        let error = if error.is_data() {
            RpcError::invalid_request(format!("the batch cannot be taken: {error}"))
        } else {
            RpcError::parse_error(format!("the batch is not JSON: {error}"))
        };
        Malformed::from_sketch(error, Fault::Malformed, Scanner::scan(line))
    })
}

/// The ids of the requests in a list that this side has written.
#[cfg(any(feature = "http-server", feature = "http-client"))]
pub(crate) fn asked(list: &[u8]) -> Vec<i64> {
    let id = |message: &RawValue| match parse(message.get().as_bytes(), usize::MAX, ANY_DIALECT) {
        Ok(Envelope::Request { id: RequestId::Number(id), .. }) => Some(id),
        _ => None,
    };
    batch(list, usize::MAX).unwrap_or_default().into_iter().filter_map(id).collect()
}

/// A list of at least one element and at most so many.
struct BatchElements {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for BatchElements {
    type Value = Vec<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for BatchElements {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            if elements.len() >= self.most {
                return Err(A::Error::custom(format_args!("it holds more than {} messages", self.most)));
            }
            elements.push(element);
        }
        if elements.is_empty() {
            return Err(A::Error::custom("it holds no message"));
        }
        Ok(elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &str) -> Result<Vec<&str>, i64> {
        let taken = batch(line.as_bytes(), 3);
        let taken = taken.map(|elements| elements.into_iter().map(RawValue::get).collect());
        taken.map_err(|malformed| malformed.error.code)
    }

    #[test]
    fn elements_are_left_as_they_are() {
        assert_eq!(taken(r#" [ {"a": [1, 2]} ,7, "x,]" ]"#), Ok(vec![r#"{"a": [1, 2]}"#, "7", r#""x,]""#]));
        assert_eq!(taken("[[]]"), Ok(vec!["[]"]));
    }

    #[test]
    fn an_invalid_batch_is_refused_as_a_whole() {
        assert_eq!(taken("[]"), Err(-32600));
        assert_eq!(taken("[1,2,3,4]"), Err(-32600));
        for broken in ["[1,", "[1,]", "[1] 2", "[", "[{]}"] {
            assert_eq!(taken(broken), Err(-32700), "{broken}");
        }
        assert_eq!(batch(b"[\"\xff\"]", 3).unwrap_err().error.code, -32700);
    }

    #[test]
    fn depth_does_not_use_the_stack() {
        let deep = format!("[{}{}]", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(taken(&deep).map(|elements| elements.len()), Ok(1));
    }

    #[test]
    fn a_list_is_recognised_by_its_first_character() {
        assert!(is_batch(b" \t[") && is_batch(b"[1]"));
        assert!(!is_batch(b"{}") && !is_batch(b"") && !is_batch(b"x["));
    }
}
