//! Names and declarations: undefined, declared twice, misplaced.

use mcp_protocol_machine::protocol::Kind;

use super::phrases::list;
use crate::ast::{GroupMember, Name, RustPath};
use crate::declarations::{Message, Resolution, Role};
use crate::diagnostic::{Code, Diagnostic, Edit, TextChange, shorten};
use crate::source::Span;
use crate::suggest::nearest;

/// A message or group that nothing declares.
pub const UNDEFINED_MESSAGE: Code = Code("S0101");
/// A name that is declared twice.
pub const DECLARED_TWICE: Code = Code("S0102");
/// A definition that does not exist.
pub const UNDEFINED_DEFINITION: Code = Code("S0103");
/// A role that nothing declares, or that has no session type.
pub const UNKNOWN_ROLE: Code = Code("S0104");
/// Two messages that look the same on the wire.
pub const SAME_ON_THE_WIRE: Code = Code("S0105");
/// A group that contains itself, or nothing, or not what it removes.
pub const BAD_GROUP: Code = Code("S0106");
/// A group that mixes replies with what begins something.
pub const REPLY_AMONG_REQUESTS: Code = Code("S0118");
/// `override` where there is nothing to replace.
pub const BAD_OVERRIDE: Code = Code("S0107");
/// A modifier on the wrong kind of declaration.
pub const MISPLACED_MODIFIER: Code = Code("S0108");
/// A payload type without a `types` module.
pub const NO_TYPES: Code = Code("S0109");
/// `pages` where no cursor could be.
pub const NO_CURSOR: Code = Code("S0116");
/// `rounds` where nothing asks for another round, or nothing could carry it.
pub const NO_ROUND: Code = Code("S0126");
/// A definition that no role reaches.
pub const UNUSED_DEFINITION: Code = Code("S0111");

/// `!M` where nothing is called M.
pub fn undefined_action(name: &Name, resolution: &Resolution) -> Diagnostic {
    undefined(name, resolution, Some("reply"))
}

/// `rounds` with the name of something that is not a reply of the request.
pub fn round_without_reply<'r>(
    name: &Name,
    request: &Name,
    replies: impl Iterator<Item = &'r str> + Clone,
) -> Diagnostic {
    let what = format!("`{}` is not a reply of `{}`", name.text, request.text);
    let finding = Diagnostic::error(NO_ROUND, name.span, what)
        .label("would ask for another round")
        .also(request.span, "the request");
    match nearest(&name.text, replies.clone()) {
        Some(meant) => finding.suggest(format!("write `{meant}`"), [Edit::replace(name.span, meant)]),
        None => {
            let replies: Vec<String> = replies.map(|reply| format!("`{reply}`")).collect();
            finding.help(format!("name the reply that asks for another round: {}", replies.join(" or ")))
        }
    }
}

/// `rounds` where the request or the reply carries nothing; `empty` is the one that does not.
pub fn round_without_payload(span: Span, request: &Name, empty: &str) -> Diagnostic {
    let what = format!("`{}` has `rounds`, but `{empty}` carries nothing", request.text);
    Diagnostic::error(NO_ROUND, span, what)
        .label("what leads to the next round would stand nowhere")
        .suggest(format!("give `{empty}` a payload, or remove `rounds`"), [Edit::delete(span)])
}

/// A name where a message is expected.
pub fn undefined_message(name: &Name, resolution: &Resolution) -> Diagnostic {
    undefined(name, resolution, None)
}

