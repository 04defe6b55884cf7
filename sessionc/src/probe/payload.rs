//! The params of messages: from the file of samples, or made from the shapes.

use std::collections::BTreeMap;

use mcp_protocol_machine::ProtocolRef;
use mcp_protocol_machine::protocol::{
    KeyIndex, KeyPlace, Kind, Literal, Message, MessageIndex, Path, Payload, Protocol, Record, Shape,
    ShapeIndex, Side, Text, position,
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
        self.fill_version(index, &mut params);
        self.fill_announcement(index, &mut params);
        if let Some(condition) = &table.condition {
            let wanted = match &condition.literal {
                Some(literal) => Value::from(&**literal),
                None => self.at_path(table, &condition.path).unwrap_or(Value::Bool(true)),
            };
            set_if_missing(&mut params, &condition.path, wanted);
        }
        if let Some(cancels) = &table.cancels {
            set(&mut params, &cancels.id, Value::from(NOTHING));
        }
        if let Some(reports) = &table.reports {
            set(&mut params, &reports.token, Value::from(NOTHING));
        }
        for carried in table.keys.iter() {
            if let (KeyPlace::Path(path), Some(value)) = (&carried.place, keys.get(&carried.key)) {
                set(&mut params, path, value.clone());
            }
        }
        params
    }

    /// The same with one field that does not have its shape, and the name of the field; nothing if the shape of the
    /// message has no field that must be there.
    pub(crate) fn misshapen(&self, index: MessageIndex, keys: &Keys) -> Option<(String, Value)> {
        let table = self.protocol.message(index)?;
        let record = record(&self.protocol, &self.protocol.shape(table.shape?)?.shape)?;
        let mut required = record.fields.iter().filter(|field| field.required);
        let (field, wrong) = required
            .find_map(|field| Some((field.name.to_string(), wrong(&self.protocol, &field.shape)?)))?;
        let mut params = self.params(index, keys)?;
        params.as_object_mut()?.insert(field.clone(), wrong);
        Some((field, params))
    }

    /// Notes what a payload says of the keys that its message carries.
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
            };
            if let Some(value) = value {
                keys.insert(carried.key, value);
            }
        }
    }

    fn of_shape(&self, table: &Message) -> Value {
        let shape = table.shape.and_then(|shape| self.protocol.shape(shape));
        let text = shape.and_then(|shape| sample(&self.protocol, &shape.shape));
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| json!({}))
    }

    /// A value of the shape that the payload of a message has at a path.
    fn at_path(&self, table: &Message, path: &[Text]) -> Option<Value> {
        let mut shape = &self.protocol.shape(table.shape?)?.shape;
        for key in path {
            shape = match (shape, position(key)) {
                (Shape::List(of), Some(_)) => of,
                (Shape::Tuple(positions), Some(place)) => &positions.get(place)?.shape,
                _ => &record(&self.protocol, shape)?.field(key)?.shape,
            };
        }
        serde_json::from_str(&sample(&self.protocol, shape)?).ok()
    }

    /// A request says which version it asks for: at the place where its reply announces it, or where each request says
    /// its own.
    fn fill_version(&self, index: MessageIndex, params: &mut Option<Value>) {
        let Some(version) = &self.protocol.version else { return };
        let Some(path) = self.asks_for_version(index) else { return };
        let number = version.parse::<u64>().ok().filter(|_| self.protocol.numeric_version);
        let version = number.map_or_else(|| Value::from(&**version), Value::from);
        // The file may ask for another version on purpose.
        match get(params.as_ref(), path) {
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(Value::Number(number)) if number.as_u64() != Some(0) => {}
            _ => set(params, path, version),
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

    fn fill_announcement(&self, index: MessageIndex, params: &mut Option<Value>) {
        let table = self.protocol.message(index);
        let is_request = table.is_some_and(|table| table.kind == Kind::Request);
        for place in self.protocol.announcements.iter().filter(|place| place.side == Side::Client) {
            if place.message == Some(index) || (place.message.is_none() && is_request) {
                set_if_missing(params, &place.path, json!({}));
            }
        }
    }
}

/// The record that a shape is.
fn record<'p>(protocol: &'p Protocol, shape: &'p Shape) -> Option<&'p Record> {
    match shape {
        Shape::Record(record) => Some(record),
        Shape::Named(index) => record_of_named(protocol, *index),
        _ => None,
    }
}

/// Shapes that stand for one another in a circle have no record.
fn record_of_named(protocol: &Protocol, mut index: ShapeIndex) -> Option<&Record> {
    for _ in 0..=protocol.shapes.len() {
        match &protocol.shape(index)?.shape {
            Shape::Record(record) => return Some(record),
            Shape::Named(next) => index = *next,
            _ => return None,
        }
    }
    None
}

/// A value that does not have a shape, where that is easy to see.
fn wrong(protocol: &Protocol, shape: &Shape) -> Option<Value> {
    match shape {
        Shape::Text | Shape::Literal(Literal::Text(_)) => Some(json!(5)),
        Shape::Null | Shape::Bool | Shape::Int | Shape::Uint | Shape::Number | Shape::Literal(_) => {
            Some(json!("not a number"))
        }
        Shape::Object | Shape::List(_) | Shape::Tuple(_) | Shape::Map(_) | Shape::Record(_) => Some(json!(5)),
        Shape::Named(index) => record_of_named(protocol, *index).map(|_| json!(5)),
        Shape::Any | Shape::Union(_) => None,
    }
}

/// The value at a path.
pub(crate) fn get<'v>(value: Option<&'v Value>, path: &[Text]) -> Option<&'v Value> {
    path.iter().try_fold(value?, |value, key| value.get(&**key).or_else(|| value.get(position(key)?)))
}

fn set_if_missing(params: &mut Option<Value>, path: &[Text], value: Value) {
    if get(params.as_ref(), path).is_none() {
        set(params, path, value);
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
mod tests {
    use mcp_protocols::mcp_2025_11_25::PROTOCOL;

    use super::*;

    fn message(name: &str) -> MessageIndex {
        PROTOCOL.by_name(name).unwrap().0
    }

    fn payloads() -> Payloads {
        Payloads::new((&PROTOCOL).into(), Samples::default())
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

    #[test]
    fn a_field_of_the_wrong_shape_replaces_one_that_must_be_there() {
        let (field, params) = payloads().misshapen(message("ToolsCall"), &Keys::new()).unwrap();
        assert_eq!((field.as_str(), &params["name"]), ("name", &json!(5)));
        assert!(payloads().misshapen(message("Ping"), &Keys::new()).is_none());
    }
}
