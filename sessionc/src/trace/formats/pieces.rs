//! Lines that the runtime of a container has cut into pieces of 16 KiB: `TIME stdout P …` of Kubernetes, and entries of
//! Docker's `json-file` without a line feed.

use std::borrow::Cow;

use serde::Deserialize;

use super::envelope::JsonText;
use super::record::Place;
use super::spread::Brackets;
use crate::trace::lines::LONGEST;

/// How many bytes of a line Docker writes into one entry. Where it cuts a character in two, these are not quite as
/// many.
const DOCKER: usize = 16 * 1024 - 8;

/// The pieces of a line that has not ended yet, of each output of a program.
///
/// Invariant: no line is longer than [`LONGEST`].
#[derive(Debug, Default)]
pub(super) struct Pieces {
    open: [Option<OpenLine>; 2],
}

#[derive(Debug)]
struct OpenLine {
    /// Where its first piece stands.
    place: Place,
    text: Vec<u8>,
}

/// What a line of the log is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContainerPiece {
    /// Nothing of this kind.
    Foreign,
    /// A piece that others follow.
    GoesOn,
    /// The last piece of this text, which begins there.
    Last(Place, Vec<u8>),
}

/// A piece as its runtime writes it.
struct WrittenPiece<'a> {
    is_of_error: bool,
    /// A character may be cut in two, so this need not be UTF-8.
    text: Cow<'a, [u8]>,
    goes_on: bool,
}

#[derive(Deserialize)]
struct DockerEntry<'a> {
    #[serde(borrow)]
    log: JsonText<'a>,
    #[serde(borrow)]
    stream: JsonText<'a>,
}

impl Pieces {
    /// Takes a line of the log. This is done for each, so most are not looked at twice.
    #[inline]
    pub(super) fn take(&mut self, place: Place, line: &[u8]) -> ContainerPiece {
        match line {
            [b'2', ..] | [b'{', b'"', b'l', b'o', b'g', b'"', ..] => self.take_likely(place, line),
            _ => ContainerPiece::Foreign,
        }
    }

    fn take_likely(&mut self, place: Place, line: &[u8]) -> ContainerPiece {
        let piece = match line.first() {
            Some(b'{') => of_docker(line, self.open.iter().any(Option::is_some)),
            _ => of_kubernetes(line),
        };
        let Some(WrittenPiece { is_of_error, text, goes_on }) = piece else { return ContainerPiece::Foreign };
        let Some(open) = self.open.get_mut(usize::from(is_of_error)) else { return ContainerPiece::Foreign };
        if !goes_on && open.is_none() {
            return ContainerPiece::Foreign;
        }
        let line = open.get_or_insert_with(|| OpenLine { place, text: Vec::new() });
        // What is too long is not a message, and is named as the piece of one.
        if line.text.len() + text.len() <= LONGEST {
            line.text.extend_from_slice(&text);
        }
        match goes_on {
            true => ContainerPiece::GoesOn,
            false => open
                .take()
                .map_or(ContainerPiece::Foreign, |line| ContainerPiece::Last(line.place, line.text)),
        }
    }

    /// The log is over: lines whose last piece is not there.
    pub(super) fn end(&mut self) -> impl Iterator<Item = (Place, Vec<u8>)> {
        self.open.iter_mut().filter_map(Option::take).map(|line| (line.place, line.text))
    }
}

/// `2026-11-30T05:00:00.123456789Z stdout P …`.
fn of_kubernetes(line: &[u8]) -> Option<WrittenPiece<'_>> {
    let time = memchr::memchr(b' ', line.get(..64).unwrap_or(line))?;
    let (is_of_error, rest) = match line.get(time + 1..)? {
        [b's', b't', b'd', b'o', b'u', b't', b' ', rest @ ..] => (false, rest),
        [b's', b't', b'd', b'e', b'r', b'r', b' ', rest @ ..] => (true, rest),
        _ => return None,
    };
    let (goes_on, text) = match rest {
        [b'P', b' ', text @ ..] => (true, text),
        [b'F', b' ', text @ ..] => (false, text),
        _ => return None,
    };
    Some(WrittenPiece { is_of_error, text: text.into(), goes_on })
}

