//! Payloads as shapes: any JSON is the shape `any`, which may have a name, and a record may stand where its name stood.

use std::path::{Path, PathBuf};

use mcp_protocol_compiler::ast::{ItemKind, ShapeKind};
use mcp_protocol_compiler::format;
use mcp_protocol_compiler::lexer::{Kind, lex};
use mcp_protocol_compiler::source::SourceMap;

use crate::random::Random;
use crate::texts::parsed;
use crate::transforms::fresh;
use crate::tree::Files;

/// Writes another payload in one place of one file.
pub(crate) fn written_otherwise(files: &mut Files, random: &mut Random) -> bool {
    let paths: Vec<PathBuf> = files.keys().cloned().collect();
    let Some(path) = random.one(&paths).cloned() else { return false };
    let shape = fresh(files, "Shape");
    let text = format::file(&files[&path]);
    let mut sources = SourceMap::new();
    let (file, _) = sources.add_bytes(Path::new("payloads.session"), text.as_bytes().to_vec());
    let tokens = lex(&sources, file).tokens;
    let source = |place: usize| &text[tokens[place].start as usize..tokens[place].end as usize];
    let overridden = files.values().flat_map(|file| &file.items).any(|item| item.overrides.is_some());
    let records: Vec<(String, String)> = parsed(Path::new("payloads.session"), text.clone().into_bytes())
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            ItemKind::Shape { name, body } if matches!(body.kind, ShapeKind::Record(_)) && !overridden => {
                let written = &text[body.span.start as usize..body.span.end as usize];
                Some((name.text.clone(), written.to_owned()))
            }
            _ => None,
        })
        .collect();
    let mut places: Vec<(usize, Vec<String>)> = Vec::new();
    for place in 2..tokens.len().saturating_sub(2) {
        let kinds = [place - 1, place, place + 1].map(|place| tokens[place].kind);
        if kinds != [Kind::Open, Kind::Word, Kind::Close] {
            continue;
        }
        // The name that a record would get here.
        let before = |ahead: usize| place.checked_sub(ahead).map_or("", source);
        let named = if matches!(before(4), "request" | "notification") && tokens[place - 2].kind == Kind::Text
        {
            Some(format!("{}Params", before(3)))
        } else if before(3) == "->" {
            Some(format!("{}Result", before(2)))
        } else {
            None
        };
        let Some(named) = named.filter(|named| !text.contains(named.as_str())) else { continue };
        if source(place) == "_" {
            places.push((place, vec!["any".to_owned(), shape.clone(), format!("{named}Any")]));
        }
        // A shape that no message carries any more is advised against.
        let uses = (0..tokens.len()).filter(|other| source(*other) == source(place)).count();
        if let Some((_, record)) = records.iter().find(|(name, _)| uses > 2 && name == source(place)) {
            places.push((place, vec![record.clone()]));
        }
    }
    let Some((place, ways)) = random.one(&places).cloned() else { return false };
    let Some(way) = random.one(&ways).cloned() else { return false };
    let (start, end) = (tokens[place].start as usize, tokens[place].end as usize);
    let declared =
        if way == "any" || way.starts_with('{') { String::new() } else { format!("\ntype {way} = any\n") };
    let changed = format!("{}{way}{}{declared}", &text[..start], &text[end..]);
    files.insert(path.clone(), parsed(&path, changed.into_bytes()));
    true
}
