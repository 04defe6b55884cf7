//! From wire names to messages, prepared once.

use crate::protocol::{KeyIndex, KeyPlace, Kind, Message, MessageIndex, Protocol, Text};

/// An index over the messages of one protocol.
///
/// A method that is listed is the message that it is listed as, or several that conditions tell apart. Any other method
/// is the message with the longest pattern that it fits: with `"$/*"`, `"$/setTrace"` is that message, unless a message
/// has this very method.
///
/// ```
/// use std::borrow::Cow;
///
/// use mcp_protocol_machine::Lookup;
/// use mcp_protocol_machine::protocol::{Message, MessageIndex, Protocol};
///
/// let messages = vec![
///     Message::notification("Progress", "$/progress"),
///     Message::notification("Extension", "$/*"),
/// ];
/// let lookup = Lookup::new(&Protocol::new("Editor".into(), Cow::Owned(messages)));
/// assert_eq!(lookup.notifications("$/progress"), [MessageIndex(0)]);
/// assert_eq!(lookup.notifications("$/setTrace"), [MessageIndex(1)]);
/// assert_eq!(lookup.notifications("exit"), []);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    requests: Methods,
    notifications: Methods,
    /// By the index of the request.
    replies: Vec<Vec<MessageIndex>>,
    refusals: Vec<Option<MessageIndex>>,
}

impl Lookup {
    /// Reads a protocol.
    pub fn new(protocol: &Protocol) -> Lookup {
        let mut lookup = Lookup {
            requests: Methods::of(protocol, Kind::Request),
            notifications: Methods::of(protocol, Kind::Notification),
            replies: vec![Vec::new(); protocol.messages.len()],
            refusals: vec![None; protocol.messages.len()],
        };
        for (index, message) in protocol.indexed() {
            match message.kind {
                Kind::Request | Kind::Notification => {}
                Kind::Reply { request } => {
                    if let Some(replies) = lookup.replies.get_mut(usize::from(request.0)) {
                        replies.push(index);
                    }
                }
                Kind::Refusal { request } => {
                    if let Some(refusal) = lookup.refusals.get_mut(usize::from(request.0)) {
                        *refusal = Some(index);
                    }
                }
            }
        }
        lookup
    }

    /// The requests with this method, in order of declaration; more than one only where conditions tell them apart.
    pub fn requests(&self, method: &str) -> &[MessageIndex] {
        self.requests.find(method, &self.notifications)
    }

    /// The notifications with this method, in order of declaration.
    pub fn notifications(&self, method: &str) -> &[MessageIndex] {
        self.notifications.find(method, &self.requests)
    }

    /// The replies of a request, in order of declaration.
    pub fn replies(&self, request: MessageIndex) -> &[MessageIndex] {
        self.replies.get(usize::from(request.0)).map_or(&[], Vec::as_slice)
    }

    /// The error reply of a request.
    pub fn refusal(&self, request: MessageIndex) -> Option<MessageIndex> {
        self.refusals.get(usize::from(request.0)).copied().flatten()
    }
}

/// The messages of one kind by their methods.
///
/// Invariant: `listed` is sorted by method. `patterns` have what precedes their `*`, the longest first.
#[derive(Clone, Debug, Default)]
struct Methods {
    listed: Vec<(Text, Vec<MessageIndex>)>,
    patterns: Vec<(Text, Vec<MessageIndex>)>,
}

impl Methods {
    fn of(protocol: &Protocol, kind: Kind) -> Methods {
        let mut methods = Methods::default();
        for (index, message) in protocol.indexed().filter(|(_, message)| message.kind == kind) {
            match message.pattern() {
                Some(prefix) => methods.patterns.push((Text::Owned(prefix.to_owned()), vec![index])),
                None => methods.listed.push((message.method.clone(), vec![index])),
            }
        }
        methods.listed.sort_by(|(one, _), (other, _)| one.cmp(other));
        methods.patterns.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then(one.cmp(other)));
        for all in [&mut methods.listed, &mut methods.patterns] {
            all.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1.append(&mut next.1);
                }
                same
            });
        }
        methods
    }

    fn listed(&self, method: &str) -> Option<&[MessageIndex]> {
        let place = self.listed.binary_search_by(|(known, _)| (**known).cmp(method)).ok()?;
        self.listed.get(place).map(|(_, messages)| messages.as_slice())
    }

    /// The messages of a method. A method that is listed for the `other` kind fits no pattern of this one.
    fn find(&self, method: &str, other: &Methods) -> &[MessageIndex] {
        if let Some(listed) = self.listed(method) {
            return listed;
        }
        if self.patterns.is_empty() || other.listed(method).is_some() {
            return &[];
        }
        let fitting = self.patterns.iter().find(|(prefix, _)| method.starts_with(&**prefix));
        fitting.map_or(&[], |(_, messages)| messages)
    }
}

