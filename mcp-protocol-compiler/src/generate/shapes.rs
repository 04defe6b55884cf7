//! The module `types`: a Rust type for each shape.

use std::collections::{BTreeSet, HashSet};

use mcp_protocol_machine::protocol::{Literal, Presence};
use mcp_protocol_machine::shape::expected_list;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::docs::{after, attributes};
use super::mentions::mentions;
use super::types::ordinal;
use super::{tables, variants};
use crate::components::components;
use crate::declarations::{Alternative, DeclaredShape, Form, Position, Record, is_struct, pascal};
use crate::plan::names::{constant, ident, is_ident, snake};

/// Where types of shapes stand that are not generated.
pub(super) enum Elsewhere {
    /// All of them, in this module.
    All(syn::Path),
    /// Those with these names, in this module.
    Some(syn::Path, BTreeSet<String>),
}

/// The module; nothing where the protocol declares no shape.
pub(super) fn module(
    shapes: &[DeclaredShape],
    elsewhere: Option<&Elsewhere>,
    allow: &TokenStream,
) -> Option<TokenStream> {
    if shapes.iter().all(DeclaredShape::is_built_in) {
        return None;
    }
    let others = match elsewhere {
        None => None,
        Some(Elsewhere::All(path)) => return Some(quote!(#[doc(inline)] pub use #path as types;)),
        Some(Elsewhere::Some(path, names)) => Some((path, names)).filter(|(_, names)| !names.is_empty()),
    };
    let reexported = others.map(|(path, names)| {
        let types = names.iter().map(|name| ident(name));
        quote!(#[doc(inline)] pub use #path::{#(#types),*};)
    });
    let is_elsewhere =
        |shape: &DeclaredShape| others.is_some_and(|(_, names)| names.contains(&shape.name.text));
    let writer = ShapeWriter::new(shapes);
    let generated =
        shapes.iter().enumerate().filter(|(_, shape)| !shape.is_built_in() && !is_elsewhere(shape));
    let types: TokenStream = generated.clone().map(|(index, shape)| writer.item(index, shape)).collect();
    // A variant may be called `Value`, too.
    let has_any = generated.clone().any(|(_, shape)| has_any(&shape.form));
    let imports = writer.foreign.imports(&types, has_any);
    Some(quote! {
        /// What messages carry.
        #allow
        pub mod types {
            #imports
            #reexported

            #types
        }
    })
}

/// Writes the types of all shapes.
struct ShapeWriter<'a> {
    shapes: &'a [DeclaredShape],
    /// The shapes that contain one another, without a list or a map between, have one number.
    component: Vec<usize>,
    /// The name of each shape's constant in the tables.
    constants: Vec<Ident>,
    foreign: Foreign,
}

/// What the types of the runtime and of the standard library are called in the module.
struct Foreign {
    value: Ident,
    number: Ident,
    object: Ident,
    map: Ident,
    boxed: Ident,
}

impl Foreign {
    /// Their own names, and others where a shape has one of these.
    fn new(shapes: &[DeclaredShape]) -> Foreign {
        let name = |own: &str| {
            let is_taken = |name: &str| shapes.iter().any(|shape| shape.name.text == name);
            let mut name = own.to_owned();
            while is_taken(&name) {
                name.insert_str(0, "Any");
            }
            ident(&name)
        };
        Foreign {
            value: name("Value"),
            number: name("Number"),
            object: name("Object"),
            map: name("BTreeMap"),
            boxed: name("Box"),
        }
    }

    /// The imports of those that the types mention; `has_any` says whether a part of them is any JSON.
    fn imports(&self, types: &TokenStream, has_any: bool) -> TokenStream {
        let import = |own: &str, name: &Ident| {
            let own = ident(own);
            let import = if own == *name { quote!(#own) } else { quote!(#own as #name) };
            mentions(types.clone(), &name.to_string()).then_some(import)
        };
        let value =
            import("Value", &self.value).filter(|_| has_any).map(|value| quote!(use super::typed::#value;));
        let macros = mentions(types.clone(), "shapes").then(|| {
            quote!(
                use super::typed::shapes;
            )
        });
        // A program that fills a field of these types names them.
        let fields = [import("Number", &self.number), import("Object", &self.object)];
        let fields = match fields.into_iter().flatten().collect::<Vec<_>>().as_slice() {
            [] => None,
            [only] => Some(quote!(#[doc(no_inline)] pub use super::typed::shapes::#only;)),
            both => Some(quote!(#[doc(no_inline)] pub use super::typed::shapes::{#(#both),*};)),
        };
        let map = import("BTreeMap", &self.map).map(|map| quote!(use std::collections::#map;));
        // Rust's prelude has it.
        let boxed = import("Box", &self.boxed)
            .filter(|_| self.boxed != "Box")
            .map(|boxed| quote!(use std::boxed::#boxed;));
        quote!(#value #macros #boxed #map #fields)
    }
}

impl<'a> ShapeWriter<'a> {
    fn new(shapes: &'a [DeclaredShape]) -> ShapeWriter<'a> {
        let component = components(shapes.len(), |index| {
            let mut inside = Vec::new();
            if let Some(shape) = shapes.get(index) {
                directly_inside(&shape.form, &mut inside);
            }
            inside
        });
        let constants = shapes.iter().map(|shape| constant(&shape.name.text));
        let foreign = Foreign::new(shapes);
        ShapeWriter { shapes, component, constants: tables::distinct(constants), foreign }
    }

    fn item(&self, index: usize, shape: &DeclaredShape) -> TokenStream {
        let name = ident(&shape.name.text);
        let documentation = attributes(&after(&shape.documentation, [format!("`type {}`", shape.name.text)]));
        match &shape.form {
            Form::Tuple(positions) if is_struct(positions) => {
                self.tuple(index, &name, positions, &documentation)
            }
            Form::Record(record) => self.record(index, &name, record, &documentation),
            Form::Union(parts) if parts.iter().all(|part| part.form != Form::Null) => {
                self.union(index, &name, parts, &documentation)
            }
            form => {
                let form = self.rust(form, index);
                quote!(#documentation pub type #name = #form;)
            }
        }
    }

    fn record(
        &self,
        index: usize,
        name: &Ident,
        record: &Record,
        documentation: &TokenStream,
    ) -> TokenStream {
        let mut names = FieldNames::default();
        let (mut literals, mut required, mut optional) = (Vec::new(), Vec::new(), Vec::new());
        for field in &record.fields {
            let key = &field.name.text;
            if let (Form::Literal(literal), false) = (&field.form, field.optional) {
                let literal = constant_of(literal);
                literals.push(quote!(#key = #literal;));
                continue;
            }
            let row = self.field(index, &names.take(key), key, &field.documentation, &field.form);
            if field.optional { optional.push(row) } else { required.push(row) }
        }
        let rest = record.rest.then(|| {
            let rest = names.take("rest");
            quote!(rest #rest;)
        });
        // Nothing must be given, so that all of it may be left out.
        let default = required.is_empty().then(|| quote!(#[derive(Default)]));
        let (literals, required, optional) =
            (section("literals", literals), section("required", required), section("optional", optional));
        quote! {
            shapes::record! {
                #documentation
                #default
                #name { #literals #required #optional #rest };
            }
        }
    }

    fn tuple(
        &self,
        index: usize,
        name: &Ident,
        positions: &[Position],
        documentation: &TokenStream,
    ) -> TokenStream {
        let mut names = FieldNames::default();
        let (mut literals, mut required, mut optional) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = None;
        for (place, position) in positions.iter().enumerate() {
            let number = proc_macro2::Literal::usize_unsuffixed(place);
            if let (Form::Literal(literal), true) = (&position.form, position.presence.is_required()) {
                let literal = constant_of(literal);
                literals.push(quote!(#number = #literal;));
                continue;
            }
            let field = match &position.label {
                Some(label) => names.take(&label.text),
                None if position.presence.is_rest() => names.take("rest"),
                None => names.take(&ordinal(place).to_string()),
            };
            let row = |form| self.field(index, &field, &number, &position.documentation, form);
            match position.presence {
                Presence::Required => required.push(row(&position.form)),
                Presence::Optional => optional.push(row(&position.form)),
                Presence::Rest => rest = Some(row(&Form::List(Box::new(position.form.clone())))),
            }
        }
        let least = positions.iter().filter(|position| position.presence.is_required()).count();
        let expected = expected_list(least, rest.is_none().then_some(positions.len()));
        let rest = rest.map(|row| quote!(rest #row));
        let default = required.is_empty().then(|| quote!(#[derive(Default)]));
        let (literals, required, optional) =
            (section("literals", literals), section("required", required), section("optional", optional));
        quote! {
            shapes::tuple! {
                #documentation
                #default
                #name, #expected { #literals #required #optional #rest };
            }
        }
    }

    fn field(
        &self,
        owner: usize,
        name: &Ident,
        key: &impl ToTokens,
        documentation: &[String],
        of: &Form,
    ) -> TokenStream {
        let documentation = attributes(documentation);
        let form = self.rust(of, owner);
        let given = match of {
            Form::Bool | Form::Int | Form::Uint | Form::Null | Form::Tuple(_) => form.clone(),
            Form::List(of) if matches!(**of, Form::String) => {
                quote!(impl IntoIterator<Item = impl Into<String>>, texts)
            }
            Form::List(of) => {
                let of = self.in_list(of, owner);
                quote!(impl IntoIterator<Item = #of>, each)
            }
            Form::Map(of) => {
                let of = self.in_list(of, owner);
                quote!(impl IntoIterator<Item = (String, #of)>, each)
            }
            _ => quote!(impl Into<#form>),
        };
        quote!(#documentation #name: #form, #key, #given;)
    }

    fn union(
        &self,
        index: usize,
        name: &Ident,
        parts: &[Alternative],
        documentation: &TokenStream,
    ) -> TokenStream {
        let mut names = VariantNames::default();
        let mut literals = Vec::new();
        // A name that is written is taken first: it is not one that gets a number.
        for is_written in [true, false] {
            for (place, part) in parts.iter().enumerate() {
                let Form::Literal(literal) = &part.form else { continue };
                if part.variant.is_some() == is_written {
                    let written = part.variant.as_ref().map(|name| pascal(&name.text));
                    let name = written.unwrap_or_else(|| variants::variant_of_literal(literal));
                    literals.push((place, names.take(&name), literal));
                }
            }
        }
        literals.sort_by_key(|(place, ..)| *place);
        let others: Vec<&Alternative> =
            parts.iter().filter(|part| !matches!(part.form, Form::Literal(_))).collect();
        if let Some(words) = words(name, &literals, &others, &mut names, documentation) {
            return words;
        }
        let rows_of = |are_texts: bool| -> Vec<TokenStream> {
            let rows =
                literals.iter().filter(|(.., literal)| matches!(literal, Literal::Text(_)) == are_texts);
            rows.map(|(place, variant, literal)| {
                let place = proc_macro2::Literal::usize_unsuffixed(*place);
                let literal = constant_of(literal);
                quote!(#place => #variant = #literal;)
            })
            .collect()
        };
        let (text_rows, value_rows) = (rows_of(true), rows_of(false));
        let variants = variants::names(self.shapes, index, parts);
        let rows: Vec<TokenStream> = parts
            .iter()
            .zip(variants)
            .enumerate()
            .filter(|(_, (part, _))| !matches!(part.form, Form::Literal(_)))
            .map(|(place, (part, variant))| {
                let place = proc_macro2::Literal::usize_unsuffixed(place);
                let variant = names.take(&variant);
                let form = self.rust(&part.form, index);
                quote!(#place => #variant(#form);)
            })
            .collect();
        let texts = (!text_rows.is_empty()).then(|| quote!(texts { #(#text_rows)* };));
        let values = (!value_rows.is_empty()).then(|| quote!(values { #(#value_rows)* };));
        let from_str = others.iter().any(|part| part.form == Form::String).then(|| {
            quote! {
                impl From<&str> for #name {
                    fn from(text: &str) -> Self {
                        Self::from(text.to_owned())
                    }
                }
            }
        });
        let constant = self.constants.get(index);
        quote! {
            shapes::union! {
                #documentation
                #name is super::tables::shapes::#constant, of super::PROTOCOL { #texts #values #(#rows)* };
            }
            #from_str
        }
    }

    /// The Rust type of a form inside of a shape.
    fn rust(&self, form: &Form, owner: usize) -> TokenStream {
        let Foreign { value, number, object, map, boxed } = &self.foreign;
        match form {
            Form::Any => quote!(#value),
            Form::Null => quote!(()),
            Form::Bool => quote!(bool),
            Form::Int => quote!(i64),
            Form::Uint => quote!(u64),
            Form::Number => quote!(#number),
            Form::String | Form::Literal(_) => quote!(String),
            // What stands inside of something else has a name.
            Form::Object | Form::Record(_) => quote!(#object),
            Form::List(of) => {
                let of = self.in_list(of, owner);
                quote!(Vec<#of>)
            }
            // Another one has a name.
            Form::Tuple(positions) => {
                let parts = positions.iter().map(|position| self.rust(&position.form, owner));
                quote!((#(#parts,)*))
            }
            Form::Map(of) => {
                let of = self.in_list(of, owner);
                quote!(#map<String, #of>)
            }
            Form::Union(parts) => match parts.iter().find(|part| part.form != Form::Null) {
                Some(value) => {
                    let value = self.rust(&value.form, owner);
                    quote!(Option<#value>)
                }
                None => quote!(()),
            },
            Form::Named(index) => {
                let name = self.shapes.get(*index).map(|shape| ident(&shape.name.text).into_token_stream());
                let of = |index: usize| self.component.get(index);
                if *index == owner || of(*index) == of(owner) { quote!(#boxed<#name>) } else { quote!(#name) }
            }
        }
    }

    /// The same behind a list or a map, where nothing needs a box of its own.
    fn in_list(&self, form: &Form, owner: usize) -> TokenStream {
        match form {
            Form::Named(index) => {
                let name = self.shapes.get(*index).map(|shape| ident(&shape.name.text));
                quote!(#name)
            }
            other => self.rust(other, owner),
        }
    }
}

/// The rows of one kind, if there are some.
fn section(word: &str, rows: Vec<TokenStream>) -> Option<TokenStream> {
    let word = format_ident!("{word}");
    (!rows.is_empty()).then(|| quote!(#word { #(#rows)* };))
}

/// A literal as Rust has it.
fn constant_of(literal: &Literal) -> TokenStream {
    match literal {
        Literal::Text(text) => {
            let text = &**text;
            quote!(#text)
        }
        Literal::Int(number) => proc_macro2::Literal::i64_suffixed(*number).into_token_stream(),
        Literal::Bool(value) => quote!(#value),
    }
}

/// A union of literals of one type, perhaps with all other values of that type; nothing for any other union.
fn words(
    name: &Ident,
    literals: &[(usize, Ident, &Literal)],
    others: &[&Alternative],
    names: &mut VariantNames,
    documentation: &TokenStream,
) -> Option<TokenStream> {
    let (.., first) = literals.first()?;
    let is_of_one_type = literals
        .iter()
        .all(|(.., literal)| std::mem::discriminant(*literal) == std::mem::discriminant(*first));
    let is_uint = matches!(others, [only] if only.form == Form::Uint);
    let (written_by, kind, of_type) = match first {
        Literal::Text(_) => (quote!(words), quote!(), Form::String),
        Literal::Int(_) if is_uint => (quote!(numbers), quote!(: u64, as_u64), Form::Uint),
        Literal::Int(_) => (quote!(numbers), quote!(: i64, as_i64), Form::Int),
        Literal::Bool(_) => return None,
    };
    if !is_of_one_type || others.iter().any(|part| part.form != of_type) {
        return None;
    }
    // A negative number is not one of those that are not.
    let fits = |literal: &Literal| !is_uint || !matches!(literal, Literal::Int(number) if *number < 0);
    if !literals.iter().all(|(.., literal)| fits(literal)) {
        return None;
    }
    let rows = literals.iter().map(|(_, variant, literal)| {
        let literal = match literal {
            Literal::Int(number) => proc_macro2::Literal::i64_unsuffixed(*number).into_token_stream(),
            other => constant_of(other),
        };
        quote!(#variant = #literal;)
    });
    if !others.is_empty() {
        let rows: Vec<TokenStream> = rows.collect();
        let other = names.take("Other");
        return Some(
            quote!(shapes::#written_by! { #documentation #name #kind { other #other; #(#rows)* }; }),
        );
    }
    let shown: Vec<String> = literals
        .iter()
        .map(|(.., literal)| match literal {
            Literal::Text(text) => format!("\"{text}\""),
            other => crate::format::literal(other),
        })
        .collect();
    let expected = match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => String::new(),
    };
    Some(quote!(shapes::#written_by! { #documentation #name #kind, #expected { #(#rows)* }; }))
}

/// The shapes that a value of a form has in itself, and not behind a list or a map.
fn directly_inside(form: &Form, inside: &mut Vec<usize>) {
    match form {
        Form::Record(record) => record.fields.iter().for_each(|field| directly_inside(&field.form, inside)),
        Form::Tuple(positions) => {
            let alone = positions.iter().filter(|position| !position.presence.is_rest());
            alone.for_each(|position| directly_inside(&position.form, inside));
        }
        Form::Union(parts) => parts.iter().for_each(|part| directly_inside(&part.form, inside)),
        Form::Named(index) => inside.push(*index),
        _ => {}
    }
}

/// Names for the fields of one struct.
#[derive(Default)]
struct FieldNames(HashSet<String>);

impl FieldNames {
    /// The name of a field with a key: `mimeType` is `mime_type`, `_meta` is `meta`, and `example.org/logLevel` is
    /// `log_level`.
    fn take(&mut self, key: &str) -> Ident {
        let last = key.rsplit('/').next().filter(|last| last.chars().any(char::is_alphanumeric));
        let words = snake(last.unwrap_or(key));
        let words: String =
            words.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
        let mut name = words.trim_matches('_').to_owned();
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            name = format!("member_{name}").trim_end_matches('_').to_owned();
        }
        name = usable(name);
        // `new` makes the struct.
        while name == "new" || !self.0.insert(name.clone()) {
            name.push('_');
        }
        ident(&name)
    }
}

/// Names for the variants of one enum.
#[derive(Default)]
struct VariantNames(HashSet<String>);

impl VariantNames {
    fn take(&mut self, name: &str) -> Ident {
        let name = usable(name.to_owned());
        let mut free = name.clone();
        for number in 2.. {
            if self.0.insert(free.clone()) {
                break;
            }
            free = format!("{name}{number}");
        }
        ident(&free)
    }
}

/// Whether some part of a shape is any JSON.
fn has_any(form: &Form) -> bool {
    *form == Form::Any || form.inside().into_iter().any(has_any)
}

/// The name, or one like it that can be an identifier, as `self_`.
fn usable(name: String) -> String {
    match is_ident(&name) {
        true => name,
        false => ident(&format!("{name}_")).to_string(),
    }
}
