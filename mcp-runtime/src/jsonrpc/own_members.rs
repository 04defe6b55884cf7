//! The members that a protocol has in the envelopes of its messages, in addition to those of JSON-RPC.

use mcp_protocol_machine::KeyValue;
use mcp_protocol_machine::protocol::Text;

use super::id::parse_id;
use super::message_text::MessageText;
use super::path::Entries;
use super::recognise::each_member;

/// The values that one message has in such members, each with the name of its member. In most protocols there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnMembers(Vec<(Text, KeyValue)>);

/// Those of a message that has none.
pub(crate) static NO_MEMBERS: OwnMembers = OwnMembers(Vec::new());

impl OwnMembers {
    /// Reads the members with certain names. What is neither a text nor a whole number is not a value of a key, and left out.
    ///
    /// # Errors
    /// The name that is there twice.
    pub(crate) fn read(message: MessageText<'_>, names: &[Text]) -> Result<OwnMembers, Text> {
        let mut reading =
            MemberReading { names, seen: vec![false; names.len()], found: Vec::new(), twice: None };
        if let Some(members) = message.value().and_then(|value| value.plain_members()) {
            members.for_each(|(key, value)| reading.take(key, value.written()));
            return reading.done();
        }
        let text = std::str::from_utf8(message.bytes()).unwrap_or_default();
        if each_member(text, usize::MAX, |key, value| reading.take(key, value)).is_some() {
            return reading.done();
        }
        // Keys with escapes, or many brackets: what was taken so far is read again.
        reading = MemberReading { names, seen: vec![false; names.len()], found: Vec::new(), twice: None };
        if let Ok(Entries(entries)) = serde_json::from_str::<Entries<'_>>(text) {
            entries.iter().for_each(|(key, value)| reading.take(key, value.get()));
        }
        reading.done()
    }

    /// The value of the member with a name.
    pub(crate) fn get(&self, name: &str) -> Option<&KeyValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each with its name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Text, &KeyValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl FromIterator<(Text, KeyValue)> for OwnMembers {
    fn from_iter<I: IntoIterator<Item = (Text, KeyValue)>>(members: I) -> OwnMembers {
        OwnMembers(members.into_iter().collect())
    }
}

/// The members that were found so far.
struct MemberReading<'n> {
    names: &'n [Text],
    seen: Vec<bool>,
    found: Vec<(Text, KeyValue)>,
    twice: Option<Text>,
}

impl MemberReading<'_> {
    fn take(&mut self, key: &str, value: &str) {
        let Some(place) = self.names.iter().position(|name| name == key) else { return };
        let (Some(name), Some(seen)) = (self.names.get(place), self.seen.get_mut(place)) else { return };
        if std::mem::replace(seen, true) {
            self.twice = Some(name.clone());
        }
        self.found.extend(parse_id(value).map(|value| (name.clone(), value)));
    }

    fn done(self) -> Result<OwnMembers, Text> {
        self.twice.map_or(Ok(OwnMembers(self.found)), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::JsonReader;

    #[test]
    fn members_are_found_however_the_message_was_read() {
        let names = ["session".into(), "tab".into()];
        let cases = [
            (r#"{"id":1,"session":"A","method":"x"}"#, Ok(vec![("session", "\"A\"")])),
            (r#"{"tab":7,"session":"A"}"#, Ok(vec![("session", "\"A\""), ("tab", "7")])),
            (r#"{"s\u0065ssion":"A","params":{"tab":7}}"#, Ok(vec![("session", "\"A\"")])),
            (r#"{"session":null,"tab":{}}"#, Ok(vec![])),
            (r#"{"session":"A","session":"A"}"#, Err("session")),
            (r#"{"tab":1,"\u0074ab":null}"#, Err("tab")),
            (r#"{"params":{"session":"A"}}"#, Ok(vec![])),
        ];
        for (text, expected) in cases {
            let mut reader = JsonReader::default();
            let read = MessageText::from(reader.read(text).unwrap());
            for message in [MessageText::from(text.as_bytes()), read] {
                let found = OwnMembers::read(message, &names);
                let found = found.as_ref().map(|found| {
                    let mut all: Vec<_> =
                        found.iter().map(|(name, value)| (&**name, value.to_string())).collect();
                    all.sort();
                    all
                });
                let expected = expected.as_ref().map(|all| {
                    all.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<Vec<_>>()
                });
                assert_eq!(found.map_err(|name| &**name), expected.map_err(|name| *name), "{text}");
            }
        }
    }
}
