//! Gives every `self` in the expansion the span of the path in the program's source.
//!
//! rustc explains a value that is used after a step by the `self` of that step. Were it the macro's own, the
//! explanation would lead into the macro and end in a remark on macros; here it leads to the `.session` file's name.

use proc_macro2::{Group, Span, TokenStream, TokenTree};

/// Puts every `self` at a place of the program. All of them, for only names of one origin mean each other.
pub(crate) fn at(items: TokenStream, span: Span) -> TokenStream {
    items
        .into_iter()
        .map(|mut token| match &mut token {
            TokenTree::Group(group) => {
                let mut moved = Group::new(group.delimiter(), at(group.stream(), span));
                moved.set_span(group.span());
                TokenTree::Group(moved)
            }
            TokenTree::Ident(name) if *name == "self" => {
                name.set_span(span);
                token
            }
            _ => token,
        })
        .collect()
}
