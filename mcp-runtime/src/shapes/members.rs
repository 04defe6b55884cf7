//! Takes a record apart.

use std::borrow::Cow;

use mcp_protocol_machine::shape::ShapeMismatch;

use super::from_json::FromJson;
use super::tree::{JsonTree, Object, object};

/// The members of an object that have not been taken.
#[derive(Debug)]
pub struct Members<'a>(Vec<(Cow<'a, str>, JsonTree<'a>)>);

impl<'a> Members<'a> {
    /// The members of a value that is to be a `T`.
    ///
    /// # Errors
    /// The value is not an object.
    pub fn of<T: FromJson>(value: JsonTree<'a>) -> Result<Members<'a>, ShapeMismatch> {
        match value {
            JsonTree::Object(members) => Ok(Members(members)),
            other => Err(T::mismatch(&other)),
        }
    }

    /// Takes a member that must be there.
    ///
    /// # Errors
    /// It is missing, or does not have its shape.
    pub fn required<T: FromJson>(&mut self, key: &str) -> Result<T, ShapeMismatch> {
        let read = match self.take(key) {
            Some(value) => T::from_json(value),
            None => Err(ShapeMismatch::of_nothing(T::EXPECTED)),
        };
        read.map_err(|mismatch| mismatch.in_member(key))
    }

    /// Takes a member that may be absent. `null` is taken for absent where it is not a value of the member, because
    /// there are peers that write it.
    ///
    /// # Errors
    /// It does not have its shape.
    pub fn optional<T: FromJson>(&mut self, key: &str) -> Result<Option<T>, ShapeMismatch> {
        match self.take(key) {
            None => Ok(None),
            Some(JsonTree::Null) => Ok(T::from_json(JsonTree::Null).ok()),
            Some(value) => T::from_json(value).map(Some).map_err(|mismatch| mismatch.in_member(key)),
        }
    }

    /// Takes a member that must be a text.
    ///
    /// # Errors
    /// It is missing, or something else.
    pub fn literal(&mut self, key: &str, text: &str) -> Result<(), ShapeMismatch> {
        let mismatch = match self.take(key) {
            Some(JsonTree::Text(found)) if found == text => return Ok(()),
            Some(found) => ShapeMismatch::of_value(&format!("\"{text}\""), &found),
            None => ShapeMismatch::of_nothing(&format!("\"{text}\"")),
        };
        Err(mismatch.in_member(key))
    }

    /// Takes all members with a key, and returns the last one.
    fn take(&mut self, key: &str) -> Option<JsonTree<'a>> {
        let mut taken = None;
        for place in (0..self.0.len()).rev() {
            if self.0.get(place).is_some_and(|(name, _)| name == key) {
                let (_, value) = self.0.remove(place);
                taken = taken.or(Some(value));
            }
        }
        taken
    }

    /// What has not been taken.
    pub fn rest(self) -> Object {
        object(self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn members(text: &str) -> Members<'_> {
        Members::of::<Object>(serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn members_are_taken_by_their_keys() {
        let mut members = members(r#"{ "type": "text", "text": "hi", "title": null, "left": 1 }"#);
        members.literal("type", "text").unwrap();
        assert_eq!(members.required::<String>("text").unwrap(), "hi");
        assert_eq!(members.optional::<String>("title").unwrap(), None);
        let missing = members.required::<String>("name").unwrap_err().rooted();
        assert_eq!(missing.to_string(), "name: expected a string, found nothing");
        assert_eq!(Value::Object(members.rest()), json!({ "left": 1 }));
    }

    #[test]
    fn null_stays_null_where_it_is_a_value() {
        let mut members = members(r#"{ "parent": null }"#);
        assert_eq!(members.optional::<Option<String>>("parent").unwrap(), Some(None));
        assert_eq!(members.optional::<Option<String>>("child").unwrap(), None);
    }

    #[test]
    fn of_several_members_with_one_key_the_last_one_is_taken() {
        let mut members = members(r#"{ "a": 1, "b": 2, "a": 3, "c": 4, "b": 5 }"#);
        assert_eq!(members.required::<i64>("a").unwrap(), 3);
        assert_eq!(Value::Object(members.rest()), json!({ "b": 5, "c": 4 }));
    }
}
