//! The methods of the typed values, each with the step of the text that it takes.

use std::collections::HashMap;

use crate::compiled::Compiled;
use crate::plan::RolePlan;
use crate::source::Span;

/// A method of a value of a session or sub-session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypedMethod {
    /// The type of the value without its state: `Teller`, `client::Work`.
    pub session: String,
    /// The names of the state, that of the type's parameter first.
    pub states: Vec<String>,
    /// The step in the text, or the state for what is not a step, such as `close`.
    pub step: Span,
    /// The method in Rust, on one line.
    pub signature: String,
}

impl TypedMethod {
    /// The type of the value: `Teller<Ready>`.
    pub fn value(&self) -> String {
        format!("{}<{}>", self.session, self.states.first().map_or("_", String::as_str))
    }
}

/// The methods of every session type, in the order of the states; `signatures` are those of the generated code.
pub(super) fn methods(compiled: &Compiled, signatures: &str) -> Vec<TypedMethod> {
    let signatures = by_value(signatures);
    let mut found = Vec::new();
    for role in &compiled.plan.roles {
        of_session(role, &signatures, &mut found);
        for sub_session in &role.sub_sessions {
            of_session(sub_session, &signatures, &mut found);
        }
    }
    found
}

fn of_session(plan: &RolePlan, signatures: &HashMap<(&str, &str), &str>, found: &mut Vec<TypedMethod>) {
    let session = plan.path().to_string().replace(' ', "");
    for state in &plan.states {
        let place = usize::try_from(state.index.0).ok().and_then(|index| plan.automaton.states.get(index));
        let aliases = place.map(|state| state.aliases.as_slice()).unwrap_or_default();
        let states: Vec<String> = std::iter::once(&state.name).chain(aliases).cloned().collect();
        let value = format!("{session}<{}>", state.name);
        for method in &state.methods {
            // What other parts of a value have, such as `split`, is written by a macro of the runtime.
            let Some(signature) = signatures.get(&(value.as_str(), method.name.as_str())) else { continue };
            found.push(TypedMethod {
                session: session.clone(),
                states: states.clone(),
                step: method.span,
                signature: (*signature).to_owned(),
            });
        }
    }
}

/// The methods in the `impl` blocks of values, by the value's type and their name.
fn by_value(signatures: &str) -> HashMap<(&str, &str), &str> {
    let mut found = HashMap::new();
    let mut value = None;
    for line in signatures.lines() {
        if let Some(block) = line.strip_prefix("impl ") {
            value = block.strip_suffix(" {");
        } else if !line.starts_with(' ') {
            value = None;
        } else if let Some(value) = value
            && let Some((_, rest)) = line.split_once("fn ")
            && let Some((name, _)) = rest.split_once(['(', '<'])
        {
            found.insert((value, name), line.trim().trim_end_matches(';'));
        }
    }
    found
}
