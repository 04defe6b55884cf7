//! Writes the shapes as rows of a table.

use mcp_protocol_machine::protocol::{Literal, Position, Presence, Protocol, Record, Shape};
use proc_macro2::TokenStream;
use quote::quote;

use super::ConstantNames;

/// The module with the shapes; nothing where there are none.
pub(super) fn module(protocol: &Protocol, names: &ConstantNames) -> Option<TokenStream> {
    if protocol.shapes.is_empty() {
        return None;
    }
    let rows = protocol.shapes.iter().zip(&names.shapes).map(|(named, constant)| {
        let name = &*named.name;
        let shape = match &named.shape {
            Shape::Union(shapes) => alternatives(shapes, names),
            other => shape(other, names),
        };
        quote!(#constant = #name: #shape;)
    });
    Some(quote! {
        pub(super) mod shapes {
            use super::tables;

            tables::shapes! {
                #(#rows)*
            }
        }
    })
}

/// One shape, as one token tree.
fn shape(shape: &Shape, names: &ConstantNames) -> TokenStream {
    match shape {
        Shape::Any => quote!(Any),
        Shape::Null => quote!(Null),
        Shape::Bool => quote!(Bool),
        Shape::Int => quote!(Int),
        Shape::Uint => quote!(Uint),
        Shape::Number => quote!(Number),
        Shape::Text => quote!(Text),
        Shape::Object => quote!(Object),
        Shape::Literal(Literal::Text(text)) => {
            let text = &**text;
            quote!(#text)
        }
        Shape::Literal(Literal::Int(number)) => {
            let number = proc_macro2::Literal::i64_unsuffixed(*number);
            quote!((int #number))
        }
        Shape::Literal(Literal::Bool(value)) => quote!(#value),
        Shape::List(of) => {
            let of = self::shape(of, names);
            quote!([#of])
        }
        Shape::Tuple(positions) => {
            let positions = positions.iter().map(|position| self::position(position, names));
            quote!((tuple: #(#positions),*))
        }
        Shape::Map(of) => {
            let of = self::shape(of, names);
            quote!({ *: #of })
        }
        Shape::Record(record) => self::record(record, names),
        Shape::Union(shapes) => {
            let shapes = alternatives(shapes, names);
            quote!((#shapes))
        }
        Shape::Named(index) => names.shape(*index),
    }
}

fn alternatives(shapes: &[Shape], names: &ConstantNames) -> TokenStream {
    let shapes = shapes.iter().map(|shape| self::shape(shape, names));
    quote!(#(#shapes)|*)
}

fn position(position: &Position, names: &ConstantNames) -> TokenStream {
    let shape = shape(&position.shape, names);
    match (position.label.as_deref(), position.presence) {
        (None, Presence::Required) => quote!([#shape]),
        (None, Presence::Optional) => quote!([#shape ?]),
        (None, Presence::Rest) => quote!([.. #shape]),
        (Some(label), Presence::Required) => quote!([#label: #shape]),
        (Some(label), Presence::Optional) => quote!([#label?: #shape]),
        (Some(label), Presence::Rest) => quote!([#label: .. #shape]),
    }
}

fn record(record: &Record, names: &ConstantNames) -> TokenStream {
    let fields = record.fields.iter().map(|field| {
        let (name, shape) = (&*field.name, shape(&field.shape, names));
        match field.required {
            true => quote!(#name: #shape),
            false => quote!(#name?: #shape),
        }
    });
    match record.rest {
        true => quote!({ #(#fields,)* .. }),
        false => quote!({ #(#fields),* }),
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{NamedShape, RecordField, ShapeIndex};

    use super::*;

    #[test]
    fn a_shape_is_a_row_that_reads_like_its_table() {
        const FIELDS: &[RecordField] = &[
            RecordField::required("type", Shape::literal("text")),
            RecordField::optional("notes", Shape::list(&Shape::Named(ShapeIndex(1)))),
            RecordField::optional("_meta", Shape::map(&Shape::Any)),
        ];
        let shapes = vec![
            NamedShape::named("Content", Shape::record_with_rest(FIELDS)),
            NamedShape::named(
                "Note",
                Shape::union(const { &[Shape::Text, Shape::Uint, Shape::literal_int(7)] }),
            ),
        ];
        let mut protocol = Protocol::new("Test".into(), Vec::new().into());
        protocol.shapes = shapes.into();
        let expected = quote! {
            pub(super) mod shapes {
                use super::tables;

                tables::shapes! {
                    CONTENT = "Content": { "type": "text", "notes"?: [NOTE], "_meta"?: { *: Any }, .. };
                    NOTE = "Note": Text | Uint | (int 7);
                }
            }
        };
        let written = module(&protocol, &ConstantNames::new(&protocol)).unwrap();
        assert_eq!(written.to_string(), expected.to_string());
    }
}
