//! Changes to a text that keep its meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::ast::{
    Action, Choice, File, Item, ItemKind, Name, Operator, Request, Sequence, Tail,
};
use mcp_protocol_compiler::format;
use mcp_protocol_compiler::lexer::{Kind, lex};
use mcp_protocol_compiler::source::{SourceMap, Span};

use crate::groups::grouped;
use crate::payloads::written_otherwise;
use crate::random::Random;
use crate::texts::parsed;
use crate::tree::{Files, Node, free, free_of, group, name, one, only, single, size, substitute};

/// One way to change a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Unfold,
    Branches,
    Channels,
    Definitions,
    Refusal,
    Fold,
    Inline,
    Star,
    /// The client is the server, and the server the client.
    Sides,
    /// Messages and methods have other names, in another order.
    Names,
    /// Some definitions stand in a file that is imported.
    Split,
    /// The messages of branches that go on alike are a group.
    Group,
    /// A payload is written as a shape.
    Payload,
}

/// All of them; those that find most are there more than once.
pub(crate) const CHANGES: &[Change] = &[
    Change::Unfold,
    Change::Unfold,
    Change::Branches,
    Change::Channels,
    Change::Definitions,
    Change::Refusal,
    Change::Refusal,
    Change::Fold,
    Change::Inline,
    Change::Inline,
    Change::Star,
    Change::Sides,
    Change::Names,
    Change::Split,
    Change::Group,
    Change::Payload,
];

/// How large a text may become.
const LARGEST: usize = 600;

impl Change {
    /// Makes the change at a random place; `false` if there is none.
    pub(crate) fn make(self, files: &mut Files, random: &mut Random) -> bool {
        let bodies = files.values().flat_map(|file| &file.items).filter_map(|item| match &item.kind {
            ItemKind::Definition { body, .. } | ItemKind::Role { body: Some(body), .. } => Some(body),
            _ => None,
        });
        let room = LARGEST.saturating_sub(bodies.map(size).sum());
        match self {
            Change::Unfold => unfold(files, random, room),
            Change::Branches => branches(files, random),
            Change::Channels => channels(files, random),
            Change::Definitions => definitions(files, random),
            Change::Refusal => refusal(files, random),
            Change::Fold => fold(files, random),
            Change::Inline => inline(files, random, room),
            Change::Star => star(files, random),
            Change::Sides => sides(files),
            Change::Names => names(files, random),
            Change::Split => split(files, random),
            Change::Group => grouped(files, random),
            Change::Payload => written_otherwise(files, random),
        }
    }
}

fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for place in (1..list.len()).rev() {
        list.swap(place, random.below(place + 1));
    }
}

fn unfold(files: &mut Files, random: &mut Random, room: usize) -> bool {
    one(files, random, &mut |node, scope, now| {
        let Node::Tail(tail) = node else { return false };
        let Tail::Recursion { variable, body, .. } = &*tail else { return false };
        let mut unfolded = Choice::clone(body);
        if scope.only || scope.leveled || size(body) > room || !free(body).contains(&variable.text) {
            return false;
        }
        if !substitute(&mut unfolded, &variable.text, tail) || size(&unfolded) > room {
            return false;
        }
        if now {
            *tail = group(unfolded);
        }
        true
    })
}

fn branches(files: &mut Files, random: &mut Random) -> bool {
    let mut order = random.fork();
    one(files, random, &mut |node, _, now| {
        let Node::Choice(choice) = node else { return false };
        let operators: BTreeSet<bool> =
            choice.operators.iter().map(|(operator, _)| *operator == Operator::Internal).collect();
        if choice.branches.len() < 2 || operators.len() != 1 {
            return false;
        }
        if now {
            shuffle(&mut choice.branches, &mut order);
        }
        true
    })
}

fn channels(files: &mut Files, random: &mut Random) -> bool {
    let mut order = random.fork();
    one(files, random, &mut |node, _, now| {
        let Node::Tail(Tail::Parallel(parts, _)) = node else { return false };
        if now {
            shuffle(parts, &mut order);
        }
        parts.len() > 1
    })
}

/// `*A` is `*( *A )`.
fn star(files: &mut Files, random: &mut Random) -> bool {
    one(files, random, &mut |node, _, now| {
        let Node::Tail(tail) = node else { return false };
        if !matches!(tail, Tail::Replicated(..)) {
            return false;
        }
        if now {
            let inner = group(single(only(tail.clone())));
            *tail = Tail::Replicated(Box::new(inner), Span::default());
        }
        true
    })
}

