//! Payload types: the Rust type of each message's payload, as a path that holds where it is written.
//!
//! The module that most payloads come from is imported once, as `types`; that keeps signatures short, and a path
//! that starts with `self` or `super` is then written in one place only.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::{Kind, Payload};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;

use crate::declarations::{Declarations, DeclaredShape, Form, Message, PayloadType};

/// Where in the generated code a type is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In the module that `protocol!` stands in.
    Top,
    /// In a module inside it.
    Nested,
}

/// Writes payload types.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// The module imported as `types`.
    common: Option<String>,
}

impl Types {
    /// Finds the module that most payloads come from; of equals the first in the alphabet. Where there are shapes, `types`
    /// is the module of theirs.
    pub(crate) fn new(declarations: &Declarations) -> Self {
        if !declarations.shapes.iter().all(DeclaredShape::is_built_in) {
            return Types::default();
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for message in &declarations.messages {
            if let Some(module) = module_of(&message.payload) {
                *counts.entry(module).or_default() += 1;
            }
        }
        let common = counts.iter().max_by(|one, other| one.1.cmp(other.1).then(other.0.cmp(one.0)));
        Types { common: common.map(|(module, _)| (*module).to_owned()) }
    }

    /// The import of the common module.
    pub(crate) fn import(&self) -> Option<TokenStream> {
        let path: syn::Path = syn::parse_str(self.common.as_deref()?).ok()?;
        let path = rooted(path, Scope::Top);
        // A type of a message that no role has is mentioned nowhere.
        Some(quote!(#[allow(unused_imports)] use #path as types;))
    }

    /// The type of a message's payload: `()` where it carries nothing, an `Option` where it may be absent, an
    /// error where a request is refused, and the same with the method where that is a pattern.
    pub(crate) fn of(&self, message: &Message, scope: Scope) -> TokenStream {
        let payload = self.without_method(message, scope);
        match message.table.pattern() {
            Some(_) => quote!(typed::WithMethod<#payload>),
            None => payload,
        }
    }

    fn without_method(&self, message: &Message, scope: Scope) -> TokenStream {
        if matches!(message.table.kind, Kind::Refusal { .. }) {
            return quote!(typed::RpcError);
        }
        let inner = match &message.payload {
            PayloadType::None => return quote!(()),
            PayloadType::Any => quote!(typed::Value),
            PayloadType::Type(path) => self.path(&path.text, scope),
            PayloadType::Shape { name, .. } => self.shape(name),
        };
        match message.table.payload {
            Payload::None | Payload::Null => quote!(()),
            Payload::Required => inner,
            Payload::Optional => quote!(Option<#inner>),
        }
    }

    /// The path of a module as it is written at the top; the one that is imported is `types`.
    pub(crate) fn module(&self, module: &str) -> Option<TokenStream> {
        if self.common.as_deref() == Some(module) {
            return Some(quote!(types));
        }
        let path: syn::Path = syn::parse_str(module).ok()?;
        Some(rooted(path, Scope::Top).into_token_stream())
    }

    /// The Rust type of a declared shape. Its module is imported wherever the one that most payloads come from is.
    fn shape(&self, name: &str) -> TokenStream {
        if let Some(word) = built_in(name) {
            return word;
        }
        let name = crate::plan::names::ident(name);
        quote!(types::#name)
    }

    pub(crate) fn path(&self, text: &str, scope: Scope) -> TokenStream {
        if let (Some(common), Some((module, name))) = (self.common.as_deref(), plain_path(text))
            && module == common
        {
            let name = crate::plan::names::ident(name);
            return quote!(types::#name);
        }
        match syn::parse_str::<syn::Type>(text) {
            Ok(mut found) => {
                Rooting(scope).visit_type_mut(&mut found);
                found.into_token_stream()
            }
            // The parser let through what is not a Rust type; rustc shall say so at a readable place.
            Err(_) => {
                let message = format!("`{text}` is not a Rust type");
                quote!(::std::compile_error!(#message))
            }
        }
    }
}

/// The Rust type of a shape that the language has by itself.
fn built_in(word: &str) -> Option<TokenStream> {
    Some(match Form::built_in(word)? {
        Form::Null => quote!(()),
        Form::Bool => quote!(bool),
        Form::Int => quote!(i64),
        Form::Uint => quote!(u64),
        Form::Number => quote!(typed::shapes::Number),
        Form::String => quote!(String),
        Form::Object => quote!(typed::shapes::Object),
        _ => quote!(typed::Value),
    })
}

/// The module in front of a type without generic arguments.
fn module_of(payload: &PayloadType) -> Option<&str> {
    match payload {
        PayloadType::Type(path) => plain_path(&path.text).map(|(module, _)| module),
        PayloadType::None | PayloadType::Any | PayloadType::Shape { .. } => None,
    }
}

pub(crate) fn plain_path(text: &str) -> Option<(&str, &str)> {
    let (module, name) = text.rsplit_once("::")?;
    let plain =
        |part: &str| part.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':'));
    // `std::vec::Vec` and the like are not in a payload module, and `::T` has none.
    (plain(module) && plain(name) && !module.is_empty()).then_some((module, name))
}

/// Gives every path of a type its root.
struct Rooting(Scope);

impl VisitMut for Rooting {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        syn::visit_mut::visit_path_mut(self, path);
        let whole = std::mem::replace(path, syn::Path { leading_colon: None, segments: Default::default() });
        *path = rooted(whole, self.0);
    }
}

/// The path as it must be written in a scope: a crate's path starts with `::`, so that no module of the same name
/// comes before it; `super` and `self` count from the module that `protocol!` stands in.
fn rooted(mut path: syn::Path, scope: Scope) -> syn::Path {
    let Some(first) = path.segments.first() else { return path };
    if path.leading_colon.is_some() || path.segments.len() == 1 {
        return path;
    }
    match first.ident.to_string().as_str() {
        "crate" => {}
        "super" | "self" if scope == Scope::Nested => {
            let outer = Ident::new("super", Span::call_site());
            let rest = path.segments.into_iter().skip_while(|segment| segment.ident == "self");
            path.segments = std::iter::once(syn::PathSegment::from(outer)).chain(rest).collect();
        }
        "super" | "self" => {}
        _ => path.leading_colon = Some(Default::default()),
    }
    path
}

/// `first`, `second`, …: names for the values of a tuple.
pub(crate) fn ordinal(index: usize) -> Ident {
    const WORDS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
    match WORDS.get(index) {
        Some(word) => format_ident!("{word}"),
        None => format_ident!("part_{}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, scope: Scope) -> String {
        Types::default().path(text, scope).to_string().replace(' ', "")
    }

    #[test]
    fn paths_are_rooted_where_they_are_written() {
        assert_eq!(shown("payloads::Greeting", Scope::Top), "::payloads::Greeting");
        assert_eq!(shown("crate::payloads::Greeting", Scope::Nested), "crate::payloads::Greeting");
        assert_eq!(shown("super::Greeting", Scope::Top), "super::Greeting");
        assert_eq!(shown("super::Greeting", Scope::Nested), "super::super::Greeting");
        assert_eq!(shown("self::Greeting", Scope::Nested), "super::Greeting");
    }

    #[test]
    fn primitives_stay_and_arguments_are_rooted_too() {
        assert_eq!(shown("u32", Scope::Nested), "u32");
        assert_eq!(shown("String", Scope::Nested), "String");
        assert_eq!(shown("Vec<super::Greeting>", Scope::Nested), "Vec<super::super::Greeting>");
        assert_eq!(shown("Vec<a::B<u8>>", Scope::Top), "Vec<::a::B<u8>>");
    }

    #[test]
    fn rustc_reports_what_is_not_a_type() {
        assert!(shown("a::", Scope::Top).contains("compile_error"));
    }
}
