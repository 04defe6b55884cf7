//! Findings about payload shapes.

use mcp_protocol_machine::protocol::{Literal, position};

use crate::ast::{BUILT_IN, ConditionValue, JsonPath, Name, built_in_meant};
use crate::declarations::{Alternative, Position};
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange, shorten};
use crate::source::Span;
use crate::suggest::nearest;

/// A payload that is not a type.
pub const MALFORMED_PAYLOAD: Code = Code("S0026");
/// A shape that nothing declares.
pub const UNDEFINED_SHAPE: Code = Code("S0701");
/// A record with a field twice, or with the fields of something that is not a record.
pub const BAD_RECORD: Code = Code("S0702");
/// The name of a variant that is not there, or that another one has.
pub const BAD_VARIANT: Code = Code("S0707");
/// An alternative that can never be chosen.
pub const NEVER_CHOSEN: Code = Code("S0703");
/// A shape of which no value can be written down.
pub const ENDLESS: Code = Code("S0704");
/// A path that leads to nothing in the shape of its payload.
pub const NO_SUCH_FIELD: Code = Code("S0705");

/// A field as JSON would have it: the name of its shape is a text.
pub const SHAPE_IN_QUOTES: Code = Code("S0706");

/// `"dish": "string"`, which says that the dish is the text `string`; `meant` is that shape.
pub fn shape_in_quotes(key: &Name, text: Span, meant: &str) -> Diagnostic {
    Diagnostic::warning(SHAPE_IN_QUOTES, text, "this field is always that text")
        .label("the name of a shape stands without quotes")
        .suggest(
            format!("write `{}: {meant}` for any value of that shape", shorten(&key.text)),
            [Edit::replace(key.span, key.text.as_str()), Edit::replace(text, meant)],
        )
        .otherwise("if that text is meant, write the key without quotes")
}

/// A name in a shape that nothing declares.
pub fn undefined<'a>(name: &Name, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let text = &name.text;
    let finding = Diagnostic::error(UNDEFINED_SHAPE, name.span, format!("no shape is called `{text}`"))
        .label("not declared");
    if text == "map" {
        // The word of the language, which no shape can have as its name.
        let finding = Diagnostic::error(UNDEFINED_SHAPE, name.span, "`map` says nothing of its values");
        return finding
            .suggest("write `map any` for any values, or `map string`", [Edit::after(name.span, " any")]);
    }
    if text == "undefined" {
        return finding.suggest(
            "write `null` if it may be null; for what may be left out, write `?` behind the field's name",
            [Edit::replace(name.span, "null")],
        );
    }
    if matches!(text.as_str(), "array" | "Array" | "list" | "List") {
        return finding.suggest("write `[any]` for a list of any JSON", [Edit::replace(name.span, "[any]")]);
    }
    let meant = built_in_meant(text).or_else(|| nearest(text, known.chain(BUILT_IN)));
    match meant {
        Some(meant) => finding.suggest(format!("did you mean `{meant}`?"), [Edit::replace(name.span, meant)]),
        None => finding
            .changes(
                format!("declare it: `type {text} = …`"),
                [TextChange::Item(format!("type {text} = any"))],
            )
            .suggest(
                format!("write `\"{text}\"` if it is this text"),
                [Edit::replace(name.span, format!("\"{text}\""))],
            ),
    }
}

/// A text as a payload that is the name of a shape.
pub fn name_in_quotes(name: &str, at: Span) -> Diagnostic {
    let shown = shorten(name);
    Diagnostic::error(MALFORMED_PAYLOAD, at, format!("the shape `{shown}` stands in quotes"))
        .label("a text in quotes is that text and no other")
        .suggest(format!("write `({shown})`"), [Edit::replace(at, name)])
}

/// A field that stands twice in one record.
pub fn field_twice(second: Span, first: Span, name: &str) -> Diagnostic {
    Diagnostic::error(BAD_RECORD, second, format!("the field `{name}` stands here twice"))
        .label("again")
        .also(first, "first here")
        .help("keep one of them")
}

/// `1 as Ok` where it is not one of several values, and `true as Yes`.
pub fn variant_of_nothing(name: &Name, at: Span, literal: &Literal) -> Diagnostic {
    let label = match literal {
        Literal::Bool(_) => "`true | false` is `bool`, which has no variants",
        Literal::Int(_) | Literal::Text(_) => {
            "only one of several values, as in `1 as Ok | 2 as Failed`, becomes a variant"
        }
    };
    Diagnostic::error(BAD_VARIANT, name.span, "a name of a variant where there is none")
        .label(label)
        .suggest("delete it", [Edit::replace(at, crate::format::literal(literal))])
}

