//! The arguments of tools and prompts, which are the members of a value.

use mcp_protocols::eras::types::Object;
use serde::Serialize;
use serde_json::{Value, from_value, to_value};

/// The members of a value.
pub(super) fn members_of(value: impl Serialize) -> Result<Object, String> {
    match to_value(value) {
        Ok(Value::Object(members)) => Ok(members),
        // `()`, or a struct without fields.
        Ok(Value::Null) => Ok(Object::new()),
        Ok(_) => Err("they are not an object: give a struct, a map, or `()`".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The members of a value as texts, or pairs of names and values. What is `None` is left out.
pub(super) fn texts_of(value: impl Serialize) -> Result<Vec<(String, String)>, String> {
    let value = to_value(value).map_err(|error| error.to_string())?;
    let members: Vec<(String, Value)> = match value {
        Value::Array(_) => from_value(value)
            .map_err(|_| "they are not pairs: give a struct, a map, pairs of a name and a value, or `()`")?,
        value => members_of(value)?.into_iter().collect(),
    };
    let text = |(name, value)| match value {
        Value::Null => None,
        Value::String(text) => Some(Ok((name, text))),
        Value::Bool(_) | Value::Number(_) => Some(Ok((name, value.to_string()))),
        Value::Array(_) | Value::Object(_) => {
            Some(Err(format!("`{name}` is not a text, a number or a bool, which can be sent as a text")))
        }
    };
    members.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_of_a_prompt_are_texts() {
        #[derive(Serialize)]
        struct Weekly<'a> {
            all: bool,
            author: Option<&'a str>,
            days: u32,
            tag: &'a str,
        }

        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let weekly = texts_of(Weekly { all: true, author: None, days: 7, tag: "shop" }).unwrap();
        assert_eq!(weekly, [text("all", "true"), text("days", "7"), text("tag", "shop")]);
        assert_eq!(texts_of([("tag", "shop")]).unwrap(), [text("tag", "shop")]);
        assert_eq!(texts_of(BTreeMap::from([("days", 7)])).unwrap(), [text("days", "7")]);
        assert_eq!(texts_of(()).unwrap(), []);
        assert_eq!(texts_of([(); 0]).unwrap(), []);
        for wrong in
            [json!({ "a": [1] }), json!({ "a": {} }), json!(["a"]), json!("a"), json!([["a", "b", "c"]])]
        {
            assert!(texts_of(&wrong).is_err(), "{wrong}");
        }
    }
}
