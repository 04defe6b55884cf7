//! What holds for random shapes and values.

use super::*;
use crate::checker::tests::random::Random;

const NAMES: [&str; 4] = ["a", "b", "c", "type"];
const TEXTS: [&str; 3] = ["x", "y", "z"];

/// A random shape. Unions are left out where the path of a mistake must be certain.
fn shape(random: &mut Random, depth: usize, shapes: u16, unions: bool) -> Shape {
    let kinds = if depth == 0 {
        9
    } else if unions {
        16
    } else {
        14
    };
    match random.below(kinds) {
        0 => Shape::Null,
        1 => Shape::Bool,
        2 => Shape::Int,
        3 => Shape::Uint,
        4 => Shape::Number,
        5 => Shape::Text,
        6 => Shape::Object,
        7 => Shape::Literal(literal(random)),
        8 => named(u16::try_from(random.below(usize::from(shapes))).unwrap()),
        9 => list(shape(random, depth - 1, shapes, unions)),
        10 => Shape::Map(shape(random, depth - 1, shapes, unions).into()),
        11 => random_record(random, depth - 1, shapes, unions),
        12 | 13 => random_tuple(random, depth - 1, shapes, unions),
        _ => {
            let many = 2 + random.below(3);
            union((0..many).map(|_| shape(random, depth - 1, shapes, unions)).collect())
        }
    }
}

/// A text, most of the time.
fn literal(random: &mut Random) -> Literal {
    match random.below(6) {
        0 => random.chance(50).into(),
        1 => i64::try_from(random.below(3)).unwrap().into(),
        _ => TEXTS[random.below(3)].into(),
    }
}

fn random_record(random: &mut Random, depth: usize, shapes: u16, unions: bool) -> Shape {
    let mut fields = Vec::new();
    for name in NAMES {
        if random.chance(50) {
            let shape = shape(random, depth, shapes, unions);
            fields.push(Field::new(name.into(), random.chance(60), shape));
        }
    }
    record(fields)
}

fn random_tuple(random: &mut Random, depth: usize, shapes: u16, unions: bool) -> Shape {
    let (many, required) = (random.below(4), random.below(4));
    let positions = (0..many).map(|place| {
        let shape = match random.below(3) {
            0 => Shape::Literal(literal(random)),
            _ => shape(random, depth, shapes, unions),
        };
        let presence = if place < required { Presence::Required } else { Presence::Optional };
        Position::new(None, presence, shape)
    });
    let mut positions: Vec<Position> = positions.collect();
    if random.chance(40) {
        let shape = match random.below(4) {
            0 => Shape::Literal(literal(random)),
            _ => shape(random, depth, shapes, unions),
        };
        positions.push(Position::rest(shape));
    }
    tuple(positions)
}

fn tables(random: &mut Random, unions: bool) -> Protocol {
    let many = 1 + u16::try_from(random.below(5)).unwrap();
    protocol((0..many).map(|_| ("Shape", shape(random, 3, many, unions))).collect())
}

/// A random value, often close to what random shapes take.
fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => json!(null),
        1 => json!(random.chance(50)),
        2 => json!(random.below(3)),
        3 => json!(-1.5),
        4 => json!(TEXTS[random.below(3)]),
        5 => (0..random.below(4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let names = NAMES.into_iter().filter(|_| random.chance(50)).collect::<Vec<_>>();
            names.into_iter().map(|name| (name.to_owned(), value(random, depth - 1))).collect()
        }
    }
}

/// A value that a shape does not take, if no union is in it: a list fits none of these shapes, and in place of a list there is
/// a text.
fn wrong_for(protocol: &Protocol, shape: &Shape) -> Value {
    match shape {
        Shape::Named(index) => wrong_for(protocol, &protocol.shape(*index).unwrap().shape),
        Shape::List(_) | Shape::Tuple(_) => json!("wrong"),
        _ => json!([]),
    }
}