/// A name that two variants of one union have.
pub fn variant_twice(second: &Name, first: Span) -> Diagnostic {
    Diagnostic::error(
        BAD_VARIANT,
        second.span,
        format!("two variants of one shape are called `{}` in Rust", shorten(&second.text)),
    )
    .label("again")
    .also(first, "first here")
    .suggest(
        format!("choose another name, for instance `{}2`", shorten(&second.text)),
        [Edit::after(second.span, "2")],
    )
}

/// A label that two positions of one tuple have.
pub fn label_twice(second: Span, first: Span, label: &str) -> Diagnostic {
    Diagnostic::error(BAD_RECORD, second, format!("the label `{label}` stands here twice"))
        .label("again")
        .also(first, "first here")
        .help("give one of the two positions another label")
}

/// A shape in a payload that is called like another one.
pub fn name_of_a_payload(name: &str, shape: Span, (other, place): (CalledTheSame, Span)) -> Diagnostic {
    let shown = shorten(name);
    let found =
        Diagnostic::error(BAD_RECORD, shape, format!("this shape is called `{shown}`, as another one is"))
            .label("a shape in a payload is called after its message")
            .also(place, "the other one")
            .suggest(
                format!("write `{shown}` in its place if both are the same"),
                [Edit::replace(shape, name)],
            );
    match other {
        CalledTheSame::Declared => found.otherwise("give the other one another name"),
        CalledTheSame::Imported => found.with_note(format!(
            "`override type {shown} = …` changes the imported one for all that mention it"
        )),
        CalledTheSame::InAPayload => found.otherwise("give one of the two messages another name"),
    }
}

/// What is called as the shape in a payload is.
pub enum CalledTheSame {
    /// A `type`.
    Declared,
    /// A `type` of an imported file.
    Imported,
    /// The payload of another message: `Pay` and `PayParams` have params of one name.
    InAPayload,
}

/// `..rest` twice.
pub fn rest_twice(second: Span) -> Diagnostic {
    Diagnostic::error(BAD_RECORD, second, "`..rest` stands here twice")
        .changes("delete one", [TextChange::DeleteField(second)])
}

/// A spread of something that has no fields.
pub fn not_a_record(spread: Span, name: &str) -> Diagnostic {
    Diagnostic::error(BAD_RECORD, spread, format!("`{name}` is not a record, so it has no fields"))
        .help("write `...` before the name of a record, `{ … }`")
}

/// Spreads that lead back to where they begin.
pub fn spread_of_itself(spread: Span, name: &str) -> Diagnostic {
    Diagnostic::error(BAD_RECORD, spread, format!("`{name}` takes its fields from itself"))
        .label("this spread leads back to the record that it stands in")
        .help("move the fields that both need to a third record")
}

/// An alternative that an earlier one hides.
pub fn never_chosen(later: &Alternative, earlier: &Alternative) -> Diagnostic {
    let (shown, first) = (shorten(&later.text), shorten(&earlier.text));
    let finding = Diagnostic::error(NEVER_CHOSEN, later.span, format!("`{shown}` can never be chosen"))
        .label("whatever fits here")
        .also(earlier.span, format!("is taken for `{first}`, which stands before it"));
    let help = format!("write `{shown}` before `{first}`, if a value of it can be told by what it requires");
    finding.changes(help, [TextChange::AlternativeBefore(later.span, earlier.span)])
}

/// A list that a list of one text hides: it is one of any length, and a tuple of this text is meant. `also_later` is
/// whether the later one is such a list, too.
pub fn never_chosen_behind_a_list(
    later: &Alternative,
    earlier: &Alternative,
    also_later: bool,
) -> Diagnostic {
    let first = shorten(&earlier.text);
    let tuple = |list: &Alternative| list.text.strip_suffix(']').map(|open| format!("{open},]"));
    let lists: Vec<&Alternative> = [earlier].into_iter().chain(also_later.then_some(later)).collect();
    let tuples: Vec<(Span, String)> =
        lists.iter().filter_map(|list| Some((list.span, tuple(list)?))).collect();
    let shown: Vec<String> = tuples.iter().map(|(_, tuple)| format!("`{}`", shorten(tuple))).collect();
    let help = format!("write {} for a list of exactly one element", shown.join(" and "));
    Diagnostic::error(NEVER_CHOSEN, later.span, format!("`{}` can never be chosen", shorten(&later.text)))
        .label("whatever fits here")
        .also(earlier.span, format!("is taken for `{first}`, a list of any length, which stands before it"))
        .suggest(help, tuples.into_iter().map(|(span, tuple)| Edit::replace(span, tuple)))
}

