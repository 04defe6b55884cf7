//! Programs with something wrong in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use mcp_protocol_compiler::diagnostic::{Diagnostic, Severity, Suggestion};
use mcp_protocol_compiler::findings::imports::UNREADABLE_IMPORT;
use mcp_protocol_compiler::source::FileId;
use mcp_protocol_compiler::{Compilation, Settings};

use crate::explain::{WrongExample, wrong_examples};
use crate::support::{self, Files, rendered, split};

/// One program: its files, and how it is compiled.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) files: Files,
    pub(crate) first: String,
    settings: Settings,
    expand: bool,
    /// The example of a page that it is, which is compiled there.
    example: Option<&'static WrongExample>,
    compilation: OnceLock<Arc<Compilation>>,
}

impl Program {
    pub(crate) fn new(name: &str, text: &str) -> Program {
        let first = format!("{name}.session");
        Program {
            name: name.to_owned(),
            files: split(text, &first),
            first,
            settings: Settings::default().without_closure(text.starts_with("-- without closure\n")),
            expand: text.starts_with("-- expand\n"),
            example: None,
            compilation: OnceLock::new(),
        }
    }

    /// What the compiler says of it. It is compiled once, for all tests of the corpus.
    pub(crate) fn compiled(&self) -> &Compilation {
        self.compilation.get_or_init(|| match self.example {
            Some(example) => Arc::clone(example.compiled()),
            None => Arc::new(support::compiled(&self.files, &self.first, self.settings, self.expand)),
        })
    }

    /// The program with the edits of a suggestion in it.
    pub(crate) fn with(&self, suggestion: &Suggestion, compilation: &Compilation) -> Program {
        let mut files = self.files.clone();
        for number in 0.. {
            let path = compilation.sources.path(FileId(number));
            if path.as_os_str().is_empty() {
                break;
            }
            if let Some(contents) = files.get_mut(path) {
                let file = FileId(number);
                *contents = suggestion.apply(file, compilation.sources.text(file)).into_bytes();
            }
        }
        Program {
            name: self.name.clone(),
            files,
            first: self.first.clone(),
            settings: self.settings,
            expand: self.expand,
            example: None,
            compilation: OnceLock::new(),
        }
    }

    /// Follows every suggestion that has edits; what is still wrong then, a text for each that does not mend.
    pub(crate) fn follow(&self, compilation: &Compilation) -> Vec<String> {
        let mut failures = Vec::new();
        let known: BTreeSet<(&str, &str)> = compilation.diagnostics.iter().map(identity).collect();
        let mut places = BTreeMap::new();
        for finding in &compilation.diagnostics {
            for suggestion in finding.helps.iter().filter(|suggestion| !suggestion.edits().is_empty()) {
                // A program that makes one mistake many times shows nothing new by all of them.
                let same = places.entry(suggestion.made_at()).or_insert(0);
                *same += 1;
                if *same > 4 {
                    continue;
                }
                let mended = self.with(suggestion, compilation);
                let after = mended.compiled();
                let same = |other: &&Diagnostic| identity(other) == identity(finding);
                let count = |diagnostics: &[Diagnostic]| diagnostics.iter().filter(same).count();
                let left = count(&after.diagnostics) >= count(&compilation.diagnostics);
                let worse = after.diagnostics.iter().find(|other| {
                    other.severity == Severity::Error
                        && !known.contains(&identity(other))
                        && !compilation.diagnostics.iter().any(|finding| stands_for(finding, other))
                        && stage(other) <= stage(finding)
                });
                // The parser says one thing of a place; what stands behind it is read when that is mended.
                let worse = worse.filter(|other| {
                    let errors = |all: &[Diagnostic]| {
                        all.iter().filter(|one| one.severity == Severity::Error && stage(one) == 0).count()
                    };
                    stage(other) > 0 || errors(&after.diagnostics) > errors(&compilation.diagnostics)
                });
                if left || worse.is_some() {
                    let text = String::from_utf8_lossy(&mended.files[Path::new(&mended.first)]).into_owned();
                    failures.push(format!(
                        "`{}`: [{}] {}\n  help: {} ({})\n{}\n{}",
                        self.name,
                        finding.code.0,
                        finding.message,
                        suggestion.text(),
                        suggestion.made_at(),
                        text.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n"),
                        if left { rendered(after) } else { worse.unwrap().message.clone() },
                    ));
                }
            }
        }
        failures
    }
}

