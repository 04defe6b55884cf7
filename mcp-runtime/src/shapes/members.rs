//! Takes a record apart.

use mcp_protocol_machine::shape::ShapeMismatch;
use serde_json::Value;

use super::from_json::{FromJson, Object};
use super::view::ValueView;

/// The members of an object that have not been taken.
#[derive(Debug)]
pub struct Members(Object);

impl Members {
    /// The members of a value that is to be a `T`.
    ///
    /// # Errors
    /// The value is not an object.
    pub fn of<T: FromJson>(value: Value) -> Result<Members, ShapeMismatch> {
        match value {
            Value::Object(members) => Ok(Members(members)),
            other => Err(T::mismatch(&other)),
        }
    }

    /// Takes a member that must be there.
    ///
    /// # Errors
    /// It is missing, or does not have its shape.
    pub fn required<T: FromJson>(&mut self, key: &str) -> Result<T, ShapeMismatch> {
        let read = match self.0.remove(key) {
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
        match self.0.remove(key) {
            None => Ok(None),
            Some(Value::Null) => Ok(T::from_json(Value::Null).ok()),
            Some(value) => T::from_json(value).map(Some).map_err(|mismatch| mismatch.in_member(key)),
        }
    }

    /// Takes a member that must be a text.
    ///
    /// # Errors
    /// It is missing, or something else.
    pub fn literal(&mut self, key: &str, text: &str) -> Result<(), ShapeMismatch> {
        let mismatch = match self.0.remove(key) {
            Some(Value::String(found)) if found == text => return Ok(()),
            Some(found) => ShapeMismatch::of_value(&format!("\"{text}\""), &ValueView(&found)),
            None => ShapeMismatch::of_nothing(&format!("\"{text}\"")),
        };
        Err(mismatch.in_member(key))
    }

    /// What has not been taken.
    pub fn rest(self) -> Object {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_taken_by_their_keys() {
        let mut members =
            Members::of::<Object>(json!({ "type": "text", "text": "hi", "title": null, "left": 1 })).unwrap();
        members.literal("type", "text").unwrap();
        assert_eq!(members.required::<String>("text").unwrap(), "hi");
        assert_eq!(members.optional::<String>("title").unwrap(), None);
        let missing = members.required::<String>("name").unwrap_err().rooted();
        assert_eq!(missing.to_string(), "name: expected a string, found nothing");
        assert_eq!(Value::Object(members.rest()), json!({ "left": 1 }));
    }

    #[test]
    fn null_stays_null_where_it_is_a_value() {
        let mut members = Members::of::<Object>(json!({ "parent": null })).unwrap();
        assert_eq!(members.optional::<Option<String>>("parent").unwrap(), Some(None));
        assert_eq!(members.optional::<Option<String>>("child").unwrap(), None);
    }
}
