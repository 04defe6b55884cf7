//! Texts with something in them that is not seen, or that a file should not have: what is said of them.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::render::{Style, render_all};

const GOOD: &str = "client C\nserver S = dual C\nC = rec x . ( !A . ?B . x ⊕ End )\n";
const BAD: &str = "client C\n\n-- α\nC = !A . Nowhere\nD = !A . ?\n";

/// What is said of a file.
fn said(bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let compilation = compile(Path::new("main.session"), &mut |_| Ok(bytes.clone())).unwrap();
    render_all(&compilation.sources, &compilation.diagnostics, Style::Plain)
}

#[test]
fn a_byte_order_mark_begins_a_file_and_stands_nowhere_else() {
    assert_eq!(said(format!("\u{FEFF}{GOOD}")), "");
    assert_eq!(said(format!("\u{FEFF}{BAD}")), said(BAD));
    let elsewhere = said(GOOD.replace("!A", "\u{FEFF}!A"));
    assert!(elsewhere.contains("error[S0010]: invisible character U+FEFF"), "{elsewhere}");
    assert!(
        elsewhere.contains("main.session:3:15\n") && elsewhere.contains("help: delete it"),
        "{elsewhere}"
    );
    assert!(said(format!("\u{FEFF}\u{FEFF}{GOOD}")).contains("U+FEFF"));
}

#[test]
fn line_ends_of_either_kind_give_the_same() {
    assert!(said(BAD).contains("main.session:5:"));
    assert_eq!(said(BAD.replace('\n', "\r\n")), said(BAD));
    assert_eq!(said(GOOD.replace('\n', "\r\n")), "");
    // Alone it is white space and ends no line, not even that of a comment.
    assert_eq!(said(GOOD.replace(' ', "\r")), "");
    assert_eq!(said(format!("-- a\rclient\n{GOOD}")), "");
}

#[test]
fn what_turns_the_direction_of_the_text_is_warned_about_wherever_it_stands() {
    for hidden in [
        '\u{202A}', '\u{202B}', '\u{202D}', '\u{202E}', '\u{202C}', '\u{2066}', '\u{2067}', '\u{2068}',
        '\u{2069}',
    ] {
        let number = format!("U+{:04X}", u32::from(hidden));
        for text in [
            format!("-- {hidden}\n{GOOD}"),
            format!("--- {hidden}\n{GOOD}"),
            GOOD.replace("!A", &format!("!{hidden}A")),
            format!("protocol P \"{hidden}\"\n{GOOD}"),
        ] {
            let said = said(text);
            assert!(said.contains("warning[S0014]") && said.contains(&number), "{said}");
            assert!(said.contains("help: delete it"), "{said}");
            assert!(!said.contains(hidden), "it is not printed: {said:?}");
        }
    }
}

#[test]
fn zero_and_other_controls_are_named_and_not_printed() {
    for (control, shown) in
        [('\0', "\\u{0}"), ('\u{1B}', "\\u{1b}"), ('\u{7F}', "\\u{7f}"), ('\u{9B}', "\\u{9b}")]
    {
        let said = said(GOOD.replace("!A", &format!("{control}!A")));
        assert!(said.contains(&format!("error[S0010]: unknown character `{shown}`")), "{said}");
        assert!(!said.contains(control), "{said:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_placed() {
    for bytes in [&b"\xFF"[..], b"\xC3", b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\xC0\xAF"] {
        let said = said([b"-- ", bytes, b"\n", GOOD.as_bytes()].concat());
        assert!(said.contains("error[S0001]: the file is not UTF-8"), "{said}");
        assert!(said.contains("main.session:1:4\n") && said.contains("byte 3 is the first"), "{said}");
    }
}

#[test]
fn quotes_without_an_end() {
    let said = said(format!("protocol P \"1\nimport \"\n{GOOD}"));
    assert!(said.contains("error[S0011]") && said.contains(":1:12\n") && said.contains(":2:8\n"), "{said}");
}

#[test]
fn circles_are_named() {
    let files = HashMap::from([
        ("main.session", "import \"a.session\"\nclient C\nC = !N . End\n"),
        ("a.session", "import \"./b/../a.session\"\nimport \"main.session\"\nnotification N \"n\"\n"),
    ]);
    let mut read = |path: &Path| {
        let text = files.get(path.to_str().unwrap());
        text.map(|text| text.as_bytes().to_vec()).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let compilation = compile(Path::new("main.session"), &mut read).unwrap();
    let circles = render_all(&compilation.sources, &compilation.diagnostics, Style::Plain);
    assert_eq!(circles.matches("error[S0042]").count(), 2, "{circles}");
    assert!(circles.contains("`main.session` imports `a.session` imports `main.session`"), "{circles}");

    let definitions = said("client C\nC = A\nA = B ⊕ !M . End\nB = C ⊕ !N . End\n");
    assert!(definitions.contains("error[S0201]"), "{definitions}");
    let groups = said("request R \"r\" -> A\ngroup G = H\ngroup H = G | R\nclient C\nC = !R . ?A . End\n");
    assert!(groups.contains("error[S0106]") && groups.contains("contains itself"), "{groups}");
}
