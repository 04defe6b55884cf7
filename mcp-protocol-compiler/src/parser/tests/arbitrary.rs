//! Arbitrary text: no panic, every finding has a place that exists, and a file without findings reads back.

use proptest::prelude::*;

use super::parsed;
use crate::diagnostic::Severity;
use crate::diagnostic::json;
use crate::diagnostic::render::{Style, render};
use crate::format;
use crate::lexer::TEXT_DIRECTION;

/// Pieces that are more likely than arbitrary characters to lead somewhere.
const PIECES: &[&str] = &[
    "A",
    "B",
    "α",
    "End",
    "rec ",
    "μ",
    "µ",
    "dual ",
    "!",
    "?",
    ".",
    " . ",
    "*",
    "(",
    ")",
    "(+)",
    "⊕",
    "&",
    ",",
    "|",
    "=",
    " = ",
    "+=",
    "-=",
    "->",
    "::",
    ":",
    "[",
    "]",
    "<",
    ">",
    "\"",
    "\"x\"",
    "-1",
    "2",
    "--",
    "---",
    "\n",
    "\n\n",
    " ",
    "request ",
    "notification ",
    "group ",
    "key ",
    "open ",
    "only ",
    "id of ",
    "session of ",
    "client ",
    "server ",
    "override ",
    "types ",
    "import ",
    "protocol ",
    "capabilities ",
    "version ",
    "requires ",
    "during ",
    "cancels ",
    "reports ",
    " of ",
    " if ",
    " unless ",
    " default ",
    " open until announced ",
    "as ",
    "must",
    "should",
    " in",
    " out",
    " error ",
    "reply",
    "_",
    "null",
    "reqest ",
    "·",
    "“",
    "”",
    "–",
    "$",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\r",
    "\\",
    "{",
    "}",
    ";",
    "é",
    "😀",
    "\u{0}",
];

/// What must hold of any text.
fn check(text: &str) {
    let (sources, tree, diagnostics) = parsed(text);
    for diagnostic in &diagnostics {
        for label in &diagnostic.labels {
            let span = label.span;
            let normal = sources.text(span.file);
            assert!(
                span.start <= span.end && normal.get(span.start as usize..span.end as usize).is_some(),
                "{span:?}"
            );
        }
        let rendered = render(&sources, diagnostic, Style::Plain);
        assert!(rendered.contains("test.session:"), "{rendered}");
        assert!(!json::line(&sources, diagnostic).contains('\n'));
    }
    if diagnostics.iter().all(|diagnostic| diagnostic.severity < Severity::Error) {
        let written = format::file(&tree);
        let (sources, again, diagnostics) = parsed(&written);
        let findings: Vec<String> =
            diagnostics.iter().map(|diagnostic| render(&sources, diagnostic, Style::Plain)).collect();
        // A comment is kept as it is, with what is warned about.
        let kept = diagnostics.iter().all(|diagnostic| diagnostic.code == TEXT_DIRECTION);
        assert!(kept, "{written}\n{}", findings.join("\n"));
        assert_eq!(format::file(&again), written);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_characters(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_pieces(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        check(&pieces.concat());
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut sources = crate::source::SourceMap::new();
        let (file, broken) = sources.add_bytes("test.session", bytes.clone());
        prop_assert_eq!(broken.is_empty(), std::str::from_utf8(&bytes).is_ok());
        for diagnostic in broken {
            prop_assert!(render(&sources, &diagnostic, Style::Plain).contains("test.session:"));
        }
        crate::parser::parse(&sources, file);
    }
}
