//! Shipped files with mistakes planted in them, each suggestion followed.

use std::env;

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

/// A text with one mistake in it.
fn mistaken(text: &str, random: &mut Random) -> String {
    let tokens = tokens(text);
    let (start, end) = tokens[random.below(tokens.len())];
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
    let texts: Vec<String> = TEXTS.iter().map(|path| flat(path)).collect();
    let (seed, cases) = (number("HELPS_SEED", 1), number("HELPS_CASES", 150));
    let mut failures = Vec::new();
    let mut followed = 0;
    for seed in seed..seed + cases {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        random.below(2);
        let text = &texts[random.below(texts.len())];
        let program = Program::new(&format!("seed-{seed}"), &mistaken(text, &mut random));
        let compilation = program.compiled();
        let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        // Where a mistake has many consequences, the first few are what is read.
        if errors.count() > 8 {
            continue;
        }
        let helps = compilation.diagnostics.iter().flat_map(|finding| &finding.helps);
        followed += helps.filter(|help| !help.edits().is_empty()).count();
        failures.extend(program.follow(compilation));
    }
    assert!(failures.is_empty(), "{} of {followed} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(cases < 100 || followed > 20, "only {followed} suggestions were followed");
}
