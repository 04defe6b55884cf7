//! A check of each payload type, so that rustc names the line of the `.session` file when a type will not do.

use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{Direction, MessageIndex, Origin};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;

use super::generator::{CodeForm, Generator};
use super::types::{Scope, plain_path};
use crate::declarations::{PayloadType, is_primitive};
use crate::plan::indices;
use crate::source::Span;

/// What a type must be able to do.
#[derive(Clone, Copy, Default)]
struct Needs {
    write: bool,
    read: bool,
}

impl Needs {
    /// The name of the check.
    fn wrapper(self) -> TokenStream {
        match (self.write, self.read) {
            (true, false) => quote!(Write),
            (false, true) => quote!(Read),
            _ => quote!(Both),
        }
    }
}

impl Generator<'_> {
    /// The checks of all payload types.
    pub(super) fn payloads(&self) -> TokenStream {
        if self.form == CodeForm::File {
            return self.payload_rows();
        }
        let needs = self.needs();
        let mut seen = BTreeSet::new();
        let mut checks = Checks::default();
        for (index, message) in indices(&self.plan.declarations) {
            let (PayloadType::Type(path), Some(needs)) = (&message.payload, needs.get(&index)) else {
                continue;
            };
            if seen.insert(path.text.as_str()) && !is_primitive(&path.text) {
                self.check_of(&message.table.name, &path.text, path.span, *needs, &mut checks);
            }
        }
        let Checks { modules, places, fields, .. } = checks;
        if fields.is_empty() {
            return TokenStream::new();
        }
        quote! {
            #[allow(dead_code, unused_imports, non_camel_case_types)]
            const _: () = {
                #(#modules)*
                #(#places)*
                struct Payloads(#(#fields),*);
            };
        }
    }

    /// The checks of all payload types as rows; rustc names the message that is the first to carry a type.
    fn payload_rows(&self) -> TokenStream {
        let needs = self.needs();
        let mut seen = BTreeSet::new();
        let rows = indices(&self.plan.declarations).filter_map(|(index, message)| {
            let (PayloadType::Type(path), Some(needs)) = (&message.payload, needs.get(&index)) else {
                return None;
            };
            if is_primitive(&path.text) || !seen.insert(path.text.as_str()) {
                return None;
            }
            let (name, how) = (crate::plan::names::ident(&message.table.name), needs.wrapper());
            let found = self.types.path(&path.text, Scope::Top);
            Some(quote!(#name: #how<#found>;))
        });
        let rows: Vec<TokenStream> = rows.collect();
        if rows.is_empty() {
            return TokenStream::new();
        }
        quote! {
            typed::roles::payloads! {
                #(#rows)*
            }
        }
    }

    /// Which types are written and read by the methods of some role: of one type, all its messages together.
    fn needs(&self) -> BTreeMap<MessageIndex, Needs> {
        let declarations = &self.plan.declarations;
        let mut of_types: BTreeMap<&str, Needs> = BTreeMap::new();
        let text = |index: MessageIndex| match &declarations.message(index)?.payload {
            PayloadType::Type(path) => Some(path.text.as_str()),
            PayloadType::None | PayloadType::Any | PayloadType::Shape { .. } => None,
        };
        let automata = self.plan.roles.iter().map(|role| &role.automaton);
        for edge in automata.flat_map(|automaton| &automaton.states).flat_map(|state| &state.edges) {
            // What the runtime does by itself is not written or read as a Rust type.
            let answered = declarations.message(edge.message).is_some_and(|message| message.table.answered);
            if let (Some(text), Origin::Written, false) = (text(edge.message), edge.origin, answered) {
                let needs = of_types.entry(text).or_default();
                needs.write |= edge.direction == Direction::Send;
                needs.read |= edge.direction == Direction::Receive;
            }
        }
        let found = declarations.indices().filter_map(|index| Some((index, *of_types.get(text(index)?)?)));
        found.collect()
    }

    /// Adds the check of one type, which the message is the first to carry.
    fn check_of(&self, message: &str, text: &str, span: Span, needs: Needs, checks: &mut Checks) {
        let line = identifier(&self.docs.place(span));
        let place = format_ident!("{}_in_{line}", crate::plan::names::ident(message).unraw());
        checks.places.push(quote!(struct #place;));
        let wrapper = needs.wrapper();
        // The module gets the name of the line, for that name is what rustc says of a type that is not there.
        let of_module =
            plain_path(text).and_then(|(module, name)| Some((module, self.types.module(module)?, name)));
        let found = match of_module {
            Some((module, path, name)) => {
                let line = format_ident!("{line}");
                let name = crate::plan::names::ident(name);
                let known = checks.lines.entry(line.to_string()).or_insert_with(|| {
                    checks.modules.push(quote!(use #path as #line;));
                    module.to_owned()
                });
                if known == module { quote!(#line::#name) } else { quote!(#path::#name) }
            }
            None => self.types.path(text, Scope::Top),
        };
        checks.fields.push(quote!(typed::payload::#wrapper<#found, #place>));
    }
}

/// The parts of the code that checks all types.
#[derive(Default)]
struct Checks {
    /// Which module has the name of each line.
    lines: BTreeMap<String, String>,
    modules: Vec<TokenStream>,
    places: Vec<TokenStream>,
    fields: Vec<TokenStream>,
}

/// `` line 6 of `talk.session` `` as a name, `line_6_of_talk_session`.
fn identifier(place: &str) -> String {
    let letters: String = place
        .chars()
        .filter(|letter| *letter != '`')
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .collect();
    letters
}