/// The paths of all values inside of a value that its shape looks at, each with what the shape says there.
fn places<'p>(
    protocol: &'p Protocol,
    shape: &'p Shape,
    value: &Value,
    path: Vec<String>,
    found: &mut Vec<(Vec<String>, &'p Shape)>,
) {
    let mut shape = shape;
    while let Shape::Named(index) = shape {
        shape = &protocol.shape(*index).unwrap().shape;
    }
    found.push((path.clone(), shape));
    if let (Shape::Record(record), Value::Object(members)) = (shape, value) {
        for (key, member) in members {
            let path = [&*path, std::slice::from_ref(key)].concat();
            places(protocol, &record.field(key).unwrap().shape, member, path, found);
        }
    }
    if let (Shape::Tuple(positions), Value::Array(elements)) = (shape, value) {
        for (place, element) in elements.iter().enumerate() {
            let path = [&*path, &[place.to_string()]].concat();
            let position = Position::of_element(positions, place).unwrap();
            places(protocol, &position.shape, element, path, found);
        }
    }
}

/// A path as a mismatch has it.
fn written(path: &[String]) -> String {
    path.iter().fold(String::new(), |written, key| match key.parse::<usize>() {
        Ok(place) => format!("{written}[{place}]"),
        Err(_) if written.is_empty() => key.clone(),
        Err(_) => format!("{written}.{key}"),
    })
}

#[test]
fn a_sample_has_its_shape_and_a_mistake_in_it_is_named() {
    let (mut samples, mut mistakes, mut rests) = (0, 0, 0);
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let tables = tables(&mut random, seed % 3 == 0);
        let root = named(0);
        let Some(text) = sample(&tables, &root) else { continue };
        samples += 1;
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(verdict(&tables, &root, &value), "fits", "seed {seed}: {text}");
        if seed % 3 == 0 {
            continue;
        }
        let mut all = Vec::new();
        places(&tables, &root, &value, Vec::new(), &mut all);
        for (path, shape) in all {
            let pointer: String = path.iter().map(|key| format!("/{key}")).collect();
            let mut changed = value.clone();
            *changed.pointer_mut(&pointer).unwrap() = wrong_for(&tables, shape);
            assert_eq!(mismatch(&tables, &root, &changed).path, written(&path), "seed {seed}: {changed}");
            mistakes += 1;
            if let Shape::Tuple(positions) = shape {
                let mut changed = value.clone();
                let elements = changed.pointer_mut(&pointer).unwrap().as_array_mut().unwrap();
                if let Some(rest) = Position::rest_of(positions) {
                    // Elements that the rest takes, and one that it does not. An absent position would take the first.
                    let none_absent = elements.len() + 1 == positions.len();
                    let Some(of_rest) = sample(&tables, &rest.shape).filter(|_| none_absent) else {
                        continue;
                    };
                    let last = elements.len() + random.below(3);
                    elements.resize(last, serde_json::from_str(&of_rest).unwrap());
                    assert_eq!(verdict(&tables, &root, &changed), "fits", "seed {seed}: {changed}");
                    let elements = changed.pointer_mut(&pointer).unwrap().as_array_mut().unwrap();
                    elements.push(wrong_for(&tables, &rest.shape));
                    let named = format!("{}[{last}]", written(&path));
                    assert_eq!(mismatch(&tables, &root, &changed).path, named, "seed {seed}: {changed}");
                    rests += 1;
                    continue;
                }
                elements.resize(positions.len() + 1, json!(null));
                // An element between may lack its shape as well.
                let mismatch = mismatch(&tables, &root, &changed);
                let of_list = mismatch.path.strip_prefix(&*written(&path)).unwrap();
                assert!(of_list.starts_with('['), "seed {seed}: {mismatch}");
            }
            if let Some((last, parent)) = pointer.rsplit_once('/').map(|(parent, last)| (last, parent)) {
                let mut changed = value.clone();
                match changed.pointer_mut(parent).unwrap() {
                    Value::Object(members) => drop(members.remove(last)),
                    // Those behind it go, too: each of them would take the place of another one.
                    Value::Array(elements) => elements.truncate(last.parse().unwrap()),
                    _ => panic!(),
                }
                let mismatch = mismatch(&tables, &root, &changed);
                assert_eq!((mismatch.path, &*mismatch.found), (written(&path), "nothing"), "seed {seed}");
            }
        }
    }
    assert!(
        samples > 1500 && mistakes > 2000 && rests > 50,
        "{samples} samples, {mistakes} mistakes, {rests} rests"
    );
}

