//! Values in memory: how they get there, and how a type is read from them.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::from_json::{FromJson, deserialize};
use super::number::Number;
use super::tree::JsonTree;
use crate::jsonrpc::JsonKey;

impl<'de> JsonTree<'de> {
    /// Reads a type.
    ///
    /// # Errors
    /// The first place where the value does not have the shape.
    pub fn read<T: FromJson<'de>, E: Error>(self) -> Result<T, E> {
        deserialize(self.into_deserializer())
    }
}

impl<'de> FromJson<'de> for JsonTree<'de> {
    const EXPECTED: &'static str = "a JSON value";

    fn from_tree<E>(value: JsonTree<'de>) -> Result<Self, E> {
        Ok(value)
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(JsonTree::List(elements))
    }

    fn from_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut members = Vec::new();
        while let Some(JsonKey(key)) = object.next_key()? {
            if key == NUMBER {
                let JsonKey(written) = object.next_value()?;
                return written_number(&written)
                    .ok_or_else(|| A::Error::custom(format!("{written} is not a number")));
            }
            members.push((key, object.next_value()?));
        }
        Ok(JsonTree::Object(members))
    }
}

/// The key of the object as which `serde_json` shows a number if some crate of the program has turned on its feature
/// `arbitrary_precision`. The value is the number as it is written.
const NUMBER: &str = "$serde_json::private::Number";

impl<'de> Deserialize<'de> for JsonTree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonTree<'de>, D::Error> {
        deserialize(deserializer)
    }
}

/// A tree that is read as a type, with any kind of error.
#[derive(Debug)]
pub struct TreeDeserializer<'de, E> {
    tree: JsonTree<'de>,
    error: PhantomData<E>,
}

impl<'de, E: Error> IntoDeserializer<'de, E> for JsonTree<'de> {
    type Deserializer = TreeDeserializer<'de, E>;

    fn into_deserializer(self) -> TreeDeserializer<'de, E> {
        TreeDeserializer { tree: self, error: PhantomData }
    }
}

impl<'de, E: Error> Deserializer<'de> for TreeDeserializer<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.tree {
            JsonTree::Null => visitor.visit_unit(),
            JsonTree::Bool(value) => visitor.visit_bool(value),
            JsonTree::Number(number) => number.visit(visitor),
            JsonTree::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            JsonTree::Text(Cow::Owned(text)) => visitor.visit_string(text),
            JsonTree::List(elements) => visitor.visit_seq(SeqDeserializer::new(elements.into_iter())),
            JsonTree::Object(members) => {
                let members = members.into_iter().map(|(key, value)| (JsonTree::Text(key), value));
                visitor.visit_map(MapDeserializer::new(members))
            }
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
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

    use serde::de::value::Error;
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
