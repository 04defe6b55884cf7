//! Finds names that are not Rust names or that clash in the generated code.

mod thing;

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use mcp_protocol_machine::protocol::{self as machine, MessageIndex};

use crate::diagnostic::{Code, Diagnostic};
use crate::plan::names::{
    CONTEXT_METHODS, HANDLE_METHODS, MODULE_ITEMS, PRELUDE, ROLE_ITEMS, SESSION_METHODS, SHAPE_ITEMS,
    constant, is_ident, snake,
};
use crate::plan::{
    Method, MethodKind, Plan, Replicated, RolePlan, answers_name, indices, notify_name, open_names,
    pages_name,
};
use crate::source::Span;

use thing::{Named, Thing};

/// A name that would stand for two things in the generated code, or for something that is there already.
pub const CLASH: Code = Code("S0601");
/// A name that no Rust item can have.
pub const NOT_A_NAME: Code = Code("S0602");

/// Finds every clash of names in what would be generated.
pub(crate) fn check(plan: &Plan) -> Vec<Diagnostic> {
    let mut clashes = Clashes { plan, seen: BTreeSet::new(), found: Vec::new() };
    clashes.identifiers();
    clashes.items();
    clashes.shapes();
    clashes.constants();
    for role in &plan.roles {
        clashes.methods(role);
        clashes.handle(role);
        role.sub_sessions.iter().for_each(|sub_session| clashes.handle(sub_session));
        clashes.handler(role);
        role.sub_sessions.iter().for_each(|sub_session| clashes.handler(sub_session));
        clashes.choices(role);
        clashes.sub_sessions(role);
        clashes.answers(role);
    }
    clashes.context();
    clashes.found
}

/// The names of one place, and what has them.
type NameTable<'a> = BTreeMap<Cow<'a, str>, Named<'a>>;

struct Clashes<'a> {
    plan: &'a Plan,
    seen: BTreeSet<(Span, Option<Span>)>,
    found: Vec<Diagnostic>,
}

impl<'a> Clashes<'a> {
    /// Names that Rust does not take.
    fn identifiers(&mut self) {
        let plan = self.plan;
        let messages = indices(&plan.declarations).flat_map(|(_, message)| {
            let called = message.call_name.as_ref().map(|name| (name.text.as_str(), name.span));
            std::iter::once((message.table.name.as_ref(), message.span)).chain(called)
        });
        let markers = plan
            .markers
            .iter()
            .filter_map(|marker| Some((marker.name.as_str(), marker.places.first()?.state()?.span)));
        let roles = plan.roles.iter().map(|role| (role.automaton.name.as_str(), role.automaton.span));
        let mut wrong: Vec<(&str, Span)> = Vec::new();
        let shapes = plan.declarations.shapes.iter().filter(|shape| !shape.is_built_in());
        let shapes = shapes.map(|shape| (shape.name.text.as_str(), shape.name.span));
        for (name, span) in messages.chain(markers).chain(roles).chain(shapes) {
            if !is_ident(name) && !wrong.iter().any(|(_, other)| *other == span) {
                wrong.push((name, span));
            }
        }
        for (name, span) in wrong {
            self.found.push(
                Diagnostic::error(NOT_A_NAME, span, format!("`{name}` cannot be a name in Rust"))
                    .label("the code would have to call something by this name")
                    .help(format!("use another name, for instance `My{name}`")),
            );
        }
    }

    /// Types and modules of the generated module.
    fn items(&mut self) {
        let plan = self.plan;
        let mut items = NameTable::new();
        if let Some(name) = &plan.declarations.name {
            let named = Named { span: name.span, thing: Thing::ErrorType };
            items.insert(plan.error_name().into(), named);
        }
        let roles = plan.roles.iter().map(|role| {
            let name = role.automaton.name.as_str();
            (name, Named { span: role.automaton.span, thing: Thing::Role(name) })
        });
        let markers = plan.markers.iter().filter_map(|marker| {
            let state = marker.places.first()?.state()?;
            Some((marker.name.as_str(), Named { span: state.span, thing: Thing::State(&marker.name) }))
        });
        for (name, named) in roles.chain(markers) {
            if PRELUDE.contains(&name) {
                let message = format!("{} has the name of something in Rust's prelude", named.thing);
                self.report(name, message, &named, None);
            } else if MODULE_ITEMS.contains(&name) || ROLE_ITEMS.contains(&name) {
                let message = format!("{} has the name of an item that every protocol has", named.thing);
                self.report(name, message, &named, None);
            }
            self.insert(&mut items, name, named);
        }
    }

    /// The types of the module `types`.
    fn shapes(&mut self) {
        for shape in &self.plan.declarations.shapes {
            let name = shape.name.text.as_str();
            let named = Named { span: shape.name.span, thing: Thing::Shape(name) };
            if SHAPE_ITEMS.contains(&name) {
                let message = format!("{} has the name of something that generated code uses", named.thing);
                self.report(name, message, &named, None);
            }
        }
    }

