//! The folder `editors/vscode`: its grammar and its snippets know the language, and its client is JavaScript.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::compile;
use mcp_protocol_compiler::diagnostic::{Severity, render};
use mcp_protocol_compiler::symbols::reserved_words;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../editors/vscode")
}

fn json(path: &str) -> Value {
    let text = fs::read_to_string(folder().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every `match` of a grammar with its scope.
fn matches<'g>(grammar: &'g Value, found: &mut Vec<(&'g str, &'g str)>) {
    match grammar {
        Value::Object(rule) => {
            if let (Some(Value::String(name)), Some(Value::String(pattern))) =
                (rule.get("name"), rule.get("match"))
            {
                found.push((name, pattern));
            }
            rule.values().for_each(|inner| matches(inner, found));
        }
        Value::Array(rules) => rules.iter().for_each(|inner| matches(inner, found)),
        _ => {}
    }
}

/// The words of `\b(?:one|two)\b` and of `\bone\b`.
fn words(pattern: &str) -> impl Iterator<Item = &str> {
    let list = pattern.split("\\b").nth(1).unwrap_or_default();
    list.trim_start_matches("(?:").trim_end_matches(')').split('|')
}

/// A word that the grammar lacks is not coloured, and one that it has too many is a name that looks like a word.
#[test]
fn the_grammar_knows_every_word_of_the_language() {
    let grammar = json("syntaxes/session.tmLanguage.json");
    let mut found = Vec::new();
    matches(&grammar, &mut found);
    let of_scope = |wanted: &str| {
        let (_, pattern) = found.iter().find(|(scope, _)| *scope == wanted).unwrap();
        words(pattern).collect::<BTreeSet<&str>>()
    };
    let booleans = of_scope("constant.language.boolean.session");
    assert_eq!(booleans, mcp_protocol_compiler::ast::BOOLEANS.into_iter().collect());
    let coloured = found.iter().filter(|(scope, _)| {
        ["keyword.declaration", "keyword.control", "keyword.other", "storage.modifier", "constant.language"]
            .iter()
            .any(|start| scope.starts_with(start))
    });
    let known: BTreeSet<&str> = coloured.flat_map(|(_, pattern)| words(pattern)).collect();
    assert_eq!(&known - &booleans, reserved_words().collect());
    let shapes: BTreeSet<&str> =
        of_scope("support.type.session").into_iter().filter(|word| *word != "map").collect();
    assert_eq!(shapes, mcp_protocol_compiler::ast::BUILT_IN.into_iter().collect());
}

/// What a snippet is when the reader changes nothing.
fn filled(body: &Value) -> String {
    let lines: Vec<&str> = body.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let mut text = String::new();
    let mut rest = lines.join("\n");
    while let Some(start) = rest.find("${") {
        text.push_str(&rest[..start]);
        let end = start + rest[start..].find('}').unwrap();
        let inside = rest[start + 2..end].trim_start_matches(|sign: char| sign.is_ascii_digit());
        let first = |choices: &str| choices.split([',', '|']).next().unwrap().to_owned();
        text.push_str(&match inside.split_at(1) {
            ("|", choices) => first(choices),
            (_, name) => name.to_owned(),
        });
        rest = rest[end + 1..].to_owned();
    }
    text + &rest + "\n"
}

#[test]
fn every_snippet_is_a_part_of_a_protocol_without_errors() {
    const MESSAGES: &str = "notification Reset \"reset\"\nrequest Total \"total\" -> Sum (_)\n";
    const ROLES: &str = "client Asker\nserver Answerer = dual Asker\n";
    const TYPE: &str = "Asker = rec a . ( !Reset . a ⊕ !Total . ?Sum . a ⊕ End )\n";
    for (name, snippet) in json("snippets/session.json").as_object().unwrap() {
        let body = filled(&snippet["body"]);
        let text = match name.as_str() {
            "Protocol" => body,
            "Request" => format!("{body}{ROLES}Asker = !Total . ?Sum . End\n"),
            "Notification" => format!("{body}{ROLES}Asker = !Reset . End\n"),
            "Record" => format!("{body}notification Set \"set\" (Amount)\n{ROLES}Asker = !Set . End\n"),
            "Group" => format!("{MESSAGES}{ROLES}{body}{TYPE}"),
            "Roles" => format!("{MESSAGES}{body}{TYPE}"),
            _ => format!("{MESSAGES}{ROLES}Asker = {body}"),
        };
        let compilation =
            compile(Path::new("snippet.session"), &mut |_| Ok(text.clone().into_bytes())).unwrap();
        let errors: Vec<_> = compilation
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .cloned()
            .collect();
        let shown = render::render_all(&compilation.sources, &errors, render::Style::Plain);
        assert!(errors.is_empty(), "{name}:\n{text}\n{shown}");
    }
}

/// Every file that the manifest names is there, and every command that it declares is registered.
#[test]
fn the_manifest_names_what_there_is() {
    fn files(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.starts_with("./") => found.push(text.clone()),
            Value::Object(members) => members.values().for_each(|inner| files(inner, found)),
            Value::Array(items) => items.iter().for_each(|inner| files(inner, found)),
            _ => {}
        }
    }
    let manifest = json("package.json");
    let mut named = Vec::new();
    files(&manifest, &mut named);
    assert!(named.len() >= 5, "{named:?}");
    for file in named {
        assert!(folder().join(&file).is_file(), "{file}");
    }
    let client = fs::read_to_string(folder().join("client/extension.js")).unwrap();
    for command in manifest["contributes"]["commands"].as_array().unwrap() {
        let name = command["command"].as_str().unwrap();
        assert!(client.contains(&format!("registerCommand('{name}'")), "{name}");
    }
    assert!(client.contains("'sessionc.diagram'"));
}
