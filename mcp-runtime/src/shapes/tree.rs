//! A JSON value that is taken apart.

use std::borrow::Cow;
use std::fmt;

use mcp_protocol_machine::shape::{Json, JsonView};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::number::Number;
use crate::jsonrpc::JsonKey;

/// An object whose members nothing is said about.
pub type Object = serde_json::Map<String, Value>;

/// A JSON value, for [`FromJson`](super::FromJson) to take apart. Texts without escapes are those of the message and are
/// not copied.
#[derive(Clone, Debug)]
pub enum JsonTree<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<JsonTree<'a>>),
    /// An object, with its members in their order. Of several members with one key the last one counts.
    Object(Vec<(Cow<'a, str>, JsonTree<'a>)>),
}

impl JsonTree<'_> {
    /// The text, if this is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            JsonTree::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<JsonTree<'_>> for Value {
    fn from(tree: JsonTree<'_>) -> Value {
        match tree {
            JsonTree::Null => Value::Null,
            JsonTree::Bool(value) => Value::Bool(value),
            JsonTree::Number(number) => number.into(),
            JsonTree::Text(text) => Value::String(text.into_owned()),
            JsonTree::List(elements) => elements.into_iter().map(Value::from).collect(),
            JsonTree::Object(members) => Value::Object(object(members)),
        }
    }
}

pub(super) fn object(members: Vec<(Cow<'_, str>, JsonTree<'_>)>) -> Object {
    members.into_iter().map(|(key, value)| (key.into_owned(), value.into())).collect()
}

impl Json for JsonTree<'_> {
    fn view(&self) -> JsonView<'_, Self> {
        match self {
            JsonTree::Null => JsonView::Null,
            JsonTree::Bool(value) => JsonView::Bool(*value),
            JsonTree::Number(number) => JsonView::Number(Cow::Owned(number.to_string())),
            JsonTree::Text(text) => JsonView::Text(Cow::Borrowed(text)),
            JsonTree::List(elements) => JsonView::List(Cow::Borrowed(elements)),
            JsonTree::Object(members) => JsonView::Object(Cow::Borrowed(members)),
        }
    }
}

impl<'de> Deserialize<'de> for JsonTree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonTree<'de>, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

/// The key of the object as which `serde_json` shows a number if some crate of the program has turned on its feature
/// `arbitrary_precision`. The value is the number as it is written.
const NUMBER: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = JsonTree<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Null)
    }

    fn visit_none<E>(self) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonTree<'de>, D::Error> {
        JsonTree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Number(number.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Text(Cow::Borrowed(text)))
    }

    fn visit_string<E>(self, text: String) -> Result<JsonTree<'de>, E> {
        Ok(JsonTree::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonTree<'de>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(JsonTree::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonTree<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(JsonKey(key)) = map.next_key()? {
            if key == NUMBER {
                let JsonKey(written) = map.next_value()?;
                return written_number(&written)
                    .ok_or_else(|| A::Error::custom(format!("{written} is not a number")));
            }
            members.push((key, map.next_value()?));
        }
        Ok(JsonTree::Object(members))
    }
}

fn written_number<'a>(written: &str) -> Option<JsonTree<'a>> {
    let whole =
        written.parse::<i64>().map(Number::from).or_else(|_| written.parse::<u64>().map(Number::from));
    let number = whole.ok().or_else(|| written.parse::<f64>().ok().map(Number::from))?;
    Some(JsonTree::Number(number))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, MapDeserializer};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_is_the_same_value() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,0.5],"b":{"c\n":"d"},"b2":"e\u0041"}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(Value::from(serde_json::from_str::<JsonTree<'_>>(text).unwrap()), value);
        assert_eq!(Value::from(JsonTree::deserialize(value.clone()).unwrap()), value);
    }

    #[test]
    fn texts_without_escapes_are_not_copied() {
        let JsonTree::List(texts) = serde_json::from_str(r#"["plain","esc\"aped"]"#).unwrap() else {
            panic!()
        };
        assert!(matches!(&texts[0], JsonTree::Text(Cow::Borrowed("plain"))));
        assert!(matches!(&texts[1], JsonTree::Text(Cow::Owned(text)) if text == "esc\"aped"));
    }

    #[test]
    fn the_last_of_several_members_counts() {
        let tree: JsonTree<'_> = serde_json::from_str(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(Value::from(tree), json!({ "a": 3, "b": 2 }));
    }

    #[test]
    fn numbers_of_arbitrary_precision_are_numbers() {
        for (written, number) in [("12", json!(12)), ("-7", json!(-7)), ("0.25", json!(0.25))] {
            let shown = BTreeMap::from([(NUMBER, written)]);
            let map: MapDeserializer<'_, _, Error> = shown.into_deserializer();
            assert_eq!(Value::from(JsonTree::deserialize(map).unwrap()), number);
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_an_error() {
        let deep = "[".repeat(100_000);
        assert!(serde_json::from_str::<JsonTree<'_>>(&deep).is_err());
    }
}