/// A name that no message has; a word of the language may stand in its place, too.
fn undefined(name: &Name, resolution: &Resolution, word: Option<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNDEFINED_MESSAGE,
        name.span,
        format!("no message or group is called `{}`", name.text),
    )
    .label("not declared");
    if !resolution.may_guess() {
        return declare_message(diagnostic, &name.text);
    }
    let known = resolution.names.keys().map(String::as_str);
    if resolution.definitions.iter().any(|definition| definition.name.text == name.text) {
        return diagnostic.changes(
            format!("`{0}` is a definition: write `{0}` without `!` or `?`, and nothing behind it, to go on as it", name.text),
            [TextChange::ReplaceRest(name.span, name.text.clone())],
        );
    }
    if let Some(refusal) = refusal_of_reply(name, resolution) {
        return diagnostic.suggest(
            format!("write `{refusal}`: an error reply has its request's name in front, not the reply's"),
            [Edit::replace(name.span, refusal)],
        );
    }
    if matches!(name.text.as_str(), "Error" | "Err" | "Refusal" | "Refused" | "error" | "err") {
        let refusal = |message: &&Message| matches!(message.table.kind, Kind::Refusal { .. });
        if let Some(refusal) = resolution.declarations.messages.iter().find(refusal) {
            let example = &refusal.table.name;
            return diagnostic.suggest(
                format!("an error reply has its request's name in front, for instance `{example}`"),
                [Edit::replace(name.span, example.to_string())],
            );
        }
    }
    let near = nearest(&name.text, sorted(known).into_iter().chain(word));
    let word = word.filter(|_| matches!(name.text.as_str(), "response" | "result" | "answer" | "return"));
    match near.or(word) {
        Some(near) => did_you_mean(diagnostic, name.span, near),
        None => declare_message(diagnostic, &name.text),
    }
}

/// The error of the request whose reply has this name, but for the `Error` at its end.
fn refusal_of_reply(name: &Name, resolution: &Resolution) -> Option<String> {
    let reply = name.text.strip_suffix("Error")?;
    let messages = &resolution.declarations.messages;
    let reply = messages.iter().find(|message| message.table.name == reply)?;
    let Kind::Reply { request } = reply.table.kind else { return None };
    let refuses = |message: &&Message| message.table.kind == Kind::Refusal { request };
    messages.iter().find(refuses).map(|refusal| refusal.table.name.to_string())
}

/// The declaration that a message may get.
fn declare_message(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.changes(
        format!("declare it: `notification {name} \"its/method\"`, or `request {name} \"its/method\" -> {name}Result`"),
        [TextChange::Item(format!("notification {name} \"its/method\""))],
    )
}

/// What other notations write where a session type is over.
const OVER: [&str; 9] = ["null", "nil", "stop", "skip", "done", "exit", "return", "finish", "close"];

/// A name where a definition is expected.
///
/// `variables` are the loops around it; `None` behind `dual`, where no loop can stand. `replicated` says that it stands
/// behind a `*`, which takes a sequence in parentheses.
pub fn undefined_definition(
    name: &Name,
    resolution: &Resolution,
    variables: Option<&[&str]>,
    replicated: bool,
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNDEFINED_DEFINITION,
        name.span,
        match variables {
            Some(_) => format!("no definition or recursion variable is called `{}`", name.text),
            None => format!("no definition is called `{}`", name.text),
        },
    )
    .label("not defined");
    if !resolution.may_guess() {
        return define(diagnostic, &name.text);
    }
    if resolution.names.contains_key(&name.text) {
        let (open, close) = if replicated { ("( ", " )") } else { ("", "") };
        let [sent, received] = ['!', '?'].map(|sign| format!("{open}{sign}{}", name.text) + " . End" + close);
        return diagnostic.suggest(
            format!(
                "`{}` is a message: write `{sent}` to send it and end, `{received}` to receive it",
                name.text
            ),
            [Edit::replace(name.span, sent)],
        );
    }
    let roles = resolution.roles.iter().map(|role| role.name.text.as_str());
    let definitions =
        resolution.definitions.iter().map(|definition| definition.name.text.as_str()).chain(roles);
    if matches!(name.text.as_str(), "loop" | "repeat" | "while") {
        return diagnostic.help("a loop is written `rec again . ( … )`, with `again` where it starts again");
    }
    if name.text.eq_ignore_ascii_case("end") {
        return diagnostic.suggest(
            "did you mean `End`? its first letter alone is a capital",
            [Edit::replace(name.span, "End")],
        );
    }
    if OVER.contains(&name.text.as_str()) {
        let edit = Edit::replace(name.span, "End");
        return diagnostic.suggest("write `End`: a session type that is over ends in it", [edit]);
    }
    match nearest(&name.text, sorted(definitions.chain(variables.into_iter().flatten().copied()))) {
        Some(near) => did_you_mean(diagnostic, name.span, near),
        None => define(diagnostic, &name.text),
    }
}

