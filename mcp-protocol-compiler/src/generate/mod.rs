//! Code: the machine as a typed Rust SDK.
//!
//! In: a [`Compiled`] protocol without errors, and the texts for documentation. Out: tokens, which the macro expands
//! to and `sessionc expand` prints, and the tables as values. Refuses what has no Rust form yet ([`check`]).
//!
//! `plan` decides which methods there are, the other modules write them: `states` what both roles share, `role` and
//! `steps` a session type, `handle` and `incoming` its module, `answers` what requests with several replies
//! are answered with, `tables` the machine as constants. The code speaks of
//! the runtime as `runtime`, which [`import`] brings in, and of payloads as `types`.

mod answers;
mod docs;
mod handle;
mod incoming;
mod machine;
pub mod names;
mod payloads;
pub(crate) mod plan;
mod pretty;
mod role;
mod states;
mod step_lines;
mod steps;
pub mod stubs;
pub mod tables;
mod types;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::Compiled;
use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;

pub use machine::machine;
pub use pretty::pretty;

/// What keeps a protocol from having a typed API, though its machine is sound.
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    let mut diagnostics = crate::checks::typed_api::check(compiled);
    diagnostics.extend(crate::checks::names::check(compiled));
    diagnostics
}

/// The line by which generated code knows the runtime.
pub fn import(runtime: &TokenStream) -> TokenStream {
    quote!(use #runtime as runtime;)
}

/// The generated items, without the import of the runtime, as the macro expands to them: places have line numbers.
pub fn items(compiled: &Compiled, sources: &SourceMap) -> TokenStream {
    Generator::new(compiled, sources, Form::Macro).items(compiled)
}

/// Where the generated code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// In the place of a macro; made anew with every build.
    Macro,
    /// In a file that is read and checked in: it changes only where the machine or its documentation does.
    File,
}

/// The tables of the protocol, with the names of its messages, and nothing else: for who follows it without its types.
pub fn tables_alone(compiled: &Compiled, sources: &SourceMap) -> TokenStream {
    let generator = Generator::new(compiled, sources, Form::Macro);
    let machine = machine(compiled);
    let protocol = protocol(compiled, &generator.docs);
    let (messages, capabilities) = (generator.messages(&machine), generator.capabilities(&machine));
    let tables = tables::module(&machine);
    let allow = &generator.allow;
    quote! {
        use runtime::typed;

        #messages
        #capabilities

        #protocol
        #allow
        pub static PROTOCOL: typed::Protocol = tables::PROTOCOL;

        #tables
    }
}

/// The documentation of the constant that is the protocol.
fn protocol(compiled: &Compiled, docs: &docs::Docs<'_>) -> TokenStream {
    let declarations = &compiled.declarations;
    let version = declarations.version.as_ref().map(|version| format!(", revision {version}"));
    let place = declarations.name.as_ref().map(|name| format!("; {}", docs.place(name.span)));
    let name = declarations.name.as_ref().map_or("the protocol", |name| &name.text);
    let own = format!("The machine of {name}{}{}.", version.unwrap_or_default(), place.unwrap_or_default());
    docs::attributes(&docs::after(&declarations.documentation, [own]))
}

/// All of the generated code as text, for review or for checking in.
///
/// # Errors
/// If a payload type is no Rust type.
pub fn expand(compiled: &Compiled, sources: &SourceMap) -> Result<String, syn::Error> {
    let import = import(&quote!(::mcp_runtime));
    let items = Generator::new(compiled, sources, Form::File).items(compiled);
    pretty(quote!(#import #items))
}

/// Writes the code of one protocol.
struct Generator<'a> {
    plan: plan::Plan<'a>,
    docs: docs::Docs<'a>,
    types: types::Types,
    /// The constant of each message.
    constants: Vec<Ident>,
    /// The type of each message's payload in the generated module, and in a module inside it.
    payloads: Vec<TokenStream>,
    nested_payloads: Vec<TokenStream>,
    /// The name of the protocol's error type.
    error: Ident,
    /// What a program does not use of the API is no mistake of the program.
    allow: TokenStream,
}

impl<'a> Generator<'a> {
    fn new(compiled: &'a Compiled, sources: &'a SourceMap, form: Form) -> Self {
        let plan = plan::Plan::new(compiled);
        let error = names::ident(&plan.error_name());
        let allow = allow(&plan);
        let types = types::Types::new(&compiled.declarations);
        let messages = &compiled.declarations.messages;
        let payloads = |scope| messages.iter().map(|message| types.of(message, scope)).collect();
        Generator {
            error,
            plan,
            docs: docs::Docs { sources, numbered: form == Form::Macro },
            constants: messages
                .iter()
                .map(|message| names::ident(&names::constant(&message.table.name)))
                .collect(),
            payloads: payloads(types::Scope::Top),
            nested_payloads: payloads(types::Scope::Nested),
            types,
            allow,
        }
    }

    fn items(&self, compiled: &Compiled) -> TokenStream {
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
            use runtime::typed;
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
        items
    }
}

/// The lints that have nothing to say about generated code.
fn allow(plan: &plan::Plan<'_>) -> TokenStream {
    let camel = |name: &str| name.starts_with(|first: char| !first.is_lowercase()) && !name.contains('_');
    let messages = &plan.declarations.messages;
    let types = plan.markers.iter().map(|marker| marker.name);
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