/// Whether a value has a shape, where any alternative of a union will do.
fn fits_some(protocol: &Protocol, shape: &Shape, value: &Value, depth: usize) -> bool {
    let fits = |shape, value| depth > 0 && fits_some(protocol, shape, value, depth - 1);
    match (shape, value) {
        (Shape::Union(parts), value) => parts.iter().any(|part| fits(part, value)),
        (Shape::Named(index), value) => fits(&protocol.shape(*index).unwrap().shape, value),
        (Shape::List(of), Value::Array(elements)) => elements.iter().all(|element| fits(of, element)),
        (Shape::Tuple(positions), Value::Array(elements)) => {
            let required = positions.iter().filter(|position| position.presence.is_required()).count();
            let of = |place: usize| match positions.get(place) {
                Some(position) => Some(position),
                None => Position::rest_of(positions),
            };
            elements.len() >= required
                && elements
                    .iter()
                    .enumerate()
                    .all(|(place, element)| of(place).is_some_and(|position| fits(&position.shape, element)))
        }
        (Shape::Map(of), Value::Object(members)) => members.values().all(|member| fits(of, member)),
        (Shape::Record(record), Value::Object(members)) => record.fields.iter().all(|field| {
            members.get(&*field.name).map_or(!field.required, |member| fits(&field.shape, member))
        }),
        (shape, value) => verdict(protocol, shape, value) == "fits",
    }
}

#[test]
fn a_union_takes_only_what_an_alternative_takes_and_what_is_hidden_is_never_chosen() {
    let (mut fitting, mut hidden, mut chosen) = (0, 0, 0);
    for seed in 0..40_000 {
        let mut random = Random::new(seed);
        let tables = tables(&mut random, true);
        let parts: Vec<Shape> = (0..3).map(|_| shape(&mut random, 2, 1, true)).collect();
        let value = value(&mut random, 3);
        let whole = union(parts.clone());
        let fits = verdict(&tables, &whole, &value) == "fits";
        fitting += usize::from(fits);
        assert!(!fits || fits_some(&tables, &whole, &value, 40), "seed {seed}: {value} {whole:?}");
        let Some(place) = choose(&tables, &parts, &&value) else {
            assert!(!fits, "seed {seed}");
            continue;
        };
        chosen += 1;
        // The alternative is judged as it would be alone.
        assert_eq!(fits, verdict(&tables, &parts[place], &value) == "fits", "seed {seed}: {value} {whole:?}");
        let hiding = parts[..place].iter().find(|earlier| hides(&tables, earlier, &parts[place]));
        assert_eq!(hiding, None, "seed {seed}: {value} is {:?}", parts[place]);
        hidden += usize::from(hides(&tables, &parts[0], &parts[1]));
    }
    assert!(
        fitting > 5000 && hidden > 1000 && chosen > 10_000,
        "{fitting} fit, {hidden} hidden, {chosen} chosen"
    );
}

/// A record that a literal tells from others, most of the time.
fn tagged_record(random: &mut Random) -> Shape {
    let Shape::Record(record) = random_record(random, 1, 1, true) else { panic!() };
    let mut fields: Vec<Field> = record.fields.iter().filter(|field| field.name != "type").cloned().collect();
    if random.chance(90) {
        let shape = Shape::Literal(literal(random));
        fields.push(Field::new("type".into(), random.chance(80), shape));
    }
    self::record(fields)
}

#[test]
fn what_one_member_decides_is_what_the_whole_object_decides() {
    let (mut decided, mut undecided) = (0, 0);
    for seed in 0..40_000 {
        let mut random = Random::new(seed);
        let tables = tables(&mut random, true);
        let parts: Vec<Shape> = (0..3)
            .map(|_| match random.chance(85) {
                true => tagged_record(&mut random),
                false => shape(&mut random, 1, 1, true),
            })
            .collect();
        let mut value = value(&mut random, 2);
        let Value::Object(members) = &mut value else { continue };
        let tag = match literal(&mut random) {
            Literal::Text(text) => json!(text),
            Literal::Int(number) => json!(number),
            Literal::Bool(value) => json!(value),
        };
        members.insert("type".to_owned(), tag);
        for (key, member) in members.iter() {
            match choose_by_member(&tables, &parts, key, &member) {
                Some(place) => {
                    decided += 1;
                    let whole = choose(&tables, &parts, &&Value::Object(members.clone()));
                    assert_eq!(whole, Some(place), "seed {seed}: {key} of {members:?} in {parts:?}");
                }
                None => undecided += 1,
            }
        }
    }
    assert!(decided > 1000 && undecided > 1000, "{decided} decided, {undecided} not");
}