/// The definition that a name may get.
fn define(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.changes(
        format!(
            "define it, `{name} = End` with what is done there before `End`, or bind it, `rec {name} . ( … )`; a session \
             type that is over ends in `End`"
        ),
        [TextChange::Item(format!("{name} = End"))],
    )
}

/// The name that was probably meant.
fn did_you_mean(diagnostic: Diagnostic, written: Span, near: &str) -> Diagnostic {
    diagnostic.suggest(format!("did you mean `{near}`?"), [Edit::replace(written, near)])
}

/// In one order, so that equal input gives equal output.
fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

/// Two items of one name.
pub fn declared_twice(name: &Name, first: Span, imported: bool) -> Diagnostic {
    let diagnostic =
        Diagnostic::error(DECLARED_TWICE, name.span, format!("`{}` is declared twice", name.text))
            .label("declared again here")
            .also(first, "first declared here");
    match imported {
        true => diagnostic.changes(
            "write `override` before this one if it is to replace the imported one",
            [TextChange::BeforeItem(name.span, "override ".to_owned())],
        ),
        false => diagnostic
            .changes("remove one of them, or give it another name", [TextChange::DeleteItem(name.span)]),
    }
}

/// A reply that is named like a message which is not a reply.
pub fn reply_named_as_message(name: &Name, first: Span) -> Diagnostic {
    Diagnostic::error(DECLARED_TWICE, name.span, format!("`{}` is declared twice", name.text))
        .label("declared again here")
        .also(first, "first declared here")
        .changes(
            format!("give the reply a name of its own, for instance `{}Result`", name.text),
            [TextChange::Rename(name.span, format!("{}Result", name.text))],
        )
}

/// Two items say where the version is announced.
pub fn version_twice(item: Span, first: Span) -> Diagnostic {
    Diagnostic::error(DECLARED_TWICE, item, "where the version is announced is declared twice")
        .label("declared again here")
        .also(first, "first declared here")
        .changes("remove one of them", [TextChange::DeleteItemAt(item)])
}

/// Two requests whose replies have one name.
pub fn reply_of_two_requests(name: &Name, first: Span) -> Diagnostic {
    Diagnostic::error(
        DECLARED_TWICE,
        name.span,
        format!("the reply name `{}` is used by two requests", name.text),
    )
    .label("used again here")
    .also(first, "first used here")
    .with_note("a reply is identified by its request, so its name must tell which request that is")
    .changes(
        format!(
            "give this one a name of its own, for instance `Other{}`; the payload may be the same",
            name.text
        ),
        [TextChange::Rename(name.span, format!("Other{}", name.text))],
    )
}

/// A message named like the refusal that a request has by itself.
pub fn name_of_refusal(name: &Name, request: Span) -> Diagnostic {
    Diagnostic::error(
        DECLARED_TWICE,
        name.span,
        format!("`{}` is the name of a request's error reply", name.text),
    )
    .label("this name is taken")
    .also(request, "this request has that error reply by itself")
    .changes(
        format!("give the message another name, for instance `Other{}`", name.text),
        [TextChange::Rename(name.span, format!("Other{}", name.text))],
    )
}

/// A name before `::` or in a gate that is not a role.
pub fn unknown_role(name: &Name, known: &[String]) -> Diagnostic {
    let diagnostic = Diagnostic::error(UNKNOWN_ROLE, name.span, format!("no role is called `{}`", name.text))
        .label("not a role");
    match nearest(&name.text, known.iter().map(String::as_str)) {
        Some(near) => did_you_mean(diagnostic, name.span, near),
        None => diagnostic.suggest(
            format!("write one of {}", list(known)),
            known.first().map(|known| Edit::replace(name.span, known.as_str())),
        ),
    }
}

/// A second `client` or `server`.
pub fn second_role(name: &Name, first: &Role) -> Diagnostic {
    let word = first.side.word();
    Diagnostic::error(DECLARED_TWICE, name.span, format!("the {word} is declared twice"))
        .label("declared again here")
        .also(first.name.span, "first declared here")
        .changes(
            format!("keep one `{word}` item; a protocol has one client and one server"),
            [TextChange::DeleteItem(name.span)],
        )
}

