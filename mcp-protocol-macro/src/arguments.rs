//! The arguments of the macro: a runtime, a literal path, and `debug` or `tables`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Path, Token};

/// `$crate, "path"`, and behind it perhaps `, debug` or `, tables`
pub(crate) struct Arguments {
    /// Where the runtime is.
    pub(crate) runtime: TokenStream,
    /// The path as it is written.
    pub(crate) path: LitStr,
    /// Whether the expansion goes through a file.
    pub(crate) debug: bool,
    /// Whether the tables are all that is wanted.
    pub(crate) tables: bool,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let runtime = input.call(Path::parse_mod_style)?.into_token_stream();
        input.parse::<Token![,]>()?;
        let path: LitStr = input.parse().map_err(|error| {
            syn::Error::new(error.span(), "expected the path of a `.session` file, in quotes")
        })?;
        let (mut debug, mut tables) = (false, false);
        if input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let word: Ident = input.parse()?;
            (debug, tables) = (word == "debug", word == "tables");
            if !debug && !tables {
                return Err(syn::Error::new(word.span(), "expected `debug`, `tables` or nothing"));
            }
            input.parse::<Option<Token![,]>>()?;
        }
        if !input.is_empty() {
            return Err(input.error("expected nothing more"));
        }
        Ok(Arguments { runtime, path, debug, tables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, String, bool), String> {
        let arguments: Arguments = syn::parse_str(text).map_err(|error| error.to_string())?;
        Ok((arguments.runtime.to_string().replace(' ', ""), arguments.path.value(), arguments.debug))
    }

    #[test]
    fn a_path_and_perhaps_debug() {
        assert_eq!(parsed(r#"a::b, "x.session""#), Ok(("a::b".into(), "x.session".into(), false)));
        assert_eq!(parsed(r#"::a, "x.session","#), Ok(("::a".into(), "x.session".into(), false)));
        assert_eq!(parsed(r#"a, "x.session", debug"#), Ok(("a".into(), "x.session".into(), true)));
        assert_eq!(parsed(r#"a, "x.session", debug,"#), Ok(("a".into(), "x.session".into(), true)));
        assert!(syn::parse_str::<Arguments>(r#"a, "x.session", tables"#).unwrap().tables);
    }

    #[test]
    fn anything_else_is_refused_in_words() {
        assert_eq!(parsed("a, x"), Err("expected the path of a `.session` file, in quotes".into()));
        assert_eq!(parsed("a, "), Err("expected the path of a `.session` file, in quotes".into()));
        assert_eq!(parsed(r#"a, "x", verbose"#), Err("expected `debug`, `tables` or nothing".into()));
        assert_eq!(parsed(r#"a, "x", debug, 1"#), Err("expected nothing more".into()));
    }
}
