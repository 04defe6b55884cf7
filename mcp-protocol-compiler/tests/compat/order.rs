//! Random roles and random edits of them: the verdict is that of the relation that compares the roles of one file.

use std::collections::BTreeSet;
use std::path::Path;

use mcp_protocol_compiler::compat::Rule;
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{Settings, compile_with};

use crate::random::{Random, seeds};
use crate::{comparison, verdict};

/// A session type of the client.
#[derive(Clone)]
enum Type {
    End,
    Again,
    /// The branches; in each the message, and what follows.
    Choice(Vec<(Step, Type)>),
    Loop(Box<Type>),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Send(usize),
    Receive(usize),
    /// A request and its reply.
    Ask(usize),
}

fn step(random: &mut Random) -> Step {
    match random.below(5) {
        0 | 1 => Step::Send(random.below(4)),
        2 | 3 => Step::Receive(random.below(4)),
        _ => Step::Ask(random.below(2)),
    }
}

fn session(random: &mut Random, depth: usize, inside: bool) -> Type {
    if depth == 0 {
        return if inside && random.chance(60) { Type::Again } else { Type::End };
    }
    if !inside && random.chance(30) {
        let steps = choice(random, depth, true);
        return Type::Loop(Box::new(steps));
    }
    choice(random, depth, inside)
}

fn choice(random: &mut Random, depth: usize, inside: bool) -> Type {
    let many = 1 + random.below(3);
    let mut steps: BTreeSet<Step> = BTreeSet::new();
    // Choices of one side mostly, so that few texts race.
    let first = step(random);
    steps.insert(first);
    for _ in 1..many {
        let next = step(random);
        if matches!(next, Step::Receive(_)) == matches!(first, Step::Receive(_)) || random.chance(10) {
            steps.insert(next);
        }
    }
    let steps: Vec<Step> = steps.into_iter().collect();
    Type::Choice(steps.into_iter().map(|step| (step, session(random, depth - 1, inside))).collect())
}

fn edit(random: &mut Random, session: &mut Type, inside: bool) {
    match session {
        Type::Loop(of) => edit(random, of, true),
        Type::Choice(branches) => {
            let place = random.below(branches.len());
            match random.below(6) {
                0 if branches.len() > 1 => drop(branches.remove(place)),
                1 => {
                    let next = step(random);
                    if branches.iter().all(|(known, _)| *known != next) {
                        branches.push((next, self::session(random, 1, inside)));
                    }
                }
                _ => edit(random, &mut branches[place].1, inside),
            }
        }
        other => *other = self::session(random, 1, inside),
    }
}

fn text(session: &Type) -> String {
    match session {
        Type::End => "End".to_owned(),
        Type::Again => "again".to_owned(),
        Type::Loop(of) => format!("( rec again . ( {} ) )", text(of)),
        Type::Choice(branches) => {
            let sends = branches.iter().any(|(step, _)| !matches!(step, Step::Receive(_)));
            let branches = branches.iter().map(|(step, then)| {
                let then = match then {
                    Type::Choice(_) => format!("( {} )", text(then)),
                    _ => text(then),
                };
                match step {
                    Step::Send(number) => format!("!S{number} . {then}"),
                    Step::Receive(number) => format!("?R{number} . {then}"),
                    Step::Ask(number) => format!("!Q{number} . ?reply . {then}"),
                }
            });
            branches.collect::<Vec<_>>().join(if sends { " ⊕ " } else { " & " })
        }
    }
}

const MESSAGES: &str = "protocol P \"1\"
notification S0 \"s0\"\nnotification S1 \"s1\"\nnotification S2 \"s2\"\nnotification S3 \"s3\"
notification R0 \"r0\"\nnotification R1 \"r1\"\nnotification R2 \"r2\"\nnotification R3 \"r3\"
request Q0 \"q0\" -> A0\nrequest Q1 \"q1\" -> A1\nnotification P0 \"p0\"\nrequest P1 \"p1\" -> B1\n";

/// What runs side by side.
fn side_by_side(random: &mut Random) -> &'static str {
    ["", "", ", *( !P0 . End )", ", *( !P1 . ?reply . End )", ", *( ?P1 . !reply . End ), *( !P0 . End )"]
        [random.below(5)]
}

fn whole(session: &Type, side_by_side: &str) -> String {
    format!("({}{side_by_side})", text(session))
}