/// An alternative that an earlier one hides and that would hide the earlier one, too.
pub fn never_chosen_anywhere(later: &Alternative, earlier: &Alternative) -> Diagnostic {
    let (shown, first) = (shorten(&later.text), shorten(&earlier.text));
    let finding = Diagnostic::error(NEVER_CHOSEN, later.span, format!("`{shown}` can never be chosen"))
        .label("whatever fits here")
        .also(earlier.span, format!("is taken for `{first}`, which stands before it"));
    let help = match later.text == earlier.text {
        true => "delete it".to_owned(),
        false => format!("delete it, or let `{first}` take what both say"),
    };
    finding.changes(help, [TextChange::DeleteAlternative(later.span, earlier.span)])
}

/// An alternative that several earlier ones, up to `last`, hide together.
pub fn never_chosen_after(later: &Alternative, last: &Alternative) -> Diagnostic {
    let message = format!("`{}` can never be chosen", shorten(&later.text));
    Diagnostic::error(NEVER_CHOSEN, later.span, message)
        .label("whatever fits here is taken for one of those before it")
        .changes("delete it", [TextChange::DeleteAlternative(later.span, last.span)])
}

/// A list or an object in the union that `later` names, which `earlier` hides where both are alternatives. `mends` is
/// whether the other order would tell them apart.
pub fn never_chosen_inside(
    later: &Alternative,
    inner: &Alternative,
    earlier: &Alternative,
    mends: bool,
) -> Diagnostic {
    let (name, shown, first) = (shorten(&later.text), shorten(&inner.text), shorten(&earlier.text));
    let finding = Diagnostic::warning(
        NEVER_CHOSEN,
        later.span,
        format!("`{shown}` of `{name}` can never be chosen here"),
    )
    .label(format!("what fits `{shown}`"))
    .also(inner.span, "which stands here")
    .also(earlier.span, format!("is taken for `{first}`, which stands before `{name}`"));
    match mends {
        true => finding.changes(
            format!("write `{name}` before `{first}`"),
            [TextChange::AlternativeBefore(later.span, earlier.span)],
        ),
        false => finding.help(format!(
            "let one shape take what `{first}` and `{shown}` say, and write it in both places"
        )),
    }
}

/// `null` next to an alternative that takes `null` itself.
pub fn null_again(null: &Alternative, other: &Alternative) -> Diagnostic {
    Diagnostic::error(NEVER_CHOSEN, null.span, "`null` can never be chosen")
        .label("says what another alternative says already")
        .also(other.span, format!("`{}` takes `null`, too", shorten(&other.text)))
        .changes("delete it", [TextChange::DeleteAlternative(null.span, other.span)])
}

/// Params of a message that may be `null` and not absent: on the wire the two are one. `null` is where the shape has it.
pub fn null_params(message: &str, at: Span, null: Span) -> Diagnostic {
    Diagnostic::warning(NEVER_CHOSEN, at, format!("params of `{message}` that are `null` count as absent"))
        .label("its params may not be absent")
        .also(null, "this is never chosen in them")
        .with_note("the params of JSON-RPC are a list or an object, or they are left out")
        .help("write `?` at the end of the parentheses in place of `null`: the params may then be absent, or `null`")
}

/// A shape that consists of itself.
pub fn endless(name: &Name) -> Diagnostic {
    Diagnostic::error(
        ENDLESS,
        name.span,
        format!("a value of `{}` would contain itself without end", name.text),
    )
    .label("what it requires leads back to it")
    .help("make one of the fields or positions on the way optional, a list, or a union with `null`")
}

/// A shape that is a list of itself.
pub fn of_nothing_but_itself(name: &Name) -> Diagnostic {
    let text = &name.text;
    Diagnostic::error(ENDLESS, name.span, format!("`{text}` consists of nothing but itself"))
        .label("lists, tuples, maps and names lead back to it")
        .help(format!("put a record on the way, for instance `type {text} = [{{ item: {text} }}]`"))
}

