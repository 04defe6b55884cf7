//! Replicated inputs: the queue, its messages, and the handler that answers them.

use mcp_protocol_machine::protocol::Kind;
use proc_macro2::TokenStream;
use quote::quote;

use super::docs::{after, attributes, capital, described, errors, links};
use super::generator::Generator;
use super::types::Scope;
use crate::plan::names::{ident, snake};
use crate::plan::{Opening, Replicated, RolePlan};

impl Generator<'_> {
    /// Everything that takes the replicated inputs of a session, or of a sub-session; nothing if it has none.
    pub(super) fn incoming(&self, role: &RolePlan) -> TokenStream {
        if role.inputs.is_empty() {
            return TokenStream::new();
        }
        let messages = self.incoming_messages(role);
        let handler = self.handler(role);
        quote!(#messages #handler)
    }

    fn incoming_messages(&self, role: &RolePlan) -> TokenStream {
        let rows = role.inputs.iter().map(|input| {
            let variant = ident(self.plan.message_name(input.message));
            let payload = self.carried(input.message, Scope::Nested);
            let responder = (!input.replies.is_empty()).then(|| {
                let result = self.answer(role, input.message, &input.replies, Scope::Nested);
                quote!(typed::Responder<#result>)
            });
            let sub_session = input.opening.as_ref().map(|opening| self.incoming_sub_session(role, opening));
            let fields: Vec<&TokenStream> = payload.iter().chain(&responder).chain(&sub_session).collect();
            let fields = (!fields.is_empty()).then(|| quote!((#(#fields),*)));
            let kind = match (&input.opening, input.replies.is_empty()) {
                (Some(_), _) => quote!(opening),
                (None, false) => quote!(request),
                (None, true) => quote!(notification),
            };
            let params = payload.is_some().then(|| quote!(params));
            let gated = self.is_gated(role, input).then(|| quote!(gated));
            let (constant, method) =
                (self.constant(input.message), ident(&self.plan.call_name(input.message)));
            quote!(#constant: #kind(#params) #method #gated => #variant #fields;)
        });
        let names = ["Incoming", "IncomingQueue", "Handler"].map(|name| role.item(name));
        let subject = role.subject();
        quote! {
            typed::roles::incoming! {
                #(#names,)* #subject;
                #(#rows)*
            }
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
            let (parameter, value) = self.argument(*report, Scope::Nested);
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
                pub async fn #name(&self, #parameter) -> Result<(), super::#error> {
                    self.context.report(messages::#constant, #value).await
                }
            }
        });
        let wants_progress = (!self.plan.reports.is_empty()).then(|| quote!(reports = wants_progress;));
        let reports: TokenStream = reports.collect();
        let reports = (!reports.is_empty()).then(|| quote!(impl Context { #reports }));
        quote! {
            typed::roles::context! {
                Context;
                #peer
                #wants_progress
            }

            #reports
        }
    }

    fn handler(&self, role: &RolePlan) -> TokenStream {
        let methods = role.inputs.iter().map(|input| {
            let documentation = self.input_documentation(role, input);
            let name = ident(&self.plan.call_name(input.message));
            let comma = (!self.is_empty(input.message)).then(|| quote!(,));
            let (parameter, unused) = match self.is_empty(input.message) {
                true => (None, quote!(context)),
                false => {
                    let payload = self.payload(input.message, Scope::Nested);
                    (Some(quote!(params: #payload)), quote!((context, params)))
                }
            };
            let method = self.plan.message(input.message).map_or("", |message| &message.table.method);
            if let Some(opening) = &input.opening {
                let sub_session = self.incoming_sub_session(role, opening);
                return quote! {
                    #documentation
                    fn #name(
                        &self,
                        context: Context,
                        #parameter #comma
                        sub_session: #sub_session,
                    ) -> impl Future<Output = ()> + Send {
                        let _ = #unused;
                        sub_session.session.decline(typed::RpcError::method_not_found(#method));
                        typed::Unhandled::declined()
                    }
                };
            }
            let (output, default) = match input.replies.is_empty() {
                false => {
                    let result = self.answer(role, input.message, &input.replies, Scope::Nested);
                    (quote!(Result<#result, typed::RpcError>), quote!(typed::Unhandled::request(#method)))
                }
                true => (quote!(()), quote!(::std::future::ready(()))),
            };
            quote! {
                #documentation
                fn #name(
                    &self,
                    context: Context,
                    #parameter
                ) -> impl Future<Output = #output> + Send {
                    let _ = #unused;
                    #default
                }
            }
        });
        let name = role.item("Handler");
        let when = match role.sub_session() {
            Some(sub_session) => format!("while `{}` runs", sub_session.name),
            None => "at any time".to_owned(),
        };
        let what = format!(
            "Answers what the peer asks {when}.\n\n\
             Implement the methods as `async fn`. A request that is not implemented is answered with\n\
             *method not found*; if this side has announced a capability for it, that is reported when `serve`\n\
             begins. A notification that is not implemented is ignored. A handler starts in \
             the task of `serve`, and"
        );
        let what = attributes(&what.lines().map(str::to_owned).collect::<Vec<String>>());
        quote! {
            #what
            /// continues in a task of its own if it has to wait: requests side by side, notifications one after another.
            /// A handler that panics fails its own message only: a request is answered with an error, and the session
            /// lives on.
            pub trait #name: Send + Sync + 'static {
                #(#methods)*
            }
        }
    }
}
