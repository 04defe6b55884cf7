//! Notifications that cancel, and need more than the id of the request: a call that is dropped or overdue is cancelled by
//! the runtime, which knows nothing else to say.

use mcp_protocol_machine::protocol::{Text, position};

use crate::declarations::{Declarations, Form, Message, Position, Shapes};
use crate::diagnostic::Diagnostic;
use crate::findings::refusals::{self, Needed};

/// Finds the cancels that need more than an id.
pub(crate) fn check(declarations: &Declarations) -> Vec<Diagnostic> {
    let shapes = Shapes(&declarations.shapes);
    let needed_of = |message: &Message| {
        let id = &message.table.cancels.as_ref()?.id;
        let form = &shapes.0.get(usize::from(message.table.shape?.0))?.form;
        Some(needed(shapes, form, id))
    };
    let messages = declarations.messages.iter();
    let found = messages
        .filter_map(|message| refusals::needs_more(&message.table.name, message.span, &needed_of(message)?));
    found.collect()
}

/// What a value of this form has to have in addition to what stands at the path. Of a union, the alternative counts that
/// needs least.
fn needed(shapes: Shapes<'_>, form: &Form, path: &[Text]) -> Vec<Needed> {
    let all = shapes.leaves(form).map(|form| needed_in(shapes, form, path));
    all.min_by_key(Vec::len).unwrap_or_default()
}

/// The same of what is neither a name nor a union.
fn needed_in(shapes: Shapes<'_>, form: &Form, path: &[Text]) -> Vec<Needed> {
    let Some((key, rest)) = path.split_first() else { return Vec::new() };
    let within = |form: Option<&Form>| form.map_or_else(Vec::new, |form| needed(shapes, form, rest));
    match form {
        Form::Record(record) => {
            let others = record.fields.iter().filter(|field| !field.optional && field.name.text != **key);
            let others = others.map(|field| Needed {
                name: field.name.text.clone(),
                at: field.written(),
                is_before_id: false,
            });
            others.chain(within(record.field(key).map(|field| &field.form))).collect()
        }
        Form::Tuple(positions) => {
            let Some(id) = position(key) else { return Vec::new() };
            let before = positions.iter().take(id).filter(|before| !takes_null(shapes, &before.form));
            let before = before.map(|position| Needed {
                name: position.path_key().to_owned(),
                at: Some(position.span),
                is_before_id: true,
            });
            let behind = positions.iter().skip(id.saturating_add(1));
            let behind = behind.filter(|behind| behind.presence.is_required()).map(|position| Needed {
                name: position.path_key().to_owned(),
                at: Some(position.label.as_ref().map_or(position.span, |label| label.span)),
                is_before_id: false,
            });
            let own = Position::of_element(positions, id).map(|position| &position.form);
            before.chain(behind).chain(within(own)).collect()
        }
        Form::List(of) => {
            let is_filled = position(key) != Some(0) && !takes_null(shapes, of);
            let before = is_filled.then(|| Needed { name: "0".to_owned(), at: None, is_before_id: true });
            before.into_iter().chain(within(Some(of))).collect()
        }
        Form::Map(of) => within(Some(of)),
        _ => Vec::new(),
    }
}

/// Whether `null` is a value of this form.
fn takes_null(shapes: Shapes<'_>, form: &Form) -> bool {
    shapes.leaves(form).any(|leaf| matches!(leaf, Form::Any | Form::Null))
}