/// `client Guest` and `server Guest`. `free` is a name for the second; `defined` says that a session type stands behind it.
pub fn one_name_for_both_roles(name: &Name, first: &Role, free: Option<&str>, defined: bool) -> Diagnostic {
    let (word, text) = (first.side.other().word(), &name.text);
    let found = Diagnostic::error(DECLARED_TWICE, name.span, format!("both roles are called `{text}`"))
        .label(format!("the {word} would have the session type of the {}", first.side.word()))
        .also(first.name.span, "first declared here");
    let written = match (free, defined) {
        (None, _) => return found.help(format!("give the {word} a name of its own")),
        (Some(free), true) => free.to_owned(),
        (Some(free), false) => format!("{free} = dual {text}"),
    };
    let help = format!("give the {word} a name of its own, for instance `{word} {written}`");
    found.suggest(help, [Edit::replace(name.span, written)])
}

/// A role whose session type is nowhere. `rename` gives the edits that give one name's owner another name.
pub fn role_without_type(
    role: &Role,
    other: Option<&Role>,
    unused: &[&Name],
    rename: impl Fn(&str, &str) -> Vec<Edit>,
) -> Diagnostic {
    let name = &role.name.text;
    let diagnostic =
        Diagnostic::error(UNKNOWN_ROLE, role.name.span, format!("the role `{name}` has no session type"))
            .label("nothing defines it");
    let near = nearest(name, unused.iter().map(|other| other.text.as_str()));
    if let Some(near) = near.and_then(|near| unused.iter().find(|other| other.text == near)) {
        let (word, near_name) = (role.side.word(), &near.text);
        let diagnostic = diagnostic.also(near.span, "this belongs to no role");
        let (of_role, of_definition) = (rename(name, near_name), rename(near_name, name));
        let places = |edits: &[Edit], text: String| match edits.len() {
            0 | 1 => text,
            _ => format!("{text}, also where it is used"),
        };
        // The side with fewer places is the one that is misspelt.
        return if of_role.len() <= of_definition.len() {
            diagnostic.suggest(places(&of_role, format!("write `{word} {near_name}`")), of_role)
        } else {
            diagnostic.suggest(
                places(&of_definition, format!("write `{name}` in place of `{near_name}`")),
                of_definition,
            )
        };
    }
    match other {
        Some(other) => diagnostic.suggest(
            format!(
                "derive it, `{} {name} = dual {}`, or define it, `{name} = …`",
                role.side.word(),
                other.name.text
            ),
            [Edit::after(role.name.span, format!(" = dual {}", other.name.text))],
        ),
        None => diagnostic.changes(
            format!("define it: `{name} = End`, with what the role does before `End`"),
            [TextChange::Item(format!("{name} = End"))],
        ),
    }
}

/// Two messages of one kind and method.
pub fn same_on_the_wire(message: &Message, first: &Message) -> Diagnostic {
    Diagnostic::error(
        SAME_ON_THE_WIRE,
        message.span,
        format!("`{}` and `{}` cannot be told apart on the wire", first.table.name, message.table.name),
    )
    .label(format!("`{}` again", message.table.method))
    .also(first.span, format!("`{}` first", first.table.method))
    .changes(match &message.table.condition {
        None => "use one name for both, give one of them another method, or say which field of the payload tells one \
                 of them: `\"its/method\" if field`",
        Some(_) => "use one name for both, or give one of them another method or condition",
    }, [TextChange::OtherMethod(message.span)])
}

/// `group G += …` where there is no G.
pub fn undefined_group<'a>(name: &Name, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let diagnostic = Diagnostic::error(BAD_GROUP, name.span, format!("no group is called `{}`", name.text))
        .label("not a group");
    match nearest(&name.text, known) {
        Some(near) => did_you_mean(diagnostic, name.span, near),
        None => diagnostic.changes(
            format!(
                "define it: write `=` in place of `+=` or `-=`, or `group {} = …` before this line",
                name.text
            ),
            [TextChange::DefineGroup(name.span)],
        ),
    }
}

