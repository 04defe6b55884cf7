//! Compares two versions of a protocol: can a client of one talk to a server of the other?
//!
//! Takes the paths of two files and returns what breaks for each pair of roles, with the shortest exchange or a payload
//! that shows it ([`compare()`]), and what has changed for a reviewer ([`Verdict::changes`]). Messages of two files are
//! one message if they are one on the wire: by kind, method, condition, and the request of a reply. `order` compares the
//! automata with the relation of `compatible`, `payload` the shapes, `gates`, `ties`, `tokens`, `grants` and `envelope` what
//! else a receiver insists on. `announced` says which gates cannot open in a pair of roles,
//! and `readings` which payloads are another message for the receiver than for the sender.

mod announced;
mod changes;
mod envelope;
mod found;
mod gates;
mod grants;
mod order;
mod pair_verdict;
mod payload;
mod readings;
mod senders;
mod shapes;
mod ties;
mod tokens;
mod version;
mod wire;

use std::io;
use std::path::Path;

use mcp_protocol_machine::protocol::Side;

pub use changes::{Change, Part};
pub use found::{Break, Exchanged, Rule};
pub use pair_verdict::PairVerdict;
pub use version::{Age, Peer};

use crate::compile::{Settings, compile_next};
use crate::compiled::Compiled;
use crate::diagnostic::Diagnostic;
use crate::resolve::load;
use crate::source::SourceMap;
use found::Pairing;
use version::Version;
use wire::Wire;

/// What comparing two files gives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Every file that was read for both versions.
    pub sources: SourceMap,
    /// What is wrong in the files themselves, those of the old one first.
    pub diagnostics: Vec<Diagnostic>,
    /// What the comparison found; `None` if one of the files has errors.
    pub verdict: Option<Verdict>,
}

/// Whether the roles of two files can talk, and what has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The old client with the new server, then the new client with the old server; a pair of which a file does not
    /// declare the role is left out.
    pub pairs: Vec<PairVerdict>,
    /// What has changed, in the order of the parts.
    pub changes: Vec<Change>,
}

impl Verdict {
    /// Whether all pairs can talk.
    pub fn is_compatible(&self) -> bool {
        self.pairs.iter().all(PairVerdict::is_compatible)
    }
}

/// Compares two versions of a protocol. `read` returns the bytes of a file by its path.
///
/// ```
/// # use std::{io, path::Path};
/// use mcp_protocol_compiler::compat::compare;
///
/// let file = |params: &str| format!(
///     "protocol Notes \"1\"\ntype Note = {params}\nnotification Add \"add\" (Note)\n\
///      client Author\nserver Archive = dual Author\nAuthor = *( !Add . End )\n"
/// );
/// let mut read = |path: &Path| -> io::Result<Vec<u8>> {
///     let is_old = path == Path::new("old.session");
///     Ok(file(if is_old { "{ text: string }" } else { "{ text: string, author: string }" }).into_bytes())
/// };
/// let comparison = compare(Path::new("old.session"), Path::new("new.session"), &mut read)?;
/// let verdict = comparison.verdict.unwrap();
/// // The old client does not write the author, which the new server needs. The old server ignores it.
/// assert!(!verdict.pairs[0].is_compatible());
/// assert!(verdict.pairs[1].is_compatible());
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// If one of the two files cannot be read.
pub fn compare(old: &Path, new: &Path, read: load::Read<'_>) -> io::Result<Comparison> {
    compare_read(old, new, &mut |_, path: &Path| read(path))
}

/// The same where the two versions are read from different places, such as two commits.
///
/// # Errors
/// If one of the two files cannot be read.
pub fn compare_read(
    old: &Path,
    new: &Path,
    read: &mut dyn FnMut(Age, &Path) -> io::Result<Vec<u8>>,
) -> io::Result<Comparison> {
    // What is suggested for warnings is not shown with a verdict.
    let settings = Settings::default().tries_if_wrong();
    let of_old =
        compile_next(SourceMap::new(), old, &mut |path| read(Age::Old, path), &mut |_| Vec::new(), settings)?;
    let of_new =
        compile_next(of_old.sources, new, &mut |path| read(Age::New, path), &mut |_| Vec::new(), settings)?;
    let mut diagnostics = of_old.diagnostics;
    diagnostics.extend(of_new.diagnostics);
    let sources = of_new.sources;
    let verdict = match (&of_old.protocol, &of_new.protocol) {
        (Some(old), Some(new)) => Some(judge(&sources, old, new)),
        _ => None,
    };
    Ok(Comparison { sources, diagnostics, verdict })
}

fn judge(sources: &SourceMap, old: &Compiled, new: &Compiled) -> Verdict {
    let (old, new) = (Version::new(Age::Old, old), Version::new(Age::New, new));
    let wire = Wire::new(old.declarations, new.declarations);
    let mut pairs = Vec::new();
    for (client, server) in [(&old, &new), (&new, &old)] {
        if client.role(Side::Client).is_some() && server.role(Side::Server).is_some() {
            let found = found_in(&Pairing { client, server, wire: &wire, sources });
            pairs.push(PairVerdict { client: client.age, found });
        }
    }
    let changes = changes::changes(&old, &new, &wire, &pairs);
    Verdict { pairs, changes }
}

/// All that is found about a client and a server.
fn found_in(pairing: &Pairing<'_>) -> Vec<Break> {
    let withheld = [order::all_withheld(pairing, Side::Client), order::all_withheld(pairing, Side::Server)];
    let mut found = order::compare(pairing, &withheld);
    found.extend(gates::compare(pairing, &withheld));
    found.extend(payload::compare_all(pairing, &withheld));
    found.extend(ties::compare(pairing, &withheld));
    found.extend(tokens::compare(pairing, &withheld));
    found.extend(grants::compare(pairing));
    found.extend(envelope::compare(pairing));
    // What breaks something comes first.
    found.sort_by_key(|found| std::cmp::Reverse(found.diagnostic.severity));
    found
}
