//! What `journalctl -o json` makes of a text that is not short and plain.

use mcp_runtime::observer::JsonValue;

/// The text of an entry of the journal, where it is not written as a text: with a character that controls a terminal, such as
/// the one that begins a colour, it is a list of its bytes.
///
/// # Errors
/// If the text is left out, as it is long.
pub(super) fn text(entry: JsonValue<'_>) -> Result<Option<String>, String> {
    let Some(message) = entry.member("MESSAGE") else { return Ok(None) };
    match message.written() {
        "null" if entry.member("__REALTIME_TIMESTAMP").is_some() => {
            Err("`journalctl` has left out a text of more than 4096 bytes: let it write all with `--all`"
                .to_owned())
        }
        bytes if bytes.starts_with('[') => {
            let bytes: Vec<u8> = serde_json::from_str(bytes).unwrap_or_default();
            Ok(String::from_utf8(bytes).ok())
        }
        _ => Ok(None),
    }
}
