//! What writes the code of a protocol: its parts are in the other files of this folder.

use std::sync::Arc;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::machine::machine;
use super::{docs, shapes, tables, types};
use crate::compiled::Compiled;
use crate::plan::{Plan, names};
use crate::source::SourceMap;

/// Where the generated code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeForm {
    /// In the place of a macro; made again with every build.
    Macro,
    /// In a file that is read and checked in: it changes only where the machine or its documentation does.
    File,
}

/// Writes the code of one protocol.
pub(super) struct Generator<'a> {
    pub(super) form: CodeForm,
    pub(super) plan: Arc<Plan>,
    pub(super) docs: docs::Docs<'a>,
    pub(super) types: types::Types,
    /// The types of shapes that are not generated here.
    pub(super) elsewhere: Option<shapes::Elsewhere>,
    /// The constant of each message.
    pub(super) constants: Vec<Ident>,
    /// The type of each message's payload in the generated module, and in a module inside it.
    pub(super) payloads: Vec<TokenStream>,
    pub(super) nested_payloads: Vec<TokenStream>,
    /// The name of the protocol's error type.
    pub(super) error: Ident,
    /// Unused parts of the API are not a mistake of the program.
    pub(super) allow: TokenStream,
}

impl<'a> Generator<'a> {
    pub(super) fn new(compiled: &'a Compiled, sources: &'a SourceMap, form: CodeForm) -> Self {
        let plan = Arc::clone(&compiled.plan);
        let error = names::ident(&plan.error_name());
        // A file says once for all of it what lints need not look at.
        let allow = if form == CodeForm::File { quote!() } else { allow(&plan) };
        let types = types::Types::new(&compiled.declarations);
        let messages = &compiled.declarations.messages;
        let payloads = |scope| messages.iter().map(|message| types.of(message, scope)).collect();
        Generator {
            form,
            error,
            plan,
            docs: docs::Docs { sources, numbered: form == CodeForm::Macro },
            constants: messages
                .iter()
                .map(|message| names::ident(&names::constant(&message.table.name)))
                .collect(),
            payloads: payloads(types::Scope::Top),
            nested_payloads: payloads(types::Scope::Nested),
            types,
            elsewhere: None,
            allow,
        }
    }

    pub(super) fn items(&self, compiled: &Compiled) -> TokenStream {
        let types = self.types.import();
        let payloads = self.payloads();
        let error = &self.error;
        let allow = &self.allow;
        let markers = self.markers();
        let machine = machine(compiled);
        let messages = self.messages(&machine);
        let roles: TokenStream = self.plan.roles.iter().map(|role| self.role(role)).collect();
        let tables = tables::module(&machine);
        let protocol = protocol(compiled, &self.docs);
        let mut items = quote! {
            use runtime::__private as typed;
            #types

            /// What can go wrong in a session.
            #[allow(unreachable_pub, unused_imports)]
            pub use runtime::Error as #error;
        };
        // Put one behind the other, not into one another: what is put into other code is copied.
        items.extend([markers, roles, messages]);
        items.extend(self.capabilities(&machine));
        items.extend(quote! {
            #protocol
            #allow
            pub static PROTOCOL: typed::Protocol = tables::PROTOCOL;
        });
        items.extend([tables, payloads]);
        items.extend(shapes::module(&compiled.declarations.shapes, self.elsewhere.as_ref(), allow));
        items
    }
}

/// The lints that have nothing to say about generated code.
pub(super) fn allow(plan: &Plan) -> TokenStream {
    let camel = |name: &str| name.starts_with(|first: char| !first.is_lowercase()) && !name.contains('_');
    let messages = &plan.declarations.messages;
    let types = plan.markers.iter().map(|marker| marker.name.as_str());
    let roles = plan.roles.iter().map(|role| role.automaton.name.as_str());
    let mut names = messages.iter().map(|message| &*message.table.name).chain(types).chain(roles);
    // The author's names stay as they are, even where Rust would write them otherwise.
    let types = if names.all(camel) { quote!() } else { quote!(, non_camel_case_types) };
    let mut calls = messages.iter().filter_map(|message| message.call_name.as_ref());
    let calls = if calls.all(|name| names::snake(&name.text) == name.text) {
        quote!()
    } else {
        quote!(, non_snake_case)
    };
    quote!(#[allow(dead_code, unreachable_pub #types #calls)])
}

/// The documentation of the constant that is the protocol.
pub(super) fn protocol(compiled: &Compiled, docs: &docs::Docs<'_>) -> TokenStream {
    let declarations = &compiled.declarations;
    let version = declarations.version.as_ref().map(|version| format!(", revision {version}"));
    let place = declarations.name.as_ref().map(|name| format!("; {}", docs.place(name.span)));
    let name = declarations.name.as_ref().map_or("the protocol", |name| &name.text);
    let own = format!("The machine of {name}{}{}.", version.unwrap_or_default(), place.unwrap_or_default());
    docs::attributes(&docs::after(&declarations.documentation, [own]))
}
