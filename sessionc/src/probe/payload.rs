//! The params of messages: from the file of samples, or made from the shapes.

use std::collections::BTreeMap;

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{
    KeyIndex, KeyPlace, Kind, Literal, Message, MessageIndex, Path, Payload, Position, Protocol, Shape, Side,
    Text, position,
};
use mcp_protocol_machine::shape::sample;
use serde_json::{Map, Value, json};

use super::samples::Samples;

/// The method that stands for those of a pattern: `_*` becomes `_probe`.
const OF_PATTERN: &str = "probe";
/// An id and a token that belong to nothing.
pub(crate) const NOTHING: &str = "of-nothing";

/// What the messages of a session have said of each key.
pub(crate) type Keys = BTreeMap<KeyIndex, Value>;

/// Makes the params of messages.
#[derive(Clone, Debug)]
pub(crate) struct Payloads {
    protocol: ProtocolRef,
    samples: Samples,
}

impl Payloads {
    pub(crate) fn new(protocol: ProtocolRef, samples: Samples) -> Payloads {
        Payloads { protocol, samples }
    }

    /// The protocol whose messages have the params.
    pub(crate) fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Whether the file has params for a message.
    pub(crate) fn has_sample(&self, message: &Message) -> bool {
        self.samples.of(message).is_some()
    }

    /// The method of a message on the wire.
    pub(crate) fn method(message: &Message) -> String {
        match message.pattern() {
            Some(prefix) => format!("{prefix}{OF_PATTERN}"),
            None => message.method.to_string(),
        }
    }

    /// The params of a message; nothing where it has none. What is known of the keys is filled in.
    pub(crate) fn params(&self, index: MessageIndex, keys: &Keys) -> Option<Value> {
        let table = self.protocol.message(index)?;
        let given = self.samples.of(table).cloned();
        let mut params = match (given, table.payload) {
            (Some(given), _) => Some(given),
            (None, Payload::Null) => Some(Value::Null),
            (None, Payload::Required) => Some(self.of_shape(table)),
            (None, Payload::None | Payload::Optional) => None,
        };
        self.fill_version(index, table, &mut params);
        self.fill_announcement(index, table, &mut params);
        if let Some(condition) = &table.condition {
            let wanted = match &condition.literal {
                Some(Literal::Text(text)) => Value::from(&**text),
                Some(Literal::Int(number)) => Value::from(*number),
                Some(Literal::Bool(value)) => Value::from(*value),
                None => self.at_path(table, &condition.path).unwrap_or(Value::Bool(true)),
            };
            self.put_if_missing(table, &mut params, &condition.path, wanted);
        }
        if let Some(cancels) = &table.cancels {
            self.put(table, &mut params, &cancels.id, Value::from(NOTHING));
        }
        if let Some(reports) = &table.reports {
            self.put(table, &mut params, &reports.token, Value::from(NOTHING));
        }
        for carried in table.keys.iter() {
            if let (KeyPlace::Path(path), Some(value)) = (&carried.place, keys.get(&carried.key)) {
                self.put(table, &mut params, path, value.clone());
            }
        }
        params
    }

    /// The members that the envelope of a message has in addition to those of JSON-RPC, as far as their values are known.
    pub(crate) fn members(&self, index: MessageIndex, keys: &Keys) -> Vec<(String, Value)> {
        let named = self.protocol.message(index).into_iter().flat_map(Message::member_keys);
        named.filter_map(|(key, name)| Some((name.to_string(), keys.get(&key)?.clone()))).collect()
    }

    /// Notes what a payload says of the keys that its message carries. What stands in the envelope was known before.
    pub(crate) fn note_keys(
        &self,
        index: MessageIndex,
        id: Option<&Value>,
        payload: Option<&Value>,
        keys: &mut Keys,
    ) {
        let Some(table) = self.protocol.message(index) else { return };
        for carried in table.keys.iter() {
            let value = match &carried.place {
                KeyPlace::Id => id.cloned(),
                KeyPlace::Path(path) => get(payload, path).cloned(),
                KeyPlace::Member(_) => None,
            };
            if let Some(value) = value {
                keys.insert(carried.key, value);
            }
        }
    }

    fn of_shape(&self, table: &Message) -> Value {
        let shape = table.shape.and_then(|shape| self.protocol.shape(shape));
        shape.and_then(|shape| small_value(&self.protocol, &shape.shape)).unwrap_or_else(|| json!({}))
    }

    /// A value of the shape that the payload of a message has at a path.
    fn at_path(&self, table: &Message, path: &[Text]) -> Option<Value> {
        let payload = &self.protocol.shape(table.shape?)?.shape;
        let shape = path.iter().try_fold(payload, |shape, key| part(&self.protocol, shape, key))?;
        small_value(&self.protocol, shape)
    }