/// Nothing depends on which of two dual roles is the client, unless it is said which of them announces capabilities.
fn sides(files: &mut Files) -> bool {
    let (mut roles, mut announces) = (Vec::new(), false);
    for item in files.values_mut().flat_map(|file| &mut file.items) {
        match &mut item.kind {
            ItemKind::Role { side, compatible, .. } => roles.push((side, compatible.is_some())),
            ItemKind::Capabilities { .. } => announces = true,
            _ => {}
        }
    }
    let [(one, false), (other, false)] = roles.as_mut_slice() else { return false };
    if !announces {
        std::mem::swap(*one, *other);
    }
    !announces
}

/// Nothing depends on what messages are called, nor on their methods, as long as no pattern stands for some of these.
fn names(files: &mut Files, random: &mut Random) -> bool {
    let (mut messages, mut methods) = (BTreeSet::new(), BTreeSet::new());
    for item in files.values().flat_map(|file| &file.items) {
        match &item.kind {
            ItemKind::Request(request) => {
                messages.insert(request.name.text.clone());
                messages.extend(request.replies.iter().map(|reply| reply.name.text.clone()));
                methods.insert(request.method.text.clone());
            }
            ItemKind::Notification(notification) => {
                messages.insert(notification.name.text.clone());
                methods.insert(notification.method.text.clone());
            }
            _ => {}
        }
    }
    if messages.is_empty() || methods.iter().any(|method| method.ends_with('*')) {
        return false;
    }
    let mut numbers: Vec<usize> = (0..messages.len() + methods.len()).collect();
    shuffle(&mut numbers, random);
    let prefix = fresh(files, "Called");
    let mut others = numbers.into_iter().map(|number| format!("{prefix}x{number}"));
    let messages: BTreeMap<String, String> = messages.into_iter().zip(&mut others).collect();
    let methods: BTreeMap<String, String> = methods.into_iter().zip(&mut others).collect();
    for (path, file) in files {
        *file = parsed(path, renamed(&format::file(file), &messages, &methods).into_bytes());
    }
    true
}

/// A text with other names of messages, also where these are a part of one, and with other methods.
fn renamed(text: &str, messages: &BTreeMap<String, String>, methods: &BTreeMap<String, String>) -> String {
    let mut sources = SourceMap::new();
    let (file, _) = sources.add_bytes(Path::new("renamed.session"), text.as_bytes().to_vec());
    let tokens = lex(&sources, file).tokens;
    let source = |place: usize| &text[tokens[place].start as usize..tokens[place].end as usize];
    let (mut made, mut end) = (String::new(), 0);
    for (place, token) in tokens.iter().enumerate() {
        let (start, written) = (token.start as usize, source(place));
        let other = match token.kind {
            Kind::Word => messages.get(written).cloned().or_else(|| {
                ["Error", "Params", "Result"]
                    .iter()
                    .find_map(|part| Some(format!("{}{part}", messages.get(written.strip_suffix(part)?)?)))
            }),
            Kind::Text if place > 1 && matches!(source(place - 2), "request" | "notification") => {
                methods.get(written.trim_matches('"')).map(|method| format!("\"{method}\""))
            }
            _ => None,
        };
        made += &text[end..start];
        made += other.as_deref().unwrap_or(written);
        end = token.end as usize;
    }
    made + &text[end..]
}

/// Puts some definitions of a file into one of their own, which it imports. What is advised against in `only` is not
/// said of an imported one, which has other importers.
fn split(files: &mut Files, random: &mut Random) -> bool {
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let Some(path) = random.one(&paths) else { return false };
    let name = format!("{}.session", fresh(files, "split"));
    let to = path.with_file_name(&name);
    if files.contains_key(&to) {
        return false;
    }
    let items = std::mem::take(&mut files.get_mut(path).unwrap().items);
    let (moved, mut kept): (Vec<Item>, Vec<Item>) = items.into_iter().partition(|item| {
        let moves = matches!(&item.kind, ItemKind::Definition { role: None, only: None, .. });
        moves && item.overrides.is_none() && random.percent(50)
    });
    let any = !moved.is_empty();
    if any {
        let kind = ItemKind::Import(crate::tree::name(&name));
        kept.push(Item { documentation: Vec::new(), overrides: None, kind, span: Span::default() });
        files.insert(to, File { items: moved, ..File::default() });
    }
    files.get_mut(path).unwrap().items = kept;
    any
}

fn definitions(files: &mut Files, random: &mut Random) -> bool {
    for file in files.values_mut() {
        let places: Vec<usize> = (0..file.items.len())
            .filter(|place| matches!(file.items[*place].kind, ItemKind::Definition { .. }))
            .collect();
        let mut items: Vec<Item> = places.iter().map(|place| file.items[*place].clone()).collect();
        shuffle(&mut items, random);
        places.into_iter().zip(items).for_each(|(place, item)| file.items[place] = item);
    }
    true
}

