//! Changes many texts, and compares what comes out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use crate::behaviour::{Behaviour, Compared};
use crate::random::Random;
use crate::texts::{self, Origin, Source};
use crate::transforms::{CHANGES, Change};

/// How many changes are made to one text, one after the other.
const MOST_CHANGES: usize = 4;

/// How many cases of each comparison the tests judge. `.ci/oracles` judges thousands, optimised.
pub(crate) const USUAL: u64 = 150;

/// The seeds of a run: from `METAMORPHIC_SEED` on, as many as `METAMORPHIC_CASES` says.
pub(crate) fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("METAMORPHIC_SEED").unwrap_or(0);
    first..first + number("METAMORPHIC_CASES").unwrap_or(usual)
}

/// What was seen in many cases.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Of each origin: how many texts, and how many of these the compiler accepts.
    texts: BTreeMap<Origin, (u64, u64)>,
    with_sessions: u64,
    messages: u64,
    changes: BTreeMap<String, u64>,
}

/// Changes one text, of which this is the behaviour, a few times. Each change is compared with the text before it, so that
/// a failure is about one.
fn compare(
    source: Source,
    mut before: Rc<Behaviour>,
    random: &mut Random,
    counts: &mut Counts,
) -> Result<(), String> {
    let Source { entry, mut files, origin } = source;
    let (texts, accepted) = counts.texts.entry(origin).or_default();
    *texts += 1;
    *accepted += u64::from(before.is_accepted());
    counts.with_sessions += u64::from(before.has_sessions());
    for _ in 0..1 + random.below(MOST_CHANGES) {
        let Some(change) = random.one(CHANGES).copied() else { continue };
        if !change.make(&mut files, random) {
            continue;
        }
        let after = Behaviour::new(&files, &entry);
        if after.text == before.text {
            continue;
        }
        *counts.changes.entry(format!("{change:?}")).or_default() += 1;
        let sides = change == Change::Sides;
        let what = before.finds_otherwise(&after).or_else(|| before.differs(&after, sides));
        let what = what.or_else(|| match sides {
            // What one side saw before is what the other side sees now.
            true => None,
            false => before.judges_otherwise(&after, random, Compared::ALL, &mut counts.messages),
        });
        if let Some(what) = what {
            return Err(format!(
                "{change:?}: {what}\n-- before:\n{}\n-- after:\n{}",
                before.text, after.text
            ));
        }
        before = Rc::new(after);
    }
    Ok(())
}

/// Runs a comparison with each seed, and says of each kind of failure which seeds had it, with the smallest text.
pub(crate) fn each(
    seeds: std::ops::Range<u64>,
    mut compare: impl FnMut(&mut Random, u64) -> Result<(), String>,
) {
    let (mut failures, mut smallest) =
        (BTreeMap::<String, Vec<u64>>::new(), BTreeMap::<String, String>::new());
    for seed in seeds {
        if let Err(what) = compare(&mut Random::new(seed), seed) {
            let class = what.lines().next().unwrap_or_default().to_owned();
            failures.entry(class.clone()).or_default().push(seed);
            let what = format!("seed {seed}: {what}");
            let known = smallest.entry(class).or_insert_with(|| what.clone());
            if what.len() < known.len() {
                *known = what;
            }
        }
    }
    if !failures.is_empty() {
        let mut told = String::new();
        for (class, seeds) in &failures {
            writeln!(
                told,
                "{} times, seeds {:?}: {}",
                seeds.len(),
                &seeds[..seeds.len().min(10)],
                smallest[class]
            )
            .unwrap();
        }
        panic!("{told}");
    }
}

#[test]
fn random_texts_mean_what_they_meant() {
    let seeds = seeds(USUAL);
    let mut counts = Counts::default();
    each(seeds.clone(), |random, seed| {
        let source = texts::random(random, seed);
        let behaviour = Rc::new(Behaviour::new(&source.files, &source.entry));
        compare(source, behaviour, random, &mut counts)
    });
    println!("seeds {seeds:?}: {counts:?}");
    // What the compiler refuses is compared by its findings alone. So of each origin enough must be accepted, unless
    // mistakes were put into the text.
    let cases = seeds.end - seeds.start;
    if cases >= USUAL {
        for (origin, (texts, accepted)) in &counts.texts {
            let enough = if origin.is_spoiled() { accepted * 2 < *texts } else { accepted * 4 > *texts };
            assert!(enough, "{origin:?}: {counts:?}");
        }
        assert!(counts.texts.len() == 6 && counts.messages > 3 * cases, "{counts:?}");
    }
}

#[test]
fn protocols_of_the_project_mean_what_they_meant() {
    let mut counts = Counts::default();
    for (place, source) in (0..).zip(texts::shipped()) {
        let entry = source.entry.clone();
        let behaviour = Rc::new(Behaviour::new(&source.files, &entry));
        for seed in seeds(3).take(12) {
            let mut random = Random::new(seed * 1_000 + place);
            let source = Source { entry: entry.clone(), files: source.files.clone(), origin: source.origin };
            if let Err(what) = compare(source, behaviour.clone(), &mut random, &mut counts) {
                panic!("{}, seed {seed}: {what}", entry.display());
            }
        }
    }
    println!("{counts:?}");
    assert!(counts.texts[&Origin::Project].1 > 30 && counts.messages > 250, "{counts:?}");
    let made = |change: &str| counts.changes.get(change).is_some_and(|times| *times > 5);
    assert!(made("Group") && made("Payload"), "{counts:?}");
}
