//! Shipped files with mistakes planted in them, each suggestion followed. In every second one, the payloads are shapes
//! that are made at random, and every second mistake is in one of them.

use std::collections::BTreeMap;
use std::env;
use std::ops::Range;

use mcp_protocol_compiler::diagnostic::Severity;

use super::corpus::Program;
use crate::support::flat;

/// What the mistakes are planted in: small and large, with sub-sessions, keys, groups and capabilities.
const TEXTS: [&str; 6] = [
    "examples/counter/counter.session",
    "examples/cash_machine/cash_machine.session",
    "examples/file_transfer/file_transfer.session",
    "examples/language_server/language_server.session",
    "tests/protocols/note.session",
    "tests/protocols/notebook.session",
];

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// The words and signs of a text, by their places.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut tokens = Vec::new();
    let mut rest = 0;
    while let Some(first) = text[rest..].chars().next() {
        let word = |character: char| character.is_alphanumeric() || character == '_';
        let length = match first {
            '-' if text[rest..].starts_with("--") => text[rest..].find('\n').unwrap_or(text.len() - rest),
            '"' => text[rest + 1..].find('"').map_or(1, |end| end + 2),
            first if word(first) => text[rest..].find(|next| !word(next)).unwrap_or(text.len() - rest),
            first => first.len_utf8(),
        };
        if !first.is_whitespace() && !text[rest..].starts_with("--") {
            tokens.push((rest, rest + length));
        }
        rest += length;
    }
    tokens
}

/// Where the payloads of a text stand that may be any shape: no key, condition or path of it leads into them.
fn payloads(text: &str) -> Vec<Range<usize>> {
    let tokens = tokens(text);
    let word = |index: usize| &text[tokens[index].0..tokens[index].1];
    let is_payload = |index: usize| {
        let is_message = word(index - 1).starts_with('"') || index > 2 && word(index - 3) == "-";
        word(index) == "(" && is_message && word(index + 2) == ")"
    };
    let named = (3..tokens.len() - 2).filter(|index| is_payload(*index));
    let inside = named.map(|index| tokens[index].1..tokens[index + 2].0);
    let sound = |payload: &Range<usize>| {
        let text = format!("{}{{ only: string }}{}", &text[..payload.start], &text[payload.end..]);
        let program = Program::new("sound", &text);
        !program.compiled().has_errors()
    };
    inside.filter(sound).collect()
}

/// A shape that nests so deep at most.
fn shape(depth: usize, random: &mut Random) -> String {
    let inner = |random: &mut Random| shape(depth - 1, random);
    match random.below(if depth == 0 { 6 } else { 12 }) {
        0 => "string".to_owned(),
        1 => "uint".to_owned(),
        2 => "\"red\"".to_owned(),
        3 => "bool".to_owned(),
        4 => "any".to_owned(),
        5 => ["1 | 2 | -3", "true", "7", "0 | int"][random.below(4)].to_owned(),
        6 => format!("[{}]", inner(random)),
        7 => format!("map {}", ["string", "[int]", "{ of: uint }"][random.below(3)]),
        8 => format!("({} | null)", inner(random)),
        9 | 10 => tuple(depth, random),
        _ => {
            let names = ["name", "type", "request", "amount", "\"x-note\""];
            let first = random.below(names.len());
            let mut fields: Vec<String> = (0..=random.below(3))
                .map(|number| {
                    let optional = ["", "?"][random.below(2)];
                    format!("{}{optional}: {}", names[(first + number) % names.len()], inner(random))
                })
                .collect();
            if random.below(4) == 0 {
                fields.push("..rest".to_owned());
            }
            match random.below(2) {
                0 => format!("{{ {} }}", fields.join(", ")),
                _ => format!("{{\n    {}\n}}", fields.join(",\n    ")),
            }
        }
    }
}

/// Positions with labels or without, of which the last ones may be absent, and perhaps a rest.
fn tuple(depth: usize, random: &mut Random) -> String {
    let (many, required, has_labels) = (1 + random.below(3), random.below(4), random.below(2) == 0);
    let labels = ["name", "type", "request", "\"x-note\""];
    let first = random.below(labels.len());
    let mut positions: Vec<String> = (0..many)
        .map(|place| {
            let (mark, shape) = (if place < required { "" } else { "?" }, shape(depth - 1, random));
            match has_labels {
                true => format!("{}{mark}: {shape}", labels[(first + place) % labels.len()]),
                false => format!("{shape}{mark}"),
            }
        })
        .collect();
    if random.below(3) == 0 {
        let label = if has_labels { "others: " } else { "" };
        positions.push(format!("...{label}{}", shape(depth - 1, random)));
    }
    let comma = ["", ","][random.below(2)];
    format!("[{}{comma}]", positions.join(", "))
}

