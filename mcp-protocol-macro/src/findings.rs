//! Shows findings of the compiler through rustc, as errors and warnings.

use mcp_protocol_compiler::diagnostic::render::{Style, render};
use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};
use mcp_protocol_compiler::source::SourceMap;
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

/// One error as an expression that does not compile.
pub(crate) fn error(text: &str, span: Span) -> TokenStream {
    quote_spanned!(span=> ::std::compile_error!(#text))
}

/// The texts of all errors.
pub(crate) fn errors(sources: &SourceMap, diagnostics: &[Diagnostic]) -> Vec<String> {
    texts(sources, diagnostics, Severity::Error)
}

/// All warnings as items that make rustc warn.
pub(crate) fn warnings(sources: &SourceMap, diagnostics: &[Diagnostic], span: Span) -> TokenStream {
    texts(sources, diagnostics, Severity::Warning)
        .iter()
        .map(|text| {
            let note = format!("\n{text}");
            quote_spanned! {span=>
                const _: () = {
                    #[deprecated(note = #note)]
                    #[allow(non_upper_case_globals)]
                    const session_file: () = ();
                    session_file
                };
            }
        })
        .collect()
}

fn texts(sources: &SourceMap, diagnostics: &[Diagnostic], severity: Severity) -> Vec<String> {
    let wanted = diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity);
    wanted.map(|diagnostic| without_level(&render(sources, diagnostic, Style::Plain))).collect()
}

/// rustc writes `error: ` in front of the text by itself: `error[S0101]: no …` becomes `[S0101] no …`.
fn without_level(text: &str) -> String {
    let text = text.trim_end();
    match text
        .strip_prefix("error")
        .or_else(|| text.strip_prefix("warning"))
        .and_then(|rest| rest.split_once(": "))
    {
        Some((code, rest)) if code.starts_with('[') => format!("{code} {rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_left_to_rustc() {
        assert_eq!(
            without_level("error[S0101]: no `X`\n --> a.session:1:1\n"),
            "[S0101] no `X`\n --> a.session:1:1"
        );
        assert_eq!(without_level("warning[S0111]: a: b"), "[S0111] a: b");
        assert_eq!(without_level("errors happen"), "errors happen");
    }
}
