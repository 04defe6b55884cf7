//! Reads and sets one value inside raw JSON, by a path of keys, without building a tree.

use std::borrow::Cow;
use std::fmt;

use mcp_protocol_machine::protocol::{Text, position};
use memchr::{memchr, memmem};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::key::JsonKey;
use super::recognise::each_member;

/// In a text of so many bytes it hardly takes longer to find all members than to prepare a search.
const SHORT: usize = 512;

/// The raw value at a path, if it is there.
pub(crate) fn find<'a>(json: &'a str, path: &[Text]) -> Option<&'a str> {
    let Some((last, _)) = path.split_last() else { return Some(json) };
    // A key is not there if its text is not; keys with escapes are rare enough to be looked for thoroughly. In a short text
    // all members are found in the time of that search.
    let may_be_there = json.len() <= SHORT
        || position(last).is_some()
        || memmem::find(json.as_bytes(), last.as_bytes()).is_some()
        || memchr(b'\\', json.as_bytes()).is_some();
    if !may_be_there {
        return None;
    }
    let mut here = json;
    for key in path {
        let mut found = None;
        let is_plain = each_member(here, usize::MAX, |name, value| {
            if name == &**key {
                found = Some(value);
            }
        });
        if is_plain.is_some() {
            here = found?;
            continue;
        }
        let mut reader = serde_json::Deserializer::from_str(here);
        here = Seek(key).deserialize(&mut reader).ok()??.get();
    }
    Some(here)
}