/// `group G -= M` where M is not in G.
pub fn not_in_group(member: &GroupMember, group: &Name, delete: Option<Edit>) -> Diagnostic {
    let name = member_name(member);
    Diagnostic::error(BAD_GROUP, name.span, format!("`{}` is not in the group `{}`", name.text, group.text))
        .label("nothing to remove")
        .changes(
            "remove it from this line, or name a member as the group's definition does",
            [delete.map_or(TextChange::DeleteItem(group.span), TextChange::Edit)],
        )
}

/// `group G += M` where M is in G.
pub fn in_group_already(member: &GroupMember, group: &Name, delete: Option<Edit>) -> Diagnostic {
    let name = member_name(member);
    Diagnostic::error(
        BAD_GROUP,
        name.span,
        format!("`{}` is in the group `{}` already", name.text, group.text),
    )
    .label("nothing to add")
    .changes(
        "remove it from this line",
        [delete.map_or(TextChange::DeleteItem(group.span), TextChange::Edit)],
    )
}

/// A reply in a group of requests or notifications.
pub fn reply_in_group(group: &Name, member: &GroupMember, delete: Option<Edit>) -> Diagnostic {
    let (place, written, brings) = match member {
        GroupMember::Name(name) => (name.span, name.text.clone(), "a reply"),
        GroupMember::Replies(name, span) => (*span, format!("replies {}", name.text), "replies"),
    };
    Diagnostic::error(
        REPLY_AMONG_REQUESTS,
        place,
        format!("the group `{}` mixes replies with requests or notifications", group.text),
    )
    .label(format!("this is {brings}"))
    .also(group.span, "the other members begin something")
    .with_note("an action of the group would be a reply where a request is open, and begin something everywhere else")
    .suggest(
        format!(
            "remove `{written}` from the group: behind `!{0}`, `?reply` is the reply, and `group Answers = replies {0}` \
             names them all",
            group.text
        ),
        delete,
    )
}

fn member_name(member: &GroupMember) -> &Name {
    match member {
        GroupMember::Name(name) | GroupMember::Replies(name, _) => name,
    }
}

/// A group that contains itself.
pub fn cyclic_group(name: &Name, open: &[&str]) -> Diagnostic {
    let circle = open.iter().skip_while(|other| **other != name.text);
    let circle: Vec<String> = circle.map(|name| (*name).to_owned()).collect();
    Diagnostic::error(BAD_GROUP, name.span, format!("the group `{}` contains itself", name.text))
        .label("leads back to itself")
        .with_note(format!("the circle is {}", list(&circle)))
        .changes("remove this member", [TextChange::DeleteMemberAt(name.span)])
}

/// A group in which nothing is left.
pub fn empty_group(name: &Name) -> Diagnostic {
    Diagnostic::error(BAD_GROUP, name.span, format!("the group `{}` is empty", name.text))
        .label("no message in it")
        .help("add a member, or remove the group and what uses it")
}

/// `replies G` where G has no request.
pub fn no_requests_in(name: &Name) -> Diagnostic {
    Diagnostic::error(BAD_GROUP, name.span, format!("`{}` has no request", name.text))
        .label("nothing here is replied to")
        .help("name a request, or a group of requests")
}

/// `override` with nothing to replace.
pub fn nothing_to_override(span: Span, name: Option<&Name>) -> Diagnostic {
    let message = match name {
        Some(name) => format!("no imported file declares `{}`", name.text),
        None => "this item has no name that an import could have".to_owned(),
    };
    Diagnostic::error(BAD_OVERRIDE, span, message)
        .label("nothing to override")
        .suggest("remove `override`, or import the file whose item is to be replaced", [Edit::delete(span)])
}

/// `override` of an item that is imported by another name.
pub fn misspelt_override(span: Span, name: &Name, near: &str) -> Diagnostic {
    Diagnostic::error(BAD_OVERRIDE, name.span, format!("no imported file declares `{}`", name.text))
        .label("nothing has this name")
        .also(span, "nothing to override")
        .suggest(format!("did you mean `{near}`?"), [Edit::replace(name.span, near)])
}

