//! SARIF 2.1.0, the format in which code scanning and editors read findings.
//!
//! What comes in is a rule, a level, a message, places and fixes, whatever has found them; what comes out is the log as
//! text. Lines and columns are counted from 1, columns in characters.

use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// What a rule demands; findings name it by its `id`.
pub(crate) struct Rule {
    /// Stable, `S0301`.
    pub(crate) id: String,
    /// In a few words.
    pub(crate) title: String,
    /// In Markdown.
    pub(crate) help: String,
}

/// How bad a finding is.
#[derive(Clone, Copy)]
pub(crate) enum LogLevel {
    /// Something worth knowing.
    Note,
    /// Probably not what was meant.
    Warning,
    /// Something that must be mended.
    Error,
}

/// One finding.
pub(crate) struct LogResult {
    /// The id of its rule.
    pub(crate) rule: String,
    /// How bad it is.
    pub(crate) level: LogLevel,
    /// What is wrong and what to do.
    pub(crate) message: String,
    /// Where; the first is the place of the finding, the others help to understand it.
    pub(crate) places: Vec<LogPlace>,
    /// Each mends the finding by itself.
    pub(crate) fixes: Vec<Fix>,
}

/// A place in a file.
pub(crate) struct LogPlace {
    /// The file.
    pub(crate) file: PathBuf,
    /// Which part of it.
    pub(crate) region: Region,
    /// What is said of it, possibly nothing.
    pub(crate) message: String,
}

/// A part of a file.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    /// The first character.
    pub(crate) start: Point,
    /// The character behind the last; without it, the place is the line.
    pub(crate) end: Option<Point>,
}

/// A line and a column.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    /// The line.
    pub(crate) line: u32,
    /// The column.
    pub(crate) column: u32,
}

/// What mends a finding.
pub(crate) struct Fix {
    /// What it does.
    pub(crate) description: String,
    /// The parts that are replaced, each with the text that replaces it.
    pub(crate) edits: Vec<Edit>,
}

/// A part of a file and the text that replaces it.
pub(crate) struct Edit {
    /// The file.
    pub(crate) file: PathBuf,
    /// What is replaced.
    pub(crate) region: Region,
    /// The new text.
    pub(crate) text: String,
}

/// The log of one run. Rules that no finding names are left out.
pub(crate) fn log(rules: &[Rule], findings: &[LogResult]) -> String {
    let named: Vec<&Rule> =
        rules.iter().filter(|rule| findings.iter().any(|finding| finding.rule == rule.id)).collect();
    let results: Vec<Value> = findings.iter().map(|finding| result(finding, &named)).collect();
    let rules: Vec<Value> = named.into_iter().map(descriptor).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "sessionc",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "help": { "text": rule.help, "markdown": rule.help },
    })
}

fn result(finding: &LogResult, rules: &[&Rule]) -> Value {
    let level = match finding.level {
        LogLevel::Note => "note",
        LogLevel::Warning => "warning",
        LogLevel::Error => "error",
    };
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level,
        "message": { "text": finding.message },
    });
    let Some(object) = result.as_object_mut() else { return result };
    if let Some(index) = rules.iter().position(|rule| rule.id == finding.rule) {
        object.insert("ruleIndex".to_owned(), index.into());
    }
    let mut places = finding.places.iter().map(location);
    object.insert("locations".to_owned(), places.next().into_iter().collect());
    let related: Vec<Value> = places.collect();
    if !related.is_empty() {
        object.insert("relatedLocations".to_owned(), related.into());
    }
    let fixes: Vec<Value> = finding.fixes.iter().map(fix).collect();
    if !fixes.is_empty() {
        object.insert("fixes".to_owned(), fixes.into());
    }
    result
}

fn location(place: &LogPlace) -> Value {
    let physical = json!({ "artifactLocation": artifact(&place.file), "region": region(place.region) });
    match place.message.as_str() {
        "" => json!({ "physicalLocation": physical }),
        message => json!({ "physicalLocation": physical, "message": { "text": message } }),
    }
}