/// A path that leads to a field that its record does not have.
pub fn no_such_field<'a>(
    key: &Name,
    owner: &str,
    fields: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let text = &key.text;
    let finding = Diagnostic::error(NO_SUCH_FIELD, key.span, format!("{owner} has no field `{text}`"));
    match nearest(text, fields.clone()) {
        Some(near) => {
            finding.suggest(format!("did you mean `{near}`?"), [Edit::replace(key.span, key_text(near))])
        }
        None => {
            let all: Vec<&str> = fields.take(MOST_NAMED).collect();
            match all.as_slice() {
                [] => finding.help("it has no fields"),
                [only] => finding.suggest(
                    format!("did you mean `{only}`, its only field?"),
                    [Edit::replace(key.span, key_text(only))],
                ),
                all => {
                    let all: Vec<String> = all.iter().map(|field| format!("`{field}`")).collect();
                    finding.help(format!("its fields are {}", all.join(", ")))
                }
            }
        }
    }
}

/// A capability, or the field in which capabilities are announced, that a record does not have: most likely it is not
/// declared yet. `declared` is the field, and `before` the first field of the record.
pub fn no_such_capability(key: &Name, owner: &str, declared: &str, before: Span) -> Diagnostic {
    let message = format!("{owner} has no field `{}`", key.text);
    let edit = Edit::before(before, format!("{declared}, "));
    Diagnostic::error(NO_SUCH_FIELD, key.span, message).suggest(format!("declare it: `{declared}`"), [edit])
}

/// A path into the params of some requests, of which none has its first field, nor one like it.
pub fn in_no_params(key: &Name, declared: &str) -> Diagnostic {
    let message = format!("no request that may be meant has a field `{}` in its params", key.text);
    Diagnostic::error(NO_SUCH_FIELD, key.span, message)
        .help(format!("declare it where a request is to have it, for instance `{declared}`"))
}

/// How many fields a finding names.
const MOST_NAMED: usize = 12;

/// A key as it is written in a path.
fn key_text(key: &str) -> String {
    if crate::lexer::is_word(key) { key.to_owned() } else { crate::lexer::quote(key) }
}

/// The same, where a number is that of a position.
fn path_key(key: &str) -> String {
    if position(key).is_some() { key.to_owned() } else { key_text(key) }
}

/// A path through something that has no members.
pub fn no_members(key: &Name, owner: &str, what: &str) -> Diagnostic {
    let finding = Diagnostic::error(
        NO_SUCH_FIELD,
        key.span,
        format!("{owner} is {what}, and has no field `{}`", key.text),
    );
    match what {
        "a list" => finding
            .help("write a number for one of its elements, `0` for the first, or end the path before it"),
        _ => finding.help("end the path before it"),
    }
}

/// A path to a position that a tuple does not have.
pub fn no_such_position(key: &Name, owner: &str, tuples: &[&[Position]]) -> Diagnostic {
    let text = &key.text;
    let all = || tuples.iter().copied().flatten();
    let is_rest = |position: &&Position| {
        position.presence.is_rest() && position.label.as_ref().is_some_and(|label| label.text == *text)
    };
    if let Some(rest) = all().find(is_rest) {
        let place = rest.path_key();
        return Diagnostic::error(NO_SUCH_FIELD, key.span, format!("`{text}` is the rest of {owner}"))
            .label("there may be any number of these elements")
            .suggest(
                format!("write `{place}` for the first of them, or the number of another one"),
                [Edit::replace(key.span, place)],
            );
    }
    let mut names: Vec<String> = Vec::new();
    for position in all() {
        let name = position.path_key().to_owned();
        if names.len() < MOST_NAMED && !names.contains(&name) {
            names.push(name);
        }
    }
    let finding = Diagnostic::error(
        NO_SUCH_FIELD,
        key.span,
        format!("{owner} is a tuple, and has no position `{text}`"),
    );
    let near = nearest(text, names.iter().map(String::as_str));
    match (near, names.as_slice()) {
        (Some(near), _) => {
            finding.suggest(format!("did you mean `{near}`?"), [Edit::replace(key.span, path_key(near))])
        }
        (None, []) => {
            let least = position(text).unwrap_or_default().min(MOST_NAMED) + 1;
            let written = match least {
                1 => "any,".to_owned(),
                _ => vec!["any"; least].join(", "),
            };
            finding.label("an empty list has no positions").help(format!(
                "end the path before it, or write `[{written}]` in place of `[]`, with what stands there for `any`"
            ))
        }
        (None, [only]) => finding.suggest(
            format!("did you mean `{only}`, its only position?"),
            [Edit::replace(key.span, path_key(only))],
        ),
        (None, all) => {
            let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
            finding.help(format!("its positions are {}", all.join(", ")))
        }
    }
}

