//! Formats generated code.

mod rows;
mod tight;

use proc_macro2::TokenStream;
use syn::visit_mut::VisitMut;

pub(super) use rows::entries;

/// The code, formatted, with a blank line between items and between methods.
///
/// ```
/// let code = mcp_protocol_compiler::generate::pretty(quote::quote!(struct A; struct B;)).unwrap();
/// assert!(code.contains("struct A;"));
/// ```
///
/// # Errors
/// If the tokens are not a Rust file, as all generated code is.
pub fn pretty(code: TokenStream) -> Result<String, syn::Error> {
    Ok(pretty_file(syn::parse2(code)?))
}

/// The same for a file that has been parsed already.
pub(super) fn pretty_file(file: syn::File) -> String {
    printed(file, rows::WIDTH)
}

/// The file as text, in lines of this width where they can be broken.
pub(super) fn printed(mut file: syn::File, width: usize) -> String {
    let mut macros = Macros::default();
    macros.visit_file_mut(&mut file);
    spaced(&macros.put_back(&tight::tightened(&prettyplease::unparse(&file), width)))
}

/// The macros of the file, which are laid out here, each by the constant that stands in its place.
#[derive(Default)]
struct Macros {
    found: Vec<syn::ItemMacro>,
}

/// What the constants in the places of macros are called.
const PLACE: &str = "__MACRO_";

impl VisitMut for Macros {
    fn visit_item_mut(&mut self, item: &mut syn::Item) {
        if let syn::Item::Macro(found) = item
            && found.ident.is_none()
        {
            let name = quote::format_ident!("{PLACE}{}", self.found.len());
            let place = syn::parse_quote!(const #name: () = (););
            if let syn::Item::Macro(found) = std::mem::replace(item, place) {
                self.found.push(found);
            }
            return;
        }
        syn::visit_mut::visit_item_mut(self, item);
    }
}

impl Macros {
    fn put_back(&self, code: &str) -> String {
        let mut out = String::with_capacity(code.len() * 2);
        for line in code.lines() {
            match self.in_place(line) {
                Some((indent, found)) => rows::print(found, indent, &mut out),
                None => {
                    out.push_str(line);
                    out.push('\n');
                }
            }
        }
        out
    }

    /// The macro in whose place a line stands, and its indentation.
    fn in_place(&self, line: &str) -> Option<(usize, &syn::ItemMacro)> {
        let name = line.trim_start().strip_prefix("const ")?.strip_prefix(PLACE)?;
        let number: usize = name.split(':').next()?.parse().ok()?;
        Some((line.len() - line.trim_start().len(), self.found.get(number)?))
    }
}

/// A blank line wherever an item ends and something with documentation, an attribute or a body begins.
fn spaced(code: &str) -> String {
    let mut out = String::with_capacity(code.len() + code.len() / 16);
    let mut last = "";
    for line in code.lines() {
        let (before, now) = (last.trim_start(), line.trim_start());
        let same_depth = last.len() - before.len() == line.len() - now.len();
        let ended = !before.starts_with("//")
            && (before == "}" || before.ends_with(';') || before.ends_with("},") && now.starts_with("///"));
        let begins = ["///", "#[", "pub ", "pub(", "impl", "mod ", "fn ", "async fn ", "const ", "static "]
            .iter()
            .any(|start| now.starts_with(start));
        let one_of_a_list = before.starts_with("use ") && now.starts_with("use ")
            || now.contains("const ")
                && now.ends_with(';')
                && before.ends_with(';')
                && !before.starts_with("use ");
        let stands_apart = now.ends_with("! {") || now.starts_with("pub(super) mod");
        let apart =
            stands_apart && !before.is_empty() && !before.ends_with(['{', ']']) && !before.starts_with("//");
        let next = same_depth && ended && begins && !one_of_a_list && !before.starts_with("let ");
        if apart || next {
            out.push('\n');
        }
        out.push_str(line);
        out.push('\n');
        last = line;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stand_apart_and_lists_stay_together() {
        let code = "use a;\nuse b;\n/// One.\npub struct A;\n/// Two.\npub struct B;\nimpl A {\n    fn f() {\n    }\n    fn g() {\n    }\n}\n";
        let wanted = "use a;\nuse b;\n\n/// One.\npub struct A;\n\n/// Two.\npub struct B;\n\nimpl A {\n    fn f() {\n    }\n\n    fn g() {\n    }\n}\n";
        assert_eq!(spaced(code), wanted);
        assert_eq!(spaced("const A: u8 = 1;\nconst B: u8 = 2;\n"), "const A: u8 = 1;\nconst B: u8 = 2;\n");
    }

    #[test]
    fn text_that_is_not_rust_is_an_error() {
        assert!(pretty("pub struct".parse().unwrap()).is_err());
    }
}
