//! What a request is answered with where it has several replies: an enum of them.

use proc_macro2::TokenStream;
use quote::quote;

use super::docs::{attributes, capital, described};
use super::generator::Generator;
use super::types::Scope;
use crate::plan::names::ident;
use crate::plan::{Answers, RolePlan, answers_name, role_module};
use mcp_protocol_machine::protocol::MessageIndex;

impl Generator<'_> {
    /// The type of what answers a request: its reply's payload, or the enum of its replies.
    pub(super) fn answer(
        &self,
        role: &RolePlan,
        request: MessageIndex,
        replies: &[MessageIndex],
        scope: Scope,
    ) -> TokenStream {
        if let [reply] = replies {
            return self.payload(*reply, scope);
        }
        let name = ident(&answers_name(&self.plan.declarations, request));
        let module = ident(role_module(role.automaton.side));
        match scope {
            Scope::Top => quote!(#module::#name),
            Scope::Nested => quote!(#name),
        }
    }

    /// The enums of a role.
    pub(super) fn answers(&self, role: &RolePlan) -> TokenStream {
        role.answers.iter().map(|answers| self.answers_to(answers)).collect()
    }

    fn answers_to(&self, answers: &Answers) -> TokenStream {
        let plan = &self.plan;
        let name = ident(&answers_name(&plan.declarations, answers.request));
        let request = described(plan, answers.request);
        let place = plan.message(answers.request).map(|message| self.docs.place(message.span));
        let documentation =
            attributes(&[format!("One of the replies to {request}; {}.", place.unwrap_or_default())]);
        let variants = answers.replies.iter().map(|reply| {
            let variant = ident(plan.message_name(*reply));
            let documentation = attributes(&[format!("{}.", capital(&described(plan, *reply)))]);
            match self.is_empty(*reply) {
                true => quote!(#documentation #variant,),
                false => {
                    let payload = self.payload(*reply, Scope::Nested);
                    quote!(#documentation #variant(#payload),)
                }
            }
        });
        let read = answers.read.then(|| {
            let arms = answers.replies.iter().map(|reply| {
                let variant = ident(plan.message_name(*reply));
                let constant = self.constant(*reply);
                match self.is_empty(*reply) {
                    true => quote!(messages::#constant => reply.payload().map(|()| Self::#variant),),
                    false => quote!(messages::#constant => reply.payload().map(Self::#variant),),
                }
            });
            quote! {
                impl typed::ReadReply for #name {
                    fn read_reply(reply: typed::Reply<'_>) -> Result<Self, typed::JsonError> {
                        match reply.message() {
                            #(#arms)*
                            _ => Err(reply.unexpected()),
                        }
                    }
                }
            }
        });
        let written = answers.written.then(|| {
            let arms = answers.replies.iter().map(|reply| {
                let variant = ident(plan.message_name(*reply));
                let constant = self.constant(*reply);
                match self.is_empty(*reply) {
                    true => quote!(Self::#variant => typed::Written::new(messages::#constant, &()),),
                    false => {
                        quote!(Self::#variant(result) => typed::Written::new(messages::#constant, result),)
                    }
                }
            });
            quote! {
                impl typed::WriteReply for #name {
                    fn write_reply(&self) -> Result<typed::Written, typed::JsonError> {
                        match self {
                            #(#arms)*
                        }
                    }
                }
            }
        });
        quote! {
            #documentation
            #[allow(clippy::large_enum_variant)]
            #[derive(Debug)]
            #[must_use = "which of the replies came matters"]
            pub enum #name {
                #(#variants)*
            }

            #read
            #written
        }
    }
}