impl Message {
    /// What precedes the `*` of a request or notification whose method is a pattern, such as `"$/*"`: this message stands
    /// for all methods that begin with it and are not listed, and fit no longer pattern.
    ///
    /// ```
    /// use mcp_protocol_machine::protocol::Message;
    ///
    /// assert_eq!(Message::notification("Extension", "$/*").pattern(), Some("$/"));
    /// assert_eq!(Message::notification("Exit", "exit").pattern(), None);
    /// ```
    pub fn pattern(&self) -> Option<&str> {
        match self.kind {
            Kind::Request | Kind::Notification => self.method.strip_suffix('*'),
            Kind::Reply { .. } | Kind::Refusal { .. } => None,
        }
    }

    /// Whether this message carries keys in members of its envelope.
    pub fn has_member_keys(&self) -> bool {
        self.member_keys().next().is_some()
    }

    /// The keys that this message carries in members of its envelope, and what these are called.
    pub fn member_keys(&self) -> impl Iterator<Item = (KeyIndex, &Text)> {
        self.keys.iter().filter_map(|carried| match &carried.place {
            KeyPlace::Member(name) => Some((carried.key, name)),
            KeyPlace::Path(_) | KeyPlace::Id => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol(messages: &[(Kind, &'static str)]) -> Protocol {
        let table = |(kind, method): &(Kind, &'static str)| match kind {
            Kind::Request => Message::request("R", method),
            _ => Message::notification("N", method),
        };
        Protocol::new("P".into(), messages.iter().map(table).collect())
    }

    /// The same, by going through all messages.
    fn expected(protocol: &Protocol, kind: Kind, method: &str) -> Vec<MessageIndex> {
        let listed = protocol.indexed().filter(|(_, message)| message.pattern().is_none());
        let listed: Vec<_> = listed.filter(|(_, message)| message.method == method).collect();
        if !listed.is_empty() {
            return listed.into_iter().filter(|(_, of)| of.kind == kind).map(|(index, _)| index).collect();
        }
        let of_kind = protocol.indexed().filter(|(_, message)| message.kind == kind);
        let fitting = of_kind.filter_map(|(index, message)| {
            message.pattern().filter(|prefix| method.starts_with(prefix)).map(|prefix| (prefix.len(), index))
        });
        let fitting: Vec<_> = fitting.collect();
        let longest = fitting.iter().map(|(length, _)| *length).max();
        fitting.into_iter().filter(|(length, _)| Some(*length) == longest).map(|(_, index)| index).collect()
    }

    /// All protocols of up to four messages out of all short methods.
    #[test]
    fn a_method_is_found_as_it_is_listed_and_else_by_the_longest_pattern() {
        let kinds = [Kind::Request, Kind::Notification];
        let methods = ["*", "a*", "ab*", "a", "ab", "b"];
        let all: Vec<_> = kinds.iter().flat_map(|kind| methods.map(|method| (*kind, method))).collect();
        let mut judged = 0;
        for code in 0..all.len().pow(4) {
            let chosen: Vec<_> = (0..4)
                .filter_map(|place| all.get(code / all.len().pow(place) % all.len()).copied())
                .collect();
            let protocol = protocol(&chosen);
            let lookup = Lookup::new(&protocol);
            for method in ["", "a", "ab", "abc", "b", "ba"] {
                assert_eq!(
                    lookup.requests(method),
                    expected(&protocol, Kind::Request, method),
                    "{chosen:?} {method}"
                );
                assert_eq!(
                    lookup.notifications(method),
                    expected(&protocol, Kind::Notification, method),
                    "{chosen:?} {method}"
                );
                let named: Vec<_> = protocol.by_method(method).map(|(index, _)| index).collect();
                let mut both = expected(&protocol, Kind::Request, method);
                both.extend(expected(&protocol, Kind::Notification, method));
                both.sort();
                assert_eq!(named, both, "{chosen:?} {method}");
                judged += 1;
            }
        }
        assert_eq!(judged, 12 * 12 * 12 * 12 * 6);
    }
}
