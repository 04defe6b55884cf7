//! Every code has a page, and the examples on it are what the page says they are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what they expect by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use crate::support::{Files, rendered, split};
use mcp_protocol_compiler::diagnostic::Severity;
use mcp_protocol_compiler::explain::{self, Block, Page, blocks, pages};
use mcp_protocol_compiler::{Compilation, Settings};

/// No page shows megabytes. What these look like is a case of `tests/diagnostics/`, which makes its file.
const WITHOUT_WRONG_EXAMPLE: [&str; 1] = ["S0002"];

/// Every Rust file below a folder.
fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The codes that the sources declare.
fn declared() -> BTreeSet<String> {
    let mut files = Vec::new();
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut codes = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines().filter(|line| line.starts_with("pub")) {
            if let Some((_, code)) = line.split_once(": Code = Code(\"") {
                assert!(codes.insert(code[..5].to_owned()), "two kinds of findings have the code {code}");
            }
        }
    }
    codes
}

#[test]
fn every_code_has_a_page() {
    let documented: BTreeSet<String> = pages().iter().map(|page| page.code.0.to_owned()).collect();
    assert_eq!(declared(), documented);
    assert!(pages().is_sorted_by_key(|page| page.code));
    for page in pages() {
        assert_eq!(page.text.lines().next(), Some(format!("# {}: {}", page.code.0, page.title).as_str()));
    }
}

/// The files of a block; the first is `main.session`.
fn files(block: &Block<'_>) -> Files {
    let mut files = split(&block.text, "main.session");
    for contents in files.values_mut() {
        let mut text = String::from_utf8(std::mem::take(contents)).unwrap();
        if let Some(times) = block.value("times") {
            let once = text;
            text = (0..times.parse().unwrap())
                .map(|number: u32| once.replace('#', &number.to_string()))
                .collect();
        }
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once("\\x").filter(|_| block.has("bytes")) {
            contents.extend(before.bytes());
            contents.push(u8::from_str_radix(&behind[..2], 16).unwrap());
            rest = &behind[2..];
        }
        contents.extend(rest.bytes());
    }
    files
}

fn compiled(block: &Block<'_>, settings: Settings) -> Compilation {
    crate::support::compiled(&files(block), "main.session", settings, block.has("expand"))
}

/// The code whose example has more combinations than are looked at. In the development profile it takes as long as all
/// other examples to get there, so there are fewer, and what is said of them is not looked at. `.ci/oracles` has it all.
const OF_COMBINATIONS: &str = "S0504";
const MOST_COMBINATIONS: usize = 1_000;

fn is_shortened(page: &Page) -> bool {
    cfg!(debug_assertions) && page.code.0 == OF_COMBINATIONS
}

/// A wrong example of a page.
pub(crate) struct WrongExample {
    pub(crate) page: &'static Page,
    pub(crate) block: Block<'static>,
    compilation: OnceLock<Arc<Compilation>>,
}

impl WrongExample {
    /// What the compiler says of it. It is compiled once, for all tests: an example of a limit takes long to get there.
    pub(crate) fn compiled(&self) -> &Arc<Compilation> {
        let settings = match is_shortened(self.page) {
            true => Settings::default().with_most_products(MOST_COMBINATIONS),
            false => Settings::default(),
        };
        self.compilation.get_or_init(|| Arc::new(compiled(&self.block, settings)))
    }

    /// Whether it neither repeats its text nor has bytes that are not text.
    pub(crate) fn is_plain(&self) -> bool {
        !self.block.has("bytes") && self.block.value("times").is_none()
    }
}

static WRONG_EXAMPLES: LazyLock<Vec<WrongExample>> = LazyLock::new(|| {
    let blocks =
        pages().iter().flat_map(|page| blocks(page.text).into_iter().map(move |block| (page, block)));
    let wrong = blocks.filter(|(_, block)| block.has("wrong"));
    wrong.map(|(page, block)| WrongExample { page, block, compilation: OnceLock::new() }).collect()
});

/// The wrong examples of all pages, in their order.
pub(crate) fn wrong_examples() -> &'static [WrongExample] {
    &WRONG_EXAMPLES
}

#[test]
fn every_wrong_example_gives_its_code_and_no_other() {
    let mut failures = String::new();
    for page in pages() {
        let wrong: Vec<_> =
            wrong_examples().iter().filter(|example| example.page.code == page.code).collect();
        let expected = usize::from(!WITHOUT_WRONG_EXAMPLE.contains(&page.code.0));
        assert_eq!(wrong.len(), expected, "{}", page.code.0);
        for example in wrong {
            let compilation = example.compiled();
            let found: BTreeSet<&str> = compilation
                .diagnostics
                .iter()
                .map(|diagnostic| diagnostic.code.0)
                .filter(|code| Some(*code) != example.block.value("also"))
                .collect();
            if found != BTreeSet::from([page.code.0]) {
                failures += &format!("{}:\n{}\n", page.code.0, rendered(compilation));
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn what_has_no_wrong_example_is_among_the_wrong_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let snapshots: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "snap"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for code in WITHOUT_WRONG_EXAMPLE {
        let title = format!("error[{code}]");
        assert!(snapshots.iter().any(|snapshot| snapshot.contains(&title)), "no snapshot has {title}");
    }
}

/// What a page promises is looked at as a reader sees it: the wrong example and the finding, together.
#[test]
fn every_wrong_example_is_rendered_as_it_was_looked_at() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots/pages");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for example in wrong_examples().iter().filter(|example| !is_shortened(example.page)) {
        let rendered = rendered(example.compiled());
        // What repeats itself is looked at by its ends.
        let mut lines: Vec<&str> = rendered.trim_end().lines().collect();
        if lines.len() > 40 {
            lines.splice(16..lines.len() - 8, ["…"]);
        }
        let shown = format!("{}\n{}", example.block.text, lines.join("\n"));
        settings.bind(|| insta::assert_snapshot!(example.page.code.0, shown));
    }
}

#[test]
fn every_right_example_gives_nothing() {
    let mut failures = String::new();
    for page in pages() {
        let blocks = blocks(page.text);
        let right: Vec<_> = blocks.iter().filter(|block| block.has("right")).collect();
        assert!(!right.is_empty(), "{}", page.code.0);
        for block in right {
            let compilation = compiled(block, Settings::default());
            // A note says what is worth knowing; on the page about it there is none in the right example.
            let bad = |severity: Severity, code: &str| severity > Severity::Note || code == page.code.0;
            if compilation.diagnostics.iter().any(|found| bad(found.severity, found.code.0)) {
                failures += &format!("{}:\n{}\n", page.code.0, rendered(&compilation));
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn a_code_is_found_however_it_is_typed() {
    for typed in ["S0301", "s0301", "301", " S301 "] {
        assert_eq!(explain::page(typed).unwrap().code.0, "S0301", "{typed}");
    }
    assert!(explain::page("S9999").is_none());
    assert!(explain::page("").is_none());
    assert_eq!(explain::nearest("S0320").unwrap().code.0, "S0313");
    assert_eq!(explain::nearest("E0502").unwrap().code.0, "S0502");
    assert!(explain::nearest("hello there").is_none());
    let readable = explain::page("S0301").unwrap().readable();
    assert!(
        readable.contains("\n```\nrequest") && !readable.contains("wrong,") && !readable.contains("```s")
    );
}
