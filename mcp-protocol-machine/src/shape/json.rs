//! A view of a JSON value.

use std::borrow::Cow;
use std::ops::ControlFlow;

/// A JSON value that can be looked at, level by level.
///
/// What follows from [`view`](Json::view) is written here. A type that finds it without a list of all that is inside has
/// methods of its own for it.
pub trait Json: Clone {
    /// What the value is, with the values that are directly inside.
    fn view(&self) -> JsonView<'_, Self>;

    /// What the value is, without what is inside.
    fn kind(&self) -> JsonKind<'_> {
        match self.view() {
            JsonView::Null => JsonKind::Null,
            JsonView::Bool(value) => JsonKind::Bool(value),
            JsonView::Number(written) => JsonKind::Number(written),
            JsonView::Text(_) => JsonKind::Text,
            JsonView::List(_) => JsonKind::List,
            JsonView::Object(_) => JsonKind::Object,
        }
    }

    /// The text that this is, without quotes and escapes; for anything else it is empty.
    fn text(&self) -> Cow<'_, str> {
        match self.view() {
            JsonView::Text(text) => text,
            _ => Cow::Borrowed(""),
        }
    }

    /// Whether this is a text, and the given one.
    fn is_text(&self, text: &str) -> bool {
        self.kind() == JsonKind::Text && self.text() == text
    }

    /// Hands out the member of an object that has this key. Of several members with one key the last one counts.
    fn with_member<B>(&self, key: &str, take: impl FnOnce(Option<&Self>) -> B) -> B {
        match self.view() {
            JsonView::Object(members) => {
                take(members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value))
            }
            _ => take(None),
        }
    }

    /// Takes the elements of a list in their order, until `take` breaks.
    fn each_element<B>(&self, mut take: impl FnMut(&Self) -> ControlFlow<B>) -> ControlFlow<B> {
        let JsonView::List(elements) = self.view() else { return ControlFlow::Continue(()) };
        elements.iter().try_for_each(&mut take)
    }

    /// Takes the members of an object in their order, until `take` breaks.
    fn each_member<B>(&self, mut take: impl FnMut(&str, &Self) -> ControlFlow<B>) -> ControlFlow<B> {
        let JsonView::Object(members) = self.view() else { return ControlFlow::Continue(()) };
        members.iter().try_for_each(|(key, value)| take(key, value))
    }
}

/// What a JSON value is, with the values that are directly inside.
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

/// What a JSON value is, without what is inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonKind<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it is written.
    Number(Cow<'a, str>),
    /// A text.
    Text,
    /// A list.
    List,
    /// An object.
    Object,
}

/// The key and the value of a member.
pub type JsonMember<'a, J> = (Cow<'a, str>, J);
