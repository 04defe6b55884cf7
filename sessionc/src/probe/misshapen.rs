//! Params that do not have their shape.

use std::fmt;

use mcp_protocol_machine::protocol::{MessageIndex, Position, Protocol, Record, Shape};
use serde_json::{Value, json};

use super::fits::fits;
use super::payload::{Keys, Payloads, followed, small_value};

/// What is wrong with params.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flaw {
    /// A field, an element or a position does not have its shape.
    Wrong,
    /// The last position that must be there is missing.
    Missing,
    /// There is one position too many.
    TooMany,
}

impl Flaw {
    pub(crate) const ALL: [Flaw; 3] = [Flaw::Wrong, Flaw::Missing, Flaw::TooMany];
}

/// Params with one flaw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Misshapen {
    flaw: Flaw,
    /// The name of the field or the position.
    place: String,
    pub(crate) params: Value,
}

impl fmt::Display for Misshapen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.flaw {
            Flaw::Wrong => write!(formatter, "with a wrong `{}`", self.place),
            Flaw::Missing => write!(formatter, "without `{}`", self.place),
            Flaw::TooMany => write!(formatter, "with `{}`, one position too many", self.place),
        }
    }
}

/// The params of a message with a flaw; nothing if no part of its shape could have it. Where the shape is a union, the
/// flaw is one of the first alternative that allows it: what is wrong for one may be right for another.
pub(crate) fn misshapen(
    payloads: &Payloads,
    (message, keys): (MessageIndex, &Keys),
    flaw: Flaw,
) -> Option<Misshapen> {
    let protocol = payloads.protocol();
    let whole = &protocol.shape(protocol.message(message)?.shape?)?.shape;
    let params = payloads.params(message, keys);
    let shapes = alternatives(protocol, whole);
    shapes.iter().find_map(|shape| {
        // Those of the file of samples are taken as they are.
        let sent = params.clone().filter(|params| shapes.len() == 1 || fits(protocol, shape, params));
        let (place, params) =
            with_flaw(protocol, shape, sent.or_else(|| small_value(protocol, shape))?, flaw)?;
        (!fits(protocol, whole, &params)).then_some(Misshapen { flaw, place, params })
    })
}

/// The shapes that are not unions and stand for a shape together, in the order in which they are written.
fn alternatives<'p>(protocol: &'p Protocol, shape: &'p Shape) -> Vec<&'p Shape> {
    let (mut found, mut entered) = (Vec::new(), Vec::new());
    let mut waiting = vec![shape];
    while let Some(shape) = waiting.pop() {
        match followed(protocol, shape) {
            // A union may contain itself.
            Some(Shape::Union(among)) if !entered.contains(&among) => {
                entered.push(among);
                waiting.extend(among.iter().rev());
            }
            Some(Shape::Union(_)) | None => {}
            Some(shape) => found.push(shape),
        }
    }
    found
}

/// Params of a shape with a flaw, and the name of the field or the position that has it.
fn with_flaw(protocol: &Protocol, shape: &Shape, params: Value, flaw: Flaw) -> Option<(String, Value)> {
    match shape {
        Shape::Record(record) if flaw == Flaw::Wrong => wrong_field(protocol, record, params),
        Shape::List(of) if flaw == Flaw::Wrong => {
            Some((0.to_string(), Value::Array(vec![wrong(protocol, of)?])))
        }
        Shape::Tuple(positions) => {
            let Value::Array(elements) = params else { return None };
            let (place, elements) = of_tuple(protocol, positions, elements, flaw)?;
            Some((name(positions, place), Value::Array(elements)))
        }
        _ => None,
    }
}

/// A record with a wrong value in a field that must be there.
fn wrong_field(protocol: &Protocol, record: &Record, mut params: Value) -> Option<(String, Value)> {
    let mut required = record.fields.iter().filter(|field| field.required);
    let (field, wrong) =
        required.find_map(|field| Some((field.name.to_string(), wrong(protocol, &field.shape)?)))?;
    params.as_object_mut()?.insert(field.clone(), wrong);
    Some((field, params))
}

/// The elements with a flaw, and at which position it is.
fn of_tuple(
    protocol: &Protocol,
    positions: &[Position],
    mut elements: Vec<Value>,
    flaw: Flaw,
) -> Option<(usize, Vec<Value>)> {
    match flaw {
        Flaw::Wrong => {
            // Those before it must be there, so at most one stands behind those that are.
            let mut reached = positions.iter().enumerate().take(elements.len() + 1);
            let (place, wrong) =
                reached.find_map(|(place, position)| Some((place, wrong(protocol, &position.shape)?)))?;
            elements.splice(place..elements.len().min(place + 1), [wrong]);
            Some((place, elements))
        }
        Flaw::Missing => {
            let last =
                positions.iter().filter(|position| position.presence.is_required()).count().checked_sub(1)?;
            elements.truncate(last);
            Some((last, elements))
        }
        // A rest takes any number of elements.
        Flaw::TooMany if Position::rest_of(positions).is_some() => None,
        Flaw::TooMany => {
            for position in positions.iter().skip(elements.len()) {
                elements.push(small_value(protocol, &position.shape)?);
            }
            elements.truncate(positions.len());
            elements.push(json!(5));
            Some((positions.len(), elements))
        }
    }
}

