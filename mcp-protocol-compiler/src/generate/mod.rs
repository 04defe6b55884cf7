//! Code: the machine as a typed Rust SDK.
//!
//! Turns a [`Compiled`] protocol into tokens, which the macro expands to and `sessionc expand` prints. [`check`] finds
//! what cannot be generated.
//!
//! [`Plan`] says which types and methods there are; the modules here write them: `states` what both roles share, `role`
//! and `steps` a session type, `handle` and `incoming` its module, `answers` the enums of requests with several replies,
//! `tables` the machine as constants. The code names the runtime `runtime`, which [`import`] brings in, and the module
//! of the payloads `types`.

mod answers;
mod docs;
mod feature;
mod handle;
mod incoming;
mod machine;
mod payloads;
mod pretty;
mod role;
mod signatures;
mod states;
mod step_lines;
mod steps;
#[doc(hidden)]
pub mod stubs;
mod tables;
mod types;

use std::path::Path;
use std::sync::Arc;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::checks::typed_api;
use crate::compiled::Compiled;
use crate::diagnostic::Diagnostic;
use crate::plan::{Plan, names};
use crate::source::SourceMap;

pub use machine::machine;
pub use pretty::pretty;

/// What keeps a protocol from having a typed API, though its machine is sound.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// assert!(generate::check(protocol).is_empty());
/// # Ok::<(), io::Error>(())
/// ```
pub fn check(compiled: &Compiled) -> Vec<Diagnostic> {
    typed_api::check(compiled)
}

/// The line by which generated code knows the runtime.
///
/// ```
/// use quote::quote;
///
/// let import = mcp_protocol_compiler::generate::import(&quote!(::mcp_runtime));
/// assert_eq!(import.to_string(), quote!(use ::mcp_runtime as runtime;).to_string());
/// ```
pub fn import(runtime: &TokenStream) -> TokenStream {
    quote!(use #runtime as runtime;)
}

/// The generated items, without the import of the runtime, as the macro expands to them: places have line numbers.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// assert!(!generate::items(protocol, &compilation.sources).is_empty());
/// # Ok::<(), io::Error>(())
/// ```
pub fn items(compiled: &Compiled, sources: &SourceMap) -> TokenStream {
    Generator::new(compiled, sources, Form::Macro).items(compiled)
}

/// Where the generated code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// In the place of a macro; made again with every build.
    Macro,
    /// In a file that is read and checked in: it changes only where the machine or its documentation does.
    File,
}

/// The tables of the protocol with the names of its messages, and nothing else: for programs that follow it without its
/// types.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// assert!(!generate::tables_alone(protocol, &compilation.sources).is_empty());
/// # Ok::<(), io::Error>(())
/// ```
pub fn tables_alone(compiled: &Compiled, sources: &SourceMap) -> TokenStream {
    let generator = Generator::new(compiled, sources, Form::Macro);
    let machine = machine(compiled);
    let protocol = protocol(compiled, &generator.docs);
    let (messages, capabilities) = (generator.messages(&machine), generator.capabilities(&machine));
    let tables = tables::module(&machine);
    let allow = &generator.allow;
    quote! {
        use runtime::__private as typed;

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

/// All of the generated code as text, for a file that is read and checked in. Nothing in it moves with an edit
/// elsewhere: it has no line numbers, and no indices. With a feature, everything but the tables and the names of the
/// messages is compiled only if the crate of the file has this feature on.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// let code = generate::expand(protocol, &compilation.sources, None)?;
/// assert!(code.starts_with("// @generated by `sessionc expand` from `counter.session`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a payload type is not a Rust type.
pub fn expand(compiled: &Compiled, sources: &SourceMap, feature: Option<&str>) -> Result<String, syn::Error> {
    let import = import(&quote!(::mcp_runtime));
    let generator = Generator::new(compiled, sources, Form::File);
    let lints = allow(&generator.plan).to_string().replace(' ', "").replace(",", ", ");
    let items = generator.items(compiled);
    let mut code = syn::parse2(quote!(#import #items))?;
    if let Some(feature) = feature {
        feature::gate(&mut code, feature);
    }
    let code = pretty::pretty_file(code);
    let file = compiled.declarations.name.as_ref().map(|name| sources.path(name.span.file));
    let file = file.and_then(Path::file_name).map(|name| format!(" from `{}`", name.to_string_lossy()));
    let from = file.unwrap_or_default();
    Ok(format!(
        "// @generated by `sessionc expand`{from}; edit that file, not this one.\n\
         #!{}\n#![cfg_attr(rustfmt, rustfmt_skip)]\n\n{code}",
        lints.trim_start_matches('#')
    ))
}

/// The signatures of the generated code alone: its public items, each on a line, without documentation, bodies
/// and tables.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// let api = generate::signatures(protocol, &compilation.sources)?;
/// assert!(api.contains("send_add"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a payload type is not a Rust type.
pub fn signatures(compiled: &Compiled, sources: &SourceMap) -> Result<String, syn::Error> {
    let mut file = syn::parse2(Generator::new(compiled, sources, Form::File).items(compiled))?;
    signatures::reduce(&mut file);
    Ok(signatures::lines(&pretty::printed(file, usize::MAX)))
}

/// Writes the code of one protocol.
struct Generator<'a> {
    form: Form,
    plan: Arc<Plan>,
    docs: docs::Docs<'a>,
    types: types::Types,
    /// The constant of each message.
    constants: Vec<Ident>,
    /// The type of each message's payload in the generated module, and in a module inside it.
    payloads: Vec<TokenStream>,
    nested_payloads: Vec<TokenStream>,
    /// The name of the protocol's error type.
    error: Ident,
    /// Unused parts of the API are not a mistake of the program.
    allow: TokenStream,
}

impl<'a> Generator<'a> {
    fn new(compiled: &'a Compiled, sources: &'a SourceMap, form: Form) -> Self {
        let plan = Arc::clone(&compiled.plan);
        let error = names::ident(&plan.error_name());
        // A file says once for all of it what lints need not look at.
        let allow = if form == Form::File { quote!() } else { allow(&plan) };
        let types = types::Types::new(&compiled.declarations);
        let messages = &compiled.declarations.messages;
        let payloads = |scope| messages.iter().map(|message| types.of(message, scope)).collect();
        Generator {
            form,
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
        items
    }
}

/// The lints that have nothing to say about generated code.
fn allow(plan: &Plan) -> TokenStream {
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
