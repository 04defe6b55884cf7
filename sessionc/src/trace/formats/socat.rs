//! What `socat -v` shows of two streams of bytes: blocks, each behind a header that says which way it goes and how many
//! bytes it has.
//!
//! A message may be in several blocks, and a header stands behind a block that does not end with a line feed.

use std::collections::VecDeque;
use std::io::{self, Read};

use mcp_runtime::observer::JsonReader;

use super::chunked::ChunkedBodies;
use super::record::{Broken, LogReader, Place, Sender};
use super::said_around::SaidAround;
use super::spread::{Brackets, goes_on_with};
use super::text;
use crate::trace::lines::{LONGEST, Line, Lines};

/// How many streams are followed at once. Each connection has two.
const STREAMS: usize = 128;
/// What to do where the blocks of connections are mixed up.
const RECORD: &str =
    "`socat -v` has served several connections at once; record them with `sessionc guard --record`";
/// How long a header is at most.
const HEADER: usize = 160;

/// What stands before a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    sender: Sender,
    length: usize,
    /// How many bytes went this way in the connection before.
    from: u64,
}

impl BlockHeader {
    /// The header that a line is.
    pub(super) fn of(line: &[u8]) -> Option<BlockHeader> {
        BlockHeader::behind(line).filter(|(content, _)| content.is_empty()).map(|(_, header)| header)
    }

    /// The header at the end of a line, and what stands before it: `> 2026/11/30 05:11:57.000123  length=8 from=0
    /// to=7`.
    fn behind(line: &[u8]) -> Option<(&[u8], BlockHeader)> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let shortest = line.len().saturating_sub(HEADER);
        let ahead = line.get(shortest..)?;
        let numbers = memchr::memmem::rfind(ahead, b"  length=")?;
        let (before, numbers) = ahead.split_at_checked(numbers)?;
        let start = before.iter().rposition(|byte| matches!(byte, b'<' | b'>'))?;
        let (sender, time) = match before.get(start..)? {
            [b'>', b' ', time @ ..] => (Sender::Writer, time),
            [b'<', b' ', time @ ..] => (Sender::Peer, time),
            _ => return None,
        };
        let is_of_time = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'/' | b':' | b'.' | b' ');
        let is_time = time.len() >= "2026/11/30 05:11:57".len() && time.iter().all(is_of_time);
        let numbers = str::from_utf8(numbers).ok().filter(|_| is_time)?;
        let mut words = numbers.split_ascii_whitespace();
        let mut number = |name: &str| words.next()?.strip_prefix(name)?.parse::<u64>().ok();
        let (length, from, to) = (number("length=")?, number("from=")?, number("to=")?);
        let is_one = length > 0 && from.checked_add(length - 1) == Some(to) && words.next().is_none();
        let length = usize::try_from(length).ok().filter(|_| is_one)?;
        Some((line.get(..shortest + start)?, BlockHeader { sender, length, from }))
    }
}

/// Reads what follows the first header.
pub(super) fn read<R: Read>(
    lines: &mut Lines<R>,
    first: BlockHeader,
    reader: &mut impl LogReader,
) -> io::Result<()> {
    read_within(LONGEST, lines, first, reader)
}

/// The same, where the messages that have begun have at most so many bytes together when a block begins.
fn read_within<R: Read>(
    most: usize,
    lines: &mut Lines<R>,
    first: BlockHeader,
    reader: &mut impl LogReader,
) -> io::Result<()> {
    let mut streams = Streams { most, open: VecDeque::new(), count: 0 };
    let mut block = streams.begin(first, reader);
    let mut json = JsonReader::of_alike();
    while let Some(Line { number, text, is_whole }) = lines.next()? {
        let Some(text) = text else {
            streams.lose(&mut block, number, reader);
            continue;
        };
        let (content, next) = match BlockHeader::behind(text) {
            Some((content, header)) => (content, Some(header)),
            None => (text, None),
        };
        let mut feed = |byte| streams.feed(&mut block, byte, number, &mut json, reader);
        shown_bytes(content).for_each(&mut feed);
        match next {
            Some(header) => {
                streams.end_block(block, number, reader);
                block = streams.begin(header, reader);
            }
            None if is_whole => feed(b'\n'),
            None => {}
        }
    }
    streams.end(reader);
    Ok(())
}

/// The bytes that a part of a line shows.
fn shown_bytes(shown: &[u8]) -> impl Iterator<Item = u8> {
    let mut shown = shown.iter();
    std::iter::from_fn(move || match shown.next()? {
        b'\\' => Some(match shown.next()? {
            b'a' => 0x07,
            b'b' => 0x08,
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'r' => b'\r',
            other => *other,
        }),
        byte => Some(*byte),
    })
}