/// A name that nothing in the files has.
pub(crate) fn fresh(files: &Files, prefix: &str) -> String {
    let text: String = files.values().map(mcp_protocol_compiler::format::file).collect();
    (1..).map(|number| format!("{prefix}{number}")).find(|name| !text.contains(name.as_str())).unwrap()
}

/// Makes what follows an action a definition of its own.
fn fold(files: &mut Files, random: &mut Random) -> bool {
    let definition = fresh(files, "Folded");
    let mut cut = random.fork();
    let mut made = None;
    let done = one(files, random, &mut |node, scope, now| {
        let Node::Sequence(sequence) = node else { return false };
        let closed = !free_of(&sequence.tail).iter().any(|name| scope.bound.contains(name));
        if sequence.actions.is_empty() || !closed || scope.only {
            return false;
        }
        if now {
            let rest = sequence.actions.split_off(1 + cut.below(sequence.actions.len()));
            let tail = std::mem::replace(&mut sequence.tail, Tail::Name(name(&definition)));
            let body = single(Sequence { actions: rest, tail, span: Span::default() });
            made = Some((scope.file.clone(), body));
        }
        true
    });
    if let Some((path, body)) = made {
        let kind = ItemKind::Definition {
            role: None,
            name: name(&definition),
            only: None,
            levels: Vec::new(),
            body,
        };
        let item = Item { documentation: Vec::new(), overrides: None, kind, span: Span::default() };
        files.get_mut(&path).unwrap().items.push(item);
    }
    done
}

/// Writes a definition where its name stands.
fn inline(files: &mut Files, random: &mut Random, room: usize) -> bool {
    let mut known: BTreeMap<String, Vec<Option<Choice>>> = BTreeMap::new();
    for item in files.values().flat_map(|file| &file.items) {
        let (name, body) = match &item.kind {
            ItemKind::Definition { role: None, name, only: None, levels, body } if levels.is_empty() => {
                (name, (item.overrides.is_none() && size(body) <= room).then(|| body.clone()))
            }
            ItemKind::Definition { name, .. } | ItemKind::Role { name, .. } => (name, None),
            _ => continue,
        };
        known.entry(name.text.clone()).or_default().push(body);
    }
    one(files, random, &mut |node, scope, now| {
        let Node::Tail(tail) = node else { return false };
        let Tail::Name(used) = &*tail else { return false };
        if scope.only || scope.leveled || scope.replicated || scope.bound.contains(&used.text) {
            return false;
        }
        let Some([Some(body)]) = known.get(&used.text).map(Vec::as_slice) else { return false };
        if free(body).iter().any(|name| scope.bound.contains(name)) {
            return false;
        }
        if now {
            *tail = group(body.clone());
        }
        true
    })
}

/// Writes out the refusal that a request has by itself: back to where the request is.
fn refusal(files: &mut Files, random: &mut Random) -> bool {
    let declared = files.values().flat_map(|file| &file.items).filter_map(|item| match &item.kind {
        ItemKind::Request(request) => Some((request.name.text.clone(), request.clone())),
        _ => None,
    });
    let requests: BTreeMap<String, Request> = declared.collect();
    let variable = fresh(files, "again");
    let mut which = random.fork();
    one(files, random, &mut |node, scope, now| {
        if scope.only {
            return false;
        }
        match node {
            Node::Choice(choice) if !scope.nested && !scope.replicated => {
                let places: Vec<usize> = (0..choice.branches.len())
                    .filter(|place| refused(&choice.branches[*place], &requests, &variable).is_some())
                    .collect();
                let Some(place) = which.clone().one(&places).copied() else { return false };
                if now {
                    which.below(2);
                    choice.branches[place] = refused(&choice.branches[place], &requests, &variable).unwrap();
                    let body = choice.clone();
                    *choice = single(only(again(&variable, body)));
                }
                true
            }
            Node::Sequence(sequence) => {
                let suffix = |place: usize| Sequence {
                    actions: sequence.actions[place..].to_vec(),
                    tail: sequence.tail.clone(),
                    span: Span::default(),
                };
                let written = |place: usize| refused(&suffix(place), &requests, &variable);
                let places: Vec<usize> =
                    (1..sequence.actions.len()).filter(|place| written(*place).is_some()).collect();
                let Some(place) = which.clone().one(&places).copied() else { return false };
                if now {
                    let branch = written(place).unwrap();
                    sequence.actions.truncate(place);
                    sequence.tail = again(&variable, single(branch));
                }
                true
            }
            _ => false,
        }
    })
}