    /// The constants of the module `messages`.
    fn constants(&mut self) {
        let mut constants = NameTable::new();
        for (_, message) in indices(&self.plan.declarations) {
            let named = Named { span: message.span, thing: Thing::Message(&message.table.name) };
            self.insert(&mut constants, constant(&message.table.name), named);
        }
    }

    /// The methods of each state.
    fn methods(&mut self, role: &'a RolePlan) {
        for state in
            role.states.iter().chain(role.sub_sessions.iter().flat_map(|sub_session| &sub_session.states))
        {
            let mut methods = NameTable::new();
            for method in &state.methods {
                let own = matches!(
                    method.what,
                    MethodKind::Next(_)
                        | MethodKind::Split { .. }
                        | MethodKind::Close
                        | MethodKind::Refuse { .. }
                        | MethodKind::Cancelled { .. }
                );
                let named = self.method(method);
                let taken = SESSION_METHODS.contains(&method.name.as_str())
                    || matches!(method.name.as_str(), "refuse" | "cancelled");
                if taken && !own {
                    let message = format!(
                        "{} would be the method `{}`, which every session has already",
                        named.thing, method.name
                    );
                    self.report(&method.name, message, &named, None);
                    continue;
                }
                self.insert(&mut methods, method.name.as_str(), named);
            }
        }
    }

    fn method(&self, method: &'a Method) -> Named<'a> {
        let (message, steps) = match &method.what {
            MethodKind::Send { message, .. } | MethodKind::Receive { message, .. } => (*message, true),
            MethodKind::Notify { message } => {
                let named = self.plan.message(*message).is_some_and(|message| message.call_name.is_some());
                (*message, !named)
            }
            MethodKind::Exchange { request, .. } | MethodKind::Choose { request, .. } => (*request, false),
            MethodKind::Open { message, .. } => {
                let call = self.plan.message(*message);
                let named = call.is_some_and(|call| {
                    call.call_name.is_some() && call.table.kind == machine::Kind::Notification
                });
                (*message, !named)
            }
            MethodKind::OpenExchange { request, .. } => (*request, false),
            MethodKind::Call(call) => (call.request, false),
            MethodKind::Pages(call) => return self.pages_of(call.request),
            MethodKind::Next(_)
            | MethodKind::Refuse { .. }
            | MethodKind::Cancelled { .. }
            | MethodKind::Split { .. }
            | MethodKind::Close => {
                return Named { span: method.span, thing: Thing::Method(&method.name) };
            }
        };
        self.of_message(message, steps)
    }

    /// The method of a message; a step is named after the message, a call may have a name of its own.
    fn of_message(&self, message: MessageIndex, step: bool) -> Named<'a> {
        let Some(declared) = self.plan.message(message) else {
            return Named { span: Span::default(), thing: Thing::Step("") };
        };
        let name = &declared.table.name;
        match &declared.call_name {
            _ if step => Named { span: declared.span, thing: Thing::Step(name) },
            Some(called) => Named { span: called.span, thing: Thing::Call(name, Some(&called.text)) },
            None => Named { span: declared.span, thing: Thing::Call(name, None) },
        }
    }