/// A block that is being read.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The number of its stream.
    stream: u64,
    /// How many of its bytes are to come. What a program writes between two blocks is not in a stream.
    left: usize,
}

/// The streams of all connections that the log has. Those of several connections may alternate: a block goes on with
/// the stream of its direction that ends where it begins.
///
/// Invariant: at most [`STREAMS`] of them, in the order in which they have last had a block. When a block begins, the
/// messages that have begun have at most `most` bytes together.
#[derive(Debug)]
struct Streams {
    most: usize,
    open: VecDeque<ByteStream>,
    count: u64,
}

/// What goes one way in one connection.
#[derive(Debug)]
struct ByteStream {
    number: u64,
    sender: Sender,
    /// How many bytes it has had.
    end: u64,
    /// A message that has begun; nothing is in it between messages.
    begun: Vec<u8>,
    brackets: Brackets,
    bodies: ChunkedBodies,
    /// The line in which it has begun.
    line: u64,
}

impl Streams {
    /// A block begins behind its header.
    fn begin(
        &mut self,
        BlockHeader { sender, length, from }: BlockHeader,
        reader: &mut impl LogReader,
    ) -> Block {
        let goes_on = |stream: &ByteStream| from > 0 && stream.sender == sender && stream.end == from;
        let known = self.open.iter().rposition(goes_on).and_then(|place| self.open.remove(place));
        let mut stream = known.unwrap_or_else(|| {
            self.count += 1;
            let (begun, brackets, bodies) = (Vec::new(), Brackets::default(), ChunkedBodies::default());
            ByteStream { number: self.count, sender, end: from, begun, brackets, bodies, line: 0 }
        });
        stream.end = stream.end.saturating_add(length.try_into().unwrap_or(u64::MAX));
        let block = Block { stream: stream.number, left: length };
        if self.open.len() == STREAMS
            && let Some(mut oldest) = self.open.pop_front()
        {
            oldest.give_up(format!("more than {STREAMS} streams have begun since: {RECORD}"), reader);
        }
        self.open.push_back(stream);
        let mut held: usize = self.open.iter().map(|stream| stream.begun.len()).sum();
        for oldest in &mut self.open {
            if held <= self.most {
                break;
            }
            held -= oldest.begun.len();
            oldest.give_up(format!("other messages have begun since, and none has ended: {RECORD}"), reader);
        }
        block
    }

    /// Takes the next byte of a line of the log. A message is read as soon as it ends.
    fn feed(
        &mut self,
        block: &mut Block,
        byte: u8,
        line: u64,
        json: &mut JsonReader,
        reader: &mut impl LogReader,
    ) {
        let Some(left) = block.left.checked_sub(1) else { return };
        block.left = left;
        let stream = self.open.back_mut().filter(|stream| stream.number == block.stream);
        if let Some(stream) = stream {
            stream.feed(byte, line, json, reader);
        }
    }

    /// The next block begins. Where this one has not had all its bytes, the rest is lost: several processes write into
    /// the log.
    fn end_block(&mut self, block: Block, line: u64, reader: &mut impl LogReader) {
        let stream = self.open.back_mut().filter(|stream| stream.number == block.stream);
        let Some(stream) = stream.filter(|_| block.left > 0) else { return };
        let problem = format!("a block ends before it has all its bytes: {RECORD}");
        let place = Place { line, entry: None };
        reader.broken(Broken { place, may_be_message: true, problem });
        stream.lose();
    }

    /// A line of the log is too long to be read. The message that it has is lost.
    fn lose(&mut self, block: &mut Block, line: u64, reader: &mut impl LogReader) {
        let place = Place { line, entry: None };
        let problem = format!("the line is longer than {} MiB", LONGEST >> 20);
        reader.broken(Broken { place, may_be_message: true, problem });
        block.left = 0;
        self.open.iter_mut().for_each(ByteStream::lose);
    }

    /// The log is over.
    fn end(&mut self, reader: &mut impl LogReader) {
        for stream in &mut self.open {
            stream.give_up("the log ends within the message".to_owned(), reader);
        }
    }
}

