//! A role's own module: what outlives a borrow of the session, and what the peer may send.

use std::collections::BTreeMap;

use mcp_protocol_machine::protocol::{self as machine, MessageIndex};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::docs::{attributes, capital, described, errors_of_methods, link, links};
use super::generator::Generator;
use super::mentions::mentions;
use super::types::Scope;
use crate::automaton::SubSessionType;
use crate::plan::names::{ident, snake};
use crate::plan::{
    MethodKind, NextPlan, Opening, Replicated, RolePlan, notify_name, open_names, pages_name, role_module,
};

impl Generator<'_> {
    /// Whether the role can do anything at any time.
    pub(super) fn has_handle(&self, role: &RolePlan) -> bool {
        !role.outputs.is_empty()
    }

    /// The module of a role.
    pub(super) fn role_module(&self, role: &RolePlan) -> TokenStream {
        let allow = &self.allow;
        let name = ident(role_module(role.automaton.side));
        let calls = self.call_aliases(role);
        let handle = self.has_handle(role).then(|| self.handle(role));
        let mut owners = std::iter::once(role).chain(&role.sub_sessions);
        let context = owners.any(|owner| !owner.inputs.is_empty()).then(|| self.context(role));
        let incoming = self.incoming(role);
        let sub_sessions: TokenStream =
            role.sub_sessions.iter().map(|sub_session| self.sub_session(role, sub_session)).collect();
        let choices: TokenStream = std::iter::once(role)
            .chain(&role.sub_sessions)
            .flat_map(|owner| owner.states.iter().map(move |state| (owner, state)))
            .flat_map(|(owner, state)| {
                state.methods.iter().filter_map(move |method| match &method.what {
                    MethodKind::Next(next) => Some(self.choice(owner, &state.name, next)),
                    _ => None,
                })
            })
            .collect();
        let answers = self.answers(role);
        let items = quote!(#calls #sub_sessions #handle #incoming #context #answers #choices);
        if items.is_empty() {
            return TokenStream::new();
        }
        let imports = [role.automaton.name.as_str(), "messages", "typed", "types"]
            .into_iter()
            .filter(|module| mentions(items.clone(), module))
            .map(ident);
        let documentation = attributes(&[format!(
            "What goes with [`{}`]: handles, and what the peer may send.",
            role.automaton.name
        )]);
        quote! {
            #documentation
            #allow
            pub mod #name {
                use super::{#(#imports),*};
                #items
            }
        }
    }

    /// The types of running calls, with the progress that may be reported on them.
    fn call_aliases(&self, role: &RolePlan) -> TokenStream {
        let opens =
            |output: &Replicated| output.opening.as_ref().is_some_and(|opening| opening.answer.is_some());
        let within = || role.sub_sessions.iter().flat_map(|sub_session| &sub_session.outputs);
        let outputs = || role.outputs.iter().chain(within());
        let requests = || outputs().filter(|output| !output.replies.is_empty() || opens(output));
        let cancellable = |output: &&Replicated| self.is_cancellable(output.message);
        let mut reports = self.plan.reports.iter().map(|report| self.payload(*report, Scope::Nested));
        let progress = match reports.next() {
            None => quote!(()),
            Some(first) if reports.all(|other| other.to_string() == first.to_string()) => first,
            // Notifications of several types have one thing in common: they are JSON.
            Some(_) => quote!(typed::Value),
        };
        let call = requests().any(|output| !cancellable(&output)).then(|| {
            quote! {
                /// A request that runs until its reply comes.
                pub type Call<'a, Reply> = typed::Call<'a, Reply, typed::Uncancellable, #progress>;
            }
        });
        let until = match self.plan.declarations.ends_by_cancel() {
            Some(_) => " A request that runs until its reply comes or it is cancelled.",
            None => " A request that can be cancelled, and runs until its reply comes.",
        };
        let cancellable_call = requests().any(|output| cancellable(&output)).then(|| {
            quote! {
                #[doc = #until]
                pub type CancellableCall<'a, Reply> = typed::Call<'a, Reply, typed::Cancellable, #progress>;
            }
        });
        quote!(#call #cancellable_call)
    }

    /// What sends the messages of the replicated channels of a session, or of a sub-session, from any task.
    fn handle(&self, role: &RolePlan) -> TokenStream {
        let methods = role.outputs.iter().map(|output| self.handle_method(role, output));
        let (name, what) = (role.item("Handle"), role.subject());
        let (owner, error) = (role.path(), &self.error);
        let mut lines = vec![format!(
            "What `{}` may send at any time, for tasks that outlive a borrow of the {what}.",
            role.session_name()
        )];
        if role.outputs.iter().any(|output| output.step) {
            lines.push(
                "It may take steps while the value waits for the peer. The value keeps its type then.".into(),
            );
        }
        let documentation = attributes(&lines);
        quote! {
            typed::roles::handle! {
                #documentation
                #name of super::#owner, #error;
                #(#methods)*
            }
        }
    }

    /// The row of a handle's method, which has the documentation of the session's method of that name.
    fn handle_method(&self, role: &RolePlan, output: &Replicated) -> TokenStream {
        let message = output.message;
        if let Some(opening) = &output.opening {
            return self.handle_opening(role, message, opening);
        }
        let (constant, params) = (self.constant(message), self.carried(message, Scope::Nested));
        if output.replies.is_empty() {
            let name = notify_name(&self.plan.declarations, message);
            let (documented, name) = (self.documented(role, &name, message), ident(&name));
            let notify = ident(if output.step { "notify_step" } else { "notify" });
            return quote!(#name(#params) => #notify(#constant) #documented;);
        }
        let name = self.plan.call_name(message);
        let (documented, name) = (self.documented(role, &name, message), ident(&name));
        let call = self.calling(message, if output.step { "call_step" } else { "call" });
        let result = self.answer(role, message, &output.replies, Scope::Nested);
        let pages =
            pages_name(&self.plan.declarations, message).filter(|name| role.first_with(name).is_some());
        let pages = pages.map(|name| {
            let (name, (cursor, next)) = (ident(&name), self.cursors(message));
            quote!(#name(#params) -> #result => pages(#constant, [#(#cursor),*], [#(#next),*]);)
        });
        quote! {
            #name(#params) -> #result => #call(#constant) #documented;
            #pages
        }
    }

    /// What a row calls for a request that is made in this way.
    fn calling(&self, request: MessageIndex, how: &str) -> Ident {
        match self.is_cancellable(request) {
            true => ident(how),
            false => ident(&format!("uncancellable_{how}")),
        }
    }

    /// The method that has the documentation, if it has another name: a step of a session may only have one that sends.
    fn documented(&self, role: &RolePlan, name: &str, message: MessageIndex) -> Option<TokenStream> {
        role.first_with(name).is_none().then(|| {
            let sends = ident(&format!("send_{}", snake(self.plan.message_name(message))));
            quote!(see #sends)
        })
    }

    /// The rows of the methods that open a sub-session.
    fn handle_opening(&self, role: &RolePlan, message: MessageIndex, opening: &Opening) -> TokenStream {
        let (constant, params) = (self.constant(message), self.carried(message, Scope::Nested));
        let (sub_session, start) =
            (ident(role.sub_session_name(opening)), ident(role.state_name(opening.start)));
        let names = open_names(&self.plan, message, opening);
        let name = ident(&names.0);
        let open = quote!(#name(#params) -> #sub_session<super::#start> => open(#constant););
        let (Some(name), Some((reply, target))) = (names.1, opening.answer) else { return open };
        let (name, target) = (ident(&name), ident(role.state_name(target)));
        let (output, how) = match self.is_empty(reply) {
            true => (quote!(#sub_session<super::#target>), "exchange_empty"),
            false => {
                let payload = self.payload(reply, Scope::Nested);
                (quote!((#payload, #sub_session<super::#target>)), "exchange")
            }
        };
        let exchange = self.calling(message, how);
        quote! {
            #open
            #name(#params) -> #output => #exchange(#constant);
        }
    }

    /// The type of a sub-session.
    fn sub_session(&self, role: &RolePlan, sub_session: &RolePlan) -> TokenStream {
        let Some(written) = sub_session.sub_session() else { return TokenStream::new() };
        let name = ident(&written.name);
        let place = self.docs.place(written.span);
        let mut own = vec![
            format!("A sub-session of `{}`, in the state `State`.", role.automaton.name),
            String::new(),
            "What the peer sends for it comes to it alone. Dropping it abandons the sub-session.".into(),
            String::new(),
        ];
        let suspended = role.automaton.states.iter().filter(|state| state.only.outward);
        let suspended: Vec<&str> = suspended.map(|state| state.name.as_str()).collect();
        if !suspended.is_empty() {
            own.push(format!(
                "While the session is in {} it is suspended: what it would send is not permitted, and nothing is written.",
                links(suspended, Scope::Nested)
            ));
            own.push(String::new());
        }
        own.push(format!("`{}`, {place}.", written.name));
        own.extend(errors_of_methods(&self.error, Scope::Nested));
        let documentation = attributes(&super::docs::after(&written.documentation, own));
        let (module, side) = (ident(role_module(role.automaton.side)), super::role::side(role));
        let known = self.is_known_by_id(role, written).then(|| quote!(known by request_id;));
        let handle_name = sub_session.item("Handle");
        let handle = self.has_handle(sub_session).then(|| self.handle(sub_session));
        let has_handle = handle.is_some().then(|| quote!(handle = #handle_name;));
        let incoming = self.incoming(sub_session);
        let queue = sub_session.item("IncomingQueue");
        let has_incoming = (!sub_session.inputs.is_empty()).then(|| quote!(incoming = #queue;));
        let constants = super::tables::states(&role.automaton);
        let states = sub_session.states.iter().map(|state| {
            let (marker, constant) = (ident(&state.name), constants.get(state.index.0 as usize));
            quote!(state super::#marker = super::tables::#module::#constant;)
        });
        quote! {
            typed::roles::sub_session! {
                #documentation
                #name is #side of super::PROTOCOL;
                #known
                #has_handle
                #has_incoming
                #(#states)*
            }

            #handle
            #incoming
        }
    }

    /// Whether the id of what opens a sub-session is a key, so that programs have to write it.
    fn is_known_by_id(&self, role: &RolePlan, sub_session: &SubSessionType) -> bool {
        let edges = role.automaton.states.iter().flat_map(|state| &state.edges);
        let mut openers = edges.filter(
            |edge| matches!(edge.action, machine::Action::Spawn(start) if sub_session.starts.contains(&start)),
        );
        openers.any(|edge| {
            let carried = self.plan.message(edge.message).map_or(&[][..], |message| &message.table.keys);
            carried.iter().any(|carried| carried.place == machine::KeyPlace::Id)
        })
    }

    /// The enum of what may come at a choice.
    fn choice(&self, role: &RolePlan, state: &str, next: &NextPlan) -> TokenStream {
        let plan = &self.plan;
        let name = ident(&next.name);
        let session = ident(role.session_name());
        let closed = next.closed.then(|| quote!(or Closed));
        let inputs = next.inputs.iter().map(|(message, target)| {
            let variant = ident(plan.message_name(*message));
            let constant = self.constant(*message);
            let marker = ident(role.state_name(*target));
            let over = role.is_over(*target);
            let documentation = attributes(&[format!(
                "{}; the {} {}.",
                capital(&described(plan, *message)),
                role.subject(),
                match over {
                    true => "is over".to_owned(),
                    false => {
                        let how = if next.here { "stays" } else { "goes on as" };
                        format!("{how} {}", link(role.state_name(*target), Scope::Nested))
                    }
                }
            )]);
            let payload = self.carried(*message, Scope::Nested);
            let value = (!next.here && !over).then(|| quote!(#session<super::#marker>));
            let taken =
                [payload.as_ref().map(|_| quote!(, params)), value.as_ref().map(|_| quote!(, session))];
            let how = ident(if next.here { "here" } else { "then" });
            let fields = fields(payload.iter().chain(&value));
            quote!(#documentation #variant #fields => #how(#constant #(#taken)*);)
        });
        let replicated =
            next.replicated.iter().map(|input| self.exchange_choice(role, state, next.here, input));
        let rows = inputs.chain(replicated);
        let values = self.values(role, state, next);
        let documentation = attributes(&[format!("What comes next in {}.", link(state, Scope::Nested))]);
        quote! {
            typed::roles::next! {
                #documentation
                #name #closed;
                #(#rows)*
            }

            #values
        }
    }

    /// For each state that several branches of a choice lead to: what gives the value back, whichever of them came.
    fn values(&self, role: &RolePlan, state: &str, next: &NextPlan) -> TokenStream {
        if next.here {
            return TokenStream::new();
        }
        let (name, session) = (ident(&next.name), ident(role.session_name()));
        let moves = next.inputs.iter().filter(|(_, target)| !role.is_over(*target));
        let moves = moves.map(|(message, target)| (*message, role.state_name(*target)));
        let stays = next.replicated.iter().map(|input| (input.message, state));
        let mut branches: BTreeMap<&str, Vec<Ident>> = BTreeMap::new();
        for (message, target) in moves.chain(stays) {
            branches.entry(target).or_default().push(ident(self.plan.message_name(message)));
        }
        branches.retain(|_, variants| variants.len() > 1);
        let all = next.inputs.len() + next.replicated.len() + usize::from(next.closed);
        let methods = branches.into_iter().map(|(target, variants)| {
            let (method, marker) = (ident(&format!("into_{}", snake(target))), ident(target));
            let documentation = attributes(&[
                format!("Drops what came, and returns the value in {}.", link(target, Scope::Nested)),
                "A `Responder` answers with an error then.".into(),
                String::new(),
                "# Errors".into(),
                "The branch, if it leads elsewhere.".into(),
            ]);
            let elsewhere = (variants.len() < all).then(|| quote!(other => Err(other),));
            quote! {
                #documentation
                #[allow(clippy::result_large_err)]
                pub fn #method(self) -> Result<#session<super::#marker>, Self> {
                    match self {
                        #(Self::#variants(.., session))|* => Ok(session),
                        #elsewhere
                    }
                }
            }
        });
        let methods: TokenStream = methods.collect();
        if methods.is_empty() { methods } else { quote!(impl #name { #methods }) }
    }
}

impl Generator<'_> {
    /// The row of what comes on a replicated channel of a sub-session, which stays where it is.
    fn exchange_choice(&self, role: &RolePlan, state: &str, here: bool, input: &Replicated) -> TokenStream {
        let (session, marker) = (ident(role.session_name()), ident(state));
        let variant = ident(self.plan.message_name(input.message));
        let constant = self.constant(input.message);
        let what = capital(&described(&self.plan, input.message));
        let documentation = attributes(&[match (&input.opening, input.replies.is_empty()) {
            (Some(_), _) => format!("{what}; it opens a sub-session within this one."),
            (None, false) => format!("{what}; it is answered by itself, whatever comes next."),
            (None, true) => format!("{what}; the sub-session stays where it is."),
        }]);
        let payload = self.carried(input.message, Scope::Nested);
        let opened = input.opening.as_ref().map(|opening| {
            let opened = ident(role.sub_session_name(opening));
            let marker = ident(role.state_name(opening.start));
            quote!(#opened<super::#marker>)
        });
        let responder = (!input.replies.is_empty() && opened.is_none()).then(|| {
            let result = self.answer(role, input.message, &input.replies, Scope::Nested);
            quote!(typed::Responder<#result>)
        });
        let value = (!here).then(|| quote!(#session<super::#marker>));
        let how = match (&opened, &responder) {
            (Some(_), _) => "opening",
            (None, Some(_)) => "request",
            (None, None) if here => "here",
            (None, None) => "then",
        };
        let how = ident(how);
        let taken = [
            payload.as_ref().map(|_| quote!(, params)),
            opened.as_ref().map(|_| quote!(, opened)),
            responder.as_ref().map(|_| quote!(, responder)),
            value.as_ref().map(|_| quote!(, session)),
        ];
        let fields = fields(payload.iter().chain(&opened).chain(&responder).chain(&value));
        quote!(#documentation #variant #fields => #how(#constant #(#taken)*);)
    }
}

/// What a variant carries, in parentheses.
pub(super) fn fields<'a>(types: impl Iterator<Item = &'a TokenStream>) -> Option<TokenStream> {
    let types: Vec<&TokenStream> = types.collect();
    (!types.is_empty()).then(|| quote!((#(#types),*)))
}
