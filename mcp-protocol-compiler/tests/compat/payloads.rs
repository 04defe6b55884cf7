//! Random shapes and random edits of them: what is said to fit is accepted, and what is said to break is shown by a value.

use mcp_protocol_machine::shape::Samples;
use serde_json::Value;

use crate::comparison;
use crate::random::{Random, seeds};
use crate::values::{accepts, tables, value};
use mcp_protocol_compiler::compat::Rule;

pub(crate) const NAMES: [&str; 4] = ["a", "b", "c", "type"];
pub(crate) const LITERALS: [&str; 9] = ["\"x\"", "\"y\"", "\"z\"", "\"x\"", "0", "1", "-1", "true", "false"];

/// A shape as its author writes it.
#[derive(Clone)]
pub(crate) enum Shape {
    Word(&'static str),
    Literal(&'static str),
    Name(usize),
    List(Box<Shape>),
    /// With how many positions must be there, and what stands behind them.
    Tuple(Vec<Shape>, usize, Option<Box<Shape>>),
    Map(Box<Shape>),
    Record(Vec<(&'static str, bool, Shape)>, bool),
    Union(Vec<Shape>),
}

const WORDS: [&str; 8] = ["string", "bool", "null", "int", "uint", "number", "object", "any"];

fn shape(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    match random.below(if depth == 0 { 10 } else { 20 }) {
        0..=5 => Shape::Word(WORDS[random.below(WORDS.len())]),
        6 | 7 => Shape::Literal(LITERALS[random.below(LITERALS.len())]),
        8 | 9 => Shape::Name(random.below(shapes)),
        10 => Shape::List(Box::new(shape(random, depth - 1, shapes))),
        11 => Shape::Map(Box::new(shape(random, depth - 1, shapes))),
        12..=14 => record(random, depth, shapes),
        15..=17 => tuple(random, depth, shapes),
        _ => union(random, depth, shapes),
    }
}

/// Alternatives that often are much alike, so that a value may be read as each of them.
fn union(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    let mut parts = vec![shape(random, depth - 1, shapes)];
    for _ in 0..1 + random.below(2) {
        let alike = random.chance(50).then(|| parts[random.below(parts.len())].clone());
        let part = match alike {
            Some(mut part) => {
                edit(random, &mut part, shapes);
                part
            }
            None => shape(random, depth - 1, shapes),
        };
        parts.push(part);
    }
    Shape::Union(parts)
}

pub(crate) fn record(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    let names: Vec<&str> = NAMES.into_iter().filter(|_| random.chance(60)).collect();
    let fields = names
        .into_iter()
        .map(|name| (name, random.chance(40), shape(random, depth.saturating_sub(1), shapes)));
    Shape::Record(fields.collect(), random.chance(15))
}

fn tuple(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    let many = random.below(4);
    let positions = (0..many).map(|_| position(random, depth, shapes)).collect();
    let least = random.below(many + 1);
    let rest = random.chance(30).then(|| Box::new(position(random, depth, shapes)));
    Shape::Tuple(positions, least, rest)
}

/// A literal often, which tells tuples apart.
fn position(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    match random.chance(30) {
        true => Shape::Literal(LITERALS[random.below(LITERALS.len())]),
        false => shape(random, depth.saturating_sub(1), shapes),
    }
}

/// One random change somewhere.
pub(crate) fn edit(random: &mut Random, shape: &mut Shape, shapes: usize) {
    let deeper = random.chance(70);
    match shape {
        Shape::List(of) | Shape::Map(of) if deeper => edit(random, of, shapes),
        Shape::Union(parts) if deeper => {
            let place = random.below(parts.len());
            match random.below(3) {
                0 if parts.len() > 2 => drop(parts.remove(place)),
                1 => parts.insert(place, self::shape(random, 1, shapes)),
                _ => edit(random, &mut parts[place], shapes),
            }
        }
        Shape::Tuple(positions, least, rest) if deeper => match random.below(6) {
            0 if !positions.is_empty() => {
                positions.remove(random.below(positions.len()));
                *least = positions.len().min(*least);
            }
            1 => {
                let place = random.below(positions.len() + 1);
                positions.insert(place, position(random, 2, shapes));
            }
            2 => *least = random.below(positions.len() + 1),
            3 => match rest {
                Some(_) => *rest = None,
                None => *rest = Some(Box::new(position(random, 2, shapes))),
            },
            4 if rest.is_some() => rest.iter_mut().for_each(|rest| edit(random, rest, shapes)),
            _ if positions.is_empty() => *least = 0,
            _ => {
                let place = random.below(positions.len());
                edit(random, &mut positions[place], shapes);
            }
        },
        Shape::Record(fields, rest) if deeper && !fields.is_empty() => {
            let place = random.below(fields.len());
            match random.below(5) {
                0 => drop(fields.remove(place)),
                1 => fields[place].1 = !fields[place].1,
                2 => *rest = !*rest,
                3 => {
                    let known: Vec<&str> = fields.iter().map(|(name, ..)| *name).collect();
                    if let Some(name) = NAMES.into_iter().find(|name| !known.contains(name)) {
                        fields.push((name, random.chance(50), self::shape(random, 1, shapes)));
                    }
                }
                _ => edit(random, &mut fields[place].2, shapes),
            }
        }
        _ => *shape = self::shape(random, 2, shapes),
    }
}

pub(crate) fn text(shape: &Shape) -> String {
    match shape {
        Shape::Word(word) | Shape::Literal(word) => (*word).to_owned(),
        Shape::Name(0) => "Root".to_owned(),
        Shape::Name(number) => format!("T{number}"),
        Shape::List(of) => format!("[{}]", text(of)),
        // What is nothing but a rest is a list.
        Shape::Tuple(positions, _, Some(rest)) if positions.is_empty() => format!("[{}]", text(rest)),
        Shape::Tuple(positions, least, rest) => {
            let positions = positions.iter().enumerate().map(|(place, shape)| match place < *least {
                true => format!("{},", text(shape)),
                false => format!("({})?,", text(shape)),
            });
            let rest = rest.iter().map(|rest| format!("...({})", text(rest)));
            format!("[{}]", positions.chain(rest).collect::<String>())
        }
        Shape::Map(of) => format!("map ({})", text(of)),
        Shape::Record(fields, rest) => {
            let fields = fields.iter().map(|(name, optional, shape)| {
                format!("{name}{}: {}", if *optional { "?" } else { "" }, text(shape))
            });
            let fields = fields.chain(rest.then(|| "..rest".to_owned()));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Shape::Union(parts) => {
            format!("({})", parts.iter().map(text).collect::<Vec<_>>().join(" | "))
        }
    }
}

fn file(shapes: &[Shape]) -> String {
    let mut out = "protocol P \"1\"\n".to_owned();
    for (number, shape) in shapes.iter().enumerate() {
        out += &format!("type {} = {}\n", text(&Shape::Name(number)), text(shape));
    }
    out + "notification Tell \"tell\" (Root)\nclient C\nserver S = dual C\nC = *( !Tell . End )\n"
}

/// Alternatives that have named shapes in the same field, so that only the rest of a value tells which it is.
fn alternatives(random: &mut Random, shapes: usize) -> Shape {
    let parts = (0..2 + random.below(2)).map(|_| {
        let fields = NAMES.into_iter().filter_map(|name| match name {
            "a" => Some((name, false, Shape::Name(1 + random.below(shapes - 1)))),
            _ if random.chance(60) => Some((name, random.chance(50), position(random, 0, shapes))),
            _ => None,
        });
        Shape::Record(fields.collect(), random.chance(15))
    });
    let parts: Vec<Shape> = parts.collect();
    Shape::Record(vec![("a", false, Shape::Union(parts))], false)
}

/// What was compared.
#[derive(Debug, Default)]
struct Counted {
    fitting: usize,
    broken: usize,
    samples: usize,
    /// Breaks that no sample shows.
    silent: usize,
}

/// Compares two versions of a file, and asks the judges of both what they say of random values.
fn compare(seed: u64, random: &mut Random, (old, new): (&str, &str), counted: &mut Counted) {
    let comparison = comparison(old, new);
    let Some(verdict) = comparison.verdict else { return };
    let (of_old, of_new) = (tables(old), tables(new));
    for (pair, sender, receiver) in
        [(&verdict.pairs[0], &of_old, &of_new), (&verdict.pairs[1], &of_new, &of_old)]
    {
        assert!(pair.found.iter().all(|found| found.rule == Rule::Payload), "{pair:?}");
        for found in &pair.found {
            counted.broken += 1;
            let witness: Value = serde_json::from_str(found.witness.as_ref().unwrap()).unwrap();
            assert!(accepts(sender, &witness), "seed {seed}: {witness}\n{old}\n{new}");
            assert!(!accepts(receiver, &witness), "seed {seed}: {witness}\n{old}\n{new}");
        }
        let (_, root) = sender.shape_by_name("Root").unwrap();
        let has_sample = Samples::new(sender).of(&root.shape).is_some();
        let mut was_refused = false;
        for _ in 0..40 {
            let Some(value) = value(random, sender, &root.shape, 0) else { continue };
            // An alternative that is read as an earlier one is not written by a sender that looks at its own shape.
            if !accepts(sender, &value) {
                continue;
            }
            counted.samples += 1;
            // The comparison shows breaks by samples: what has none, it does not see.
            assert!(has_sample, "seed {seed}: no sample, but {value}\n{old}\n{new}");
            let is_accepted = accepts(receiver, &value);
            was_refused |= !is_accepted;
            assert!(
                is_accepted || !pair.is_compatible(),
                "seed {seed}, {} client: {value}\n{old}\n{new}",
                pair.client.word()
            );
        }
        counted.fitting += usize::from(pair.is_compatible());
        counted.silent += usize::from(!pair.is_compatible() && !was_refused);
    }
}

#[test]
fn what_fits_is_accepted_and_what_breaks_is_shown() {
    let mut counted = Counted::default();
    for seed in seeds(400) {
        let mut random = Random::new(seed);
        let many = 1 + random.below(3);
        let mut old: Vec<Shape> = (0..many).map(|_| shape(&mut random, 3, many)).collect();
        old[0] = if random.chance(70) { record(&mut random, 3, many) } else { old[0].clone() };
        let mut new = old.clone();
        for _ in 0..1 + random.below(3) {
            let place = random.below(many);
            edit(&mut random, &mut new[place], many);
        }
        compare(seed, &mut random, (&file(&old), &file(&new)), &mut counted);
    }
    println!("{counted:?}");
    assert!(counted.fitting > 40 && counted.broken > 40 && counted.samples > 2_000, "{counted:?}");
}

/// A sender may write a shape in several alternatives, and its own judge reads some of those as an earlier one.
#[test]
fn a_shape_in_several_alternatives_is_compared_where_it_is_written() {
    let mut counted = Counted::default();
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let many = 3;
        let mut old: Vec<Shape> = (0..many).map(|_| shape(&mut random, 1, many)).collect();
        old[0] = alternatives(&mut random, many);
        // Two names of one shape often, of which one becomes another shape.
        old[2] = if random.chance(50) { Shape::Name(1) } else { old[2].clone() };
        let mut new = old.clone();
        let place = random.below(many);
        edit(&mut random, &mut new[place], many);
        compare(seed, &mut random, (&file(&old), &file(&new)), &mut counted);
    }
    println!("{counted:?}");
    assert!(counted.fitting > 40 && counted.broken > 40 && counted.samples > 1_000, "{counted:?}");
}
