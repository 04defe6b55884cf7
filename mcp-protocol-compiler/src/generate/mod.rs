//! Code: the machine as a typed Rust SDK.
//!
//! Turns a [`Compiled`] protocol into tokens, which the macro expands to and `sessionc expand` prints. [`check`] finds
//! what cannot be generated.
//!
//! `Plan` says which types and methods there are; the modules here write them: `states` what both roles share, `role`
//! and `steps` a session type, `handle` and `incoming` its module, `answers` the enums of requests with several replies,
//! `tables` the machine as constants. The code names the runtime `runtime`, which [`import`] brings in, and the module
//! of the payloads `types`.

mod answers;
mod docs;
mod feature;
mod generator;
mod handle;
mod incoming;
mod machine;
mod mentions;
mod methods;
mod payloads;
mod pretty;
mod role;
mod same_shapes;
mod shapes;
mod signatures;
mod states;
mod step_lines;
mod steps;
#[doc(hidden)]
pub mod stubs;
mod tables;
mod types;
mod variants;

use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;

use crate::checks::typed_api;
use crate::compiled::Compiled;
use crate::declarations::DeclaredShape;
use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;

use generator::{CodeForm, Generator, allow, protocol};
use same_shapes::same_shapes;
use shapes::Elsewhere;

pub use machine::machine;
pub use methods::TypedMethod;
pub use pretty::pretty;
pub use variants::variant_of_literal;

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
    Generator::new(compiled, sources, CodeForm::Macro).items(compiled)
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
    let generator = Generator::new(compiled, sources, CodeForm::Macro);
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

/// How a file of generated code belongs to its crate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Placement<'a> {
    /// The feature of the crate that adds everything but the tables, the names of the messages, and the types of shapes.
    pub feature: Option<&'a str>,
    /// The module that has the types of the shapes, if they are not generated into the file: revisions of a protocol
    /// share those of the latest one.
    pub shapes: Option<&'a str>,
    /// The shapes of that module, if it has not all of the file's: types are generated only for those that the module does
    /// not have in the same form.
    pub shapes_of: Option<&'a [DeclaredShape]>,
}

/// All of the generated code as text, for a file that is read and checked in. Nothing in it moves with an edit
/// elsewhere: it has no line numbers, and no indices.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// let code = generate::expand(protocol, &compilation.sources, &Default::default())?;
/// assert!(code.starts_with("// @generated by `sessionc expand` from `counter.session`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a payload type, or the path of the shapes, is not one of Rust.
pub fn expand(
    compiled: &Compiled,
    sources: &SourceMap,
    placement: &Placement<'_>,
) -> Result<String, syn::Error> {
    let import = import(&quote!(::mcp_runtime));
    let mut generator = Generator::new(compiled, sources, CodeForm::File);
    generator.elsewhere = elsewhere(compiled, placement)?;
    let lints = allow(&generator.plan).to_string().replace(' ', "").replace(",", ", ");
    let items = generator.items(compiled);
    let mut code = syn::parse2(quote!(#import #items))?;
    if let Some(feature) = placement.feature {
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

/// Where the types stand that are not generated into the file.
fn elsewhere(compiled: &Compiled, placement: &Placement<'_>) -> Result<Option<Elsewhere>, syn::Error> {
    let Some(path) = placement.shapes else { return Ok(None) };
    let path = syn::parse_str(path)?;
    let ours = &compiled.declarations.shapes;
    Ok(Some(match placement.shapes_of {
        None => Elsewhere::All(path),
        Some(theirs) => Elsewhere::Some(path, same_shapes(ours, theirs)),
    }))
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
    let mut file = syn::parse2(Generator::new(compiled, sources, CodeForm::File).items(compiled))?;
    signatures::reduce(&mut file);
    Ok(signatures::lines(&pretty::printed(file, usize::MAX)))
}

/// The methods of every session type in the order of the states, and those of its handlers.
///
/// ```
/// # use std::{io, path::Path};
/// # use mcp_protocol_compiler::{compile, generate};
/// # let text = "protocol Counter\nnotification Add \"add\" (_)\nclient Teller\nserver Till = dual Teller\nTeller =
/// !Add . End\n";
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let compilation = compile(Path::new("counter.session"), &mut read)?;
/// let protocol = compilation.protocol.as_ref().expect("no errors");
/// let methods = generate::methods(protocol, &compilation.sources)?;
/// assert_eq!(compilation.sources.slice(methods[0].step), "!Add");
/// assert!(methods[0].signature.starts_with("pub fn send_add(self, "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a payload type is not a Rust type.
pub fn methods(compiled: &Compiled, sources: &SourceMap) -> Result<Vec<TypedMethod>, syn::Error> {
    Ok(methods::methods(compiled, &signatures(compiled, sources)?))
}
