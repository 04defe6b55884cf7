//! The protocols of this project, walked at random: their own text, read off the tree, against their tables.

use crate::judging::{Counts, budget, judge};
use crate::random::Random;
use crate::session_files::session_files;
use crate::sources::Source;

#[test]
fn every_protocol_of_the_project_means_what_its_text_says() {
    let (mut counts, mut walked) = (Counts::default(), 0);
    for path in session_files() {
        let source = match Source::open(&path) {
            Ok(source) => source,
            // Some files are there for their mistakes.
            Err(findings) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                assert!(!name.starts_with("mcp-"), "{findings}");
                continue;
            }
        };
        if source.resolution.roles.len() < 2 {
            continue;
        }
        walked += 1;
        for seed in budget("CHECKER_WALKS", 2) {
            let mut random = Random::new(seed);
            // Long enough that some come behind the handshake.
            if let Err(what) = judge(&source, &mut random, &mut counts, 1, 120) {
                panic!("{}, seed {seed}: {what}", path.display());
            }
        }
    }
    println!("{walked} protocols, {counts:?}");
    assert!(walked >= 8, "only {walked} protocols were found");
    assert!(counts.mistaken > 50 && counts.late > 2, "{counts:?}");
}
