//! The methods of session values.

use mcp_protocol_machine::protocol::{Kind, MessageIndex, Payload, StateIndex};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::docs::attributes;
use super::generator::Generator;
use super::types::{Scope, ordinal};
use crate::plan::names::{constant, ident};
use crate::plan::{
    Method, MethodKind, NextPlan, Opening, RolePlan, StatePlan, next_name, role_module, state,
};

impl Generator<'_> {
    /// The row of one method of a state.
    pub(super) fn method(&self, role: &RolePlan, state: &StatePlan, method: &Method) -> TokenStream {
        let mut code = attributes(&self.method_lines(role, state, method));
        let name = ident(&method.name);
        let here = state.index;
        let row = match &method.what {
            MethodKind::Send { message, target } => self.send(role, &name, *message, here, *target),
            MethodKind::Exchange { request, replies, target, .. } => {
                self.exchange(role, &name, (*request, replies), here, *target)
            }
            MethodKind::Choose { request, waiting } => self.choose(role, &name, *request, *waiting),
            MethodKind::Receive { message, target, refused } => {
                self.receive(role, &name, *message, here, *target, *refused)
            }
            MethodKind::Next(next) => self.next(role, next),
            MethodKind::Refuse { request, target } => self.refuse(role, &name, *request, *target),
            MethodKind::Cancelled { request } => {
                let constant = self.constant(*request);
                quote!(pub async fn #name(&self) => cancelled(#constant);)
            }
            MethodKind::Call(call) => {
                let parameter = self.parameter(call.request, Scope::Top);
                let constant = self.constant(call.request);
                let module = ident(role_module(role.automaton.side));
                let alias = self.call_alias(call.request);
                let result = self.answer(role, call.request, &call.replies, Scope::Top);
                quote!(pub fn #name(&self #parameter) -> #module::#alias<'_, #result> => call(#constant);)
            }
            MethodKind::Pages(call) => {
                let parameter = self.parameter(call.request, Scope::Top);
                let constant = self.constant(call.request);
                let result = self.answer(role, call.request, &call.replies, Scope::Top);
                let (cursor, next) = self.cursors(call.request);
                quote! {
                    pub fn #name(&self #parameter) -> typed::Pages<'_, #result>
                        => pages(#constant, [#(#cursor),*], [#(#next),*]);
                }
            }
            MethodKind::Notify { message } => {
                let parameter = self.parameter(*message, Scope::Top);
                let constant = self.constant(*message);
                quote!(pub fn #name(&self #parameter) -> typed::Notify<'_> => notify(#constant);)
            }
            MethodKind::Open { message, opening } => self.open(role, &name, *message, opening),
            MethodKind::OpenExchange { request, reply, target, opening } => {
                self.open_exchange(role, &name, (*request, *reply), *target, opening)
            }
            MethodKind::Split { parts } => self.split(role, parts),
            MethodKind::Close => quote!(pub fn close(self) -> typed::Closing => close();),
        };
        code.extend(row);
        code
    }

    fn send(
        &self,
        role: &RolePlan,
        name: &Ident,
        message: MessageIndex,
        here: StateIndex,
        target: StateIndex,
    ) -> TokenStream {
        let parameter = self.parameter(message, Scope::Top);
        let constant = self.constant(message);
        let error = &self.error;
        if here == target {
            return quote!(pub async fn #name(&mut self #parameter) -> Result<(), #error> => send_here(#constant););
        }
        let next = self.alone(role, target);
        quote!(pub fn #name(self #parameter) -> typed::Step<#next, typed::StepError<Self>> => send_on(#constant);)
    }

    fn exchange(
        &self,
        role: &RolePlan,
        name: &Ident,
        (request, replies): (MessageIndex, &[MessageIndex]),
        here: StateIndex,
        target: StateIndex,
    ) -> TokenStream {
        let parameter = self.parameter(request, Scope::Top);
        let constant = self.constant(request);
        let result = self.answer(role, request, replies, Scope::Top);
        if here == target {
            let cancellable = self.plan.message(request).is_some_and(|message| message.table.cancellable);
            let cancellable = cancellable.then(|| quote!(, typed::Cancellable));
            return quote! {
                pub fn #name(&mut self #parameter) -> typed::Exchange<'_, #result #cancellable>
                    => exchange_here(#constant);
            };
        }
        let next = self.alone(role, target);
        let empty = matches!(replies, [reply] if self.is_empty(*reply));
        let (output, exchange) = match (empty, role.is_over(target)) {
            (true, false) => (next, quote!(exchange_empty)),
            (false, false) => (quote!((#result, #next)), quote!(exchange_on)),
            (true, true) => (quote!(()), quote!(exchange_last)),
            (false, true) => (result, quote!(exchange_last)),
        };
        quote!(pub fn #name(self #parameter) -> typed::Advance<#output, Self> => #exchange(#constant);)
    }

    /// A linear request whose replies lead to different states: what comes is the choice of the state in between.
    fn choose(
        &self,
        role: &RolePlan,
        name: &Ident,
        request: MessageIndex,
        waiting: StateIndex,
    ) -> TokenStream {
        let parameter = self.parameter(request, Scope::Top);
        let constant = self.constant(request);
        let module = ident(role_module(role.automaton.side));
        let choice = ident(&state(&role.automaton, waiting).map_or_else(String::new, next_name));
        quote! {
            pub fn #name(self #parameter) -> typed::Advance<#module::#choice, Self>
                => exchange_next(#constant, #module::#choice);
        }
    }

    fn receive(
        &self,
        role: &RolePlan,
        name: &Ident,
        message: MessageIndex,
        here: StateIndex,
        target: StateIndex,
        refused: Option<StateIndex>,
    ) -> TokenStream {
        let constant = self.constant(message);
        let error = &self.error;
        if here == target {
            let payload = self.payload(message, Scope::Top);
            return quote!(pub async fn #name(&mut self) -> Result<#payload, #error> => receive_here(#constant););
        }
        let error = self.step_error(role, refused);
        let payload = self.payload(message, Scope::Top);
        let next = self.alone(role, target);
        let (output, take) = match (self.is_empty(message), role.is_over(target)) {
            (true, false) => (next, quote!(receive_empty)),
            (false, false) => (quote!((#payload, #next)), quote!(receive_on)),
            (true, true) => (quote!(()), quote!(receive_last)),
            (false, true) => (payload, quote!(receive_last)),
        };
        quote!(pub fn #name(self) -> typed::Step<#output, #error> => #take(#constant);)
    }

    fn next(&self, role: &RolePlan, next: &NextPlan) -> TokenStream {
        let module = ident(role_module(role.automaton.side));
        let name = ident(&next.name);
        if next.here {
            let error = &self.error;
            return quote! {
                pub async fn next(&mut self) -> Result<#module::#name, #error> => next_here(#module::#name);
            };
        }
        let error = self.step_error(role, next.refused);
        quote!(pub fn next(self) -> typed::Step<#module::#name, #error> => next_on(#module::#name);)
    }

    fn refuse(
        &self,
        role: &RolePlan,
        name: &Ident,
        request: MessageIndex,
        target: StateIndex,
    ) -> TokenStream {
        let constant = self.constant(request);
        let next = self.alone(role, target);
        quote! {
            pub fn #name(self, error: typed::RpcError) -> typed::Step<#next, typed::StepError<Self>>
                => refuse_on(#constant);
        }
    }

    /// A channel of a sub-session that is over has no value: it may have ended with the message that opened it.
    fn split(&self, role: &RolePlan, parts: &[StateIndex]) -> TokenStream {
        let session = role.path();
        let goes_on = |part: &StateIndex| !role.is_over(*part);
        let patterns = parts.iter().enumerate().map(|(place, part)| match goes_on(part) {
            true => ordinal(place).to_token_stream(),
            false => quote!(_),
        });
        let on = || parts.iter().enumerate().filter(|(_, part)| goes_on(part));
        let types = on().map(|(_, part)| {
            let marker = ident(role.state_name(*part));
            quote!(#session<#marker>)
        });
        let values = on().map(|(place, _)| ordinal(place));
        let types = match on().count() {
            1 => quote!(#(#types)*),
            _ => quote!((#(#types,)*)),
        };
        quote!(pub fn split(self) -> #types => split([#(#patterns),*], #(#values),*);)
    }

    /// The first message of a sub-session.
    pub(super) fn open(
        &self,
        role: &RolePlan,
        name: &Ident,
        message: MessageIndex,
        opening: &Opening,
    ) -> TokenStream {
        let parameter = self.parameter(message, Scope::Top);
        let constant = self.constant(message);
        let next = self.sub_session_in(role, opening, opening.start);
        let error = &self.error;
        quote!(pub async fn #name(&self #parameter) -> Result<#next, #error> => open(#constant);)
    }

    fn open_exchange(
        &self,
        role: &RolePlan,
        name: &Ident,
        (request, reply): (MessageIndex, MessageIndex),
        target: StateIndex,
        opening: &Opening,
    ) -> TokenStream {
        let parameter = self.parameter(request, Scope::Top);
        let constant = self.constant(request);
        let next = self.sub_session_in(role, opening, target);
        let (module, alias) = (ident(role_module(role.automaton.side)), self.call_alias(request));
        let (output, method) = match self.is_empty(reply) {
            true => (next, quote!(open_exchange_empty)),
            false => {
                let payload = self.payload(reply, Scope::Top);
                (quote!((#payload, #next)), quote!(open_exchange))
            }
        };
        quote!(pub fn #name(&self #parameter) -> #module::#alias<'_, #output> => #method(#constant);)
    }

    /// A sub-session in a state.
    fn sub_session_in(&self, role: &RolePlan, opening: &Opening, target: StateIndex) -> TokenStream {
        let module = ident(role_module(role.automaton.side));
        let (sub_session, marker) = (ident(role.sub_session_name(opening)), ident(role.state_name(target)));
        quote!(#module::#sub_session<#marker>)
    }

    /// The session in another state.
    fn session_in(&self, role: &RolePlan, target: StateIndex) -> TokenStream {
        let session = role.path();
        let marker = ident(role.state_name(target));
        quote!(#session<#marker>)
    }

    /// What a step gives that brings nothing but the session. A sub-session that is over is nothing.
    fn alone(&self, role: &RolePlan, target: StateIndex) -> TokenStream {
        match role.is_over(target) {
            true => quote!(()),
            false => self.session_in(role, target),
        }
    }

    /// The error of a step that waits: only where the peer may refuse does it give a session back.
    fn step_error(&self, role: &RolePlan, refused: Option<StateIndex>) -> TokenStream {
        match refused.filter(|back| !role.is_over(*back)) {
            Some(back) => {
                let back = self.session_in(role, back);
                quote!(typed::StepError<#back>)
            }
            None => {
                let error = &self.error;
                quote!(#error)
            }
        }
    }

    /// The constant of a message.
    pub(super) fn constant(&self, message: MessageIndex) -> Ident {
        self.constants
            .get(usize::from(message.0))
            .cloned()
            .unwrap_or_else(|| ident(&constant(self.plan.message_name(message))))
    }

    /// Whether a message carries nothing that a program would look at.
    pub(super) fn is_empty(&self, message: MessageIndex) -> bool {
        let refusal =
            |message: &crate::declarations::Message| matches!(message.table.kind, Kind::Refusal { .. });
        self.plan.message(message).is_none_or(|message| {
            let carries_nothing = matches!(message.table.payload, Payload::None | Payload::Null);
            carries_nothing && !refusal(message) && message.table.pattern().is_none()
        })
    }

    /// The type of a message's payload.
    pub(super) fn payload(&self, message: MessageIndex, scope: Scope) -> TokenStream {
        let payloads = match scope {
            Scope::Top => &self.payloads,
            Scope::Nested => &self.nested_payloads,
        };
        payloads.get(usize::from(message.0)).cloned().unwrap_or_else(|| quote!(()))
    }

    /// The parameter that carries a message's payload, if there is one, behind the comma after `self`.
    pub(super) fn parameter(&self, message: MessageIndex, scope: Scope) -> Option<TokenStream> {
        let payload = self.carried(message, scope)?;
        let name = match self.plan.message(message).map(|message| message.table.kind) {
            Some(Kind::Reply { .. }) => format_ident!("result"),
            _ => format_ident!("params"),
        };
        Some(quote!(, #name: #payload))
    }

    /// The type of what a message carries; nothing if it carries nothing.
    pub(super) fn carried(&self, message: MessageIndex, scope: Scope) -> Option<TokenStream> {
        (!self.is_empty(message)).then(|| self.payload(message, scope))
    }

    /// Where a request carries the cursor of a page, and where its result carries the next one.
    pub(super) fn cursors(&self, request: MessageIndex) -> (Vec<String>, Vec<String>) {
        let keys =
            |path: &mcp_protocol_machine::protocol::Path| path.iter().map(|key| key.to_string()).collect();
        let pages = self.plan.message(request).and_then(|message| message.pages.as_ref());
        pages.map(|pages| (keys(&pages.cursor), keys(&pages.next))).unwrap_or_default()
    }

    /// The alias of the call's type.
    pub(super) fn call_alias(&self, request: MessageIndex) -> Ident {
        match self.is_cancellable(request) {
            true => format_ident!("CancellableCall"),
            false => format_ident!("Call"),
        }
    }

    /// Whether a request can be cancelled.
    pub(super) fn is_cancellable(&self, request: MessageIndex) -> bool {
        self.plan.message(request).is_some_and(|message| message.table.cancellable)
    }
}