/// `override type` of what an imported message carries.
pub fn override_of_a_payload(span: Span, name: &Name, carrier: &Name) -> Diagnostic {
    let (shown, message) = (shorten(&name.text), shorten(&carrier.text));
    Diagnostic::error(BAD_OVERRIDE, name.span, format!("`{shown}` is not declared by `type`"))
        .label("a shape in a payload goes with its message")
        .also(span, "nothing to override")
        .also(carrier.span, "the message that carries it")
        .help(format!("override the message: `({{ ...{shown}, … }})` behind `{message}` has the fields of the imported one"))
}

/// `override` of an item of the same file.
pub fn override_of_own_item(span: Span, name: &Name, first: Span) -> Diagnostic {
    Diagnostic::error(BAD_OVERRIDE, span, format!("`{}` is not imported", name.text))
        .label("only an imported item can be replaced")
        .also(first, "declared here, in a file that is not imported")
        .changes(
            "remove the first declaration, and `override` here",
            [TextChange::DeleteItemAt(first), Edit::delete(span).into()],
        )
}

/// A modifier that belongs to another kind of declaration.
pub fn misplaced_modifier(span: Span, word: &str, what: &str) -> Diagnostic {
    Diagnostic::error(MISPLACED_MODIFIER, span, format!("`{word}` belongs to a {what}"))
        .label(format!("this is not a {what}"))
        .suggest(format!("remove `{word}`, or declare the message as a {what}"), [Edit::delete(span)])
}

/// A modifier of a message with one method, where the method is a pattern.
pub fn modifier_of_one_method(span: Span, word: &str, pattern: &str) -> Diagnostic {
    let message = format!("`{word}` belongs to a message with one method");
    Diagnostic::error(MISPLACED_MODIFIER, span, message)
        .label(format!("`{pattern}` stands for many"))
        .suggest(format!("remove `{word}`, or write the whole method"), [Edit::delete(span)])
}

/// `(T)` in a file without `types`.
pub fn no_types_module(path: &RustPath) -> Diagnostic {
    type_without_module(path).changes(
        "add `types crate::types` to this file, with the path of the module, or write the type's whole path",
        [TextChange::Types(path.span.file)],
    )
}

/// The same, where a shape has a name like it.
pub fn misspelt_shape(path: &RustPath, near: &str) -> Diagnostic {
    let diagnostic = type_without_module(path);
    let meant = format!("did you mean the shape `{near}`?");
    diagnostic.suggest(meant, [Edit::replace(path.span, near)]).changes(
        "or add `types crate::types` to this file, with the path of the module, if it is a type of Rust",
        [TextChange::Types(path.span.file)],
    )
}

/// `Vec<D>`, where `D` is a shape. `written` is the name and the text of a shape that says the same, if one does.
pub fn shape_in_a_type(path: &RustPath, shape: &str, written: Option<(&str, String)>) -> Diagnostic {
    let message = format!("`{shape}` is a shape, and `{}` is a type of Rust", path.text);
    let diagnostic = Diagnostic::error(NO_TYPES, path.span, message).label("what is in it is not judged");
    match written {
        Some((name, written)) => diagnostic.changes(
            format!("declare `type {name} = {written}` and write `({name})`, or write the whole path of `{shape}` in Rust"),
            [
                TextChange::Declare { name: name.to_owned(), item: format!("type {name} = {written}") },
                Edit::replace(path.span, name).into(),
            ],
        ),
        None => diagnostic.help(format!(
            "declare a shape with `{shape}` in it, and write its name, or write the whole path of `{shape}` in Rust"
        )),
    }
}

fn type_without_module(path: &RustPath) -> Diagnostic {
    let message = format!("where the payload type `{}` lives is not said", path.text);
    Diagnostic::error(NO_TYPES, path.span, message).label("a name alone is looked for in the `types` module")
}

/// A definition that nothing reaches.
pub fn unused_definition(name: &Name) -> Diagnostic {
    Diagnostic::warning(UNUSED_DEFINITION, name.span, format!("the definition `{}` is never used", name.text))
        .label("no role reaches it")
        .changes(
            "remove it, or use its name in a session type that a role reaches",
            [TextChange::DeleteItem(name.span)],
        )
}
