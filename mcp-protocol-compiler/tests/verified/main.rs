//! The compiler against an oracle that is proved: the checks of `proofs/Oracle.v`, extracted to a program.
//!
//! Random protocols go through the compiler. What the text means is read off the tree by the reference semantics of the
//! checker's oracle (`reading`), which shares no code with the compiler's automata, and written down as tables of edges,
//! one state for each place in the text. The program says whether these two roles are related and whether they race.
//! Both must say the same. That `sessionc check` says what the compiler says of these texts is a test of `sessionc`.
//!
//! A failing case prints its name and its text. `VERIFIED_SEED` and `VERIFIED_CASES` choose the random cases,
//! `VERIFIED_FILES` is a folder of texts to judge in addition, and `VERIFIED_FINDINGS` shows the texts that the compiler
//! refuses for reasons that the proofs do not speak of. The files of `cases/` differed once. A long run
//! is `VERIFIED_CASES=100000 cargo test --release -p mcp-protocol-compiler --test verified -- --ignored --nocapture`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests say what they expect by panicking"
)]

mod meaning;
mod oracle;
mod texts;

#[path = "../checker/random.rs"]
#[allow(dead_code, reason = "the checker's oracle uses the rest")]
mod random;
#[path = "../checker/reading/mod.rs"]
#[allow(dead_code, reason = "the checker's oracle uses the rest")]
mod reading;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::{Settings, compile_with};

use crate::meaning::Asked;
use crate::oracle::{Answer, Explored, Oracle, Verdict};
use crate::random::Random;
use crate::texts::Wanted;

/// How many cases go through the program at once.
const BATCH: u64 = 500;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds of a run. By default there are few.
fn seeds() -> Range<u64> {
    let first = number("VERIFIED_SEED").unwrap_or(0);
    first..first + number("VERIFIED_CASES").unwrap_or(2_000)
}

/// What the compiler says: nothing where it refuses the text for another reason than how the roles relate.
fn verdict(text: &str) -> (Option<Verdict>, Vec<&'static str>) {
    let compilation = compile_with(
        Path::new("random.session"),
        &mut |_| Ok(text.as_bytes().to_vec()),
        Settings::default().without_tries(true),
    )
    .unwrap();
    let codes: Vec<&'static str> = compilation
        .diagnostics
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .map(|found| found.code.0)
        .collect();
    (of_codes(&codes), codes)
}

fn of_codes(codes: &[&str]) -> Option<Verdict> {
    let is = |code: &str| codes.contains(&code);
    match codes {
        [] => Some(Verdict::Accepted),
        _ if codes.iter().any(|code| !["S0501", "S0502", "S0503"].contains(code)) => None,
        _ if is("S0501") || is("S0502") => Some(Verdict::Unrelated),
        _ => Some(Verdict::Races),
    }
}

struct Case {
    /// The seed, or the file.
    name: String,
    text: String,
    wanted: Wanted,
    verdict: Verdict,
}

#[derive(Debug, Default)]
struct Counts {
    cases: u64,
    elsewhere: u64,
    /// Those in which the oracle cannot see why the roles do not fit, or why they do.
    unseen: u64,
    /// Those that are judged in groups of channels.
    groups: u64,
    /// Those in which something can be cancelled.
    cancels: BTreeMap<Verdict, u64>,
    /// Those in which sub-sessions can be opened, by what is said of them.
    sub_sessions: BTreeMap<Verdict, u64>,
    /// Of these, those with channels side by side, with cancels, and with sub-sessions within sub-sessions.
    with_channels: BTreeMap<Verdict, u64>,
    with_cancels: BTreeMap<Verdict, u64>,
    nested: BTreeMap<Verdict, u64>,
    dual: BTreeMap<Verdict, u64>,
    compatible: BTreeMap<Verdict, u64>,
    explored: BTreeMap<(Verdict, Explored), u64>,
}

#[test]
#[ignore = "needs Coq and OCaml"]
fn the_compiler_says_what_the_proved_checks_say() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("proofs");
    std::fs::create_dir_all(&directory).unwrap();
    let oracle = Oracle::build(&directory);
    let mut kept = Counts::default();
    let mut differences = compare(&oracle, files(&cases()), &mut kept);
    assert_eq!(kept.elsewhere, 0, "a kept case is refused for another reason");
    let asked_for = std::env::var_os("VERIFIED_FILES").map(PathBuf::from);
    differences.extend(asked_for.into_iter().flat_map(|folder| compare(&oracle, files(&folder), &mut kept)));
    let mut counts = Counts::default();
    let seeds = seeds();
    println!("seeds {seeds:?}");
    for first in seeds.clone().step_by(usize::try_from(BATCH).unwrap()) {
        let batch = first..seeds.end.min(first + BATCH);
        differences.extend(compare(&oracle, batch.map(random).collect(), &mut counts));
        if differences.len() > 20 {
            break;
        }
    }
    println!("{counts:?}");
    assert!(differences.is_empty(), "{} differences: {differences:?}", differences.len());
    let few = counts.cases < 500;
    let share = |verdict: Verdict| {
        let of = |counts: &BTreeMap<Verdict, u64>| counts.get(&verdict).copied().unwrap_or_default();
        of(&counts.dual) + of(&counts.compatible)
    };
    for verdict in [Verdict::Accepted, Verdict::Unrelated, Verdict::Races] {
        assert!(few || share(verdict) * 10 > counts.cases, "{counts:?}");
    }
    assert!(few || counts.elsewhere * 4 < counts.cases, "{counts:?}");
    assert!(counts.unseen <= 1 + counts.cases / 2_000, "{counts:?}");
}

