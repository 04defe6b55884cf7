//! Writes the shapes as rows of a table.

use mcp_protocol_machine::protocol::{Literal, Position, Protocol, Record, Shape};
use proc_macro2::TokenStream;
use quote::quote;

use super::ConstantNames;

/// The module with the shapes; nothing where there are none.
pub(super) fn module(protocol: &Protocol, names: &ConstantNames) -> Option<TokenStream> {
    if protocol.shapes.is_empty() {
        return None;
    }
    let rows = protocol.shapes.iter().zip(&names.shapes).map(|(named, constant)| {
        let (name, shape) = (&*named.name, shape(&named.shape, names));
        quote!(#constant = NamedShape::named(#name, #shape);)
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

fn shape(shape: &Shape, names: &ConstantNames) -> TokenStream {
    match shape {
        Shape::Any => quote!(Shape::Any),
        Shape::Null => quote!(Shape::Null),
        Shape::Bool => quote!(Shape::Bool),
        Shape::Int => quote!(Shape::Int),
        Shape::Uint => quote!(Shape::Uint),
        Shape::Number => quote!(Shape::Number),
        Shape::Text => quote!(Shape::Text),
        Shape::Object => quote!(Shape::Object),
        Shape::Literal(Literal::Text(text)) => {
            let text = &**text;
            quote!(Shape::literal(#text))
        }
        Shape::Literal(Literal::Int(number)) => {
            let number = proc_macro2::Literal::i64_unsuffixed(*number);
            quote!(Shape::literal_int(#number))
        }
        Shape::Literal(Literal::Bool(value)) => quote!(Shape::literal_bool(#value)),
        Shape::List(of) => {
            let of = self::shape(of, names);
            quote!(Shape::list(const { &#of }))
        }
        Shape::Tuple(positions) => {
            let positions = positions.iter().map(|position| self::position(position, names));
            quote!(Shape::tuple(const { &[#(#positions),*] }))
        }
        Shape::Map(of) => {
            let of = self::shape(of, names);
            quote!(Shape::map(const { &#of }))
        }
        Shape::Record(record) => self::record(record, names),
        Shape::Union(shapes) => {
            let shapes = shapes.iter().map(|shape| self::shape(shape, names));
            quote!(Shape::union(const { &[#(#shapes),*] }))
        }
        Shape::Named(index) => {
            let name = names.shape(*index);
            quote!(Shape::Named(#name))
        }
    }
}

fn position(position: &Position, names: &ConstantNames) -> TokenStream {
    let shape = shape(&position.shape, names);
    match (position.label.as_deref(), position.required) {
        (None, true) => quote!(Position::required(#shape)),
        (None, false) => quote!(Position::optional(#shape)),
        (Some(label), true) => quote!(Position::required_as(#label, #shape)),
        (Some(label), false) => quote!(Position::optional_as(#label, #shape)),
    }
}

fn record(record: &Record, names: &ConstantNames) -> TokenStream {
    let fields = record.fields.iter().map(|field| {
        let (name, shape) = (&*field.name, shape(&field.shape, names));
        match field.required {
            true => quote!(required(#name, #shape)),
            false => quote!(optional(#name, #shape)),
        }
    });
    let fields = quote!(const { &[#(#fields),*] });
    match record.rest {
        true => quote!(Shape::record_with_rest(#fields)),
        false => quote!(Shape::record(#fields)),
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
            NamedShape::named("Note", Shape::union(&[Shape::Text, Shape::Uint, Shape::Named(ShapeIndex(7))])),
        ];
        let mut protocol = Protocol::new("Test".into(), Vec::new().into());
        protocol.shapes = shapes.into();
        let expected = quote! {
            pub(super) mod shapes {
                use super::tables;

                tables::shapes! {
                    CONTENT = NamedShape::named("Content", Shape::record_with_rest(const { &[
                        required("type", Shape::literal("text")),
                        optional("notes", Shape::list(const { &Shape::Named(NOTE) })),
                        optional("_meta", Shape::map(const { &Shape::Any }))
                    ] }));
                    NOTE = NamedShape::named("Note", Shape::union(const { &[
                        Shape::Text, Shape::Uint, Shape::Named(ShapeIndex(7))
                    ] }));
                }
            }
        };
        let written = module(&protocol, &ConstantNames::new(&protocol)).unwrap();
        assert_eq!(written.to_string(), expected.to_string());
    }
}
