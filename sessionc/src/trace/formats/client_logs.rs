//! Logs of Claude Desktop and VS Code. They have each message behind words that say who sends it. Between the messages
//! stands what the server writes on its standard error, which may have messages in it, too.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use mcp_runtime::protocol::Side;

use super::record::{LogReader, Place, Record, RecordKind, Sender};
use super::words;

/// What is known of a log of such a client.
#[derive(Debug, Default)]
pub(super) struct ClientLog {
    /// A message has come in its form: lines of another form are not messages of the session.
    is_one: bool,
    /// The server that was named first. Its sessions need no name: most logs have one server.
    first: Option<Box<str>>,
    /// The servers whose connection the client has closed.
    closed: Vec<Box<str>>,
}

/// What a line of a log is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientLine<'a> {
    /// It has a message. If the log has several servers, the session has the name of its own.
    Message(Option<&'a str>),
    /// It has been taken, or has nothing to take.
    Taken,
    /// The log is another one, as far as it was read.
    Foreign,
}

/// What a line of Claude Desktop says of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ServerLine<'a> {
    server: &'a str,
    words: &'a str,
}

impl ClientLog {
    /// Takes a line, unless it has a message.
    pub(super) fn take<'a>(
        &mut self,
        place: Place,
        line: &'a [u8],
        reader: &mut impl LogReader,
    ) -> ClientLine<'a> {
        // Lines of other logs are not looked at for longer than this.
        let beginning = line.get(..line.len().min(LONGEST_PREFIX)).unwrap_or_default();
        if EDITOR.is_match(beginning) {
            self.is_one = true;
            return ClientLine::Message(None);
        }
        let named = line.starts_with(CENTURY.as_bytes()).then(|| named(str::from_utf8(line).ok()?)).flatten();
        if let Some(ServerLine { server, words }) = named
            && MESSAGE.iter().any(|message| words.starts_with(message))
        {
            self.is_one = true;
            let first = self.first.get_or_insert_with(|| server.into());
            return ClientLine::Message(Some(server).filter(|server| **server != **first));
        }
        if !self.is_one {
            return ClientLine::Foreign;
        }
        match named {
            Some(ServerLine { server, words }) => self.take_remark(place, server, words, reader),
            None => take_of_editor(place, line, reader),
        }
        ClientLine::Taken
    }

    /// Takes what Claude Desktop says of a server.
    fn take_remark(&mut self, place: Place, server: &str, words: &str, reader: &mut impl LogReader) {
        let session = Some(server).filter(|server| self.first.as_deref() != Some(*server));
        let mut say = |kind, message: &[u8]| {
            let sender = Sender::Is(Side::Server);
            reader.message(Record { place, sender, session, kind, message: message.into() });
        };
        let is_closed = self.closed.iter().any(|closed| **closed == *server);
        if words.starts_with("Initializing server") {
            self.closed.retain(|closed| **closed != *server);
        } else if words.starts_with("Client transport closed") || words.starts_with("Shutting down server") {
            self.closed.push(server.into());
        } else if words.starts_with("Server transport closed") && !is_closed {
            self.closed.push(server.into());
            say(RecordKind::Exited, b"null");
        } else if let Some(text) =
            words.split_once(NOT_JSON).and_then(|(before, _)| before.split_once(", \""))
        {
            say(RecordKind::Sent, text.1.as_bytes());
        }
    }
}

/// How many bytes may stand before the words of a message.
const LONGEST_PREFIX: usize = 96;
/// What VS Code writes before a message.
static EDITOR: LazyLock<AhoCorasick> =
    LazyLock::new(|| words::any_of(&["] [editor -> server] {", "] [server -> editor] {"]));
/// What the lines of Claude Desktop begin with.
const CENTURY: &str = "20";
/// What it writes before a text of a server that is not a message, which stands as JSON behind it.
const UNREADABLE: &str = "] Failed to parse message: ";
/// What it writes before the exit code of a server.
const EXITED: &str = "] Connection state: Error Process exited with code ";
/// What Claude Desktop writes before a message.
const MESSAGE: [&str; 2] = ["Message from client: {", "Message from server: {"];
/// What it writes behind the beginning of a text of a server that is not a message.
const NOT_JSON: &str = "\"... is not valid JSON";

/// The server that a line names, and what follows: `2026-01-01T10:00:00.000Z [notes] [info] Message …`.
fn named(line: &str) -> Option<ServerLine<'_>> {
    let (_, rest) =
        line.split_once("Z [").filter(|(time, _)| time.starts_with(CENTURY) && time.len() < 32)?;
    let (first, rest) = rest.split_once("] [")?;
    let (second, words) = rest.split_once("] ")?;
    let is_level = |word: &str| matches!(word, "info" | "error" | "warn" | "debug");
    match (is_level(first), is_level(second)) {
        (_, true) => Some(ServerLine { server: first, words }),
        (true, false) => Some(ServerLine { server: second, words }),
        (false, false) => None,
    }
}