/// What a position is called: its label, or its number.
fn name(positions: &[Position], place: usize) -> String {
    let label = positions.get(place).and_then(|position| position.label.as_deref());
    label.map_or_else(|| place.to_string(), str::to_owned)
}

/// A value that does not have a shape; nothing where each of a few has it.
fn wrong(protocol: &Protocol, shape: &Shape) -> Option<Value> {
    let few = [json!(5), json!("not a number"), json!(true), json!([]), json!({}), Value::Null];
    few.into_iter().find(|value| !fits(protocol, shape, value))
}

#[cfg(test)]
mod tests {
    use super::super::payload::tests::{message, payloads, payloads_of};
    use super::*;

    const CHAIN: &str = "protocol Chain \"1\"\n\
        type Account = string\n\
        type Place = [account: Account, block?: int, deep?: bool]\n\
        request Read \"read\" (Place) -> Held (string)\n\
        request Ids \"ids\" ([]) -> IdsAre (string)\n\
        request Maybe \"maybe\" ([int?]) -> MaybeIs (string)\n\
        request All \"all\" ([any, any]) -> AllOf (string)\n\
        type Filter = { address: string }\n\
        request Watch \"watch\" ([\"heads\",] | [\"logs\", Filter]) -> Watched (string)\n\
        request Rise \"rise\" ([int | string] | Filter) -> Risen (string)\n\
        client Wallet\nserver Node = dual Wallet\n\
        Wallet = (*( !Read . ?Held . End ), *( !Ids . ?IdsAre . End ),\n\
                  *( !Maybe . ?MaybeIs . End ), *( !All . ?AllOf . End ),\n\
                  *( !Watch . ?Watched . End ), *( !Rise . ?Risen . End ))\n";

    /// All that can be wrong with the params of a message, as it is called and as it is sent.
    fn flaws(name: &str) -> Vec<(String, String)> {
        let payloads = payloads_of(CHAIN);
        let protocol = payloads.protocol();
        let (message, _) = protocol.by_name(name).unwrap();
        let all = Flaw::ALL.into_iter();
        let made = all.filter_map(|flaw| misshapen(&payloads, (message, &Keys::new()), flaw));
        made.map(|made| (made.to_string(), made.params.to_string())).collect()
    }

    fn expected(flaws: &[(&str, &str)]) -> Vec<(String, String)> {
        flaws.iter().map(|(name, params)| ((*name).to_owned(), (*params).to_owned())).collect()
    }

    #[test]
    fn a_field_of_the_wrong_shape_replaces_one_that_must_be_there() {
        let with = |name, flaw| misshapen(&payloads(), (message(name), &Keys::new()), flaw);
        let made = with("ToolsCall", Flaw::Wrong).unwrap();
        assert_eq!((made.to_string().as_str(), &made.params["name"]), ("with a wrong `name`", &json!(5)));
        assert_eq!(with("ToolsCall", Flaw::Missing), None);
        assert_eq!(with("ToolsCall", Flaw::TooMany), None);
        assert_eq!(with("Ping", Flaw::Wrong), None);
    }

    #[test]
    fn a_tuple_is_wrong_in_a_position_too_short_or_too_long() {
        let of_read = [
            ("with a wrong `account`", "[5]"),
            ("without `account`", "[]"),
            ("with `3`, one position too many", "[\"\",0,false,5]"),
        ];
        assert_eq!(flaws("Read"), expected(&of_read));
    }

    #[test]
    fn a_tuple_has_the_flaws_that_its_positions_allow() {
        assert_eq!(flaws("Ids"), expected(&[("with `0`, one position too many", "[5]")]));
        let of_maybe =
            [("with a wrong `0`", "[\"not a number\"]"), ("with `1`, one position too many", "[0,5]")];
        assert_eq!(flaws("Maybe"), expected(&of_maybe));
        let of_all = [("without `1`", "[null]"), ("with `2`, one position too many", "[null,null,5]")];
        assert_eq!(flaws("All"), expected(&of_all));
    }

    #[test]
    fn in_a_union_a_flaw_is_none_of_another_alternative() {
        let of_watch = [
            ("with a wrong `0`", "[5]"),
            ("without `0`", "[]"),
            ("with `1`, one position too many", "[\"heads\",5]"),
        ];
        assert_eq!(flaws("Watch"), expected(&of_watch));
        assert_eq!(flaws("Rise"), expected(&[("with a wrong `0`", "[true]")]));
    }
}
