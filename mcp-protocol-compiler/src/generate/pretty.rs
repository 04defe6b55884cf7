//! Generated code as text.
//!
//! In: tokens. Out: Rust as a reviewer wants to read it. Refuses to change the code: only white space is added.

use proc_macro2::TokenStream;

/// The code, formatted, with a blank line between items and between methods.
///
/// # Errors
/// If the tokens are no Rust file, which no generated code is.
pub fn pretty(code: TokenStream) -> Result<String, syn::Error> {
    let file: syn::File = syn::parse2(code)?;
    Ok(spaced(&prettyplease::unparse(&file)))
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
        if same_depth && ended && begins && !one_of_a_list && !before.starts_with("let ") {
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
    fn what_is_no_rust_is_an_error() {
        assert!(pretty("pub struct".parse().unwrap()).is_err());
    }
}
