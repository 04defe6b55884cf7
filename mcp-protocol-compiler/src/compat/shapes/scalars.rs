//! Values that are neither lists nor objects.

use mcp_protocol_machine::protocol::Literal;
use mcp_protocol_machine::shape::Sample;

use crate::declarations::Form;

/// Values of a leaf that is neither a list nor an object, among them one that the receiver's leaves refuse if they refuse
/// any.
pub(super) fn scalars(leaf: &Form, receiver: &[&Form]) -> Vec<Sample> {
    let is_known = |literal: &Literal| {
        receiver.iter().any(|leaf| matches!(leaf, Form::Literal(known) if known == literal))
    };
    let number = |number: i64| Sample::Number(number.to_string().into());
    // There are fewer literals than numbers.
    let unknown = |step: i64| {
        let mut number = step;
        while is_known(&number.into()) {
            number += step;
        }
        number
    };
    match leaf {
        Form::Null => vec![Sample::Null],
        Form::Bool => vec![Sample::Bool(false), Sample::Bool(true)],
        Form::Int => vec![number(0), number(-1), number(unknown(1)), number(unknown(-1))],
        Form::Uint => {
            vec![number(0), number(unknown(1)), Sample::Number("18446744073709551615".into())]
        }
        Form::Number => vec![number(0), Sample::Number("0.5".into())],
        Form::Literal(literal) => vec![Sample::from(literal)],
        Form::String => {
            let mut text = "text".to_owned();
            while is_known(&text.clone().into()) {
                text.push('_');
            }
            vec![Sample::Text(text)]
        }
        _ => Vec::new(),
    }
}
