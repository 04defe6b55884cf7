//! Puts the types of an expansion behind a feature of the crate that it belongs to.
//!
//! The tables stay: a program that lists another revision needs them without its types. So do the types of shapes, which
//! the other revisions share. Each gated item has the attribute itself, so that rustc's note about a name that is not there says which feature to turn on.

use syn::{Attribute, Item, UseTree, parse_quote};

/// Gates every item of the file but the tables, the names of the messages, the types of shapes, and what they are
/// written with.
pub(super) fn gate(file: &mut syn::File, feature: &str) {
    let gated = file.items.iter_mut().filter(|item| !is_shared(item));
    for attributes in gated.filter_map(attributes) {
        attributes.insert(0, parse_quote!(#[cfg(feature = #feature)]));
    }
}

fn is_shared(item: &Item) -> bool {
    match item {
        Item::Mod(module) => {
            ["messages", "capabilities", "tables", "types"].iter().any(|name| module.ident == name)
        }
        Item::Static(_) => true,
        // The runtime, and its module for generated code.
        Item::Use(import) => match &import.tree {
            UseTree::Path(path) => matches!(&*path.tree, UseTree::Rename(rename) if rename.rename == "typed"),
            UseTree::Rename(rename) => rename.rename == "runtime",
            _ => false,
        },
        _ => false,
    }
}

/// The attributes of an item of a kind that is generated.
fn attributes(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    match item {
        Item::Enum(item) => Some(&mut item.attrs),
        Item::Fn(item) => Some(&mut item.attrs),
        Item::Impl(item) => Some(&mut item.attrs),
        Item::Macro(item) => Some(&mut item.attrs),
        Item::Mod(item) => Some(&mut item.attrs),
        Item::Struct(item) => Some(&mut item.attrs),
        Item::Trait(item) => Some(&mut item.attrs),
        Item::Type(item) => Some(&mut item.attrs),
        Item::Use(item) => Some(&mut item.attrs),
        Item::Const(item) => Some(&mut item.attrs),
        _ => None,
    }
}