/// `{"log":"…","stream":"stdout","time":"…"}`.
fn of_docker(line: &[u8], is_open: bool) -> Option<WrittenPiece<'_>> {
    if line.len() < DOCKER && !is_open {
        return None;
    }
    let entry: DockerEntry<'_> = serde_json::from_slice(line).ok()?;
    let text = entry.log.0;
    // Programs that collect logs take the line feeds away: then a message that has ended is whole.
    let goes_on = text.len() >= DOCKER && !text.ends_with('\n') && {
        let mut brackets = Brackets::default();
        is_open || brackets.follow(text.trim_start_matches(|it| it != '{').as_bytes()).is_none()
    };
    let text = match text {
        Cow::Borrowed(text) => text.as_bytes().into(),
        Cow::Owned(text) => text.into_bytes().into(),
    };
    Some(WrittenPiece { is_of_error: entry.stream.0 == "stderr", text, goes_on })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read;
    use super::super::record::tests::Notes;
    use super::super::tests::notes;

    fn message(id: u32, length: usize) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"a\":\"{}\"}}}}", "é".repeat(length / 2))
    }

    fn pieces(text: &str) -> Vec<&[u8]> {
        text.as_bytes().chunks(16 * 1024).collect()
    }

    fn kubernetes(text: &str, output: &str) -> Vec<u8> {
        let pieces = pieces(text);
        let mut log = Vec::new();
        for (place, piece) in pieces.iter().enumerate() {
            let mark = if place + 1 == pieces.len() { 'F' } else { 'P' };
            log.extend(format!("2026-11-30T05:00:00.123456789Z {output} {mark} ").bytes());
            log.extend_from_slice(piece);
            log.push(b'\n');
        }
        log
    }

    fn docker(text: &str, end: &str, output: &str) -> String {
        let text = format!("{text}{end}");
        let entry = |piece: &&[u8]| {
            let entry = json!({ "log": String::from_utf8_lossy(piece), "stream": output, "time": "2026" });
            format!("{entry}\n")
        };
        pieces(&text).iter().map(entry).collect()
    }

    #[test]
    fn pieces_of_a_line_are_put_together() {
        // The first has its end where a piece has its own, or a piece cuts a character.
        for length in [10, 16_384 - 42, 16_384, 16_385, 40_000, 40_001] {
            let (one, two) = (message(1, length), message(2, 10));
            let log = [kubernetes(&one, "stdout"), kubernetes(&two, "stdout")].concat();
            let mut found = Notes::default();
            read(log.as_slice(), &mut found).unwrap();
            let texts: Vec<_> = found.messages.into_iter().map(|(.., text)| text).collect();
            assert_eq!((texts, found.broken), (vec![one, two], vec![]), "{length}");
        }
        // Lines of the standard error may stand between two pieces.
        let (one, two) = (message(1, 40_000).replace('é', "xx"), message(2, 10));
        let noise = kubernetes(&"log ".repeat(8_000), "stderr");
        let long = kubernetes(&one, "stdout");
        let end = long.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let noise_end = noise.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let log =
            [&long[..end], &noise[..noise_end], &long[end..], &noise[noise_end..], two.as_bytes()].concat();
        let found = notes(std::str::from_utf8(&log).unwrap());
        let texts: Vec<_> = found.messages.iter().map(|(line, _, text)| (*line, text.clone())).collect();
        assert_eq!((texts, found.broken), (vec![(1, one), (6, two)], vec![]));
    }

    #[test]
    fn entries_of_docker_are_put_together() {
        let two = message(2, 10);
        for length in [10, 20_000, 40_000] {
            let one = message(1, length).replace('é', "xx");
            let log = [docker(&one, "\n", "stdout"), docker(&two, "\n", "stdout")].concat();
            let found = notes(&log);
            let texts: Vec<_> = found.messages.iter().map(|(_, _, text)| text.clone()).collect();
            assert_eq!((texts, found.broken), (vec![one, two.clone()], vec![]));
        }
        // Something has taken the line feeds away.
        let one = message(1, 16_384 - 42).replace('é', "xx");
        assert_eq!(one.len(), 16_384);
        let found = notes(&[docker(&one, "", "stdout"), docker(&two, "", "stdout")].concat());
        assert_eq!(found.messages.len(), 2, "{:?}", found.broken);
    }

    #[test]
    fn a_line_that_does_not_end_is_named_with_its_first_piece() {
        let long = message(1, 40_000).replace('é', "xx");
        let log = format!("a log\n{}", String::from_utf8(kubernetes(&long, "stdout")).unwrap());
        let cut = log.rfind("2026").unwrap();
        let found = notes(&log[..cut]);
        assert_eq!(found.messages, []);
        assert_eq!(found.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2]);
        assert!(found.broken[0].1.starts_with("the last line is cut off: "), "{:?}", found.broken);
    }
}