/// A label in a path that leads into several messages, which may have it in different positions.
pub fn label_of_one_message(key: &Name, owner: &str, place: usize) -> Diagnostic {
    let text = format!("`{}` is a label of {owner}, and this path leads into several messages", key.text);
    Diagnostic::error(NO_SUCH_FIELD, key.span, text)
        .label("labels are not in the JSON")
        .suggest(format!("write `{place}`, its number"), [Edit::replace(key.span, place.to_string())])
}

/// A path into the payload of a message that has none.
pub fn carries_nothing(message: &Name, path: &JsonPath) -> Diagnostic {
    let name = &message.text;
    let message = match path.segments.first() {
        Some(key) => format!("`{name}` carries nothing, and has no field `{}`", shorten(&key.text)),
        None => format!("`{name}` carries nothing"),
    };
    Diagnostic::error(NO_SUCH_FIELD, path.span, message).changes(
        format!(
            "declare what it carries: `(_)` for any JSON, or `(Type)`, behind the declaration of `{name}`"
        ),
        [TextChange::Payload(name.clone())],
    )
}

/// A path to something that is neither a text nor a whole number, where such a value belongs. `inside` are the keys by
/// which the path could go on to one.
pub fn not_a_value(message: &Name, path: &JsonPath, what: &str, inside: &[&str]) -> Diagnostic {
    let place = match path.segments.as_slice() {
        [] => message.text.clone(),
        _ => format!("{}.{}", message.text, crate::format::json_path(path)),
    };
    let text = format!("`{}` is never {what}, which is a text or a whole number", shorten(&place));
    let finding = Diagnostic::error(NO_SUCH_FIELD, path.span, text);
    match inside {
        [] => finding.help("name a field that is a `string` or an `int`"),
        [only] => {
            let key = path_key(only);
            finding.suggest(format!("write `{place}.{key}`"), [Edit::after(path.span, format!(".{key}"))])
        }
        several => {
            let several: Vec<String> = several.iter().map(|field| format!("`{field}`")).collect();
            finding.help(format!("name one of its fields: {}", several.join(", ")))
        }
    }
}

/// A value in a condition that the field never has; perhaps it was meant as one of another kind. What the field is fixed to
/// is named if it is of the kind that stands there.
pub fn never_this_value(
    literal: &ConditionValue,
    owner: &str,
    meant: Option<Literal>,
    fixed: &[&Literal],
) -> Diagnostic {
    let shown = crate::format::literal(&literal.value);
    let finding = Diagnostic::error(NO_SUCH_FIELD, literal.span, format!("{owner} is never {shown}"));
    if let Some(meant) = meant {
        let meant = crate::format::literal(&meant);
        let help = match &literal.value {
            Literal::Text(_) => format!("write `{meant}`, without quotes: it is not a text"),
            _ => format!("write `{meant}`: it is a text"),
        };
        return finding.suggest(help, [Edit::replace(literal.span, meant)]);
    }
    if let Literal::Text(text) = &literal.value {
        let texts =
            fixed.iter().filter_map(|one| if let Literal::Text(text) = one { Some(&**text) } else { None });
        if let Some(near) = nearest(text, texts) {
            let help = format!("did you mean \"{near}\"?");
            return finding.suggest(help, [Edit::replace(literal.span, crate::lexer::quote(near))]);
        }
    }
    let kind = std::mem::discriminant(&literal.value);
    let alike = fixed.iter().filter(|one| std::mem::discriminant(**one) == kind);
    let all: Vec<String> = alike.take(MOST_NAMED).map(|one| crate::format::literal(one)).collect();
    let of_kind = match &literal.value {
        Literal::Text(_) => "a text",
        Literal::Int(_) => "this whole number",
        Literal::Bool(_) => "`true` or `false`",
    };
    match all.is_empty() {
        true => finding.help(format!("name a field that may be {of_kind}")),
        false => finding.help(format!("it is one of {}", all.join(", "))),
    }
}