    /// The method that asks for page after page.
    fn pages_of(&self, request: MessageIndex) -> Named<'a> {
        let named = self.of_message(request, false);
        let thing = match named.thing {
            Thing::Call(name, called) => Thing::Pages(name, called),
            other => other,
        };
        Named { thing, ..named }
    }

    fn handle(&mut self, role: &RolePlan) {
        let mut methods = NameTable::new();
        for output in &role.outputs {
            if let Some(opening) = &output.opening {
                let (open, exchange) = open_names(self.plan, output.message, opening);
                let named = self.of_message(output.message, open.starts_with("send_"));
                self.insert(&mut methods, open, named);
                if let Some(exchange) = exchange {
                    let named = self.of_message(output.message, false);
                    self.insert(&mut methods, exchange, named);
                }
                continue;
            }
            let declarations = &self.plan.declarations;
            let name = match output.replies.is_empty() {
                false => self.plan.call_name(output.message),
                true => notify_name(declarations, output.message),
            };
            let step = output.replies.is_empty() && name.starts_with("send_");
            let named = self.of_message(output.message, step);
            if HANDLE_METHODS.contains(&name.as_str()) {
                let message =
                    format!("{} would be the method `{name}`, which handles have already", named.thing);
                self.report(&name, message, &named, None);
            }
            self.insert(&mut methods, name, named);
            if let Some(pages) =
                pages_name(declarations, output.message).filter(|_| !output.replies.is_empty())
            {
                let named = self.pages_of(output.message);
                self.insert(&mut methods, pages, named);
            }
        }
    }

    fn handler(&mut self, role: &RolePlan) {
        let mut methods = NameTable::new();
        for Replicated { message, .. } in &role.inputs {
            let name = self.plan.call_name(*message);
            let named = self.of_message(*message, false);
            self.insert(&mut methods, name, named);
        }
    }

    /// `Closed` is a branch of its own where the peer may close.
    fn choices(&mut self, role: &RolePlan) {
        for method in role.states.iter().flat_map(|state| &state.methods) {
            let MethodKind::Next(next) = &method.what else { continue };
            for (input, _) in next.inputs.iter().filter(|_| next.closed) {
                if self.plan.message_name(*input) == "Closed" {
                    let mut named = self.of_message(*input, true);
                    named.thing = Thing::Branch("Closed");
                    let message = "a message called `Closed` where the peer may close, too".to_owned();
                    self.report("Closed", message, &named, None);
                }
            }
        }
    }

    /// The session types of sub-sessions stand in the module of their role, with the choices of all its states.
    fn sub_sessions(&mut self, role: &'a RolePlan) {
        let mut items = NameTable::new();
        for plan in &role.sub_sessions {
            let Some(sub_session) = plan.sub_session() else { continue };
            let name = sub_session.name.as_str();
            let named = Named { span: sub_session.span, thing: Thing::SubSessions(name) };
            let handle = (!plan.outputs.is_empty()).then_some("Handle");
            let incoming = (!plan.inputs.is_empty()).then_some(["Incoming", "IncomingQueue", "Handler"]);
            for item in handle.into_iter().chain(incoming.into_iter().flatten()) {
                self.insert(&mut items, format!("{name}{item}"), named);
            }
            if PRELUDE.contains(&name) || ROLE_ITEMS.contains(&name) || MODULE_ITEMS.contains(&name) {
                let message = format!("{} have the name of an item that is there already", named.thing);
                self.report(name, message, &named, None);
            } else if name == role.automaton.name {
                let message = format!("{} have the name of their role", named.thing);
                self.report(name, message, &named, None);
            }
            self.insert(&mut items, name, named);
        }
        if items.is_empty() {
            return;
        }
        for state in std::iter::once(role).chain(&role.sub_sessions).flat_map(|owner| &owner.states) {
            for method in &state.methods {
                if let MethodKind::Next(next) = &method.what {
                    let named = Named { span: state.span, thing: Thing::Choice(&state.name) };
                    self.insert(&mut items, next.name.as_str(), named);
                }
            }
        }
    }

    /// The enum of a request's replies stands in the role's module, which knows the role by its name.
    fn answers(&mut self, role: &RolePlan) {
        for answers in &role.answers {
            let name = answers_name(&self.plan.declarations, answers.request);
            if name == role.automaton.name {
                let mut named = self.of_message(answers.request, true);
                named.thing = Thing::Replies(self.plan.message_name(answers.request));
                let message = format!("{} would be called `{name}`, as the role", named.thing);
                self.report(&name, message, &named, None);
            }
        }
    }

    fn context(&mut self) {
        let mut methods = NameTable::new();
        for report in &self.plan.reports {
            let name = format!("send_{}", snake(self.plan.message_name(*report)));
            let named = self.of_message(*report, true);
            if CONTEXT_METHODS.contains(&name.as_str()) {
                let message =
                    format!("{} would be the method `{name}`, which contexts have already", named.thing);
                self.report(&name, message, &named, None);
            }
            self.insert(&mut methods, name, named);
        }
    }

    /// Takes a name, or reports that it is taken.
    fn insert(&mut self, names: &mut NameTable<'a>, name: impl Into<Cow<'a, str>>, named: Named<'a>) {
        match names.entry(name.into()) {
            Entry::Occupied(first) => {
                let (name, first) = (first.key(), first.get());
                let message = format!(
                    "two things would be called `{name}` in Rust: {} and {}",
                    first.thing, named.thing
                );
                self.report(name, message, &named, Some(first));
            }
            Entry::Vacant(place) => {
                place.insert(named);
            }
        }
    }

    /// Reports a clash once, however many states and roles it shows up in.
    fn report(&mut self, name: &str, message: String, named: &Named<'_>, first: Option<&Named<'_>>) {
        if !self.seen.insert((named.span, first.map(|first| first.span))) {
            return;
        }
        let mut diagnostic = Diagnostic::error(CLASH, named.span, message);
        // The marks are read from above, whichever of the two comes first.
        diagnostic = match first.filter(|first| first.span != named.span) {
            Some(first) if first.span < named.span => diagnostic
                .label(format!("`{name}` again, {}", named.thing))
                .also(first.span, format!("`{name}`, {}", first.thing)),
            Some(first) => diagnostic
                .label(format!("`{name}`, {}", named.thing))
                .also(first.span, format!("`{name}` again, {}", first.thing)),
            None => diagnostic.label(format!("this is `{name}`")),
        };
        self.found.push(diagnostic.help(named.thing.help(name)));
    }
}
