//! Random shapes and random edits of them: what is said to fit is accepted, and what is said to break is shown by a value.

use serde_json::Value;

use crate::comparison;
use crate::random::{Random, seeds};
use crate::values::{accepts, tables, value};
use mcp_protocol_compiler::compat::Rule;

const NAMES: [&str; 4] = ["a", "b", "c", "type"];
const LITERALS: [&str; 9] = ["\"x\"", "\"y\"", "\"z\"", "\"x\"", "0", "1", "-1", "true", "false"];

/// A shape as its author writes it.
#[derive(Clone)]
enum Shape {
    Word(&'static str),
    Literal(&'static str),
    Name(usize),
    List(Box<Shape>),
    /// With how many positions must be there.
    Tuple(Vec<Shape>, usize),
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
        _ => {
            let many = 2 + random.below(2);
            Shape::Union((0..many).map(|_| shape(random, depth - 1, shapes)).collect())
        }
    }
}

fn record(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    let names: Vec<&str> = NAMES.into_iter().filter(|_| random.chance(60)).collect();
    let fields = names
        .into_iter()
        .map(|name| (name, random.chance(40), shape(random, depth.saturating_sub(1), shapes)));
    Shape::Record(fields.collect(), random.chance(15))
}

fn tuple(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    let many = random.below(4);
    let positions = (0..many).map(|_| position(random, depth, shapes)).collect();
    Shape::Tuple(positions, random.below(many + 1))
}

/// A literal often, which tells tuples apart.
fn position(random: &mut Random, depth: usize, shapes: usize) -> Shape {
    match random.chance(30) {
        true => Shape::Literal(LITERALS[random.below(LITERALS.len())]),
        false => shape(random, depth.saturating_sub(1), shapes),
    }
}

/// One random change somewhere.
fn edit(random: &mut Random, shape: &mut Shape, shapes: usize) {
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
        Shape::Tuple(positions, least) if deeper => match random.below(4) {
            0 if !positions.is_empty() => {
                positions.remove(random.below(positions.len()));
                *least = positions.len().min(*least);
            }
            1 => {
                let place = random.below(positions.len() + 1);
                positions.insert(place, position(random, 2, shapes));
            }
            2 => *least = random.below(positions.len() + 1),
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

fn text(shape: &Shape) -> String {
    match shape {
        Shape::Word(word) | Shape::Literal(word) => (*word).to_owned(),
        Shape::Name(0) => "Root".to_owned(),
        Shape::Name(number) => format!("T{number}"),
        Shape::List(of) => format!("[{}]", text(of)),
        Shape::Tuple(positions, least) => {
            let positions = positions.iter().enumerate().map(|(place, shape)| match place < *least {
                true => format!("{},", text(shape)),
                false => format!("({})?,", text(shape)),
            });
            format!("[{}]", positions.collect::<String>())
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

#[test]
fn what_fits_is_accepted_and_what_breaks_is_shown() {
    let (mut fitting, mut broken, mut samples, mut silent) = (0, 0, 0, 0);
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
        let (old, new) = (file(&old), file(&new));
        let comparison = comparison(&old, &new);
        let Some(verdict) = comparison.verdict else { continue };
        let (of_old, of_new) = (tables(&old), tables(&new));
        for (pair, sender, receiver) in
            [(&verdict.pairs[0], &of_old, &of_new), (&verdict.pairs[1], &of_new, &of_old)]
        {
            assert!(pair.found.iter().all(|found| found.rule == Rule::Payload), "{pair:?}");
            for found in &pair.found {
                broken += 1;
                let witness: Value = serde_json::from_str(found.witness.as_ref().unwrap()).unwrap();
                assert!(accepts(sender, &witness), "seed {seed}: {witness}\n{old}\n{new}");
                assert!(!accepts(receiver, &witness), "seed {seed}: {witness}\n{old}\n{new}");
            }
            let (_, root) = sender.shape_by_name("Root").unwrap();
            let mut was_refused = false;
            for _ in 0..40 {
                let Some(value) = value(&mut random, sender, &root.shape, 0) else { continue };
                // An alternative that is read as an earlier one is not written by a sender that looks at its own shape.
                if !accepts(sender, &value) {
                    continue;
                }
                samples += 1;
                let is_accepted = accepts(receiver, &value);
                was_refused |= !is_accepted;
                assert!(
                    is_accepted || !pair.is_compatible(),
                    "seed {seed}, {} client: {value}\n{old}\n{new}",
                    pair.client.word()
                );
            }
            fitting += usize::from(pair.is_compatible());
            silent += usize::from(!pair.is_compatible() && !was_refused);
        }
    }
    println!("{fitting} fit, {broken} breaks, {samples} samples, {silent} breaks that no sample shows");
    assert!(fitting > 40 && broken > 40 && samples > 2_000, "{fitting} {broken} {samples}");
}
