//! Where texts come from: the random protocols of the checker's oracle, the random automata of the relations' oracle
//! written as text, and the protocols of this project.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use mcp_protocol_compiler::ast::File;
use mcp_protocol_compiler::source::SourceMap;
use mcp_protocol_compiler::{compile, parser};

use crate::protocols;
use crate::random::Random;
use crate::relation::tests::graphs;
use crate::session_files::session_files;
use crate::transforms::spoil;
use crate::tree::Files;

/// A protocol as trees.
pub(crate) struct Source {
    pub(crate) entry: PathBuf,
    pub(crate) files: Files,
    pub(crate) origin: Origin,
}

/// Who wrote a text, and whether mistakes were put into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    Protocols { spoiled: bool },
    Graphs { spoiled: bool },
    Channels { spoiled: bool },
    Project,
}

impl Origin {
    pub(crate) fn is_spoiled(self) -> bool {
        matches!(
            self,
            Origin::Protocols { spoiled: true }
                | Origin::Graphs { spoiled: true }
                | Origin::Channels { spoiled: true }
        )
    }
}

/// A random text, which may have mistakes in it.
pub(crate) fn random(random: &mut Random, seed: u64) -> Source {
    type Writer = fn(bool) -> Origin;
    let (text, origin): (String, Writer) = match random.below(10) {
        0..4 => (protocols::write(random), |spoiled| Origin::Protocols { spoiled }),
        4..8 => (graphs::write(seed), |spoiled| Origin::Graphs { spoiled }),
        _ => (channels(random), |spoiled| Origin::Channels { spoiled }),
    };
    let (mut files, entry) = one_file(text);
    let spoiled = random.percent(40);
    if spoiled {
        for _ in 0..1 + random.below(2) {
            spoil(&mut files, random);
        }
    }
    Source { entry, files, origin: origin(spoiled) }
}

/// Channels side by side with requests of either role, many of which may be cancelled; the server lists its channels in
/// an order of its own.
fn channels(random: &mut Random) -> String {
    let reply = if random.percent(30) { " with reply error -32800" } else { "" };
    let mut text = format!(
        "types crate::payloads\nnotification Cancelled \"cancelled\" (P) cancels id{reply}\nclient C\nserver S\n"
    );
    let (mut client, mut server) = (Vec::new(), Vec::new());
    for number in 0..2 + random.below(3) {
        let modifier = if random.percent(70) { " cancellable" } else { "" };
        writeln!(text, "request A{number} \"a{number}\" (P) -> R{number} (P){modifier}").unwrap();
        writeln!(text, "notification T{number} \"t{number}\" (P)").unwrap();
        let (out, back) = if random.percent(60) { ('!', '?') } else { ('?', '!') };
        let mut branches = vec![format!("{out}A{number} . {back}R{number} . x")];
        if random.percent(50) {
            branches.push(format!("{out}T{number} . x"));
        }
        if random.percent(30) {
            branches.push("End".to_owned());
        }
        let operator = |internal: bool| if internal { " ⊕ " } else { " & " };
        let channel = format!("rec x . ( {} )", branches.join(operator(out == '!')));
        server.insert(random.below(server.len() + 1), protocols::flip(&channel));
        client.push(channel);
    }
    writeln!(text, "C = ({})\nS = ({})", client.join(", "), server.join(", ")).unwrap();
    text
}

/// The protocols of this project.
pub(crate) fn shipped() -> Vec<Source> {
    session_files().into_iter().map(open).collect()
}

/// A file and what it imports.
fn open(entry: PathBuf) -> Source {
    let mut files = Files::new();
    compile(&entry, &mut |path| {
        let bytes = std::fs::read(path)?;
        files.insert(path.to_owned(), parsed(path, bytes.clone()));
        Ok(bytes)
    })
    .unwrap();
    Source { entry, files, origin: Origin::Project }
}

/// A text as the only file of a protocol, and the path of that.
pub(crate) fn one_file(text: String) -> (Files, PathBuf) {
    let entry = PathBuf::from("random.session");
    let file = parsed(&entry, text.into_bytes());
    (Files::from([(entry.clone(), file)]), entry)
}

/// The tree of a text. Comments and empty lines stand at places in it, which a change would move.
pub(crate) fn parsed(path: &Path, bytes: Vec<u8>) -> File {
    let mut sources = SourceMap::new();
    let (file, _) = sources.add_bytes(path, bytes);
    let (file, _) = parser::parse(&sources, file);
    File { comments: Vec::new(), empty_lines: Vec::new(), ..file }
}
