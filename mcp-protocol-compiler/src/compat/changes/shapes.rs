//! Which shapes were added or removed, and which fields of the others have changed.

use std::collections::BTreeMap;

use super::super::found::{Break, Rule};
use super::super::version::Version;
use super::change::{About, Changes, Part};
use super::forms::{text, whole};
use crate::declarations::{DeclaredShape, Field, Form, Position, Record};
use crate::source::Span;

pub(super) fn compare(changes: &mut Changes<'_>, old: &Version<'_>, new: &Version<'_>) {
    let (before, after) = (named(old), named(new));
    let is_payload = |found: &Break| found.rule == Rule::Payload;
    for (name, shape) in &before {
        let spans = vec![shape.name.span];
        match after.get(name) {
            None => {
                let about = About { spans, counts: Some(&is_payload), side: None };
                changes.add((Part::Shape, name), "removed".to_owned(), (Some(shape.name.span), None), &about);
            }
            Some(now) => compare_shape(changes, (old, shape), (new, now)),
        }
    }
    for (name, shape) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
        let about = About { spans: vec![shape.name.span], counts: Some(&is_payload), side: None };
        changes.add((Part::Shape, name), "added".to_owned(), (None, Some(shape.name.span)), &about);
    }
}

/// The shapes that their author has named.
fn named<'a>(version: &'a Version<'_>) -> BTreeMap<&'a str, &'a DeclaredShape> {
    let shapes = version.shapes.declared.iter().filter(|shape| !shape.is_inner);
    shapes.map(|shape| (shape.name.text.as_str(), shape)).collect()
}

fn compare_shape(
    changes: &mut Changes<'_>,
    (old, before): (&Version<'_>, &DeclaredShape),
    (new, after): (&Version<'_>, &DeclaredShape),
) {
    let (of_old, of_new) = (&old.shapes.declared, &new.shapes.declared);
    let is_payload = |found: &Break| found.rule == Rule::Payload;
    let name = after.name.text.as_str();
    let mut add = |text: String, spans: (Option<Span>, Option<Span>), more: Vec<Span>| {
        let mut about: Vec<Span> = spans.0.into_iter().chain(spans.1).collect();
        about.extend(more);
        let about = About { spans: about, counts: Some(&is_payload), side: None };
        changes.add((Part::Shape, name), text, spans, &about);
    };
    let (Form::Record(one), Form::Record(other)) = (&before.form, &after.form) else {
        if whole(of_old, &before.form) != whole(of_new, &after.form) {
            let text = format!("was `{}`, is `{}`", text(of_old, &before.form), text(of_new, &after.form));
            let parts = parts(&before.form).into_iter().chain(parts(&after.form)).collect();
            add(text, (Some(before.name.span), Some(after.name.span)), parts);
        }
        return;
    };
    for (field, now) in both(one, other) {
        let is_same_form = whole(of_old, &field.form) == whole(of_new, &now.form);
        if field.optional != now.optional || !is_same_form {
            let (form, form_now) = (text(of_old, &field.form), text(of_new, &now.form));
            let (presence, presence_now) = (presence(field), presence(now));
            let (was, is) = if is_same_form {
                (presence.to_owned(), presence_now.to_owned())
            } else if field.optional == now.optional {
                (format!("`{form}`"), format!("`{form_now}`"))
            } else {
                (format!("{presence}, `{form}`"), format!("{presence_now}, `{form_now}`"))
            };
            let text = format!("the field `{}` was {was}, is {is}", field.name.text);
            // The alternatives of the field are what a finding points at.
            let parts = parts(&field.form).into_iter().chain(parts(&now.form)).collect();
            add(text, (Some(field.name.span), Some(now.name.span)), parts);
        }
    }
    for field in without(one, other) {
        let text = format!("removed: {}", described(of_old, field));
        add(text, (Some(field.name.span), None), Vec::new());
    }
    for field in without(other, one) {
        let text = format!("added: {}", described(of_new, field));
        add(text, (None, Some(field.name.span)), Vec::new());
    }
    if one.rest != other.rest {
        let text =
            if other.rest { "keeps other members (`..rest`)" } else { "no longer keeps other members" };
        add(text.to_owned(), (Some(before.name.span), Some(after.name.span)), Vec::new());
    }
}

/// The fields that both records have.
fn both<'a>(one: &'a Record, other: &'a Record) -> Vec<(&'a Field, &'a Field)> {
    let fields = one.fields.iter();
    fields.filter_map(|field| Some((field, other.field(&field.name.text)?))).collect()
}

/// The fields of a record that the other does not have.
fn without<'a>(one: &'a Record, other: &Record) -> Vec<&'a Field> {
    one.fields.iter().filter(|field| other.field(&field.name.text).is_none()).collect()
}

fn presence(field: &Field) -> &'static str {
    if field.optional { "optional" } else { "required" }
}

/// A field in words: ``the optional field `note`, `string` ``.
fn described(shapes: &[DeclaredShape], field: &Field) -> String {
    format!("the {} field `{}`, `{}`", presence(field), field.name.text, text(shapes, &field.form))
}

/// Where the alternatives of a form are written.
fn parts(form: &Form) -> Vec<Span> {
    match form {
        Form::Union(parts) => parts.iter().map(|part| part.span).collect(),
        Form::List(of) | Form::Map(of) => parts(of),
        Form::Tuple(positions) => {
            let of = |position: &Position| [vec![position.span], parts(&position.form)].concat();
            positions.iter().flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}
