//! Stubs: what stands in for generated code while the `.session` file has errors.

use mcp_protocol_machine::protocol::{Kind, Payload, Side};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::declarations::Message;
use crate::plan::names::{constant, snake, try_ident};
use crate::plan::role_module;

/// The names of a protocol, as far as they could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline {
    /// The protocol's name.
    pub protocol: Option<String>,
    /// The roles that are declared.
    pub roles: Vec<(Side, String)>,
    /// The definitions, each of which may name a state.
    pub states: Vec<String>,
    /// The messages.
    pub messages: Vec<Message>,
    /// The payload shapes.
    pub shapes: Vec<String>,
}

/// Items for the names of an outline.
///
/// `failure` is an expression that does not compile, `compile_error!("…")`. As the length of an array it makes a type
/// that contains an error; whatever a program does with such a value, rustc stays silent.
pub fn stubs(outline: &Outline, failure: &TokenStream) -> TokenStream {
    let mut taken: Vec<Ident> = Vec::new();
    let roles: Vec<Ident> = fresh(outline.roles.iter().map(|(_, name)| name.as_str()), &mut taken);
    let error = format!("{}Error", outline.protocol.as_deref().unwrap_or("Protocol"));
    let error = fresh([error.as_str()].into_iter(), &mut taken);
    let mut states = vec!["Start"];
    states.extend(outline.states.iter().map(String::as_str));
    let states = fresh(states.into_iter(), &mut taken);
    let mut names = Vec::new();
    let messages: Vec<Ident> = outline
        .messages
        .iter()
        .map(|message| constant(&message.table.name))
        .collect::<Vec<_>>()
        .iter()
        .flat_map(|name| fresh([name.as_str()].into_iter(), &mut names))
        .collect();
    let modules = [Side::Client, Side::Server].map(|side| module(outline, side, &states));
    let types = types(outline);
    quote! {
        #[doc(hidden)]
        #[allow(dead_code, unreachable_pub)]
        pub type NotGenerated = [(); #failure];
        #(
            #[allow(missing_docs, dead_code, unreachable_pub)]
            pub type #roles<State> = (NotGenerated, ::std::marker::PhantomData<State>);
        )*
        #(
            #[allow(missing_docs, dead_code, unreachable_pub)]
            pub type #error = NotGenerated;
        )*
        #(
            #[allow(missing_docs, dead_code, unreachable_pub)]
            pub struct #states;
        )*
        #[allow(missing_docs, dead_code, unreachable_pub)]
        pub mod messages {
            #(pub const #messages: super::NotGenerated = [];)*
        }
        #[allow(missing_docs, dead_code, unreachable_pub)]
        pub const PROTOCOL: NotGenerated = [];
        #(#modules)*
        #types
    }
}

/// The module of the payload types.
fn types(outline: &Outline) -> TokenStream {
    let shapes = fresh(outline.shapes.iter().map(String::as_str), &mut Vec::new());
    if shapes.is_empty() {
        return TokenStream::new();
    }
    quote! {
        #[allow(missing_docs, dead_code, unreachable_pub)]
        pub mod types {
            #(pub type #shapes = super::NotGenerated;)*
        }
    }
}

fn module(outline: &Outline, side: Side, states: &[Ident]) -> TokenStream {
    if !outline.roles.iter().any(|(other, _)| *other == side) {
        return TokenStream::new();
    }
    let name = format_ident!("{}", role_module(side));
    let choices = states.iter().map(|state| format_ident!("{state}Next"));
    let mut taken = Vec::new();
    let methods = outline.messages.iter().filter_map(|message| {
        if !matches!(message.table.kind, Kind::Request | Kind::Notification) {
            return None;
        }
        let name = match &message.call_name {
            Some(name) => name.text.clone(),
            None => snake(&message.table.name),
        };
        let name = fresh([name.as_str()].into_iter(), &mut taken).pop()?;
        let is_empty = matches!(message.table.payload, Payload::None | Payload::Null);
        let params =
            (!is_empty || message.table.pattern().is_some()).then(|| quote!(params: super::NotGenerated));
        Some(quote! {
            fn #name(&self, context: Context, #params) -> super::NotGenerated {
                []
            }
        })
    });
    quote! {
        #[allow(missing_docs, dead_code, unreachable_pub, unused_variables)]
        pub mod #name {
            pub type Call<'a, Reply> = (super::NotGenerated, ::std::marker::PhantomData<&'a Reply>);
            pub type CancellableCall<'a, Reply> = Call<'a, Reply>;
            pub type Handle = super::NotGenerated;
            pub type Incoming = super::NotGenerated;
            pub type IncomingQueue = super::NotGenerated;
            pub type Context = super::NotGenerated;
            #(pub type #choices = super::NotGenerated;)*
            pub trait Handler: ::std::marker::Send + ::std::marker::Sync + 'static {
                #(#methods)*
            }
        }
    }
}

/// The names that can be identifiers and are not taken yet.
fn fresh<'n>(names: impl Iterator<Item = &'n str>, taken: &mut Vec<Ident>) -> Vec<Ident> {
    let mut found = Vec::new();
    for name in names.filter_map(try_ident) {
        if !taken.contains(&name) {
            taken.push(name.clone());
            found.push(name);
        }
    }
    found
}
