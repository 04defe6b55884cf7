//! A view of a JSON value.

use std::borrow::Cow;

/// A JSON value that can be looked at, level by level.
pub trait Json: Clone {
    /// What the value is, with the values that are directly inside.
    fn view(&self) -> JsonView<'_, Self>;
}

/// What a JSON value is.
#[derive(Clone, Debug)]
pub enum JsonView<'a, J: Clone> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written: `1`, `1.0` and `10e-1` are one number.
    Number(Cow<'a, str>),
    /// A text, without quotes and escapes.
    Text(Cow<'a, str>),
    /// A list.
    List(Cow<'a, [J]>),
    /// An object, with its members in their order. Of several members with one key the last one counts.
    Object(Cow<'a, [JsonMember<'a, J>]>),
}

/// The key and the value of a member.
pub type JsonMember<'a, J> = (Cow<'a, str>, J);

impl<J: Clone> JsonView<'_, J> {
    /// The member of an object that has this key.
    pub fn member(&self, key: &str) -> Option<&J> {
        let JsonView::Object(members) = self else { return None };
        members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }
}
