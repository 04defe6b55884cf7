//! The API alone, for a review that is not about how it is done.

use syn::visit_mut::VisitMut;

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
        file.items.retain(is_api);
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(is_api);
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
        syn::Item::Macro(item) => {
            let name = item.mac.path.segments.last().map(|last| last.ident.to_string());
            !name.is_some_and(|name| PRIVATE.contains(&name.as_str()))
        }
        _ => false,
    }
}