    /// Puts a value at a path of the params of a message. Where these are absent, or too short for a position on the way,
    /// they become what the shape of the message has there.
    fn put(&self, table: &Message, params: &mut Option<Value>, path: &[Text], value: Value) {
        let whole = params.get_or_insert_with(|| self.of_shape(table));
        if let Some(shape) = table.shape.and_then(|shape| self.protocol.shape(shape)) {
            lengthen(&self.protocol, &shape.shape, whole, path);
        }
        set(params, path, value);
    }

    fn put_if_missing(&self, table: &Message, params: &mut Option<Value>, path: &[Text], value: Value) {
        if get(params.as_ref(), path).is_none() {
            self.put(table, params, path, value);
        }
    }

    /// A request says which version it asks for: at the place where its reply announces it, or where each request says
    /// its own.
    fn fill_version(&self, index: MessageIndex, table: &Message, params: &mut Option<Value>) {
        let Some(version) = &self.protocol.version else { return };
        let Some(path) = self.asks_for_version(index) else { return };
        let number = version.parse::<u64>().ok().filter(|_| self.protocol.numeric_version);
        let version = number.map_or_else(|| Value::from(&**version), Value::from);
        // The file may ask for another version on purpose.
        match get(params.as_ref(), path) {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(Value::Number(number)) if number.as_u64() != Some(0) => {}
            _ => self.put(table, params, path, version),
        }
    }

    /// Where a message asks for a version, if it does.
    fn asks_for_version(&self, index: MessageIndex) -> Option<&Path> {
        if let Some(place) = self.protocol.version_of_each_request() {
            let is_request = self.protocol.message(index)?.kind == Kind::Request;
            return is_request.then_some(&place.path);
        }
        let field = self.protocol.announced_version()?;
        let announces = self.protocol.message(field.message)?.kind;
        (announces == Kind::Reply { request: index }).then_some(&field.path)
    }

    fn fill_announcement(&self, index: MessageIndex, table: &Message, params: &mut Option<Value>) {
        let is_request = table.kind == Kind::Request;
        for place in self.protocol.announcements.iter().filter(|place| place.side == Side::Client) {
            if place.message == Some(index) || (place.message.is_none() && is_request) {
                self.put_if_missing(table, params, &place.path, json!({}));
            }
        }
    }
}

/// What a shape is, where names stand for it; nothing where they stand for one another in a circle.
pub(crate) fn followed<'p>(protocol: &'p Protocol, mut shape: &'p Shape) -> Option<&'p Shape> {
    for _ in 0..=protocol.shapes.len() {
        match shape {
            Shape::Named(index) => shape = &protocol.shape(*index)?.shape,
            shape => return Some(shape),
        }
    }
    None
}

/// A small value of a shape.
pub(crate) fn small_value(protocol: &Protocol, shape: &Shape) -> Option<Value> {
    serde_json::from_str(&sample(protocol, shape)?).ok()
}

/// What a key leads to in a shape.
fn part<'p>(protocol: &'p Protocol, shape: &'p Shape, key: &str) -> Option<&'p Shape> {
    match (followed(protocol, shape)?, position(key)) {
        (Shape::List(of), Some(_)) | (Shape::Map(of), _) => Some(of),
        (Shape::Tuple(positions), Some(place)) => Some(&Position::of_element(positions, place)?.shape),
        (Shape::Record(record), _) => Some(&record.field(key)?.shape),
        _ => None,
    }
}

/// The value at a path.
pub(crate) fn get<'v>(value: Option<&'v Value>, path: &[Text]) -> Option<&'v Value> {
    path.iter().try_fold(value?, |value, key| value.get(&**key).or_else(|| value.get(position(key)?)))
}

/// How many elements a tuple with a rest is given before the one that a path leads to.
const MOST_ELEMENTS: usize = 100;

/// Gives the tuples on a path the positions before those that it leads to.
fn lengthen(protocol: &Protocol, shape: &Shape, value: &mut Value, path: &[Text]) {
    let (mut shape, mut value) = (shape, value);
    for key in path {
        if let (Some(Shape::Tuple(positions)), Some(place)) = (followed(protocol, shape), position(key))
            && let Value::Array(elements) = &mut *value
        {
            let last = place.min(MOST_ELEMENTS);
            let before = (elements.len()..last).map_while(|place| Position::of_element(positions, place));
            for position in before {
                elements.push(small_value(protocol, &position.shape).unwrap_or_default());
            }
        }
        let inner = part(protocol, shape, key);
        let element = match position(key).filter(|_| value.is_array()) {
            Some(place) => value.get_mut(place),
            None => value.get_mut(&**key),
        };
        let (Some(inner), Some(element)) = (inner, element) else { return };
        (shape, value) = (inner, element);
    }
}

