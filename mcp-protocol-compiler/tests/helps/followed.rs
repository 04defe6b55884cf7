//! Every suggestion that a program of the corpus gets mends it.

use crate::corpus;

#[test]
fn a_suggestion_that_is_followed_mends_its_finding() {
    let mut failures = Vec::new();
    let mut followed = 0;
    for program in corpus::all() {
        let compilation = program.compiled();
        followed += compilation
            .diagnostics
            .iter()
            .flat_map(|finding| &finding.helps)
            .filter(|suggestion| !suggestion.edits().is_empty())
            .count();
        failures.extend(program.follow(&compilation));
    }
    assert!(failures.is_empty(), "{} of {followed} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(followed > 100, "only {followed} suggestions have edits");
}
