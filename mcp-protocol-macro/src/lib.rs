//! The `protocol!` macro: generates typed Rust from a `.session` file.
//!
//! The macro takes the path of the runtime crate, the path of a file, and optionally `debug`. It returns the generated
//! code. If the file has errors, it returns each of them as an error of rustc at the path, and stubs that prevent
//! further errors. Everything about the language is in `mcp-protocol-compiler`.
//!
//! Users call `mcp_runtime::protocol!`, which passes the path of the runtime. Its documentation describes the arguments
//! and where files are looked up.
//!
//! Warnings of the compiler appear as warnings of rustc. On stable Rust a macro cannot emit a warning directly, so each
//! becomes the note of a deprecated constant that is used once; `#[allow(deprecated)]` on the module silences them.
//! Only `sessionc check` shows notes.
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
