//! Expands the macro; a file with errors becomes stubs.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::generate::stubs::{Outline, stubs};
use mcp_protocol_compiler::source::{LARGEST_FILE, bytes_of};
use mcp_protocol_compiler::{Compilation, Settings, compile_among, generate};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::arguments::Arguments;
use crate::locate::Places;
use crate::{debug, findings, receivers};

/// Everything that a call of the macro becomes.
pub(crate) fn expand(arguments: &Arguments) -> TokenStream {
    let span = arguments.path.span();
    let Some(package) = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else {
        return failed(
            "`CARGO_MANIFEST_DIR` is not set: build with cargo, or set it to the package's folder",
            span,
        );
    };
    let places = Places { package, source: source_folder(span) };
    let file = match places.locate(&arguments.path.value()) {
        Ok(file) => file,
        Err(message) => return failed(&message, span),
    };
    // The compiler is given paths as seen from the package: messages then are the same in every checkout.
    let entry = places.seen_from_package(&file).map_or_else(|| file.clone(), PathBuf::from);
    let mut files = Vec::new();
    let mut read = |path: &Path| {
        let path = places.package.join(path);
        let bytes = bytes_of(File::open(&path)?)?;
        // rustc must not read a file without end, which it would be asked to in order to see it change.
        if bytes.len() <= LARGEST_FILE {
            files.push(path);
        }
        Ok(bytes)
    };
    let mut list = |folder: &Path| {
        let entries = fs::read_dir(places.package.join(folder)).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let compilation = match compile_among(&entry, &mut read, &mut list, Settings::default().for_code(true)) {
        Ok(compilation) => compilation,
        Err(error) => return failed(&format!("cannot read `{}`: {error}", file.display()), span),
    };
    let tracked = tracked(&places, &files);
    let code = code(arguments, &places, &file, &compilation);
    quote!(#tracked #code)
}

/// The generated code, or the errors and stubs.
fn code(arguments: &Arguments, places: &Places, file: &Path, compilation: &Compilation) -> TokenStream {
    let span = arguments.path.span();
    let warnings = findings::warnings(&compilation.sources, &compilation.diagnostics, span);
    let errors = findings::errors(&compilation.sources, &compilation.diagnostics);
    let (Some(protocol), true) = (&compilation.protocol, errors.is_empty()) else {
        let stubs = with_errors(&compilation.outline, &errors, span);
        return quote!(#warnings #stubs);
    };
    let import = generate::import(&arguments.runtime);
    if arguments.tables {
        let items = generate::tables_alone(protocol, &compilation.sources);
        return quote!(#import #warnings #items);
    }
    let items = generate::items(protocol, &compilation.sources);
    if !arguments.debug {
        let items = receivers::at(items, span);
        return quote!(#import #warnings #items);
    }
    // The file must do without the path of the runtime: `$crate` cannot be written down.
    let written = generate::pretty(items)
        .map_err(|error| format!("the expansion is not Rust: {error}"))
        .and_then(|code| debug::write(&places.package, file, &code));
    match written.as_ref().map(|path| path.to_str()) {
        Ok(Some(path)) => quote!(#import #warnings ::std::include!(#path);),
        Ok(None) => failed("the path of the target folder is not UTF-8", span),
        Err(message) => failed(message, span),
    }
}

/// The errors of a file, and stubs for its names.
fn with_errors(outline: &Outline, errors: &[String], span: Span) -> TokenStream {
    let mut errors = errors.iter().map(|text| findings::error(text, span));
    let Some(first) = errors.next() else { return failed("nothing could be generated", span) };
    let stubs = stubs(outline, &first);
    quote_spanned!(span=> #stubs #(#errors;)*)
}

/// One error and nothing else.
fn failed(message: &str, span: Span) -> TokenStream {
    let error = findings::error(message, span);
    quote!(#error;)
}

/// Makes rustc read every file, too, so that an edit of any of them rebuilds.
fn tracked(places: &Places, files: &[PathBuf]) -> TokenStream {
    let files = files.iter().map(|file| match places.seen_from_package(file) {
        Some(path) => {
            let path = format!("/{path}");
            quote!(::std::include_str!(::std::concat!(::std::env!("CARGO_MANIFEST_DIR"), #path)))
        }
        None => {
            let path = file.to_string_lossy();
            quote!(::std::include_str!(#path))
        }
    });
    quote!(const _: &[&str] = &[#(#files),*];)
}

/// The folder of the source file that the span is in.
fn source_folder(span: Span) -> Option<PathBuf> {
    let file = span.unwrap().local_file()?;
    // rustc names files as it was told to, that is from where it runs.
    let file = env::current_dir().ok()?.join(file);
    file.parent().map(Path::to_path_buf)
}