impl ByteStream {
    /// Takes the next byte.
    fn feed(&mut self, byte: u8, line: u64, json: &mut JsonReader, reader: &mut impl LogReader) {
        if !self.bodies.has(byte) {
            return;
        }
        let is_foreign = match self.begun.last() {
            // No message has a line end in a text.
            Some(_) if byte == b'\n' => self.brackets.in_text,
            Some(b'\n') => !goes_on_with(byte),
            _ => false,
        };
        if is_foreign {
            let problem = "the message does not end in its line: write the end of each message";
            self.give_up(problem.to_owned(), reader);
        }
        if self.begun.is_empty() {
            if !matches!(byte, b'{' | b'[') {
                return;
            }
            self.line = line;
        }
        self.begun.push(byte);
        if self.begun.len() > LONGEST {
            return self.give_up(format!("the message is longer than {} MiB", LONGEST >> 20), reader);
        }
        if self.brackets.follow(&[byte]).is_none() {
            return;
        }
        let said = SaidAround { sender: Some(self.sender), session: None };
        let read = text::read(self.place(), &self.begun, json, &mut said.fill(reader));
        match read {
            Ok(_) => self.clear(),
            Err(problem) => self.give_up(problem, reader),
        }
    }

    /// What has begun is not a message.
    fn give_up(&mut self, problem: String, reader: &mut impl LogReader) {
        if text::seems_message(&self.begun) {
            reader.broken(Broken { place: self.place(), may_be_message: true, problem });
        }
        self.clear();
    }

    /// Bytes of it are lost.
    fn lose(&mut self) {
        self.bodies.reset();
        self.clear();
    }

    fn clear(&mut self) {
        self.begun.clear();
        self.begun.shrink_to(1 << 16);
        self.brackets = Brackets::default();
    }

    fn place(&self) -> Place {
        Place { line: self.line, entry: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::Notes;
    use super::super::tests::notes;
    use super::*;

    /// What `socat -v` shows of a block.
    fn block(way: char, from: usize, bytes: &str) -> String {
        let length = bytes.len();
        let to = from + length - 1;
        let mut shown = format!("{way} 2026/11/30 05:11:57.000123456  length={length} from={from} to={to}\n");
        for byte in bytes.bytes() {
            match byte {
                b'\\' => shown.push_str("\\\\"),
                b'\r' => shown.push_str("\\r"),
                b'\n' | b' '..=b'~' => shown.push(char::from(byte)),
                _ => shown.push('.'),
            }
        }
        shown
    }

    fn request(id: u32, more: &str) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\",\"params\":{{\"x\":\"{more}\"}}}}")
    }

