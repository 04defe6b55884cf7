//! JSON with its members in their order.

use std::fmt;

use mcp_protocol_machine::protocol::{Literal, position};
use mcp_runtime::shapes::Number;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// How many columns a list may take in one line.
const WIDTH: usize = 100;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    pub(super) fn text(text: impl Into<String>) -> Tree {
        Tree::Text(text.into())
    }

    /// The member of an object with this key.
    pub(super) fn get(&self, key: &str) -> Option<&Tree> {
        self.members().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The members of an object; anything else has none.
    pub(super) fn members(&self) -> &[(String, Tree)] {
        if let Tree::Object(members) = self { members } else { &[] }
    }

    /// The elements of a list; anything else has none.
    pub(super) fn elements(&self) -> &[Tree] {
        if let Tree::List(elements) = self { elements } else { &[] }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        if let Tree::Text(text) = self { Some(text) } else { None }
    }

    /// The text, the truth or the whole number that it is, as the shape of one value; anything else is none.
    pub(super) fn literal(&self) -> Option<Literal> {
        match self {
            Tree::Text(text) => Some(text.clone().into()),
            Tree::Bool(value) => Some((*value).into()),
            Tree::Number(written) => {
                serde_json::from_str::<Number>(written).ok()?.as_i64().map(Literal::from)
            }
            Tree::Null | Tree::List(_) | Tree::Object(_) => None,
        }
    }

    /// The member with this key, or the element of a list at this position.
    pub(super) fn step(&self, key: &str) -> Option<&Tree> {
        match self {
            Tree::List(elements) => elements.get(position(key)?),
            other => other.get(key),
        }
    }

    fn write(&self, formatter: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        let scalar = |tree: &Tree| !matches!(tree, Tree::List(_) | Tree::Object(_));
        match self {
            Tree::Null => formatter.write_str("null"),
            Tree::Bool(value) => write!(formatter, "{value}"),
            Tree::Number(written) => formatter.write_str(written),
            Tree::Text(text) => write!(formatter, "{}", serde_json::Value::from(text.as_str())),
            Tree::List(elements) if elements.iter().all(scalar) => {
                let parts: Vec<String> = elements.iter().map(Tree::to_string).collect();
                let line = format!("[{}]", parts.join(", "));
                if line.len() <= WIDTH {
                    return formatter.write_str(&line);
                }
                let space = " ".repeat(indent + 2);
                let lines = parts.join(&format!(",\n{space}"));
                write!(formatter, "[\n{space}{lines}\n{}]", " ".repeat(indent))
            }
            Tree::List(elements) => {
                formatter.write_str("[")?;
                for (place, element) in elements.iter().enumerate() {
                    write!(formatter, "{}\n{}", if place > 0 { "," } else { "" }, " ".repeat(indent + 2))?;
                    element.write(formatter, indent + 2)?;
                }
                write!(formatter, "\n{}]", " ".repeat(indent))
            }
            Tree::Object(members) if members.is_empty() => formatter.write_str("{}"),
            Tree::Object(members) => {
                formatter.write_str("{")?;
                for (place, (key, value)) in members.iter().enumerate() {
                    write!(formatter, "{}\n{}", if place > 0 { "," } else { "" }, " ".repeat(indent + 2))?;
                    write!(formatter, "{}: ", serde_json::Value::from(key.as_str()))?;
                    value.write(formatter, indent + 2)?;
                }
                write!(formatter, "\n{}}}", " ".repeat(indent))
            }
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(formatter, 0)
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        struct TreeVisitor;

        impl<'de> Visitor<'de> for TreeVisitor {
            type Value = Tree;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
                Ok(Tree::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
                Ok(Tree::Number(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
                Ok(Tree::Number(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
                Ok(Tree::Number(value.to_string()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
                Ok(Tree::text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    elements.push(element);
                }
                Ok(Tree::List(elements))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Tree::Object(members))
            }
        }

        deserializer.deserialize_any(TreeVisitor)
    }
}
