//! Diagnostics for programs: one JSON object a line.

use super::finding::{Diagnostic, Severity};
use crate::source::SourceMap;

/// One finding as one line of JSON.
///
/// ```
/// # use std::{io, path::Path};
/// # let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(b"client Teller\n".to_vec()) };
/// let compilation = mcp_protocol_compiler::compile(Path::new("counter.session"), &mut read)?;
/// use mcp_protocol_compiler::diagnostic::json;
///
/// let line = json::line(&compilation.sources, &compilation.diagnostics[0]);
/// assert!(line.starts_with(r#"{"code":"S0104","severity":"error""#));
/// # Ok::<(), io::Error>(())
/// ```
pub fn line(sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let mut out = String::from("{\"code\":");
    string(&mut out, diagnostic.code.0);
    out.push_str(",\"severity\":");
    string(&mut out, severity(diagnostic.severity));
    out.push_str(",\"message\":");
    string(&mut out, &diagnostic.message);
    match diagnostic.labels.first() {
        Some(label) => {
            let position = sources.start(label.span);
            out.push_str(",\"file\":");
            string(&mut out, &sources.path(label.span.file).to_string_lossy());
            out.push_str(&format!(",\"line\":{},\"column\":{}", position.line, position.column));
        }
        None => out.push_str(",\"file\":null,\"line\":null,\"column\":null"),
    }
    out.push_str(",\"help\":");
    if diagnostic.helps.is_empty() {
        out.push_str("null");
    } else {
        string(&mut out, &diagnostic.helps.iter().map(|help| help.text()).collect::<Vec<_>>().join("\n"));
    }
    out.push('}');
    out
}

/// The word for how bad a finding is.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Appends a JSON string.
fn string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Line separators are legal in JSON but break readers that split lines by Unicode's rules.
            control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::Span;

    #[test]
    fn one_object_a_line() {
        let mut sources = SourceMap::new();
        let file = sources.add("dir/a \"b\".session", "\n  α wrong");
        let place = Span { file, start: 6, end: 11 };
        let diagnostic = Diagnostic::warning(Code("S0001"), place, "a \\ and\u{1}").help("one").help("two");
        assert_eq!(
            line(&sources, &diagnostic),
            "{\"code\":\"S0001\",\"severity\":\"warning\",\"message\":\"a \\\\ and\\u0001\",\
             \"file\":\"dir/a \\\"b\\\".session\",\"line\":2,\"column\":5,\"help\":\"one\\ntwo\"}"
        );
    }

    #[test]
    fn a_finding_without_a_place_or_help_has_nulls() {
        let mut diagnostic = Diagnostic::note(Code("S0001"), Span::default(), "m");
        diagnostic.labels.clear();
        assert_eq!(
            line(&SourceMap::new(), &diagnostic),
            "{\"code\":\"S0001\",\"severity\":\"note\",\"message\":\"m\",\
             \"file\":null,\"line\":null,\"column\":null,\"help\":null}"
        );
    }
}
