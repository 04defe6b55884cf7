//! What other languages write for something of this one is one mistake: it is reported once, and what the report says
//! to type mends the program.

use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity};

use super::corpus;

fn errors(diagnostics: &[Diagnostic]) -> Vec<String> {
    let errors = diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| format!("{} {}", finding.code.0, finding.message)).collect()
}

#[test]
fn a_habit_of_another_language_is_one_report_and_its_suggestion_mends_the_program() {
    let mut wrong = Vec::new();
    let programs = corpus::cases_of("habits");
    assert!(programs.len() > 50);
    for program in programs {
        let compilation = program.compiled();
        let found = errors(&compilation.diagnostics);
        if found.len() != 1 {
            wrong.push(format!("`{}` has {} errors: {found:#?}", program.name, found.len()));
        }
        let helps = compilation.diagnostics.iter().flat_map(|finding| &finding.helps);
        if let Some(first) = helps.into_iter().find(|help| !help.edits().is_empty()) {
            let mut left = errors(&program.with(first, compilation).compiled().diagnostics);
            // How two roles fit together is seen once both can be read.
            left.retain(|error| !error.starts_with("S05"));
            if !left.is_empty() {
                wrong.push(format!("`{}` with `{}` still has {left:#?}", program.name, first.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
