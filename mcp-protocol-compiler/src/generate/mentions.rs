//! Which names a piece of code mentions, so that it imports no others.

use proc_macro2::{TokenStream, TokenTree};

/// Whether the code mentions a name by itself: the last name of `types::Order` is one of `types`.
pub(super) fn mentions(code: TokenStream, name: &str) -> bool {
    let mut colons = 0;
    code.into_iter().any(|tree| {
        let is_behind = colons == 2;
        colons =
            if matches!(&tree, TokenTree::Punct(sign) if sign.as_char() == ':') { colons + 1 } else { 0 };
        match tree {
            TokenTree::Ident(found) => !is_behind && found == name,
            TokenTree::Group(group) => mentions(group.stream(), name),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn a_name_behind_a_path_is_one_of_the_module_before_it() {
        assert!(mentions(
            quote!(
                fn send(order: Order) {}
            ),
            "Order"
        ));
        assert!(mentions(quote!(types::Order), "types"));
        assert!(!mentions(quote!(types::Order), "Order"));
        assert!(mentions(quote!(super::Order<types::Order, Order>), "Order"));
    }
}
