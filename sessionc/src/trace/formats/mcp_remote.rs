//! Logs of `mcp-remote`. They name each message, and have only the `initialize` of the client: once for each place to which
//! the program logs, with another clock behind another one.

use super::record::LogReader;

/// How many bytes may stand before what a line says.
const LONGEST_PREFIX: usize = 96;
/// What stands before the name of a message.
const WAYS: [&str; 2] = ["[Local→Remote] ", "[Remote→Local] "];
/// Why a log has no message.
const SILENT: &str = "`mcp-remote` names the messages and does not write them";

/// What is known of a log that may be one of `mcp-remote`.
#[derive(Debug, Default)]
pub(super) struct RemoteLog {
    /// A message was named and not written.
    is_one: bool,
}

impl RemoteLog {
    /// Takes a line, or an object that begins there, if it has nothing to judge. Returns whether it was taken.
    pub(super) fn take(&mut self, line: &[u8], reader: &mut impl LogReader) -> bool {
        // Few lines begin like one of its own, and all are asked.
        if line.first() != Some(&b'[') {
            return false;
        }
        if names_message(line) {
            self.is_one = true;
            reader.silent(SILENT);
            return true;
        }
        self.is_one && is_object_behind_brackets(line)
    }
}

/// Whether a line names a message and does not have it: `[4242] [Local→Remote] tools/list`.
fn names_message(line: &[u8]) -> bool {
    let beginning = line.get(..line.len().min(LONGEST_PREFIX)).unwrap_or_default();
    let behind = WAYS.iter().find_map(|way| {
        let start = memchr::memmem::find(beginning, way.as_bytes())?;
        line.get(start + way.len()..)
    });
    behind.is_some_and(|name| !name.is_empty() && !name.contains(&b'{'))
}

/// Whether an object stands behind a time and the number of a process, or behind one of them: `[4242] {`.
fn is_object_behind_brackets(line: &[u8]) -> bool {
    let Some(start) = memchr::memchr(b'{', line) else { return false };
    let Some(before) = line.get(..start).and_then(|before| before.strip_suffix(b"] ")) else { return false };
    let is_number_or_time = |byte: &u8| byte.is_ascii_digit() || b"[]-:.TZ".contains(byte);
    before.iter().all(is_number_or_time)
}

#[cfg(test)]
mod tests {
    use super::super::tests::notes;

    const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;

    #[test]
    fn messages_that_are_named_and_not_written_are_not_judged() {
        let pretty = OPENING.replace('{', "{\n").replace(',', ",\n");
        let log = format!(
            "[42] [Local→Remote] initialize\n[2026-11-30T15:38:30.273Z][42] [Local→Remote] initialize\n\
             [42] {pretty}\n[2026-11-30T15:38:30.274Z][42] {pretty}\n[42] [Remote→Local] 0\n"
        );
        let found = notes(&log);
        assert_eq!((&found.messages[..], &found.broken[..]), (&[][..], &[][..]));
        assert!(found.silent.unwrap().contains("mcp-remote"), "{found:?}");
    }

    #[test]
    fn messages_that_are_written_are_read() {
        for log in [
            format!("[42] [Local→Remote] {OPENING}\n[42] [Remote→Local] 0\n"),
            format!("[42] [Remote→Local] 0\n[42] [Local→Remote] {OPENING}\n"),
            format!("[42] {OPENING}\n[42] listening\n"),
            format!("[42] [Remote→Local] 0\n[42] read {OPENING}\n"),
        ] {
            assert_eq!(notes(&log).messages.len(), 1, "{log}");
        }
    }
}
