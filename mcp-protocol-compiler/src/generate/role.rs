//! A role: its session type, with one `impl` for each state.
//!
//! In: the plan of a role. Out: `pub struct McpClient<State>` and its methods. Refuses cleverness: each method is
//! one call of the runtime, for the compiler has proved the order and the runtime does the work.

use mcp_protocol_machine::protocol::{Action, Kind};
use proc_macro2::{Delimiter, Group, Literal, TokenStream};
use quote::{TokenStreamExt, quote};

use super::Generator;
use super::docs::{after, attributes};
use super::names::ident;
use super::plan::{Role, StatePlan, role_module};

impl Generator<'_> {
    /// All of a role.
    pub(super) fn role(&self, role: &Role<'_>) -> TokenStream {
        let mut code = self.session(role);
        code.extend(self.every_state(role));
        let nothing_owed = self.nothing_owed(role);
        let resumable =
            |state: &StatePlan<'_>| nothing_owed.get(state.index.0 as usize).copied().unwrap_or(false);
        code.extend(self.in_role(role));
        code.extend(role.states.iter().map(|state| self.state(role, state, resumable(state))));
        for copy in &role.copies {
            code.extend(self.in_role(copy));
            code.extend(copy.states.iter().map(|state| self.state(copy, state, false)));
        }
        code.extend(self.role_module(role));
        code
    }

    fn session(&self, role: &Role<'_>) -> TokenStream {
        let allow = &self.allow;
        let name = ident(&role.automaton.name);
        let side = role_module(role.automaton.side);
        let start = role.states.first().map_or("", |state| &state.state.name);
        let place = self.docs.place(role.automaton.span);
        let own = [
            format!("A session of the {side}, in the state `State`; it starts in [`{start}`]."),
            String::new(),
            format!("`{side} {}`, {place}.", role.automaton.name),
        ];
        let documentation = attributes(&after(&role.automaton.documentation, own));
        quote! {
            #documentation
            #allow
            #[must_use = "dropping a session ends it"]
            pub struct #name<State> {
                session: typed::Session,
                state: ::std::marker::PhantomData<fn() -> State>,
            }

            impl<State> typed::InState for #name<State> {
                fn at(session: typed::Session) -> Self {
                    Self::at(session)
                }
            }

            impl<State> ::std::fmt::Debug for #name<State> {
                fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    ::std::fmt::Debug::fmt(&self.session, formatter)
                }
            }
        }
    }

    /// What every state has.
    fn every_state(&self, role: &Role<'_>) -> TokenStream {
        let allow = &self.allow;
        let name = ident(&role.automaton.name);
        let module = ident(role_module(role.automaton.side));
        let handle = self.has_handle(role).then(|| {
            quote! {
                /// A handle for tasks that outlive a borrow of the session; the state is judged when it is used.
                pub fn handle(&self) -> #module::Handle {
                    #module::Handle::at(self.session.handle())
                }
            }
        });
        let incoming = (!role.inputs.is_empty()).then(|| {
            quote! {
                /// What the peer may send at any time. Each message goes to one consumer.
                pub fn incoming(&self) -> #module::IncomingQueue {
                    #module::IncomingQueue::at(self.session.incoming())
                }
            }
        });
        quote! {
            #allow
            impl<State> #name<State> {
                fn at(session: typed::Session) -> Self {
                    Self { session, state: ::std::marker::PhantomData }
                }

                #handle
                #incoming

                /// Whether a message may be sent now, and if not, why: the state, or a capability.
                pub fn permits(&self, message: typed::MessageIndex) -> Result<(), typed::Violation> {
                    self.session.permits(message)
                }

                /// The messages that may be sent now.
                pub fn permitted(&self) -> Vec<typed::MessageIndex> {
                    self.session.permitted()
                }

                /// The same session without its type: what it permits is decided at run time, and
                /// `try_into_typed` leads back.
                pub fn into_checked(self) -> runtime::CheckedSession {
                    self.session.into_checked()
                }

                /// Waits until the peer has said everything it will say, and has its answers.
                pub async fn ended(&self) {
                    self.session.ended().await
                }

                /// Waits until there is something to take with `next` or `recv_…`, or there will be nothing. Takes
                /// nothing itself, so it may be dropped: in a `select!`, wait for this and take the message behind it.
                pub async fn readable(&self) {
                    self.session.readable().await
                }

                /// Ends the session here and now; the peer sees the end of the stream.
                pub fn abort(self) {
                    self.session.abort()
                }
            }
        }
    }

    fn state(&self, role: &Role<'_>, state: &StatePlan<'_>, resumable: bool) -> TokenStream {
        let mut code = self.typed(role, state);
        code.extend(self.steps(role, state, resumable));
        code
    }

    /// What a session without types has to know to become this type.
    fn typed(&self, role: &Role<'_>, state: &StatePlan<'_>) -> TokenStream {
        let name = role.path();
        let marker = ident(&state.state.name);
        let number = Literal::u32_unsuffixed(state.index.0);
        quote! {
            impl typed::Typed for #name<#marker> {
                const STATE: typed::StateIndex = typed::StateIndex(#number);
            }
        }
    }

    /// What all states of a session type have in common.
    fn in_role(&self, role: &Role<'_>) -> TokenStream {
        let (name, side, copy) = (role.path(), self.side(role), role.copy.is_some());
        quote! {
            impl<State> typed::InRole for #name<State> {
                const SIDE: typed::Side = #side;
                const COPY: bool = #copy;

                fn protocol() -> &'static typed::Protocol {
                    &PROTOCOL
                }
            }
        }
    }

    fn steps(&self, role: &Role<'_>, state: &StatePlan<'_>, resumable: bool) -> TokenStream {
        let allow = &self.allow;
        let name = role.path();
        let marker = ident(&state.state.name);
        let mut methods = TokenStream::new();
        if state.index == mcp_protocol_machine::protocol::Role::START {
            methods.extend(self.constructors(role));
        } else if resumable {
            methods.extend(self.resume(role, state));
        }
        methods.extend(state.methods.iter().map(|method| self.method(role, state, method)));
        if methods.is_empty() {
            return TokenStream::new();
        }
        let mut code = quote!(#allow impl #name<#marker>);
        code.append(Group::new(Delimiter::Brace, methods));
        code
    }

    fn resume(&self, role: &Role<'_>, state: &StatePlan<'_>) -> TokenStream {
        let side = self.side(role);
        let index = Literal::u32_unsuffixed(state.index.0);
        quote! {
            /// Continues a session that was begun elsewhere and is in this state. Nobody checks that it is.
            pub fn resume(transport: impl runtime::Transport, resumed: runtime::Resumed) -> Self {
                Self::at(typed::Session::resume(transport, &PROTOCOL, #side, typed::StateIndex(#index), resumed))
            }
        }
    }

    /// In which states no request of a linear channel waits for its reply. Every way to a state has the same ones open.
    fn nothing_owed(&self, role: &Role<'_>) -> Vec<bool> {
        let states = &role.automaton.states;
        let mut owed: Vec<Option<i32>> = vec![None; states.len()];
        let mut reached = vec![(mcp_protocol_machine::protocol::Role::START, 0)];
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

    fn side(&self, role: &Role<'_>) -> TokenStream {
        match role.automaton.side {
            mcp_protocol_machine::protocol::Side::Client => quote!(typed::Side::Client),
            mcp_protocol_machine::protocol::Side::Server => quote!(typed::Side::Server),
        }
    }

    fn constructors(&self, role: &Role<'_>) -> TokenStream {
        let side = self.side(role);
        quote! {
            /// Starts a session over a transport.
            pub fn new(transport: impl runtime::Transport) -> Self {
                Self::with_options(transport, runtime::Options::default())
            }

            /// Starts a session over a transport, with limits and times of one's own.
            pub fn with_options(transport: impl runtime::Transport, options: runtime::Options) -> Self {
                Self::at(typed::Session::start(transport, &PROTOCOL, #side, options))
            }
        }
    }
}

impl Role<'_> {
    /// The session type, as it is written in the generated module: a copy's stands in the module of its role.
    pub(super) fn path(&self) -> TokenStream {
        let name = ident(self.session_name());
        match self.copy {
            None => quote!(#name),
            Some(_) => {
                let module = ident(role_module(self.automaton.side));
                quote!(#module::#name)
            }
        }
    }
}
