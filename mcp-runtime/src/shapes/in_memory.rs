//! A value that is read into memory as it is.

use serde::de::{Deserialize, Deserializer};

use super::from_json::{Elements, FromJson, Members, deserialize, mismatch};
use super::number::Number;
use super::read_error::ReadError;
use super::tree::JsonTree;

impl<'de> FromJson<'de> for JsonTree<'de> {
    const EXPECTED: &'static str = "a JSON value";

    fn from_tree(value: JsonTree<'de>) -> Result<Self, ReadError> {
        Ok(value)
    }

    fn from_list(list: &mut Elements<'_, 'de>) -> Result<Self, ReadError> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(JsonTree::List(elements))
    }

    fn from_object(object: &mut Members<'_, 'de>) -> Result<Self, ReadError> {
        let mut members = Vec::new();
        while let Some(key) = object.next_key()? {
            let value = object.value(&key)?;
            if key == NUMBER {
                return written_number(value).map(JsonTree::Number);
            }
            members.push((key, value));
        }
        Ok(JsonTree::Object(members))
    }
}

/// The key of the object as which `serde_json` shows a number if some crate of the program has turned on its feature
/// `arbitrary_precision`. The value is the number as it is written.
pub(super) const NUMBER: &str = "$serde_json::private::Number";

/// A number that is shown as an object.
pub(super) fn written_number(value: JsonTree<'_>) -> Result<Number, ReadError> {
    let number = value.text().and_then(|written| {
        let whole =
            written.parse::<i64>().map(Number::from).or_else(|_| written.parse::<u64>().map(Number::from));
        whole.ok().or_else(|| written.parse::<f64>().ok().map(Number::from))
    });
    number.ok_or_else(|| mismatch(Number::EXPECTED, &value))
}

impl<'de> Deserialize<'de> for JsonTree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonTree<'de>, D::Error> {
        deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, MapDeserializer};
    use serde_json::{Value, json};

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
