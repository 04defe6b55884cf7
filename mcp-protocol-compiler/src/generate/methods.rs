//! The methods of the typed values and handlers, each with the step of the text that it takes.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};

use crate::compiled::Compiled;
use crate::plan::{MethodKind, RolePlan, role_module};
use crate::source::Span;

/// A method of a value of a session or sub-session, or of the trait of its handlers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypedMethod {
    /// The type of the value without its state, or the trait: `Teller`, `client::Work`, `server::Handler`.
    pub owner: String,
    /// Whether it belongs to the trait, which answers what the peer sends at any time.
    pub handles: bool,
    /// The names of the state, that of the type's parameter first; for a handler, the states in which it may be called.
    pub states: Vec<String>,
    /// The step in the text, or the state for what is not a step, such as `close`.
    pub step: Span,
    /// The message that it sends, receives or refuses; nothing for `next` and `close`.
    pub message: Option<String>,
    /// The method in Rust, on one line.
    pub signature: String,
}

impl TypedMethod {
    /// The beginning of the block that has it: `impl Teller<Ready>`, `trait server::Handler`.
    pub fn block(&self) -> String {
        match self.states.first() {
            Some(state) if !self.handles => format!("impl {}<{state}>", self.owner),
            _ => format!("trait {}", self.owner),
        }
    }
}

/// The methods of every session type, in the order of the states; `signatures` are those of the generated code.
pub(super) fn methods(compiled: &Compiled, signatures: &str) -> Vec<TypedMethod> {
    let mut finder = Finder { compiled, signatures: by_owner(signatures), found: Vec::new() };
    for role in &compiled.plan.roles {
        finder.of_session(role);
        role.sub_sessions.iter().for_each(|sub_session| finder.of_session(sub_session));
    }
    finder.found
}

struct Finder<'a> {
    compiled: &'a Compiled,
    /// By the type or trait, and the name.
    signatures: HashMap<(String, &'a str), &'a str>,
    found: Vec<TypedMethod>,
}

impl Finder<'_> {
    fn of_session(&mut self, plan: &RolePlan) {
        let owner = plan.path().to_string().replace(' ', "");
        let names = |index: StateIndex| {
            let state = usize::try_from(index.0).ok().and_then(|index| plan.automaton.states.get(index));
            state.into_iter().flat_map(|state| std::iter::once(&state.name).chain(&state.aliases)).cloned()
        };
        for state in &plan.states {
            let value = format!("{owner}<{}>", state.name);
            for method in &state.methods {
                // What a macro of the runtime writes, such as `split`, is not a step.
                let Some(signature) = self.signatures.get(&(value.clone(), &*method.name)) else { continue };
                self.found.push(TypedMethod {
                    owner: owner.clone(),
                    handles: false,
                    states: names(state.index).collect(),
                    step: method.span,
                    message: message_of(&method.what).map(|message| self.name(message)),
                    signature: (*signature).to_owned(),
                });
            }
        }
        let handler = format!("{}::{}", role_module(plan.automaton.side), plan.item("Handler"));
        for input in &plan.inputs {
            let name = self.compiled.plan.call_name(input.message);
            let Some(signature) = self.signatures.get(&(handler.clone(), &*name)) else { continue };
            self.found.push(TypedMethod {
                owner: handler.clone(),
                handles: true,
                states: input.states.iter().flat_map(|index| names(*index)).collect(),
                step: input.span,
                message: Some(self.name(input.message)),
                signature: (*signature).to_owned(),
            });
        }
    }

    fn name(&self, message: MessageIndex) -> String {
        self.compiled.plan.message_name(message).to_owned()
    }
}

/// The message that a method is about.
fn message_of(what: &MethodKind) -> Option<MessageIndex> {
    match what {
        MethodKind::Send { message, .. }
        | MethodKind::Receive { message, .. }
        | MethodKind::Notify { message }
        | MethodKind::Open { message, .. } => Some(*message),
        MethodKind::Exchange { request, .. }
        | MethodKind::Choose { request, .. }
        | MethodKind::Refuse { request, .. }
        | MethodKind::Cancelled { request }
        | MethodKind::OpenExchange { request, .. } => Some(*request),
        MethodKind::Call(call) | MethodKind::Pages(call) => Some(call.request),
        MethodKind::Next(_) | MethodKind::Split { .. } | MethodKind::Close => None,
    }
}

/// The methods in the `impl` blocks of values, and in the traits of the modules of the roles.
fn by_owner(signatures: &str) -> HashMap<(String, &str), &str> {
    let mut found = HashMap::new();
    let mut module = "";
    let mut owner = None;
    for line in signatures.lines() {
        let inner = line.trim_start();
        match line.len() - inner.len() {
            0 => {
                module =
                    inner.strip_prefix("pub mod ").and_then(|name| name.strip_suffix(" {")).unwrap_or("");
                let block = inner.strip_prefix("impl ").and_then(|block| block.strip_suffix(" {"));
                owner = block.map(|block| (block.to_owned(), 4));
            }
            4 if !module.is_empty() => {
                let name = inner.strip_prefix("pub trait ").and_then(|block| block.split_once(':'));
                owner = name.map(|(name, _)| (format!("{module}::{name}"), 8));
            }
            indent => {
                if let Some((owner, _)) = owner.as_ref().filter(|(_, inside)| *inside == indent)
                    && let Some((_, rest)) = inner.split_once("fn ")
                    && let Some((name, _)) = rest.split_once(['(', '<'])
                {
                    found.insert((owner.clone(), name), inner.trim_end_matches(';'));
                }
            }
        }
    }
    found
}