fn file(session: &str) -> String {
    format!("{MESSAGES}client C\nserver S = dual C\nC = {session}\n")
}

/// Whether the relation of one file takes a client of one type and a server that is the dual of another; nothing if the file
/// has errors before that.
fn related(client: &str, server: &str) -> Option<bool> {
    let text = format!("{MESSAGES}client C compatible\nserver S\nC = {client}\nD = {server}\nS = dual D\n");
    let mut read = |_: &Path| Ok(text.as_bytes().to_vec());
    let compilation =
        compile_with(Path::new("both.session"), &mut read, Settings::default().without_tries(true)).unwrap();
    let mut errors = compilation
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| found.code.0);
    match errors.next() {
        None | Some("S0503") => Some(true),
        Some("S0502") => Some(false),
        _ => None,
    }
}

#[test]
fn order_is_judged_as_in_one_file() {
    let (mut related_pairs, mut apart) = (0, 0);
    for seed in seeds(200) {
        let mut random = Random::new(seed);
        let old = session(&mut random, 4, false);
        let mut new = old.clone();
        for _ in 0..1 + random.below(3) {
            edit(&mut random, &mut new, false);
        }
        let (mut first, mut second) = (side_by_side(&mut random), side_by_side(&mut random));
        if random.chance(70) {
            second = first;
        }
        if random.chance(50) {
            (first, second) = (second, first);
        }
        let (old, new) = (whole(&old, first), whole(&new, second));
        let Some(verdict) = comparison(&file(&old), &file(&new)).verdict else { continue };
        for (pair, client, server) in [(&verdict.pairs[0], &old, &new), (&verdict.pairs[1], &new, &old)] {
            let Some(expected) = related(client, server) else { continue };
            assert_eq!(pair.is_compatible(), expected, "seed {seed}:\n{old}\n{new}\n{:#?}", pair.found);
            related_pairs += usize::from(expected);
            apart += usize::from(!expected);
            for found in &pair.found {
                assert!(matches!(found.rule, Rule::Message | Rule::Order), "{found:?}");
            }
        }
    }
    println!("{related_pairs} related, {apart} apart");
    assert!(related_pairs > 20 && apart > 20, "{related_pairs} related, {apart} apart");
}

#[test]
fn a_file_is_compatible_with_itself_by_other_names() {
    let mut compared = 0;
    for seed in seeds(100) {
        let mut random = Random::new(seed);
        let session = session(&mut random, 4, false);
        let old = file(&whole(&session, side_by_side(&mut random)));
        // Names are not on the wire.
        let new = old.replace('S', "Said").replace('R', "Heard").replace("Q0", "Asked").replace("C", "Me");
        let Some(verdict) = comparison(&old, &new).verdict else { continue };
        compared += 1;
        assert!(verdict.is_compatible(), "seed {seed}: {old}\n{new}\n{:#?}", verdict.pairs);
        assert!(crate::verdict(&old, &old).changes.is_empty(), "seed {seed}: {old}");
    }
    assert!(compared > 27, "{compared}");
}

#[test]
fn a_client_that_sends_less_is_compatible() {
    let mut compared = 0;
    for seed in seeds(170) {
        let mut random = Random::new(seed);
        let old = session(&mut random, 4, false);
        let mut new = old.clone();
        if !send_less(&mut random, &mut new) {
            continue;
        }
        let (old, new) = (file(&whole(&old, "")), file(&whole(&new, "")));
        let Some(verdict) = comparison(&old, &new).verdict else { continue };
        compared += 1;
        let new_client = &verdict.pairs[1];
        assert!(new_client.is_compatible(), "seed {seed}: {old}\n{new}\n{:#?}", new_client.found);
    }
    assert!(compared > 10, "{compared}");
    assert!(verdict(&file("(End)"), &file("(End)")).is_compatible());
}

/// Takes away one of several outputs.
fn send_less(random: &mut Random, session: &mut Type) -> bool {
    match session {
        Type::Loop(of) => send_less(random, of),
        Type::Choice(branches) => {
            let outputs = branches.iter().filter(|(step, _)| !matches!(step, Step::Receive(_))).count();
            let place = random.below(branches.len());
            if outputs > 1 && !matches!(branches[place].0, Step::Receive(_)) {
                branches.remove(place);
                return true;
            }
            branches.iter_mut().any(|(_, then)| send_less(random, then))
        }
        Type::End | Type::Again => false,
    }
}
