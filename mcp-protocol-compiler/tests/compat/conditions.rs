//! Random files in which a condition tells two messages of one method apart, and random edits of them: what is said to
//! fit is accepted as what the receiver reads it as, and what is said to break is shown by a value.

use mcp_protocol_compiler::compat::Rule;
use mcp_protocol_machine::Protocol;
use mcp_protocol_machine::protocol::{Condition, Literal, Message};
use serde_json::Value;

use crate::comparison;
use crate::payloads::{LITERALS, NAMES, Shape, edit, record, text};
use crate::random::{Random, seeds};
use crate::values::{fits, tables, value};

/// A file with the message `Tell`, and perhaps one before it that a condition tells from it.
#[derive(Clone)]
struct File {
    shapes: [Shape; 2],
    condition: Option<String>,
}

/// A condition that looks at a field of a shape, if it has any, and compares with what the field is, if that is one value.
fn condition(random: &mut Random, shape: &Shape) -> String {
    let (mut path, mut literal) = (String::new(), None);
    let mut looked_at = shape;
    while let Shape::Record(fields, _) = looked_at
        && !fields.is_empty()
        && (path.is_empty() || random.chance(70))
    {
        let (name, _, shape) = &fields[random.below(fields.len())];
        let dot = if path.is_empty() { "" } else { "." };
        path += &format!("{dot}{name}");
        looked_at = shape;
        if let Shape::Literal(value) = shape {
            literal = Some(*value);
        }
    }
    if path.is_empty() {
        path = ["_", NAMES[random.below(NAMES.len())]][random.below(2)].to_owned();
    }
    let literal = literal.filter(|_| random.chance(80)).unwrap_or(LITERALS[random.below(LITERALS.len())]);
    match random.chance(30) {
        true => format!("if {path}"),
        false => format!("if {path} = {literal}"),
    }
}

impl File {
    fn random(random: &mut Random) -> File {
        let shapes = [record(random, 2, 2), record(random, 2, 2)];
        let condition = random.chance(80).then(|| condition(random, &shapes[1]));
        File { shapes, condition }
    }

    fn edited(&self, random: &mut Random) -> File {
        let mut file = self.clone();
        match random.below(3) {
            0 => file.condition = Some(condition(random, &self.shapes[1])),
            1 => file.condition = None,
            _ => {
                let place = random.below(2);
                edit(random, &mut file.shapes[place], 2);
            }
        }
        file
    }

    fn text(&self) -> String {
        let mut out = "protocol P \"1\"\n".to_owned();
        for (number, shape) in self.shapes.iter().enumerate() {
            out += &format!("type {} = {}\n", text(&Shape::Name(number)), text(shape));
        }
        let choice = match &self.condition {
            Some(condition) => {
                out += &format!("notification Other \"tell\" {condition} (T1)\n");
                "!Other . End ⊕ !Tell . End"
            }
            None => "!Tell . End",
        };
        out + &format!("notification Tell \"tell\" (Root)\nclient C\nserver S = dual C\nC = *( {choice} )\n")
    }
}

fn meets(condition: &Condition, payload: &Value) -> bool {
    let found = condition.path.iter().try_fold(payload, |value, key| value.get(&**key));
    match (&condition.literal, found) {
        (_, None) => false,
        (None, Some(found)) => !matches!(found, Value::Null | Value::Bool(false)),
        (Some(Literal::Text(text)), Some(found)) => found.as_str() == Some(text),
        (Some(Literal::Int(number)), Some(found)) => found.as_i64() == Some(*number),
        (Some(Literal::Bool(value)), Some(found)) => found.as_bool() == Some(*value),
    }
}

/// As which message a payload is read: the first one whose condition it meets, or else the one without.
fn read<'a>(tables: &'a Protocol, payload: &Value) -> &'a Message {
    let with = tables
        .messages
        .iter()
        .find(|message| message.condition.as_ref().is_some_and(|condition| meets(condition, payload)));
    with.or_else(|| tables.messages.iter().find(|message| message.condition.is_none())).unwrap()
}

fn is_taken(tables: &Protocol, message: &Message, payload: &Value) -> bool {
    fits(tables, &tables.shape(message.shape.unwrap()).unwrap().shape, payload)
}

/// What was compared.
#[derive(Debug, Default)]
struct Counted {
    fitting: usize,
    broken: usize,
    /// Breaks without a payload that shows them.
    unshown: usize,
    samples: usize,
    /// Breaks that no sample shows.
    silent: usize,
    /// Samples that the receiver reads as another message than the sender.
    read_otherwise: usize,
}

fn compare(seed: u64, random: &mut Random, (old, new): (&str, &str), counted: &mut Counted) {
    let Some(verdict) = comparison(old, new).verdict else { return };
    let (of_old, of_new) = (tables(old), tables(new));
    for (pair, sender, receiver) in
        [(&verdict.pairs[0], &of_old, &of_new), (&verdict.pairs[1], &of_new, &of_old)]
    {
        let is_accepted = |payload: &Value| is_taken(receiver, read(receiver, payload), payload);
        for found in pair.found.iter().filter(|found| found.rule == Rule::Payload) {
            counted.broken += 1;
            let Some(witness) = &found.witness else {
                counted.unshown += 1;
                continue;
            };
            let witness: Value = serde_json::from_str(witness).unwrap();
            let is_sent = is_taken(sender, read(sender, &witness), &witness);
            assert!(is_sent && !is_accepted(&witness), "seed {seed}: {witness}\n{old}\n{new}\n{found:?}");
        }
        let mut refused = 0;
        for message in sender.messages.iter() {
            let shape = &sender.shape(message.shape.unwrap()).unwrap().shape;
            for _ in 0..40 {
                let Some(payload) = value(random, sender, shape, 0) else { continue };
                if !fits(sender, shape, &payload) || read(sender, &payload).name != message.name {
                    continue;
                }
                counted.samples += 1;
                refused += usize::from(!is_accepted(&payload));
                counted.read_otherwise += usize::from(read(receiver, &payload).name != message.name);
                assert!(
                    is_accepted(&payload) || !pair.is_compatible(),
                    "seed {seed}, {} client: {payload}\n{old}\n{new}",
                    pair.client.word()
                );
            }
        }
        let has_payload = pair.found.iter().any(|found| found.rule == Rule::Payload);
        counted.silent += usize::from(!pair.is_compatible() && !has_payload && refused == 0);
        counted.fitting += usize::from(pair.is_compatible());
    }
}

#[test]
fn what_a_condition_tells_apart_is_compared_as_it_is_read() {
    let mut counted = Counted::default();
    for seed in seeds(150) {
        let mut random = Random::new(seed);
        let old = File::random(&mut random);
        let new = old.edited(&mut random);
        compare(seed, &mut random, (&old.text(), &new.text()), &mut counted);
    }
    println!("{counted:?}");
    assert!(counted.fitting > 30 && counted.broken > 20 && counted.samples > 2_000, "{counted:?}");
    assert!(counted.read_otherwise > 200 && counted.unshown * 10 < counted.broken, "{counted:?}");
}