/// Puts a value at a path, with the objects on the way.
pub(crate) fn set(params: &mut Option<Value>, path: &[Text], value: Value) {
    let mut place = params.get_or_insert_with(|| Value::Object(Map::new()));
    for key in path {
        // A list that is too short gets one element more.
        if let Some(at) = position(key).filter(|_| place.is_array()) {
            let Some(list) = place.as_array_mut() else { return };
            let at = at.min(list.len());
            if at == list.len() {
                list.push(Value::Null);
            }
            let Some(element) = list.get_mut(at) else { return };
            place = element;
            continue;
        }
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(members) = place.as_object_mut() else { return };
        place = members.entry(key.to_string()).or_insert(Value::Null);
    }
    *place = value;
}

#[cfg(test)]
pub(crate) mod tests {
    use mcp_protocol_compiler::{compile, generate};
    use mcp_protocols::mcp_2025_11_25::PROTOCOL;

    use super::*;

    pub(crate) fn message(name: &str) -> MessageIndex {
        PROTOCOL.by_name(name).unwrap().0
    }

    pub(crate) fn payloads() -> Payloads {
        Payloads::new((&PROTOCOL).into(), Samples::default())
    }

    /// Those of a protocol that is written here.
    pub(crate) fn payloads_of(text: &str) -> Payloads {
        let mut read = |_: &std::path::Path| Ok(text.as_bytes().to_vec());
        let compilation = compile(std::path::Path::new("test.session"), &mut read).unwrap();
        let protocol = generate::machine(compilation.protocol.as_ref().unwrap());
        Payloads::new(protocol.into(), Samples::default())
    }

    #[test]
    fn the_opening_asks_for_the_version_of_the_protocol() {
        let params = payloads().params(message("Initialize"), &Keys::new()).unwrap();
        assert_eq!(params["protocolVersion"], "2025-11-25");
        assert_eq!(params["capabilities"], json!({}));
    }

    #[test]
    fn a_request_that_stands_alone_says_its_revision() {
        use mcp_protocols::mcp_2026_07_28::PROTOCOL;
        let payloads = Payloads::new((&PROTOCOL).into(), Samples::default());
        for (index, table) in PROTOCOL.messages.iter().enumerate() {
            let index = MessageIndex(u16::try_from(index).unwrap());
            if table.kind == Kind::Request {
                let params = payloads.params(index, &Keys::new()).unwrap();
                assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            }
        }
    }

    #[test]
    fn params_fit_the_condition_of_their_message() {
        let params = payloads().params(message("ToolsTask"), &Keys::new()).unwrap();
        assert!(params["task"].is_object(), "{params}");
    }

    #[test]
    fn a_key_that_is_known_is_filled_in() {
        let payloads = payloads();
        let mut keys = Keys::new();
        let subscribe = message("ResourcesSubscribe");
        payloads.note_keys(subscribe, None, Some(&json!({ "uri": "demo://one" })), &mut keys);
        assert_eq!(
            payloads.params(message("ResourcesUnsubscribe"), &keys),
            Some(json!({ "uri": "demo://one" }))
        );
    }

    const CHAIN: &str = "protocol Chain \"1\"\n\
        type Logs = [of: string, from?: int, to?: { block: int }]\n\
        request Later \"get\" if to ([of: string, from?: int, to?: { block: int }]) -> OfLater (string)\n\
        request Sooner \"get\" ([of: string]) -> OfSooner (string)\n\
        request Deep \"deep\" if logs.2.block ({ logs: Logs }) -> OfDeep (string)\n\
        request Flat \"deep\" -> OfFlat (string)\n\
        request Many \"many\" if 1 ([string, int?]?) -> OfMany (string)\n\
        request Few \"many\" -> OfFew (string)\n\
        client Wallet\nserver Node = dual Wallet\n\
        Wallet = (*( !Later . ?OfLater . End ), *( !Sooner . ?OfSooner . End ), *( !Deep . ?OfDeep . End ),\n\
                  *( !Flat . ?OfFlat . End ), *( !Many . ?OfMany . End ), *( !Few . ?OfFew . End ))\n";

    #[test]
    fn a_condition_on_a_position_has_those_before_it() {
        let payloads = payloads_of(CHAIN);
        let params = |name| {
            let (message, _) = payloads.protocol().by_name(name).unwrap();
            payloads.params(message, &Keys::new()).unwrap()
        };
        assert_eq!(params("Later"), json!(["", 0, { "block": 0 }]));
        assert_eq!(params("Deep"), json!({ "logs": ["", 0, { "block": 0 }] }));
        assert_eq!(params("Many"), json!(["", 0]));
    }
}