/// A shape that may be a payload: a list, a tuple, a union or a record.
fn payload(random: &mut Random) -> String {
    match random.below(5) {
        0 => format!("[{}]", shape(1, random)),
        1 => tuple(2, random),
        2 => format!("int | {}", ["string", "null", "[string]", "{ at: uint }"][random.below(4)]),
        _ => format!("{{ id: {}, note?: {} }}", shape(2, random), shape(1, random)),
    }
}

/// A text with shapes as its payloads, and where they stand then.
fn with_shapes(text: &str, payloads: &[Range<usize>], random: &mut Random) -> (String, Vec<Range<usize>>) {
    let (mut with, mut places, mut at) = (String::new(), Vec::new(), 0);
    for place in payloads {
        with += &text[at..place.start];
        let start = with.len();
        with += &payload(random);
        places.push(start..with.len());
        at = place.end;
    }
    (with + &text[at..], places)
}

/// A text with one mistake in it: in one of these places, if there are any.
fn mistaken(text: &str, places: &[Range<usize>], random: &mut Random) -> String {
    let tokens = tokens(text);
    let place = places.get(random.below(places.len()));
    let within = |(start, _): &&(usize, usize)| place.is_none_or(|place| place.contains(start));
    let possible: Vec<&(usize, usize)> = tokens.iter().filter(within).collect();
    let (start, end) = *possible[random.below(possible.len())];
    let (before, token, after) = (&text[..start], &text[start..end], &text[end..]);
    let other = |random: &mut Random| {
        let (start, end) = tokens[random.below(tokens.len())];
        &text[start..end]
    };
    match random.below(7) {
        // Left out, twice, or another one in its place.
        0 => format!("{before}{after}"),
        1 => format!("{before}{token} {token}{after}"),
        2 => format!("{before}{}{after}", other(random)),
        // A slip of the fingers.
        3 => {
            let letters: Vec<char> = token.chars().collect();
            let at = random.below(letters.len());
            let slip: String =
                letters.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, one)| one).collect();
            format!("{before}{slip}{after}")
        }
        // The sign that is meant in another place.
        4 => {
            let signs = ["!", "?", ".", ",", "⊕", "&", "|", "(", ")", "*", "End", "reply", "rec", "dual"];
            format!("{before}{}{after}", signs[random.below(signs.len())])
        }
        // A line that is not there.
        5 => {
            let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let next = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
            format!("{}{}", &text[..line], &text[next..])
        }
        // Two neighbours that have changed places.
        _ => {
            let index = tokens.iter().position(|token| token.0 == start).unwrap();
            match tokens.get(index + 1) {
                Some((next, behind)) => {
                    format!(
                        "{before}{}{}{token}{}",
                        &text[*next..*behind],
                        &text[end..*next],
                        &text[*behind..]
                    )
                }
                None => before.to_owned(),
            }
        }
    }
}

fn number(name: &str, usual: u64) -> u64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_suggestion_mends_what_was_planted() {
    let texts: Vec<(String, Vec<Range<usize>>)> = TEXTS
        .iter()
        .map(|path| {
            let text = flat(path);
            let payloads = payloads(&text);
            (text, payloads)
        })
        .collect();
    let (seed, cases) = (number("HELPS_SEED", 1), number("HELPS_CASES", 150));
    let mut failures = Vec::new();
    let (mut followed, mut in_shapes) = (0, 0);
    let mut withdrawn: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for seed in seed..seed + cases {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        random.below(2);
        let (text, payloads) = &texts[random.below(texts.len())];
        let (text, places) = match random.below(2) {
            0 => (text.clone(), Vec::new()),
            _ => with_shapes(text, payloads, &mut random),
        };
        let places = if random.below(2) == 0 { &places[..] } else { &[] };
        let program = Program::new(&format!("seed-{seed}"), &mistaken(&text, places, &mut random));
        let compilation = program.compiled();
        let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        // Where a mistake has many consequences, the first few are what is read.
        if errors.count() > 8 {
            continue;
        }
        let helps = compilation.diagnostics.iter().flat_map(|finding| &finding.helps);
        let with_edits = helps.clone().filter(|help| !help.edits().is_empty()).count();
        followed += with_edits;
        in_shapes += if places.is_empty() { 0 } else { with_edits };
        for help in helps.filter(|help| help.is_withdrawn()) {
            withdrawn.entry(format!("{}: {}", help.made_at(), help.text())).or_default().push(seed);
        }
        failures.extend(program.follow(compilation));
    }
    assert!(failures.is_empty(), "{} of {followed} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(cases < 100 || followed > 20, "only {followed} suggestions were followed");
    assert!(cases < 100 || in_shapes > 5, "only {in_shapes} suggestions in shapes were followed");
    // What the compiler takes away is not followed. If it were much, the test would see little.
    let away: usize = withdrawn.values().map(Vec::len).sum();
    assert!(away <= 3 + followed / 50, "{away} were withdrawn, {followed} followed: {withdrawn:#?}");
}
