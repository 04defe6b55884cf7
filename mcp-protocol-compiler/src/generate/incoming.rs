//! Replicated inputs: the queue, its messages, and the handler that answers them.
//!
//! In: the plan of a role. Out: `Incoming`, `IncomingQueue`, `Context` and `Handler`. Refuses to leave a request
//! without an answer: what a handler does not implement is *method not found*.

use mcp_protocol_machine::protocol::Kind;
use proc_macro2::TokenStream;
use quote::quote;

use super::Generator;
use super::docs::{after, attributes, described, links};
use super::handle::capital;
use super::names::{ident, snake};
use super::plan::{Opening, Replicated, Role};
use super::types::Scope;

impl Generator<'_> {
    /// Everything that takes replicated inputs.
    pub(super) fn incoming(&self, role: &Role<'_>) -> TokenStream {
        let messages = self.incoming_messages(role);
        let queue = self.queue(role);
        let context = self.context(role);
        let handler = self.handler(role);
        quote!(#messages #queue #context #handler)
    }

    fn incoming_messages(&self, role: &Role<'_>) -> TokenStream {
        let variants = role.inputs.iter().map(|input| {
            let documentation = self.input_documentation(input);
            let variant = ident(self.plan.message_name(input.message));
            let payload = (!self.is_empty(input.message)).then(|| self.payload(input.message, Scope::Nested));
            let responder = (!input.replies.is_empty()).then(|| {
                let result = self.answer(role, input.message, &input.replies, Scope::Nested);
                quote!(typed::Responder<#result>)
            });
            let copy = input.opening.as_ref().map(|opening| self.incoming_copy(role, opening).1);
            let fields: Vec<&TokenStream> = payload.iter().chain(&responder).chain(&copy).collect();
            match fields.is_empty() {
                true => quote!(#documentation #variant,),
                false => quote!(#documentation #variant(#(#fields),*),),
            }
        });
        let arms = role.inputs.iter().map(|input| {
            let variant = ident(self.plan.message_name(input.message));
            let constant = self.constant(input.message);
            let opened = input.opening.as_ref().map(|opening| self.incoming_copy(role, opening).0);
            let make = match (!input.replies.is_empty(), self.is_empty(input.message)) {
                (_, true) if opened.is_some() => {
                    quote!(arrival.open().map(|((), session)| Self::#variant(#opened::at(session))))
                }
                (_, false) if opened.is_some() => quote! {
                    arrival.open().map(|(params, session)| Self::#variant(params, #opened::at(session)))
                },
                (true, true) => quote!(arrival.request().map(|((), responder)| Self::#variant(responder))),
                (true, false) => {
                    quote!(arrival.request().map(|(params, responder)| Self::#variant(params, responder)))
                }
                (false, true) => quote!(arrival.notification().map(|()| Self::#variant)),
                (false, false) => quote!(arrival.notification().map(Self::#variant)),
            };
            quote!(messages::#constant => #make,)
        });
        quote! {
            /// A message that the peer may send at any time.
            #[allow(clippy::large_enum_variant)]
            #[derive(Debug)]
            #[must_use = "a request that is dropped is answered with an error"]
            pub enum Incoming {
                #(#variants)*
            }

            impl Incoming {
                #[allow(clippy::result_large_err)]
                fn read(arrival: typed::Arrival) -> Result<Self, typed::Unread> {
                    match arrival.message() {
                        #(#arms)*
                        _ => Err(arrival.unexpected()),
                    }
                }
            }
        }
    }

    /// The type of the copy that an input opens: its name, and that with the marker.
    fn incoming_copy(&self, role: &Role<'_>, opening: &Opening) -> (TokenStream, TokenStream) {
        let (copy, marker) = (ident(role.copy_name(opening)), ident(role.state_name(opening.start)));
        (quote!(#copy), quote!(#copy<super::#marker>))
    }

    fn input_documentation(&self, input: &Replicated<'_>) -> TokenStream {
        let written = self.plan.message(input.message).map_or(&[][..], |message| &message.documentation);
        let states = links(input.states.iter().copied(), Scope::Nested);
        let place = self.docs.place(input.span);
        let what = capital(&described(&self.plan, input.message));
        attributes(&after(written, [format!("{what}; may come in {states}, {place}.")]))
    }

    fn queue(&self, role: &Role<'_>) -> TokenStream {
        let documentation = attributes(&[
            format!("The messages that the peer of a `{}` may send at any time.", role.automaton.name),
            "Each goes to one consumer.".into(),
        ]);
        let arms = role.inputs.iter().map(|input| {
            let constant = self.constant(input.message);
            let method = ident(&self.plan.call_name(input.message));
            if let Some(opening) = &input.opening {
                let copy = self.incoming_copy(role, opening).0;
                let (parameter, arguments) = match self.is_empty(input.message) {
                    true => (quote!(()), quote!(context, #copy::at(session))),
                    false => (quote!(params), quote!(context, params, #copy::at(session))),
                };
                return quote! {
                    messages::#constant => {
                        arrival.attend(|#parameter, session| handler.#method(#arguments)).await
                    }
                };
            }
            let (parameter, arguments) = match self.is_empty(input.message) {
                true => (quote!(()), quote!(context)),
                false => (quote!(params), quote!(context, params)),
            };
            let run = match !input.replies.is_empty() {
                true => quote!(answer),
                false => quote!(deliver),
            };
            quote!(messages::#constant => arrival.#run(|#parameter| handler.#method(#arguments)).await,)
        });
        let (unhandled, leaves) = self.unhandled(role);
        quote! {
            #documentation
            #[derive(Debug)]
            pub struct IncomingQueue {
                queue: typed::IncomingQueue,
            }

            impl IncomingQueue {
                pub(super) fn at(queue: typed::IncomingQueue) -> Self {
                    Self { queue }
                }

                /// The next message; `None` when the session is over.
                pub async fn next(&self) -> Option<Incoming> {
                    self.queue.next(Incoming::read).await
                }

                /// Gives every message to a handler until the session is over, requests side by side.
                pub fn serve(
                    self,
                    handler: impl Handler,
                ) -> impl ::std::future::Future<Output = ()> + Send {
                    #leaves
                    let handler = ::std::sync::Arc::new(handler);
                    self.queue.serve(move |arrival| dispatch(handler.clone(), arrival))
                }
            }

            #unhandled

            async fn dispatch(handler: ::std::sync::Arc<impl Handler>, arrival: typed::Arrival) {
                let context = Context::at(arrival.context());
                match arrival.message() {
                    #(#arms)*
                    _ => drop(arrival.unexpected()),
                }
            }
        }
    }

    /// The function that lists what a handler leaves to its default methods, of what needs a capability; and its use.
    fn unhandled(&self, role: &Role<'_>) -> (Option<TokenStream>, Option<TokenStream>) {
        let needs_capability = |input: &&Replicated<'_>| {
            let Some(message) = self.plan.message(input.message) else { return false };
            let table = &message.table;
            // What carries a key and opens nothing is for the sub-sessions that it belongs to.
            table.kind == Kind::Request
                && !table.requires.is_empty()
                && (table.keys.is_empty() || input.opening.is_some())
        };
        let checks: Vec<TokenStream> = role
            .inputs
            .iter()
            .filter(needs_capability)
            .map(|input| {
                let constant = self.constant(input.message);
                let method = ident(&self.plan.call_name(input.message));
                let params = (!self.is_empty(input.message)).then(|| quote!(params,));
                let copy = input.opening.as_ref().map(|_| quote!(copy,));
                let unknown = params.iter().chain(&copy).map(|_| quote!(_,));
                quote! {
                    if typed::is_unhandled(|(handler, context, #params #copy): (&'static H, _, #(#unknown)*)| {
                        handler.#method(context, #params #copy)
                    }) {
                        unhandled.push(messages::#constant);
                    }
                }
            })
            .collect();
        if checks.is_empty() {
            return (None, None);
        }
        let list = quote! {
            fn unhandled<H: Handler>(_: &H) -> ::std::vec::Vec<typed::MessageIndex> {
                let mut unhandled = ::std::vec::Vec::new();
                #(#checks)*
                unhandled
            }
        };
        (Some(list), Some(quote!(self.queue.leave_unhandled(unhandled(&handler));)))
    }

    fn context(&self, role: &Role<'_>) -> TokenStream {
        let peer = self.has_handle(role).then(|| {
            quote! {
                /// What may be sent to the peer while a message of its is handled.
                pub fn peer(&self) -> Handle {
                    Handle::at(self.context.handle())
                }
            }
        });
        let reports = self.plan.reports.iter().map(|report| {
            let name = ident(&format!("send_{}", snake(self.plan.message_name(*report))));
            let constant = self.constant(*report);
            let (parameter, value) = self.argument(*report, Scope::Nested);
            let error = &self.error;
            let described = described(&self.plan, *report);
            let documentation = attributes(&[
                format!("Sends {described} about the request that is handled;"),
                "the token is filled in, and nothing is sent if the request carries none.".into(),
                "If it has a number `progress`, that must be more than in the report before.".into(),
            ]);
            quote! {
                #documentation
                pub async fn #name(&self, #parameter) -> Result<(), super::#error> {
                    self.context.report(messages::#constant, #value).await
                }
            }
        });
        let wants_reports = (!self.plan.reports.is_empty()).then(|| {
            quote! {
                /// Whether the peer wants reports on its request.
                pub fn wants_reports(&self) -> bool {
                    self.context.wants_reports()
                }
            }
        });
        quote! {
            /// What a handler has beside the message.
            #[derive(Clone, Debug)]
            pub struct Context {
                context: typed::Context,
            }

            impl Context {
                fn at(context: typed::Context) -> Self {
                    Self { context }
                }

                #peer
                #(#reports)*

                #wants_reports

                /// Waits until the peer takes its request back, or the session ends.
                pub async fn cancelled(&self) {
                    self.context.cancelled().await
                }

                /// Whether the peer has taken its request back, or the session has ended. What such a request is
                /// answered is not sent.
                pub fn is_cancelled(&self) -> bool {
                    self.context.is_cancelled()
                }

                /// Ends the connection on which the peer waits for the answer, where the transport has one for each
                /// request and the peer can come back for the rest, as over HTTP. The request goes on.
                pub fn hang_up(&self) {
                    self.context.hang_up()
                }

                /// What the transport knows of the message, if that is of this type: over HTTP, the head of its request.
                pub fn extension<T: ::std::any::Any + Send + Sync>(
                    &self,
                ) -> Option<::std::sync::Arc<T>> {
                    self.context.extension()
                }
            }
        }
    }

    fn handler(&self, role: &Role<'_>) -> TokenStream {
        let methods = role.inputs.iter().map(|input| {
            let documentation = self.input_documentation(input);
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
                let copy = self.incoming_copy(role, opening).1;
                return quote! {
                    #documentation
                    fn #name(
                        &self,
                        context: Context,
                        #parameter #comma
                        copy: #copy,
                    ) -> impl ::std::future::Future<Output = ()> + ::std::marker::Send {
                        let _ = #unused;
                        copy.session.decline(typed::RpcError::method_not_found(#method));
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
                ) -> impl ::std::future::Future<Output = #output> + ::std::marker::Send {
                    let _ = #unused;
                    #default
                }
            }
        });
        quote! {
            /// Answers what the peer asks at any time.
            ///
            /// Implement the methods as `async fn`. A request that is not implemented is answered with
            /// *method not found*; if this side has announced a capability for it, that is reported when `serve` begins.
            /// A notification that is not implemented is ignored. Each message is worked on in
            /// a task of its own: requests side by side, notifications one after another. A handler that panics
            /// fails its own message only: a request is answered with an error, and the session lives on.
            pub trait Handler: ::std::marker::Send + ::std::marker::Sync + 'static {
                #(#methods)*
            }
        }
    }
}
