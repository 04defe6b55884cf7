//! The states of a role as rows.

use mcp_protocol_machine::protocol::{
    Action, Advice, Direction, Edge, Level, Origin, Role, State, StateIndex, StateKind,
};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::{ConstantNames, constant, distinct, level};

/// The module of a role.
pub(super) fn role(role: &Role, module: &Ident, names: &ConstantNames) -> TokenStream {
    let states = States { messages: names, states: constants(role) };
    let rows = role.states.iter().zip(&states.states).map(|(item, name)| {
        let row = states.row(item);
        quote!(#name = #row;)
    });
    quote! {
        pub(super) mod #module {
            use super::{m, tables};

            tables::states! {
                #(#rows)*
            }
        }
    }
}

/// The constants of the states.
pub(super) fn constants(role: &Role) -> Vec<Ident> {
    distinct(role.states.iter().map(|state| constant(&state.name)))
}

struct States<'a> {
    messages: &'a ConstantNames,
    states: Vec<Ident>,
}

impl States<'_> {
    fn name(&self, index: StateIndex) -> TokenStream {
        match usize::try_from(index.0).ok().and_then(|index| self.states.get(index)) {
            Some(name) => name.to_token_stream(),
            None => {
                let index = Literal::u32_unsuffixed(index.0);
                quote!(StateIndex(#index))
            }
        }
    }

    fn row(&self, state: &State) -> TokenStream {
        let name = &*state.name;
        let edges = state.edges.iter().map(|edge| self.edge(edge));
        let mut row = match state.kind {
            StateKind::Linear => quote!(State::linear(#name, &[#(#edges),*])),
            StateKind::End => quote!(State::end(#name, &[#(#edges),*])),
            StateKind::Replicated => quote!(State::replicated(#name, &[#(#edges),*])),
            StateKind::Fork => {
                let parts = state.parts.iter().map(|part| self.name(*part));
                quote!(State::fork(#name, &[#(#parts),*]))
            }
        };
        let reaches_end = state.kind != StateKind::Replicated;
        let switches = [
            (state.reaches_end && !reaches_end, quote!(.ends())),
            (!state.reaches_end && reaches_end, quote!(.endless())),
            (state.may_close, quote!(.may_close())),
            (state.peer_may_close, quote!(.peer_may_close())),
            (state.only.outward, quote!(.suspends(Direction::Send))),
            (state.only.inward, quote!(.suspends(Direction::Receive))),
        ];
        row.extend(switches.into_iter().filter(|(on, _)| *on).map(|(_, switch)| switch));
        if state.outward != Level::MUST || state.inward != Level::MUST {
            let (outward, inward) = (level(&state.outward), level(&state.inward));
            row.extend(quote!(.levels(#outward, #inward)));
        }
        if !state.advice.is_empty() {
            let advice = state.advice.iter().map(|item| self.advice(item));
            row.extend(quote!(.advises(const { &[#(#advice),*] })));
        }
        row
    }

    fn advice(&self, advice: &Advice) -> TokenStream {
        let direction = match advice.direction {
            Direction::Send => quote!(Direction::Send),
            Direction::Receive => quote!(Direction::Receive),
        };
        let (message, level) = (self.messages.message(advice.message), level(&advice.level));
        quote!(Advice::new(#direction, m::#message, #level))
    }

    fn edge(&self, edge: &Edge) -> TokenStream {
        let (message, target) = (self.messages.message(edge.message), self.name(edge.action.target()));
        let how = match (edge.direction, edge.origin) {
            (Direction::Send, Origin::Written | Origin::Closure) => format_ident!("send"),
            (Direction::Receive, Origin::Written | Origin::Closure) => format_ident!("receive"),
            (Direction::Send, Origin::Refusal) => format_ident!("refuse"),
            (Direction::Receive, Origin::Refusal) => format_ident!("refused"),
            (Direction::Send, Origin::Cancel) => format_ident!("cancel"),
            (Direction::Receive, Origin::Cancel) => format_ident!("cancelled"),
        };
        let spawn = matches!(edge.action, Action::Spawn(_)).then(|| quote!(.spawn()));
        let closure = (edge.origin == Origin::Closure).then(|| quote!(.closure()));
        quote!(#how(m::#message, #target)#spawn #closure)
    }
}