/// The texts at a path that goes into each element of the lists that it meets.
pub(crate) fn texts(json: &str, path: &[Text]) -> Vec<String> {
    fn collect(value: &serde_json::Value, path: &[Text], into: &mut Vec<String>) {
        match (value, path.split_first()) {
            (serde_json::Value::Array(all), _) => all.iter().for_each(|one| collect(one, path, into)),
            (serde_json::Value::String(text), None) => into.push(text.clone()),
            (serde_json::Value::Object(members), Some((key, rest))) => {
                if let Some(member) = members.get(&**key) {
                    collect(member, rest, into);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(json) {
        collect(&value, path, &mut found);
    }
    found
}

/// Whether a value grants or fulfils something: it is there and neither `false` nor `null`.
pub(crate) fn holds(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value.trim_ascii(), "false" | "null"))
}

/// Whether a value is an object without members.
pub(crate) fn is_empty_object(json: &str) -> bool {
    let inner = json.trim_ascii().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim_ascii().is_empty())
}

/// Finds the value of one key of an object, or of one position of a list; anything else has none.
struct Seek<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<JsonKey<'de>>()? {
            if key.0 == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (wanted, mut found) = (position(self.0), None);
        for at in 0.. {
            if Some(at) == wanted {
                found = list.next_element()?;
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

/// An object whose values stay raw and in order.
pub(super) struct Entries<'a>(pub(super) Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'de>, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<JsonKey<'de>>()? {
                    entries.push((key.0, Cow::Borrowed(map.next_value::<&'de RawValue>()?)));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

impl Serialize for Entries<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The payload with `value` at the path; objects on the way are made where they are missing, and an absent payload
/// or a `null` on the way counts as an empty object. Fails where something is in the way that has no such member or
/// element.
pub(crate) fn set(json: Option<&str>, path: &[Text], value: &str) -> Result<String, serde_json::Error> {
    let Some((key, rest)) = path.split_first() else { return Ok(value.to_owned()) };
    let json = json.map(str::trim_ascii).filter(|json| !json.is_empty() && *json != "null").unwrap_or("{}");
    if let Some(at) = position(key).filter(|_| json.starts_with('[')) {
        let mut elements: Vec<Cow<'_, RawValue>> =
            serde_json::from_str::<Vec<&RawValue>>(json)?.into_iter().map(Cow::Borrowed).collect();
        if let Some(element) = elements.get_mut(at) {
            let inner = set(Some(element.get()), rest, value)?;
            *element = Cow::Owned(RawValue::from_string(inner)?);
            return serde_json::to_string(&elements);
        }
    }
    let mut entries: Entries<'_> = serde_json::from_str(json)?;
    let present = entries.0.iter_mut().find(|(name, _)| name == &**key);
    let inner = set(present.as_ref().map(|(_, inner)| inner.get()), rest, value)?;
    let inner = Cow::Owned(RawValue::from_string(inner)?);
    match present {
        Some((_, place)) => *place = inner,
        None => entries.0.push((Cow::Borrowed(key), inner)),
    }
    serde_json::to_string(&entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(keys: &[&str]) -> Vec<Text> {
        keys.iter().map(|key| Cow::Owned((*key).to_owned())).collect()
    }

    #[test]
    fn finds_what_is_there() {
        let json = r#"{"b":[1,{"a":2}],"_meta":{"io.x/y":{"t":"v"},"a":1.50}}"#;
        assert_eq!(find(json, &path(&["_meta", "a"])), Some("1.50"));
        assert_eq!(find(json, &path(&["_meta", "io.x/y", "t"])), Some("\"v\""));
        assert_eq!(find(json, &path(&["b", "a"])), None, "a list has no keys");
        assert_eq!(find(json, &path(&["b", "0"])), Some("1"), "a number is a position in a list");
        assert_eq!(find(json, &path(&["b", "1", "a"])), Some("2"));
        assert_eq!(find(json, &path(&["b", "2"])), None);
        assert_eq!(find(json, &path(&["b", "01"])), None);
        assert_eq!(find(r#"{"0":7}"#, &path(&["0"])), Some("7"), "and the name of a member in an object");
        assert_eq!(find("[ 7 ]", &path(&["0"])), Some("7"));
        assert_eq!(find("\"x\"", &[]), Some("\"x\""), "the payload itself");
        let long = format!("[[{}],7]", vec!["1"; 400].join(","));
        assert_eq!(find(&long, &path(&["1"])), Some("7"), "the text of a position is not searched for");
        assert_eq!(find(json, &path(&["a"])), None, "`a` is not at the top");
        assert_eq!(find(r#"{"\u0061":7}"#, &path(&["a"])), Some("7"), "escaped keys are keys");
        assert_eq!(find("7", &path(&["a"])), None);
    }

    #[test]
    fn what_holds() {
        assert!(holds(Some("{}")) && holds(Some("0")) && holds(Some("\"\"")));
        assert!(!holds(None) && !holds(Some("false")) && !holds(Some(" null ")));
    }

    #[test]
    fn empty_objects() {
        assert!(is_empty_object("{}") && is_empty_object(" {\n } "));
        for other in ["", "{", "}", "[]", "null", r#"{"a":1}"#, "{}{}"] {
            assert!(!is_empty_object(other), "{other}");
        }
    }

    #[test]
    fn sets_and_keeps_the_rest() {
        let json = r#"{"z":1.10,"_meta":{"k":18446744073709551616},"a":[ 1 ]}"#;
        assert_eq!(
            set(Some(json), &path(&["_meta", "progressToken"]), "5").unwrap(),
            r#"{"z":1.10,"_meta":{"k":18446744073709551616,"progressToken":5},"a":[ 1 ]}"#
        );
        assert_eq!(set(None, &path(&["a", "b"]), "\"x\"").unwrap(), r#"{"a":{"b":"x"}}"#);
        assert_eq!(
            set(Some(r#"{"a":null,"b":2}"#), &path(&["a", "b"]), "1").unwrap(),
            r#"{"a":{"b":1},"b":2}"#
        );
        assert!(set(Some("[1]"), &path(&["a"]), "1").is_err());
        assert_eq!(set(Some("[1,{}]"), &path(&["1", "a"]), "2").unwrap(), r#"[1,{"a":2}]"#);
        assert_eq!(set(Some("[1]"), &path(&["0"]), "2").unwrap(), "[2]");
        assert!(set(Some("[1]"), &path(&["1"]), "2").is_err(), "a list is not made longer");
    }
}
