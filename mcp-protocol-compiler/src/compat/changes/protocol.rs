//! What has changed about the protocol as a whole.

use mcp_protocol_machine::protocol::{Dialect, RequestVersion, Side, VersionField};

use super::super::announced::dotted;
use super::super::envelope::place_of_version;
use super::super::found::{Break, Rule, declared};
use super::super::version::Version;
use super::change::{About, Changes, Part, by_age};
use crate::source::Span;

pub(super) fn compare(changes: &mut Changes<'_>, old: &Version<'_>, new: &Version<'_>) {
    let name = |version: &Version<'_>| {
        version.declarations.name.as_ref().map_or("none".to_owned(), |name| format!("`{}`", name.text))
    };
    let place = |version: &Version<'_>| version.declarations.name.as_ref().map(|name| name.span);
    let spans = (place(old), place(new));
    let envelope = |found: &Break| matches!(found.rule, Rule::Envelope | Rule::Capability);
    let all: Vec<Span> = spans.0.into_iter().chain(spans.1).collect();
    let mut add = |what: &str, old: String, new: String, about: &[Span]| {
        if old != new {
            let about = About { spans: about.to_vec(), counts: Some(&envelope), side: None };
            let id = (Part::Protocol, what);
            changes.add(id, format!("was {old}, is {new}"), spans, &about);
        }
    };
    add("name", name(old), name(new), &[]);
    let revision = |version: &Version<'_>| {
        let declared = &version.declarations;
        let quote = if declared.numeric_version { "" } else { "\"" };
        declared.version.as_ref().map_or("none".to_owned(), |text| format!("{quote}{text}{quote}"))
    };
    add("revision", revision(old), revision(new), &[]);
    let yes = |holds: bool| if holds { "permitted" } else { "not permitted" }.to_owned();
    add("batches", yes(old.declarations.batch), yes(new.declarations.batch), &all);
    add("version of JSON-RPC", dialect(old), dialect(new), &all);
    add("ids that are used again", yes(old.declarations.reuses_ids), yes(new.declarations.reuses_ids), &all);
    let (mut revisions, mut announced) = (Vec::new(), Vec::new());
    for (_, version) in by_age(old, new) {
        if let Some(VersionField::Message(field)) = &version.declarations.version_field {
            revisions.push(declared(version, field.message));
        }
        announced.extend(version.declarations.announcements.iter().map(|announced| announced.message));
    }
    let field = |version: &Version<'_>| {
        let field = version.declarations.version_field.as_ref();
        let error = match field {
            Some(VersionField::EachRequest(RequestVersion { error, .. })) => with_error(*error),
            _ => String::new(),
        };
        field.map_or("nowhere".to_owned(), |field| format!("in {}{error}", place_of_version(version, field)))
    };
    add("place of the revision", field(old), field(new), &revisions);
    for (side, what) in
        [(Side::Client, "capabilities of the client"), (Side::Server, "capabilities of the server")]
    {
        add(what, announcements(old, side), announcements(new, side), &announced);
    }
}

/// Which JSON-RPC messages are.
fn dialect(version: &Version<'_>) -> String {
    match version.declarations.dialect {
        Dialect::Standard => "2.0",
        Dialect::WithoutJsonrpc => "2.0 without the member `jsonrpc`",
        Dialect::Version1 => "1.0",
    }
    .to_owned()
}

/// The code of the error that refuses a request, if there is one.
fn with_error(code: Option<i64>) -> String {
    code.map(|code| format!(", with error {code}")).unwrap_or_default()
}

/// Where a side announces what it can do.
fn announcements(version: &Version<'_>, side: Side) -> String {
    let of_side = version.declarations.announcements.iter().filter(|found| found.table.side == side);
    let texts: Vec<String> = of_side
        .map(|found| {
            let table = &found.table;
            let mut text = match table.message {
                Some(message) => format!("in `{}.{}`", version.name(message), dotted(&table.path)),
                None => format!("in `{}` of each request", dotted(&table.path)),
            };
            let gates = table.defaults.iter();
            let paths = gates.filter_map(|gate| version.declarations.gates.get(usize::from(gate.0)));
            let defaults: Vec<String> = paths.map(|gate| format!("`{}`", dotted(&gate.path))).collect();
            if !defaults.is_empty() {
                text.push_str(&format!(" with the default {}", defaults.join(" and ")));
            }
            if table.open {
                text.push_str(", open until announced");
            }
            text.push_str(&with_error(table.error));
            text
        })
        .collect();
    if texts.is_empty() { "nowhere".to_owned() } else { texts.join(" and ") }
}