/// `rec again . ( … )`
fn again(variable: &str, body: Choice) -> Tail {
    let body = single(only(group(body)));
    let (variable, span) = (name(variable), Span::default());
    Tail::Recursion { variable, body: Box::new(body), parenthesised: true, span }
}

/// A branch that starts with a request, with its refusal and its reply as branches; nothing if the reply does not come
/// next, or the refusal is written.
fn refused(branch: &Sequence, requests: &BTreeMap<String, Request>, back: &str) -> Option<Sequence> {
    let (asked, rest) = branch.actions.split_first()?;
    let request = requests.get(&asked.message.text)?;
    let refusal = format!("{}Error", request.name.text);
    let answers = |action: &Action| {
        action.send != asked.send
            && (action.message.text == "reply"
                || request.replies.iter().any(|reply| reply.name.text == action.message.text))
    };
    let error = Sequence {
        actions: vec![Action {
            send: !asked.send,
            message: name(&refusal),
            levels: Vec::new(),
            span: Span::default(),
        }],
        tail: Tail::Name(name(back)),
        span: Span::default(),
    };
    let operator = if asked.send { Operator::External } else { Operator::Internal };
    let tail = match rest.first() {
        Some(first) if answers(first) => {
            let reply = Sequence { actions: rest.to_vec(), tail: branch.tail.clone(), span: Span::default() };
            let branches = vec![reply, error];
            group(Choice { branches, operators: vec![(operator, Span::default())], span: Span::default() })
        }
        Some(_) => return None,
        None => {
            let mut tail = branch.tail.clone();
            let body = waiting(&mut tail)?;
            let first = |branch: &Sequence| branch.actions.first().cloned();
            let is_error = |action: &Action| action.message.text == refusal;
            let direct = body.branches.iter().all(|branch| !branch.actions.is_empty());
            let firsts: Vec<Action> = body.branches.iter().filter_map(first).collect();
            if !direct || !firsts.iter().any(answers) || firsts.iter().any(is_error) {
                return None;
            }
            let operator = match body.operators.first() {
                Some((operator, _)) => *operator,
                None => operator,
            };
            body.branches.push(error);
            body.operators.push((operator, Span::default()));
            tail
        }
    };
    Some(Sequence { actions: vec![asked.clone()], tail, span: Span::default() })
}

/// The choice that a tail writes out.
fn waiting(tail: &mut Tail) -> Option<&mut Choice> {
    let body = match tail {
        Tail::Group(body, _) | Tail::Recursion { body, .. } => body,
        _ => return None,
    };
    let direct = matches!(body.branches.as_slice(), [branch] if branch.actions.is_empty());
    match direct {
        true => waiting(&mut body.branches.first_mut()?.tail),
        false => Some(body),
    }
}

/// Changes the meaning: something is left out, turned round, or leads elsewhere, so that texts are refused, too.
pub(crate) fn spoil(files: &mut Files, random: &mut Random) -> bool {
    let names: Vec<Name> = files
        .values()
        .flat_map(|file| &file.items)
        .filter_map(|item| match &item.kind {
            ItemKind::Definition { name, .. } => Some(name.clone()),
            _ => None,
        })
        .collect();
    let what = random.below(5);
    let mut choice_of = random.fork();
    one(files, random, &mut |node, scope, now| match (what, node) {
        (0, Node::Choice(choice)) if choice.branches.len() > 1 => {
            if now {
                choice.branches.remove(choice_of.below(choice.branches.len()));
                choice.operators.truncate(choice.branches.len() - 1);
            }
            true
        }
        (1, Node::Sequence(sequence)) if !sequence.actions.is_empty() => {
            if now {
                let place = choice_of.below(sequence.actions.len());
                sequence.actions[place].send ^= true;
            }
            true
        }
        (2, Node::Sequence(sequence)) if sequence.actions.len() > 1 => {
            if now {
                sequence.actions.remove(choice_of.below(sequence.actions.len()));
            }
            true
        }
        (3, Node::Sequence(sequence)) if sequence.actions.len() > 1 => {
            if now {
                let place = choice_of.below(sequence.actions.len() - 1);
                sequence.actions.swap(place, place + 1);
            }
            true
        }
        (4, Node::Tail(tail)) if matches!(tail, Tail::Name(_) | Tail::End(_)) && !scope.replicated => {
            if now {
                let bound: Vec<Name> =
                    scope.bound.iter().map(|text| name(text)).chain(names.clone()).collect();
                *tail = match choice_of.one(&bound) {
                    Some(other) if choice_of.clone().percent(70) => Tail::Name(other.clone()),
                    _ => Tail::End(Span::default()),
                };
            }
            true
        }
        _ => false,
    })
}
