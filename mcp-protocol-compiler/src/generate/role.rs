//! A role: its session type, with one `impl` for each state.

use mcp_protocol_machine::protocol::{self as machine, Action, Kind, Side};
use proc_macro2::{Delimiter, Group, Ident, TokenStream};
use quote::{TokenStreamExt, format_ident, quote};

use super::docs::{after, attributes, errors_of_methods};
use super::generator::Generator;
use super::tables;
use super::types::Scope;
use crate::plan::names::ident;
use crate::plan::{RolePlan, StatePlan, role_module};

impl Generator<'_> {
    /// All of a role.
    pub(super) fn role(&self, role: &RolePlan) -> TokenStream {
        let mut code = self.session(role);
        code.extend(self.every_state(role));
        code.extend(self.methods(role));
        code.extend(self.role_module(role));
        code
    }

    fn session(&self, role: &RolePlan) -> TokenStream {
        let allow = &self.allow;
        let name = ident(&role.automaton.name);
        let side = role_module(role.automaton.side);
        let start = role.states.first().map_or("", |state| &state.name);
        let place = self.docs.place(role.automaton.span);
        let own = [
            format!("A session of the {side}, in the state `State`; it starts in [`{start}`]."),
            String::new(),
            format!("`{side} {}`, {place}.", role.automaton.name),
        ];
        let own = own.into_iter().chain(errors_of_methods(&self.error, Scope::Top));
        let documentation = attributes(&after(&role.automaton.documentation, own));
        quote! {
            #documentation
            #allow
            #[must_use = "dropping a session ends it"]
            pub struct #name<State> {
                session: typed::Session,
                state: ::std::marker::PhantomData<fn() -> State>,
            }
        }
    }

    /// What every state has.
    fn every_state(&self, role: &RolePlan) -> TokenStream {
        let name = ident(&role.automaton.name);
        let (module, side) = (ident(role_module(role.automaton.side)), side(role));
        let handle = self.has_handle(role).then(|| quote!(handle = #module::Handle;));
        let incoming = (!role.inputs.is_empty()).then(|| quote!(incoming = #module::IncomingQueue;));
        let nothing_owed = self.nothing_owed(role);
        let constants = tables::states(&role.automaton);
        let states = role.states.iter().map(|state| {
            let place = state.index.0 as usize;
            let (marker, constant) = (ident(&state.name), constants.get(place));
            let how = match nothing_owed.get(place) {
                _ if place == 0 => quote!(, starts),
                Some(true) => quote!(, resumable),
                _ => quote!(),
            };
            quote!(state #marker = tables::#module::#constant #how;)
        });
        quote! {
            typed::roles::role! {
                #name is #side of PROTOCOL;
                #handle
                #incoming
                #(#states)*
            }
        }
    }

    /// The methods of the role's session values and of its sub-sessions', state by state.
    fn methods(&self, role: &RolePlan) -> TokenStream {
        let owners = std::iter::once(role).chain(&role.sub_sessions);
        let states = owners.flat_map(|owner| owner.states.iter().map(move |state| (owner, state)));
        let states: TokenStream = states.map(|(owner, state)| self.steps(owner, state)).collect();
        if states.is_empty() { states } else { quote!(typed::roles::methods! { #states }) }
    }

    fn steps(&self, role: &RolePlan, state: &StatePlan) -> TokenStream {
        let allow = &self.allow;
        let name = role.path();
        let marker = ident(&state.name);
        let mut methods = TokenStream::new();
        methods.extend(state.methods.iter().map(|method| self.method(role, state, method)));
        if methods.is_empty() {
            return TokenStream::new();
        }
        let mut code = quote!(#allow impl #name<#marker>);
        code.append(Group::new(Delimiter::Brace, methods));
        code
    }

    /// In which states no request of a linear channel waits for its reply. Every way to a state has the same ones open.
    fn nothing_owed(&self, role: &RolePlan) -> Vec<bool> {
        let states = &role.automaton.states;
        let mut owed: Vec<Option<i32>> = vec![None; states.len()];
        let mut reached = vec![(machine::Role::START, 0)];
        while let Some((index, count)) = reached.pop() {
            let place = index.0 as usize;
            let (Some(known), Some(state)) = (owed.get_mut(place), states.get(place)) else { continue };
            if known.replace(count).is_some() {
                continue;
            }
            reached.extend(state.parts.iter().map(|part| (*part, count)));
            for edge in &state.edges {
                let Action::Step(target) = edge.action else { continue };
                let change = match self.plan.message(edge.message).map(|message| message.table.kind) {
                    Some(Kind::Request) => 1,
                    Some(Kind::Reply { .. } | Kind::Refusal { .. }) => -1,
                    _ => 0,
                };
                reached.push((target, count + change));
            }
        }
        owed.into_iter().map(|count| count == Some(0)).collect()
    }
}

/// The side of a role, by its variant.
pub(super) fn side(role: &RolePlan) -> Ident {
    match role.automaton.side {
        Side::Client => format_ident!("Client"),
        Side::Server => format_ident!("Server"),
    }
}

impl RolePlan {
    /// The name of a type of the module that goes with the session type: that of a sub-session's begins with the
    /// name of that.
    pub(super) fn item(&self, name: &str) -> Ident {
        ident(&format!("{}{name}", self.sub_session().map_or("", |sub_session| &sub_session.name)))
    }

    /// A session or a sub-session, in the words of the documentation.
    pub(super) fn subject(&self) -> &'static str {
        if self.sub_session().is_some() { "sub-session" } else { "session" }
    }

    /// The session type, as it is written in the generated module: a sub-session's stands in the module of its role.
    pub(super) fn path(&self) -> TokenStream {
        let name = ident(self.session_name());
        match self.sub_session() {
            None => quote!(#name),
            Some(_) => {
                let module = ident(role_module(self.automaton.side));
                quote!(#module::#name)
            }
        }
    }
}