/// Takes what VS Code says of its server.
fn take_of_editor(place: Place, line: &[u8], reader: &mut impl LogReader) {
    let Ok(line) = str::from_utf8(line) else { return };
    let mut say = |kind, message: &[u8]| {
        let sender = Sender::Is(Side::Server);
        reader.message(Record { place, sender, session: None, kind, message: message.into() });
    };
    let behind = |words| line.split_once(words).filter(|(before, _)| before.len() < LONGEST_PREFIX);
    if let Some((_, text)) = behind(UNREADABLE) {
        let text: Result<String, _> = serde_json::from_str(text);
        text.iter().for_each(|text| say(RecordKind::Sent, text.trim().as_bytes()));
    } else if let Some((_, code)) = behind(EXITED) {
        let code = code.trim();
        let code = if code.parse::<i64>().is_ok() { code } else { "null" };
        say(RecordKind::Exited, code.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::Notes;
    use super::super::tests::notes;
    use super::*;

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    fn lines(notes: &Notes) -> Vec<u64> {
        notes.messages.iter().map(|(line, ..)| *line).collect()
    }

    #[test]
    fn what_a_server_writes_on_its_standard_error_is_not_sent() {
        let claude = format!(
            "2026-01-01T10:00:00.000Z [notes] [info] Initializing server... {{ metadata: undefined }}\n\
             2026-01-01T10:00:00.000Z [notes] [info] Message from client: {PING} {{ metadata: undefined }}\n\
             DEBUG received {PING}\n{PING}\n\
             2026-01-01T10:00:00.000Z [notes] [error] what now {PING}\n\
             2026-01-01T10:00:00.000Z [notes] [info] Message from server: {PING} {{ metadata: undefined }}\n"
        );
        assert_eq!(lines(&notes(&claude)), [2, 6]);
        let editor = format!(
            "2026-01-01 10:00:00.000 [info] Starting server notes\n\
             2026-01-01 10:00:00.000 [debug] [editor -> server] {PING}\n\
             2026-01-01 10:00:00.000 [warning] [server stderr] received {PING}\n\
             2026-01-01 10:00:00.000 [debug] [server -> editor] {PING}\n"
        );
        assert_eq!(lines(&notes(&editor)), [2, 4]);
    }

    #[test]
    fn sessions_of_several_servers_have_names_but_those_of_the_first() {
        for (left, right) in [("[{}] [info]", "[{}] [info]"), ("[info] [{}]", "[info] [{}]")] {
            let line = |form: &str, server: &str, side: &str| {
                let named = form.replace("{}", server);
                format!("2026-01-01T10:00:00.000Z {named} Message from {side}: {PING}\n")
            };
            let log = [line(left, "a b", "client"), line(right, "c", "server"), line(left, "a b", "server")];
            let found = notes(&log.concat());
            assert_eq!(found.sessions, [None, Some("c".to_owned()), None]);
            assert_eq!(found.messages[1].1, Sender::Is(Side::Server));
        }
    }

    #[test]
    fn what_is_not_a_message_is_taken_from_what_the_client_says_of_it() {
        let claude = format!(
            "2026-01-01T10:00:00.000Z [notes] [info] Message from client: {PING} {{ metadata: undefined }}\n\
             2026-01-01T10:00:00.000Z [notes] [error] Unexpected token 'S', \"Server sta\"... is not valid JSON {{\n"
        );
        let editor = format!(
            "2026-01-01 10:00:00.000 [debug] [editor -> server] {PING}\n\
             2026-01-01 10:00:00.000 [warning] Failed to parse message: \"Server sta\\n\"\n"
        );
        for log in [claude, editor] {
            let found = notes(&log);
            let (line, sender, text) = &found.messages[1];
            assert_eq!((*line, *sender, text.as_str()), (2, Sender::Is(Side::Server), "Server sta"));
        }
    }

    #[test]
    fn a_server_has_exited_if_the_client_has_not_closed_its_side_before() {
        let line = |words: &str| {
            format!("2026-01-01T10:00:00.000Z [notes] [info] {words} {{ metadata: undefined }}\n")
        };
        let (ping, exit) = (line(&format!("Message from client: {PING}")), line("Server transport closed"));
        let begins = line("Initializing server...");
        for (log, exits) in [
            (format!("{ping}{exit}{exit}"), 1),
            (format!("{ping}{}{exit}", line("Client transport closed")), 0),
            (format!("{ping}{}{exit}", line("Shutting down server...")), 0),
            (format!("{ping}{exit}{begins}{ping}{exit}"), 2),
        ] {
            let found = notes(&log).messages.iter().filter(|(.., text)| text == "null").count();
            assert_eq!(found, exits, "{log}");
        }
        let editor = format!(
            "2026-01-01 10:00:00.000 [debug] [editor -> server] {PING}\n\
             2026-01-01 10:00:00.000 [info] Connection state: Error Process exited with code 1\n"
        );
        assert_eq!(notes(&editor).messages[1].2, "1");
    }
}
