//! [`Operation`]: what a request is about to do, for the scopes that this needs.
//!
//! The server behind the layer reads the same body once more, in its own way. So everything is shown here that it may take a
//! message for: each text that stands where a name does, also where it stands twice or is not the one that the method
//! reads. What cannot be read here is an error, because the server might read it all the same.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What a request does. One that names several things is shown once for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// The method, such as `tools/call`.
    pub method: &'a str,
    /// What it names: a tool, a prompt, or the URI of a resource. Where values are completed, that is the prompt or the
    /// template of a resource.
    pub name: Option<&'a str>,
}

/// How many operations a body may have: what they need is worked out before the server reads it.
const MOST_OPERATIONS: usize = 1_000;

/// Shows each operation in the body of a request, once. What is not a message in it, the server itself refuses.
///
/// # Errors
/// If the body is not JSON, if it has more than [`MOST_OPERATIONS`] operations, or if it is not clear which method a message has.
pub(super) fn each(body: &[u8], show: impl FnMut(Operation<'_>)) -> Result<(), serde_json::Error> {
    let body: &RawValue = serde_json::from_slice(body)?;
    let mut all = BTreeSet::new();
    for message in elements(body)? {
        let message = members(message)?;
        let mut methods = values(&message, "method");
        let method = methods.next().map(text).transpose()?.flatten();
        if methods.next().is_some() {
            return Err(Error::custom("`method` stands twice in a message"));
        }
        let Some(method) = method else { continue };
        let names = names(&message)?;
        if names.is_empty() {
            all.insert((method.clone(), None));
        }
        all.extend(names.into_iter().map(|name| (method.clone(), Some(name))));
        if all.len() > MOST_OPERATIONS {
            return Err(Error::custom(format_args!(
                "it has more than {MOST_OPERATIONS} operations: send them in several requests"
            )));
        }
    }
    let operations = all.iter().map(|(method, name)| Operation { method, name: name.as_deref() });
    operations.for_each(show);
    Ok(())
}

/// What a message names, each once.
fn names(message: &Members<'_>) -> Result<BTreeSet<String>, serde_json::Error> {
    let mut names = BTreeSet::new();
    for params in values(message, "params") {
        let params = members(params)?;
        named(&params, &mut names)?;
        for reference in values(&params, "ref") {
            named(&members(reference)?, &mut names)?;
        }
        for wanted in values(&params, "notifications") {
            for uris in values(&members(wanted)?, "resourceSubscriptions") {
                for uri in elements(uris)? {
                    names.extend(text(uri)?);
                }
            }
        }
    }
    Ok(names)
}

/// Takes the names that stand in an object.
fn named(members: &Members<'_>, names: &mut BTreeSet<String>) -> Result<(), serde_json::Error> {
    for key in ["name", "uri"] {
        for value in values(members, key) {
            names.extend(text(value)?);
        }
    }
    Ok(())
}

/// The elements of a list; anything else is one by itself.
fn elements(value: &RawValue) -> Result<Vec<&RawValue>, serde_json::Error> {
    if value.get().starts_with('[') { serde_json::from_str(value.get()) } else { Ok(vec![value]) }
}

/// The members of an object; anything else has none.
fn members(value: &RawValue) -> Result<Members<'_>, serde_json::Error> {
    if value.get().starts_with('{') { serde_json::from_str(value.get()) } else { Ok(Members::default()) }
}

/// A text; nothing for any other value.
fn text(value: &RawValue) -> Result<Option<String>, serde_json::Error> {
    value.get().starts_with('"').then(|| serde_json::from_str(value.get())).transpose()
}

/// The values of all members with a name.
fn values<'a>(members: &Members<'a>, name: &str) -> impl Iterator<Item = &'a RawValue> {
    members.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| *value)
}