/// A text with its name, and how its roles are to relate.
type Text = (String, String, Wanted);

fn random(seed: u64) -> Text {
    let (text, wanted) = texts::write(&mut Random::new(seed));
    (format!("seed {seed}"), text, wanted)
}

/// The folder of texts that differed once.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verified/cases")
}

fn files(folder: &Path) -> Vec<Text> {
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(file).collect()
}

fn file(path: PathBuf) -> Text {
    let text = std::fs::read_to_string(&path).unwrap();
    let is_compatible = text.lines().any(|line| line.starts_with("client ") && line.ends_with(" compatible"));
    (path.display().to_string(), text, if is_compatible { Wanted::Compatible } else { Wanted::Dual })
}

/// The names of those texts of which the compiler and the program say different things.
fn compare(oracle: &Oracle, texts: Vec<Text>, counts: &mut Counts) -> Vec<String> {
    let mut differences = Vec::new();
    let cases: Vec<Case> = texts.into_iter().filter_map(|text| case(text, counts)).collect();
    let asked: Vec<Asked> = cases.iter().map(|case| meaning::ask(&case.text, case.wanted)).collect();
    let lines: Vec<String> = asked.iter().flat_map(Asked::lines).cloned().collect();
    let mut answers = oracle.ask(&lines).into_iter();
    for (case, asked) in cases.iter().zip(&asked) {
        let parts: Vec<Answer> = answers.by_ref().take(asked.parts.len()).collect();
        let whole = asked.whole.as_ref().and_then(|_| answers.next());
        if asked.has_cancels {
            *counts.cancels.entry(case.verdict).or_default() += 1;
        }
        for (is_so, of) in [
            (true, &mut counts.sub_sessions),
            (asked.has_channels, &mut counts.with_channels),
            (asked.has_cancels, &mut counts.with_cancels),
            (asked.nests, &mut counts.nested),
        ] {
            *of.entry(case.verdict).or_default() += u64::from(is_so && asked.has_sub_sessions);
        }
        if let Some(what) = judge(case, asked, &parts, whole, counts) {
            println!(
                "{}: {what}\nthe compiler: {:?}, the oracle: {parts:?} {whole:?}\n{}\n{}\n",
                case.name,
                case.verdict,
                case.text,
                asked.lines().cloned().collect::<Vec<_>>().join("\n")
            );
            differences.push(case.name.clone());
        }
    }
    differences
}

/// What the compiler says of a text.
fn case((name, text, wanted): Text, counts: &mut Counts) -> Option<Case> {
    let (verdict, codes) = verdict(&text);
    let Some(verdict) = verdict else {
        if std::env::var("VERIFIED_FINDINGS").is_ok() {
            println!("{name}: {codes:?}\n{text}");
        }
        counts.elsewhere += 1;
        return None;
    };
    counts.cases += 1;
    let of = if wanted == Wanted::Dual { &mut counts.dual } else { &mut counts.compatible };
    *of.entry(verdict).or_default() += 1;
    Some(Case { name, text, wanted, verdict })
}

/// What differs, if something does. Of several groups of channels each has to be fine.
fn judge(
    case: &Case,
    asked: &Asked,
    parts: &[Answer],
    whole: Option<Answer>,
    counts: &mut Counts,
) -> Option<&'static str> {
    counts.groups += u64::from(parts.len() > 1);
    let is = |verdict: Verdict| parts.iter().any(|answer| answer.verdict == verdict);
    let is_silent = whole.is_some_and(|answer| answer.verdict == Verdict::Unrelated);
    let verdict = match () {
        () if is_silent || is(Verdict::Unrelated) => Verdict::Unrelated,
        () if is(Verdict::Races) => Verdict::Races,
        () => Verdict::Accepted,
    };
    // A channel that is left out goes unseen by the oracle where it takes several for one.
    let is_unseen = asked.is_coarse && case.verdict == Verdict::Unrelated
        || asked.goes_on && (case.verdict, verdict) == (Verdict::Accepted, Verdict::Races);
    counts.unseen += u64::from(is_unseen && verdict != case.verdict);
    let mut differs = (verdict != case.verdict && !is_unseen).then_some("the verdicts differ");
    for answer in parts {
        *counts.explored.entry((answer.verdict, answer.explored)).or_default() += 1;
        differs = differs.or(match (answer.verdict, answer.explored, answer.one) {
            (Verdict::Accepted, Explored::Unsafe, _) => Some("accepted, and an exploration finds a mistake"),
            (Verdict::Accepted, _, Some(false)) | (Verdict::Races, _, Some(true)) => {
                Some("the check of one automaton says something else")
            }
            _ => None,
        });
    }
    differs
}
