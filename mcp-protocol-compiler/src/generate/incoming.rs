//! Replicated inputs: the queue, its messages, and the handler that answers them.

use mcp_protocol_machine::protocol::Kind;
use proc_macro2::TokenStream;
use quote::quote;

use super::docs::{after, attributes, capital, described, errors, links};
use super::generator::Generator;
use super::handle::fields;
use super::types::Scope;
use crate::plan::names::{ident, snake};
use crate::plan::{Opening, Replicated, RolePlan};

impl Generator<'_> {
    /// Everything that takes the replicated inputs of a session, or of a sub-session; nothing if it has none.
    pub(super) fn incoming(&self, role: &RolePlan) -> TokenStream {
        if role.inputs.is_empty() {
            return TokenStream::new();
        }
        let rows = role.inputs.iter().map(|input| self.handler_method(role, input));
        let names = ["Handler", "Incoming", "IncomingQueue"].map(|name| role.item(name));
        let subject = role.subject();
        let documentation = attributes(&[match role.sub_session() {
            Some(sub_session) => format!("Answers what the peer asks while `{}` runs.", sub_session.name),
            None => "Answers what the peer asks at any time.".to_owned(),
        }]);
        quote! {
            typed::roles::incoming! {
                #documentation
                #(#names,)* #subject;
                #(#rows)*
            }
        }
    }

    /// The row of a method of the trait, with the variant that its message becomes.
    fn handler_method(&self, role: &RolePlan, input: &Replicated) -> TokenStream {
        let documentation = self.input_documentation(role, input);
        let variant = ident(self.plan.message_name(input.message));
        let (constant, method) = (self.constant(input.message), ident(&self.plan.call_name(input.message)));
        let payload = self.carried(input.message, Scope::Nested);
        let result = (!input.replies.is_empty() && input.opening.is_none())
            .then(|| self.answer(role, input.message, &input.replies, Scope::Nested));
        let sub_session = input.opening.as_ref().map(|opening| self.incoming_sub_session(role, opening));
        let kind = match (&sub_session, &result) {
            (Some(_), _) => quote!(opening),
            (None, Some(_)) => quote!(request),
            (None, None) => quote!(notification),
        };
        let gated = self.is_gated(role, input).then(|| quote!(, gated));
        let params = payload.as_ref().map(|payload| quote!(, params: #payload));
        let opened = sub_session.as_ref().map(|sub_session| quote!(, sub_session: #sub_session));
        let output = result.as_ref().map(|result| quote!(-> Result<#result, typed::RpcError>));
        let responder = result.map(|result| quote!(typed::Responder<#result>));
        let fields = fields(payload.iter().chain(&responder).chain(&sub_session));
        quote! {
            #documentation
            async fn #method(&self, context: Context #params #opened) #output
                => #kind(#constant #gated) as #variant #fields;
        }
    }

    /// Whether an announcement promises that a handler implements the request.
    fn is_gated(&self, role: &RolePlan, input: &Replicated) -> bool {
        let Some(message) = self.plan.message(input.message) else { return false };
        let table = &message.table;
        // In the session, what carries a key and opens nothing is for the sub-sessions that it belongs to.
        let is_for_handler = role.sub_session().is_some() || table.keys.is_empty() || input.opening.is_some();
        table.kind == Kind::Request && !table.requires.is_empty() && is_for_handler
    }

    /// The type of the sub-session that an input opens.
    fn incoming_sub_session(&self, role: &RolePlan, opening: &Opening) -> TokenStream {
        let (sub_session, marker) =
            (ident(role.sub_session_name(opening)), ident(role.state_name(opening.start)));
        quote!(#sub_session<super::#marker>)
    }

    fn input_documentation(&self, role: &RolePlan, input: &Replicated) -> TokenStream {
        let written = self.plan.message(input.message).map_or(&[][..], |message| &message.documentation);
        let states = links(input.states.iter().map(|state| role.state_name(*state)), Scope::Nested);
        let place = self.docs.place(input.span);
        let what = capital(&described(&self.plan, input.message));
        let mut lines = vec![format!("{what}; may come in {states}, {place}.")];
        if let Some(key) = self.uncorrelated(input).filter(|_| role.sub_session().is_none()) {
            lines.push(format!(
                "Comes here only if no sub-session holds its `{key}`. Otherwise the value of the sub-session gets it."
            ));
        }
        attributes(&after(written, lines))
    }

    /// The key of an input that is also a step of sub-sessions, and comes here where it belongs to none of them.
    fn uncorrelated(&self, input: &Replicated) -> Option<&str> {
        if input.opening.is_some() {
            return None;
        }
        let declarations = &self.plan.declarations;
        let mut keys = self.plan.message(input.message)?.table.keys.iter();
        let open = keys.find(|carried| declarations.is_open(carried))?;
        declarations.keys.get(usize::from(open.key.0)).map(|key| &*key.table.name)
    }

    /// What handlers have in addition to the message.
    pub(super) fn context(&self, role: &RolePlan) -> TokenStream {
        let peer = self.has_handle(role).then(|| quote!(peer = Handle;));
        let reports = self.plan.reports.iter().map(|report| {
            let name = ident(&format!("send_{}", snake(self.plan.message_name(*report))));
            let constant = self.constant(*report);
            let parameter = self.parameter(*report, Scope::Nested);
            let error = &self.error;
            let described = described(&self.plan, *report);
            let mut lines = vec![
                format!("Sends {described} about the request that is handled;"),
                "the token is filled in, and nothing is sent if the request carries none.".into(),
                "If it has a number `progress`, that must be more than in the report before.".into(),
            ];
            lines.extend(errors(error, Scope::Nested));
            let documentation = attributes(&lines);
            quote! {
                #documentation
                pub async fn #name(&self #parameter) -> Result<(), super::#error> => report(#constant);
            }
        });
        let wants_progress = (!self.plan.reports.is_empty()).then(|| quote!(reports = wants_progress;));
        quote! {
            typed::roles::context! {
                Context;
                #peer
                #wants_progress
                #(#reports)*
            }
        }
    }
}