/// The members of an object, also those that are there twice.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> Vec<(String, Option<String>)> {
        let mut all = Vec::new();
        each(body.as_bytes(), |operation| {
            all.push((operation.method.to_owned(), operation.name.map(str::to_owned)));
        })
        .unwrap();
        all
    }

    fn one(method: &str, name: Option<&str>) -> Vec<(String, Option<String>)> {
        vec![(method.to_owned(), name.map(str::to_owned))]
    }

    #[test]
    fn what_a_request_names_is_shown() {
        assert_eq!(
            shown(r#"{"method":"tools/call","params":{"name":"add"}}"#),
            one("tools/call", Some("add"))
        );
        let read = r#" {"params":{"uri":"notes:\/\/1"},"method":"resources/read"} "#;
        assert_eq!(shown(read), one("resources/read", Some("notes://1")));
        assert_eq!(shown(r#"{"method":"ping"}"#), one("ping", None));
        assert_eq!(shown(r#"{"method":"move","params":[{"name":"a"}, 2]}"#), one("move", None));
        let complete =
            r#"{"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"review"}}}"#;
        assert_eq!(shown(complete), one("completion/complete", Some("review")));
        let listen =
            r#"{"method":"listen","params":{"notifications":{"resourceSubscriptions":["notes://1"]}}}"#;
        assert_eq!(shown(listen), one("listen", Some("notes://1")));
        for body in [r#"{"id":1,"result":{"name":"add"}}"#, "[]", "7", r#""tools/call""#, r#"{"method":7}"#] {
            assert_eq!(shown(body), [], "{body}");
        }
    }

    #[test]
    fn all_that_a_server_may_take_for_the_operation_is_shown() {
        let delete = ("tools/call".to_owned(), Some("delete".to_owned()));
        for body in [
            r#"{"method":"tools/call","params":{"name":"delete","uri":5}}"#,
            r#"{"method":"tools/call","params":{"name":"delete","uri":"x"}}"#,
            r#"{"method":"tools/call","params":{"uri":"delete","name":"x"}}"#,
            r#"{"method":"tools/call","params":{"name":"delete","name":"x"}}"#,
            r#"{"method":"tools/call","params":{"name":"x","n\u0061me":"delete"}}"#,
            r#"{"method":"tools/call","params":{"name":"delete"},"params":null}"#,
            r#"{"method":"tools/call","params":{"name":"delete","arguments":{"x":"\ud800","y":1e999}}}"#,
            r#"[{"method":"tools/call","params":{"name":"delete"}},5]"#,
            r#"[{"method":7},{"method":"tools/call","params":{"name":"delete"}},{"params":[]}]"#,
        ] {
            assert!(shown(body).contains(&delete), "{body}: {:?}", shown(body));
        }
        let nested = format!(r#""arguments":{}{}"#, "[".repeat(10_000), "]".repeat(10_000));
        assert!(
            shown(&format!(r#"{{"method":"tools/call","params":{{{nested},"name":"delete"}}}}"#))
                .contains(&delete)
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for body in [
            "",
            "nonsense",
            "\u{feff}{}",
            r#"{"method":"x","method":"tools/call","params":{"name":"delete"}}"#,
            r#"{"method":"tools/call","params":{"name":"delete"}"#,
            r#"{"method":"tools/call","params":{"name":"\ud800"}}"#,
            r#"{"method":"tools/call","params":{"\ud800":1,"name":"delete"}}"#,
        ] {
            assert!(each(body.as_bytes(), |_| {}).is_err(), "{body}");
        }
        assert!(each(b"{\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}", |_| {}).is_err());
    }

    #[test]
    fn a_body_has_so_many_operations() {
        let names = |count: usize| {
            let names: Vec<String> = (0..count).map(|number| format!(r#""name":"{number}""#)).collect();
            format!(r#"{{"method":"tools/call","params":{{{}}}}}"#, names.join(","))
        };
        assert_eq!(shown(&names(MOST_OPERATIONS)).len(), MOST_OPERATIONS);
        let error = each(names(MOST_OPERATIONS + 1).as_bytes(), |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 1000 operations: send them in several requests");
        // One that stands there often is one.
        let often = format!("[{}]", vec![r#"{"method":"ping"}"#; 2 * MOST_OPERATIONS].join(","));
        assert_eq!(shown(&often), one("ping", None));
    }
}
