//! The API alone, for a review that is not about how it is done.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::quote;
use syn::visit_mut::VisitMut;

use super::pretty::entries;

/// What macros have rows that say nothing of the API.
const PRIVATE: [&str; 1] = ["payloads"];

/// Reduces a file to its signatures.
pub(super) fn reduce(file: &mut syn::File) {
    file.attrs.clear();
    Signatures.visit_file_mut(file);
}

/// The lines of reduced code without documentation, attributes and empty bodies.
pub(super) fn lines(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    for line in code.lines() {
        let start = line.trim_start();
        if start.is_empty() || start.starts_with("//") || start.starts_with("#[") {
            continue;
        }
        out.push_str(&line.replace(" {}", ";").replace(" = _;", ";"));
        out.push('\n');
    }
    out
}

struct Signatures;

impl VisitMut for Signatures {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        let items = std::mem::take(&mut file.items);
        file.items = items.into_iter().flat_map(written_out).filter(is_api).collect();
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            *items = std::mem::take(items).into_iter().flat_map(written_out).filter(is_api).collect();
        }
        syn::visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_struct_mut(&mut self, item: &mut syn::ItemStruct) {
        let private = |field: &syn::Field| !matches!(field.vis, syn::Visibility::Public(_));
        if item.fields.iter().all(private) {
            item.fields = syn::Fields::Unit;
            item.semi_token = Some(Default::default());
        }
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|item| {
            matches!(item, syn::ImplItem::Fn(method) if matches!(method.vis, syn::Visibility::Public(_)))
        });
        syn::visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        block.stmts.clear();
    }

    fn visit_item_static_mut(&mut self, item: &mut syn::ItemStatic) {
        *item.expr = syn::parse_quote!(_);
    }
}

/// A macro whose rows are methods or variants becomes the items that it writes.
fn written_out(item: syn::Item) -> Vec<syn::Item> {
    let syn::Item::Macro(rows) = &item else { return vec![item] };
    let tokens = rows.mac.tokens.clone();
    let items = match rows.mac.path.segments.last().map(|last| last.ident.to_string()).as_deref() {
        Some("methods") => blocks(tokens),
        Some("incoming") => incoming(tokens),
        Some("next") => next(tokens),
        _ => return vec![item],
    };
    syn::parse2::<syn::File>(items).map(|file| file.items).unwrap_or_else(|_| vec![item])
}

/// The `impl` blocks of values, with methods in the place of their rows.
fn blocks(tokens: TokenStream) -> TokenStream {
    let written = |tree: TokenTree| match tree {
        TokenTree::Group(block) if block.delimiter() == Delimiter::Brace => {
            let methods = entries(block.stream()).into_iter().map(|row| split(&row, ["=", ">"]).0);
            quote!({ #(#methods {})* })
        }
        other => other.into(),
    };
    tokens.into_iter().map(written).collect()
}

/// The trait of what answers the peer, and the enum of what it sends.
fn incoming(tokens: TokenStream) -> TokenStream {
    let mut rows = entries(tokens).into_iter();
    let mut names = words(rows.next());
    let (handler, incoming) = (names.next(), names.next());
    let (methods, variants): (Vec<TokenStream>, Vec<TokenStream>) =
        rows.map(|row| (split(&row, ["=", ">"]).0, split(&row, ["as"]).1)).unzip();
    quote! {
        pub trait #handler: Send + Sync + 'static { #(#methods {})* }
        pub enum #incoming { #(#variants,)* }
    }
}

/// The enum of what may come next.
fn next(tokens: TokenStream) -> TokenStream {
    let mut rows = entries(tokens).into_iter();
    let mut names = words(rows.next());
    // Behind `or` stands the variant for the end of the session.
    let (name, closed) = (names.next(), names.nth(1).map(|closed| quote!(#closed,)));
    let variants = rows.map(|row| split(&row, ["=", ">"]).0);
    quote!(pub enum #name { #closed #(#variants,)* })
}

/// The names of a row, without its attributes.
fn words(row: Option<Vec<TokenTree>>) -> impl Iterator<Item = TokenTree> {
    row.unwrap_or_default().into_iter().filter(|tree| matches!(tree, TokenTree::Ident(_)))
}

/// What stands before some signs or a word, and behind them.
fn split<const N: usize>(row: &[TokenTree], around: [&str; N]) -> (TokenStream, TokenStream) {
    let is_here = |trees: &[TokenTree]| trees.iter().zip(around).all(|(tree, sign)| tree.to_string() == sign);
    let place = row.windows(N).position(is_here).unwrap_or(row.len());
    let (before, behind) = row.split_at(place);
    (before.iter().cloned().collect(), behind.iter().skip(N).cloned().collect())
}

fn is_macro(item: &syn::ItemMacro, name: &str) -> bool {
    item.mac.path.segments.last().is_some_and(|last| last.ident == name)
}

/// Whether an item is part of the API.
fn is_api(item: &syn::Item) -> bool {
    let public = |vis: &syn::Visibility| matches!(vis, syn::Visibility::Public(_));
    match item {
        syn::Item::Struct(item) => public(&item.vis),
        syn::Item::Enum(item) => public(&item.vis),
        syn::Item::Type(item) => public(&item.vis),
        syn::Item::Trait(item) => public(&item.vis),
        syn::Item::Static(item) => public(&item.vis),
        syn::Item::Mod(item) => public(&item.vis),
        syn::Item::Use(item) => public(&item.vis),
        syn::Item::Impl(item) => {
            let public = |item: &syn::ImplItem| matches!(item, syn::ImplItem::Fn(item) if public(&item.vis));
            item.trait_.is_none() && item.items.iter().any(public)
        }
        syn::Item::Macro(item) => !PRIVATE.iter().any(|name| is_macro(item, name)),
        _ => false,
    }
}