fn region(region: Region) -> Value {
    match region.end {
        None => json!({ "startLine": region.start.line, "startColumn": region.start.column }),
        Some(end) => json!({
            "startLine": region.start.line,
            "startColumn": region.start.column,
            "endLine": end.line,
            "endColumn": end.column,
        }),
    }
}

/// A change for each file that the edits are in.
fn fix(fix: &Fix) -> Value {
    let mut changes: Vec<(&Path, Vec<Value>)> = Vec::new();
    for edit in &fix.edits {
        let replacement =
            json!({ "deletedRegion": region(edit.region), "insertedContent": { "text": edit.text } });
        match changes.iter_mut().find(|(file, _)| *file == edit.file) {
            Some((_, replacements)) => replacements.push(replacement),
            None => changes.push((&edit.file, vec![replacement])),
        }
    }
    let changes = changes.into_iter().map(
        |(file, replacements)| json!({ "artifactLocation": artifact(file), "replacements": replacements }),
    );
    json!({ "description": { "text": fix.description }, "artifactChanges": changes.collect::<Vec<_>>() })
}

/// What a path may have as it is in a URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A relative path is relative to the current folder, which readers take for the root of the repository.
fn artifact(file: &Path) -> Value {
    let parts = file.components().filter_map(|part| match part {
        Component::Normal(name) => Some(utf8_percent_encode(&name.to_string_lossy(), PATH).to_string()),
        Component::ParentDir => Some("..".to_owned()),
        Component::Prefix(prefix) => Some(prefix.as_os_str().to_string_lossy().into_owned()),
        Component::RootDir | Component::CurDir => None,
    });
    let path = parts.collect::<Vec<_>>().join("/");
    match file.is_absolute() {
        true => json!({ "uri": format!("file:///{path}") }),
        false => json!({ "uri": path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Point {
        Point { line, column }
    }

    fn place(file: &str, message: &str) -> LogPlace {
        let region = Region { start: at(2, 3), end: Some(at(2, 7)) };
        LogPlace { file: PathBuf::from(file), region, message: message.to_owned() }
    }

    fn rule(id: &str) -> Rule {
        Rule { id: id.to_owned(), title: format!("rule {id}"), help: String::new() }
    }

    #[test]
    fn a_finding_has_its_rule_places_and_fixes() {
        let edit = |file: &str| Edit {
            file: PathBuf::from(file),
            region: Region { start: at(1, 1), end: Some(at(1, 1)) },
            text: "-- ".to_owned(),
        };
        let finding = LogResult {
            rule: "b".to_owned(),
            level: LogLevel::Warning,
            message: "wrong".to_owned(),
            places: vec![place("one.session", ""), place("two.session", "also here")],
            fixes: vec![Fix {
                description: "a comment".to_owned(),
                edits: vec![edit("one.session"), edit("two.session"), edit("one.session")],
            }],
        };
        let log: Value = serde_json::from_str(&log(&[rule("a"), rule("b")], &[finding])).unwrap();
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), 1);
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "b");
        let result = &run["results"][0];
        assert_eq!((&result["ruleIndex"], &result["level"]), (&json!(0), &json!("warning")));
        let region = json!({ "startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 7 });
        assert_eq!(result["locations"][0]["physicalLocation"]["region"], region);
        assert_eq!(result["relatedLocations"][0]["message"]["text"], "also here");
        let changes = result["fixes"][0]["artifactChanges"].as_array().unwrap();
        let counts = changes.iter().map(|change| change["replacements"].as_array().unwrap().len());
        assert_eq!(counts.collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_path_becomes_a_uri() {
        let uri = |path: &str| artifact(Path::new(path))["uri"].as_str().unwrap().to_owned();
        assert_eq!(uri("a/b.session"), "a/b.session");
        assert_eq!(uri("./a b/ü#.session"), "a%20b/%C3%BC%23.session");
        assert_eq!(uri("../a.session"), "../a.session");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
        #[cfg(unix)]
        assert_eq!(uri("/a/b.session"), "file:///a/b.session");
    }
}
