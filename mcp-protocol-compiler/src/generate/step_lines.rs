//! What the documentation of a step says.

use mcp_protocol_machine::protocol::{MessageIndex, StateIndex};

use super::docs::{described, errors, filled, link, links, method_link, needs, type_of};
use super::generator::Generator;
use super::types::Scope;
use crate::plan::{Method, MethodKind, RolePlan, StatePlan};

impl Generator<'_> {
    /// The lines above one method of a state.
    pub(super) fn method_lines(&self, role: &RolePlan, state: &StatePlan, method: &Method) -> Vec<String> {
        let plan = &self.plan;
        // What does not depend on the state is said once.
        let everywhere = matches!(
            method.what,
            MethodKind::Call(_)
                | MethodKind::Notify { .. }
                | MethodKind::Open { .. }
                | MethodKind::OpenExchange { .. }
                | MethodKind::Close
        );
        if everywhere && role.first_with(&method.name) != Some(state.name.as_str()) {
            let mut lines = vec![format!("See {}.", method_link(role, &method.name, Scope::Top))];
            if fails_with_a_result(&method.what, state.index) {
                lines.extend(errors(&self.error, Scope::Top));
            }
            return lines;
        }
        if let MethodKind::Pages(call) = &method.what {
            let call = method_link(role, &plan.call_name(call.request), Scope::Top);
            return vec![format!(
                "Sends the request of {call} for page after page of its result, on demand."
            )];
        }
        let subject = role.subject();
        let written_type = type_of(plan, role, &method.what);
        let said = |target: StateIndex| match target == state.index {
            _ if role.is_over(target) => "is over".to_owned(),
            true => format!("stays {}", link(role.state_name(target), Scope::Top)),
            false => format!("goes on as {}", link(role.state_name(target), Scope::Top)),
        };
        let mut lines = vec![match &method.what {
            MethodKind::Send { message, target } => {
                format!("Sends {}; the {subject} {}.", described(plan, *message), said(*target))
            }
            MethodKind::Exchange { request, target, .. } => {
                format!(
                    "Sends {} and waits for its reply; the {subject} {}.",
                    described(plan, *request),
                    said(*target)
                )
            }
            MethodKind::Choose { request, .. } => {
                format!(
                    "Sends {} and waits for its reply, which says how the session goes on.",
                    described(plan, *request)
                )
            }
            MethodKind::Receive { message, target, .. } => {
                format!("Waits for {}; the {subject} {}.", described(plan, *message), said(*target))
            }
            MethodKind::Next(_) if written_type.is_empty() => {
                "Waits for whatever the peer sends next. It has no step here, only what it may send at any time.".into()
            }
            MethodKind::Next(_) => "Waits for whatever the peer sends next.".into(),
            MethodKind::Refuse { request, target } => {
                format!("Sends {}; the {subject} {}.", self.refusal(*request), said(*target))
            }
            MethodKind::Cancelled { request } => format!(
                "Waits until the peer cancels {}, or the session is over; {}.",
                described(plan, *request),
                match plan.declarations.ends_by_cancel() {
                    Some(_) => "an answer is not read then",
                    None => "a request that was cancelled is still answered",
                }
            ),
            MethodKind::Call(call) => {
                format!("Sends {} and returns its reply; any number at once.", described(plan, call.request))
            }
            MethodKind::Pages(_) => String::new(),
            MethodKind::Notify { message } => format!("Sends {}.", described(plan, *message)),
            MethodKind::Open { message, opening } => format!(
                "Sends {}, which opens a sub-session; it is {}.",
                described(plan, *message),
                link(role.state_name(opening.start), Scope::Top)
            ),
            MethodKind::OpenExchange { request, target, .. } => format!(
                "Sends {}, which opens a sub-session, and waits for its reply; the sub-session is {}.",
                described(plan, *request),
                link(role.state_name(*target), Scope::Top)
            ),
            MethodKind::Split { parts } if parts.iter().any(|part| role.is_over(*part)) => {
                "Gives each channel that goes on a value of its own.".into()
            }
            MethodKind::Split { .. } => "Gives each channel a value of its own.".into(),
            MethodKind::Close => "Closes the session; awaiting the result waits until all is drained.".into(),
        }];
        let (message, refusable) = match &method.what {
            MethodKind::Send { message, .. } | MethodKind::Notify { message } => (Some(*message), None),
            MethodKind::Exchange { request, refused, .. } => (Some(*request), *refused),
            MethodKind::Choose { request, .. } => (Some(*request), Some(state.index)),
            MethodKind::Receive { refused, .. } => (None, *refused),
            MethodKind::Next(next) => (None, next.refused),
            MethodKind::Call(call) | MethodKind::Pages(call) => (Some(call.request), None),
            MethodKind::Open { message, .. } => (Some(*message), None),
            MethodKind::OpenExchange { request, .. } => (Some(*request), None),
            MethodKind::Refuse { .. }
            | MethodKind::Cancelled { .. }
            | MethodKind::Split { .. }
            | MethodKind::Close => (None, None),
        };
        match refusable {
            Some(back) if role.is_over(back) => {
                lines.push(format!("If the peer refuses, the {subject} is over, too."));
            }
            Some(back) => {
                let back = link(role.state_name(back), Scope::Top);
                lines.push(format!("If the peer refuses, the {subject} is {back}."));
            }
            None => {}
        }
        lines.extend(message.and_then(|message| needs(plan, message, role.automaton.side)));
        let mut lines = filled(lines);
        let place = self.docs.place(method.span);
        let states = role.states_with(method, |states| links(states.iter().map(String::as_str), Scope::Top));
        lines.push(String::new());
        lines.push(match written_type.as_str() {
            "" => format!("{place}; in {states}."),
            written_type => format!("`{written_type}`, {place}; in {states}."),
        });
        let written = message.and_then(|message| plan.message(message)).map(|message| &message.documentation);
        if fails_with_a_result(&method.what, state.index) {
            lines.extend(errors(&self.error, Scope::Top));
        }
        super::docs::after(written.map_or(&[], Vec::as_slice), lines)
    }

    fn refusal(&self, request: MessageIndex) -> String {
        let method = self.plan.message(request).map_or("", |message| &message.table.method);
        format!("an error in reply to `{method}`")
    }
}

/// Whether a method returns a `Result`, and not a future with a page of its own.
fn fails_with_a_result(method: &MethodKind, here: StateIndex) -> bool {
    match method {
        MethodKind::Open { .. } => true,
        MethodKind::Send { target, .. } | MethodKind::Receive { target, .. } => *target == here,
        MethodKind::Next(next) => next.here,
        _ => false,
    }
}
