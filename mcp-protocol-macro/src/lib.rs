//! The `protocol!` macro: a `.session` file becomes typed Rust.
//!
//! In: the path of the runtime crate, the path of a file, and perhaps `debug`. Out: the generated code; or, if the
//! file has errors, each of them as an error of rustc on the path, and stubs that keep rustc from saying more. Refuses
//! to know the language: everything about it is in `mcp-protocol-compiler`.
//!
//! Users call `mcp_runtime::protocol!`, which says where the runtime is. What they may write, and where files are
//! looked for, is documented there.
//!
//! Warnings of the compiler are shown as warnings of rustc, too. Stable Rust has no way for a macro to say so
//! directly, so each becomes the note of a deprecated constant that is used once; `#[allow(deprecated)]` on the
//! module silences them. Notes are shown by `sessionc check` only.
#![warn(missing_docs)]

mod arguments;
mod debug;
mod expand;
mod findings;
mod locate;
mod receivers;
mod search;

use proc_macro::TokenStream;

/// Expands a `.session` file: `protocol!(runtime, "path")` or `protocol!(runtime, "path", debug)`.
///
/// Called by `mcp_runtime::protocol!`, which puts the path of the runtime in front.
#[proc_macro]
pub fn protocol(input: TokenStream) -> TokenStream {
    let expansion = syn::parse::<arguments::Arguments>(input)
        .map(|arguments| expand::expand(&arguments))
        .unwrap_or_else(|error| error.into_compile_error());
    expansion.into()
}
