//! Labels in paths. They are not in the JSON, so the tables have the number of the position in place of each.

use std::borrow::Cow;

use mcp_protocol_machine::protocol::{self as machine, KeyPlace, Kind, MessageIndex, position};

use crate::declarations::{Declarations, Form, PayloadType, Position, Resolution, Shapes};

/// Writes numbers for the labels in the paths that lead into the payload of one message. A path that leads into those of
/// several has no labels.
pub(super) fn number(resolution: &mut Resolution) {
    let declared = &resolution.declarations;
    if !declared.shapes.iter().any(|shape| has_labels(&shape.form)) {
        return;
    }
    let before = declared.clone();
    let labels = Labels(&before);
    let declarations = &mut resolution.declarations;
    for (index, message) in before.indices().zip(&mut declarations.messages) {
        let table = &mut message.table;
        let conditions = table.requires.to_mut().iter_mut().map(|requirement| &mut requirement.condition);
        for condition in conditions.chain([&mut table.condition]).flatten() {
            labels.number(index, &mut condition.path);
        }
        let keys = table.keys.to_mut().iter_mut().filter_map(|key| match &mut key.place {
            KeyPlace::Path(path) => Some(path),
            KeyPlace::Id | KeyPlace::Member(_) => None,
        });
        keys.for_each(|path| labels.number(index, path));
        let cancels = table.cancels.as_mut().map(|cancels| &mut cancels.id);
        let reports = table.reports.as_mut().map(|reports| &mut reports.token);
        cancels.into_iter().chain(reports).for_each(|path| labels.number(index, path));
        if let Some(rounds) = &mut table.rounds {
            labels.number(index, &mut rounds.state);
            labels.number(index, &mut rounds.answers);
            labels.number(rounds.reply, &mut rounds.given);
            labels.number(rounds.reply, &mut rounds.questions);
        }
        if let Some(pages) = &mut message.pages {
            labels.number(index, &mut pages.cursor);
            let is_reply = |reply: &MessageIndex| {
                before.message(*reply).is_some_and(|reply| reply.table.kind == Kind::Reply { request: index })
            };
            before.indices().filter(is_reply).for_each(|reply| labels.number(reply, &mut pages.next));
        }
        for during in &mut message.during {
            if let ([(_, requests)], Some(condition)) = (&*during.names, &mut during.table.condition)
                && let [request] = requests.as_slice()
            {
                labels.number(*request, &mut condition.path);
            }
        }
    }
    for announced in &mut declarations.announcements {
        if let Some(message) = announced.table.message {
            labels.number(message, &mut announced.table.path);
        }
    }
}

/// Whether a form, or something in it that has no name, is a tuple with labels.
fn has_labels(form: &Form) -> bool {
    let here = match form {
        Form::Tuple(positions) => positions.iter().any(|position| position.label.is_some()),
        _ => false,
    };
    here || form.inside().into_iter().any(has_labels)
}

/// The position that a key is the label of, where a value may be one of these: all that have it, have it there, and it can
/// be the name of no member. The label of a rest does not name a single element.
pub(super) fn place(leaves: &[&Form], key: &str) -> Option<usize> {
    let mut found = None;
    for leaf in leaves {
        match leaf {
            Form::Tuple(positions) => {
                let has_it = |position: &Position| {
                    let label = position.label.as_ref().filter(|_| !position.presence.is_rest());
                    label.is_some_and(|label| label.text == key)
                };
                let place = positions.iter().position(has_it);
                if place.is_some() && found.is_some_and(|found| Some(found) != place) {
                    return None;
                }
                found = found.or(place);
            }
            Form::Any | Form::Object | Form::Map(_) => return None,
            Form::Record(record) if record.rest || record.field(key).is_some() => return None,
            _ => {}
        }
    }
    found
}

struct Labels<'a>(&'a Declarations);

impl Labels<'_> {
    fn number(&self, message: MessageIndex, path: &mut machine::Path) {
        let shapes = Shapes(&self.0.shapes);
        let payload = self.0.message(message).map(|message| &message.payload);
        let Some(PayloadType::Shape { index, .. }) = payload else { return };
        let Some(shape) = self.0.shapes.get(*index) else { return };
        let mut here = vec![&shape.form];
        for key in path.to_mut() {
            let leaves: Vec<&Form> = here.into_iter().flat_map(|form| shapes.leaves(form)).collect();
            let place = position(key).or_else(|| {
                let place = place(&leaves, key)?;
                *key = Cow::Owned(place.to_string());
                Some(place)
            });
            let inside = leaves.into_iter().filter_map(|leaf| match leaf {
                Form::Record(record) => Some(&record.field(key)?.form),
                Form::Map(of) => Some(of),
                Form::List(of) => place.map(|_| &**of),
                Form::Tuple(positions) => Some(&Position::of_element(positions, place?)?.form),
                _ => None,
            });
            here = inside.collect();
        }
    }
}