    fn reply(id: u32) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
    }

    #[test]
    fn a_header_is_at_the_end_of_a_line() {
        let shown = "{\"a\":1}< 2026/11/30 05:11:57.000123  length=8192 from=10 to=8201";
        let header = BlockHeader { sender: Sender::Peer, length: 8192, from: 10 };
        assert_eq!(BlockHeader::behind(shown.as_bytes()), Some((&b"{\"a\":1}"[..], header)));
        assert_eq!(BlockHeader::of(shown.as_bytes()), None);
        assert_eq!(BlockHeader::of(&shown.as_bytes()["{\"a\":1}".len()..]), Some(header));
        for other in
            ["", "> quoted", "< 2026/11/30 05:11:57.000123  length=8192 from=10 to=8200", "  length="]
        {
            assert_eq!(BlockHeader::behind(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_message_is_put_together_from_its_blocks() {
        let (long, answer) = (request(1, "a \\\\ b \\\"c\\\" é"), format!("{}\n", reply(1)));
        let whole = format!("{long}\n");
        for cut in 1..whole.len() {
            let Some((first, second)) = whole.split_at_checked(cut) else { continue };
            // The server may write something between two blocks, too, and so may `socat` itself.
            let log = [
                block('>', 0, first),
                block('<', 0, &answer),
                "listening {\n".to_owned(),
                block('>', first.len(), second),
                "2026/11/30 05:11:57 socat[7] N exiting with status 0\n".to_owned(),
            ];
            let found = notes(&log.concat());
            let mut expected = vec![(Sender::Peer, reply(1)), (Sender::Writer, long.replace('é', ".."))];
            if cut >= long.len() {
                expected.reverse();
            }
            let messages = found.messages.into_iter().map(|(_, sender, text)| (sender, text));
            assert_eq!((messages.collect::<Vec<_>>(), found.broken), (expected, vec![]), "{}", log.concat());
        }
    }

    #[test]
    fn the_blocks_of_two_connections_may_alternate() {
        let [one, two] = [1, 2].map(|id| request(id, &"x".repeat(usize::try_from(id).unwrap() * 10)));
        let log = [
            block('>', 0, &one[..20]),
            block('>', 0, &two[..30]),
            block('>', 20, &one[20..]),
            block('>', 30, &two[30..]),
            block('<', 0, &reply(2)),
        ];
        let found = notes(&(log.concat() + "\n"));
        let texts: Vec<_> = found.messages.iter().map(|(.., text)| text.clone()).collect();
        assert_eq!((texts, found.broken), (vec![one, two, reply(2)], vec![]));
    }

    #[test]
    fn what_has_begun_and_does_not_end_is_given_up() {
        let begun = |id: u32| block('>', 0, &request(id, "x")[..50]) + "\n";
        let read_within = |most: usize, log: &str| {
            let (mut notes, mut lines) = (Notes::default(), Lines::new(log.as_bytes()));
            let first = lines.next().unwrap().and_then(|line| BlockHeader::of(line.text?)).unwrap();
            read_within(most, &mut lines, first, &mut notes).unwrap();
            notes.broken
        };
        // Of three messages of 50 bytes, two may have begun.
        let broken = read_within(100, &(begun(1) + &begun(2) + &begun(3) + &block('<', 0, &reply(9))));
        let given_up: Vec<_> =
            broken.iter().map(|(line, what)| (*line, what.contains("none has ended"))).collect();
        assert_eq!(given_up, [(2, true), (4, false), (6, false)], "{broken:?}");
        let log: String = (0..=u32::try_from(STREAMS).unwrap()).map(begun).collect();
        let broken = read_within(LONGEST, &log);
        assert_eq!(broken.len(), STREAMS + 1);
        assert!(broken[0].0 == 2 && broken[0].1.contains("more than 128 streams"), "{:?}", broken[0]);
    }

    #[test]
    fn messages_may_have_a_length_or_be_bodies_of_http() {
        let framed = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let posted = format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{}", framed(&request(2, "b")));
        let events = format!("HTTP/1.1 200 OK\r\n\r\n40\r\nevent: message\r\ndata: {}\r\n\r\n", reply(2));
        let log = [
            block('>', 0, &framed(&request(1, "a"))),
            block('<', 0, &format!("{}{}", framed(&reply(1)), framed(&reply(7)))),
            block('>', 0, &posted),
            block('<', 0, &events),
        ];
        let found = notes(&(log.concat() + "\n"));
        let texts: Vec<_> = found.messages.iter().map(|(.., text)| text.clone()).collect();
        let expected = vec![request(1, "a"), reply(1), reply(7), request(2, "b"), reply(2)];
        assert_eq!((texts, found.broken), (expected, vec![]));
    }

    #[test]
    fn a_message_may_have_the_boundary_of_chunks_in_it() {
        let answer = reply(2);
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for cut in 0..=answer.len() {
            let (first, second) = answer.split_at(cut);
            let chunks = [format!("data: {first}"), format!("{second}\n\n"), format!("data: {answer}\n\n")];
            let chunks: String = chunks.iter().map(|it| format!("{:x}\r\n{it}\r\n", it.len())).collect();
            let whole = format!("{head}{chunks}0\r\n\r\n{head}{chunks}");
            // A block may end anywhere, too.
            let (before, behind) = whole.split_at(head.len() + cut);
            let log = [block('<', 0, before), block('<', before.len(), behind)].concat() + "\n";
            let found = notes(&log);
            let texts: Vec<_> = found.messages.iter().map(|(.., text)| text.as_str()).collect();
            assert_eq!((texts, found.broken), (vec![&*answer; 4], vec![]), "{log}");
        }
    }

    #[test]
    fn what_several_processes_have_written_at_once_is_not_read() {
        let (long, good) = (block('>', 0, &request(1, "a")), block('>', 0, &request(2, "b")));
        let (part, rest) = long.split_at(90);
        let found = notes(&format!("{part}{good}{rest}\n{good}\n"));
        assert_eq!(found.messages.iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(found.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2]);
        assert!(found.broken[0].1.contains("served several connections at once"), "{found:?}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let (bad, good) = ("{\"jsonrpc\":\"2.0\",\"id\":1\n", format!("{}\n", request(2, "a")));
        let log = block('>', 0, &format!("{bad}{good}[INFO ready\n{good}"));
        let found = notes(&log);
        assert_eq!(found.messages.iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(found.broken.len(), 1, "{found:?}");
        assert_eq!(found.broken[0].0, 2);
        let cut = notes(&block('>', 0, &request(1, "abc"))[..110]);
        assert_eq!(cut.broken, [(2, "the log ends within the message".to_owned())]);
    }
}
