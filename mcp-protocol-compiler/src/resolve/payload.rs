//! The Rust types behind `( … )`.

use std::collections::HashMap;

use mcp_protocol_machine::protocol::{self as machine, Literal};

use crate::ast::{Payload, RustPath, ShapeKind, is_built_in};
use crate::declarations::{PayloadType, built_in_word, is_primitive};
use crate::diagnostic::Diagnostic;
use crate::findings::{declarations as finding, shapes as finding_of_shapes};
use crate::suggest::nearest;

/// Prelude types whose arguments are payload types in their own right.
const CONTAINERS: &[&str] = &["Vec", "Option", "Box"];

/// With how many shapes a name is compared that none has.
const MOST_COMPARED: usize = 1_000;

/// What a declaration's payload is, in the tables and in Rust. A name is looked for among the shapes first.
pub(super) fn payload(
    payload: &Payload,
    types: Option<&RustPath>,
    shapes: &HashMap<String, usize>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (machine::Payload, PayloadType) {
    let presence = |optional: bool| match optional {
        true => machine::Payload::Optional,
        false => machine::Payload::Required,
    };
    match payload {
        Payload::None => (machine::Payload::None, PayloadType::None),
        Payload::Null(_) => (machine::Payload::Null, PayloadType::None),
        Payload::Any { optional, .. } => (presence(*optional), PayloadType::Any),
        Payload::Shape { name, optional, shape } => {
            if let ShapeKind::Literal(Literal::Text(text), _) = &shape.kind
                && (shapes.contains_key(&**text) || is_built_in(text))
            {
                diagnostics.push(finding_of_shapes::name_in_quotes(text, shape.span));
            }
            // A protocol with too many shapes does not have all of them.
            let shape = shapes.get(&name.text).map_or(PayloadType::Any, |index| PayloadType::Shape {
                index: *index,
                name: name.text.clone(),
            });
            (presence(*optional), shape)
        }
        Payload::Type { path, optional } => {
            let word = built_in_word(&path.text);
            if let Some((name, index)) =
                shapes.get_key_value(&path.text).or_else(|| shapes.get_key_value(word))
            {
                let shape = PayloadType::Shape { index: *index, name: name.clone() };
                return (presence(*optional), shape);
            }
            if let Some(shape) = argument(&path.text, shapes) {
                let written = as_shape(&path.text, shape);
                let written = written.as_ref().map(|(name, written)| (name.as_str(), written.clone()));
                diagnostics.push(finding::shape_in_a_type(path, shape, written));
                return (presence(*optional), PayloadType::Any);
            }
            let text = complete(&path.text, types).unwrap_or_else(|| {
                if let Some(near) = near(&path.text, shapes) {
                    diagnostics.push(finding::misspelt_shape(path, near));
                    return path.text.clone();
                }
                // One item mends all of them. What may be a misspelt shape has another help, too.
                let told = |found: &Diagnostic| {
                    found.code == finding::NO_TYPES
                        && found.helps.len() == 1
                        && found.span().is_some_and(|span| span.file == path.span.file)
                };
                if !diagnostics.iter().any(told) {
                    diagnostics.push(finding::no_types_module(path));
                }
                path.text.clone()
            });
            (presence(*optional), PayloadType::Type(RustPath { text, span: path.span }))
        }
    }
}

/// The first shape among the arguments of a type.
fn argument<'a>(text: &'a str, shapes: &HashMap<String, usize>) -> Option<&'a str> {
    let mut parts = text.split(['<', '>', ',']).map(str::trim).skip(1);
    parts.find(|part| shapes.contains_key(*part) && !is_built_in(part))
}

/// The shape that says the same as a container of one, and a name for it.
fn as_shape(text: &str, shape: &str) -> Option<(String, String)> {
    let (container, rest) = text.split_once('<')?;
    if rest.strip_suffix('>')?.trim() != shape {
        return None;
    }
    match container {
        "Vec" => Some((format!("{shape}s"), format!("[{shape}]"))),
        "Option" => Some((format!("{shape}OrNull"), format!("{shape} | null"))),
        _ => None,
    }
}

/// The shape that was probably meant.
fn near<'a>(name: &str, shapes: &'a HashMap<String, usize>) -> Option<&'a str> {
    let mut names: Vec<&str> = shapes.keys().map(String::as_str).collect();
    names.sort_unstable();
    nearest(name, names.into_iter().take(MOST_COMPARED))
}

/// Puts the `types` module before a name that stands alone; `None` if the file has no such module.
fn complete(text: &str, types: Option<&RustPath>) -> Option<String> {
    if let Some((head, rest)) = text.split_once('<')
        && let Some(argument) = rest.strip_suffix('>')
    {
        let head = if CONTAINERS.contains(&head) { head.to_owned() } else { complete(head, types)? };
        let arguments: Option<Vec<String>> =
            top_level_commas(argument).into_iter().map(|argument| complete(argument, types)).collect();
        return Some(format!("{head}<{}>", arguments?.join(", ")));
    }
    if text.contains("::") || is_primitive(text) {
        return Some(text.to_owned());
    }
    types.map(|types| format!("{}::{text}", types.text))
}

/// Splits `A<B,C>,D` in `A<B,C>` and `D`.
fn top_level_commas(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(|character| {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn names_get_the_module_of_their_file() {
        let types = RustPath { text: "wire::v1".into(), span: Span::default() };
        let complete = |text| complete(text, Some(&types)).unwrap();
        assert_eq!(complete("Params"), "wire::v1::Params");
        assert_eq!(complete("a::b::T"), "a::b::T");
        assert_eq!(complete("u32"), "u32");
        assert_eq!(complete("Vec<Params>"), "Vec<wire::v1::Params>");
        assert_eq!(complete("Either<Vec<A>,b::C>"), "wire::v1::Either<Vec<wire::v1::A>, b::C>");
    }

    #[test]
    fn without_a_module_a_lone_name_has_no_home() {
        assert_eq!(complete("Params", None), None);
        assert_eq!(complete("Vec<String>", None).as_deref(), Some("Vec<String>"));
    }
}