/// What makes two findings the same.
fn identity(finding: &Diagnostic) -> (&str, &str) {
    (finding.code.0, &finding.message)
}

/// Whether a finding names another one of its kind in a note: one race is reported of a place.
fn stands_for(finding: &Diagnostic, other: &Diagnostic) -> bool {
    let Some((raced, _)) = other.message.split_once(" race: ") else { return false };
    let named = |note: &String| note.starts_with("the same place has") && note.contains(raced);
    finding.code == other.code && finding.notes.iter().any(named)
}

/// Which stage of the compiler makes a finding; what one stage finds may hide what a later one would.
fn stage(finding: &Diagnostic) -> u8 {
    match &finding.code.0[..3] {
        _ if finding.code == UNREADABLE_IMPORT => 1,
        "S00" => 0,
        // A path that is suggested has to lead somewhere.
        "S01" | "S07" => 1,
        // What an error or a cancel does, and what ties a step to its sub-session, is asked of states that are all there.
        _ if ["S0306", "S0307", "S0403", "S0406", "S0407"].contains(&finding.code.0) => 3,
        "S02" | "S03" | "S04" => 2,
        "S05" => 4,
        _ => 5,
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The programs of a folder, in the order of their names.
fn programs(folder: &Path) -> Vec<Program> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "session") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            programs.push(Program::new(name, &fs::read_to_string(&path).unwrap()));
        }
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    programs
}

/// The programs of `cases`: pieces of text behind lines `-- case: NAME`.
fn cases() -> Vec<Program> {
    let mut all = Vec::new();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder().join("it/helps/cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        all.extend(cases_in(&path));
    }
    all
}

fn cases_in(path: &Path) -> Vec<Program> {
    let text = fs::read_to_string(path).unwrap();
    let cases = text.split("-- case: ").skip(1).map(|case| case.split_once('\n').unwrap());
    cases.map(|(name, text)| Program::new(name, text)).collect()
}

/// The programs of one file of `cases`.
pub(crate) fn cases_of(file: &str) -> Vec<Program> {
    cases_in(&folder().join("it/helps/cases").join(file).with_extension("session"))
}

/// The wrong examples of the pages.
fn examples() -> Vec<Program> {
    // Examples that repeat their text or have bytes that are not text are left out.
    let plain = wrong_examples().iter().filter(|example| example.is_plain());
    let programs = plain.map(|example| {
        let mut program = Program::new("main", &example.block.text);
        program.name = example.page.code.0.to_owned();
        program.expand |= example.block.has("expand");
        program.example = Some(example);
        program
    });
    programs.collect()
}

/// Programs that are as long as a limit.
fn long() -> Vec<Program> {
    let with = |name: &str, payload: &str| {
        let text = format!("notification Tip \"tip\" ({payload})\nclient Guest\nGuest = !Tip . End\n");
        Program::new(name, &text)
    };
    let declared: String =
        (0..4_000).map(|number| format!("notification N{number} \"n{number}\"\n")).collect();
    let many = |action: &str| {
        let wrong: String = (0..52).map(|number| format!("D{number} = {action}{number} . End\n")).collect();
        declared.clone() + "client Guest\nGuest = End\n" + &wrong
    };
    vec![
        with("long-path", &format!("{}Tip", "super::".repeat(12_000))),
        with("deep-generics", &format!("{}u8{}", "Vec<".repeat(200), ">".repeat(200))),
        Program::new("many-unknown-messages", &many("!Unknown")),
        Program::new("many-unknown-definitions", &many("!N1 . Unknown").replace(" . End", "")),
    ]
}

static ALL: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let mut all = programs(&folder().join("diagnostics"));
    all.extend(cases());
    all.extend(examples());
    all.extend(long());
    all
});

/// All of them.
pub(crate) fn all() -> &'static [Program] {
    &ALL
}
