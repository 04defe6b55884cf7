//! What `journalctl -o json` makes of a text that is not short and plain.

use mcp_runtime::observer::JsonValue;

/// The text of an entry of the journal, where it is not written as a text: with a character that controls a terminal, such as
/// the one that begins a colour, it is a list of its bytes.
///
/// # Errors
/// If the text is left out, as it is long, or has a message and is not UTF-8.
pub(super) fn text(entry: JsonValue<'_>) -> Result<Option<String>, String> {
    let Some(message) = entry.member("MESSAGE") else { return Ok(None) };
    match message.written() {
        "null" if entry.member("__REALTIME_TIMESTAMP").is_some() => {
            Err("`journalctl` has left out a text of more than 4096 bytes: let it write all with `--all`"
                .to_owned())
        }
        bytes if bytes.starts_with('[') => {
            let bytes: Vec<u8> = serde_json::from_str(bytes).unwrap_or_default();
            match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(error) if memchr::memmem::find(error.as_bytes(), b"jsonrpc").is_some() => {
                    Err("the text of the entry has a message, and is not UTF-8".to_owned())
                }
                Err(_) => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use mcp_runtime::observer::JsonReader;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_may_be_a_list_of_bytes() {
        let of = |message: &[u8]| {
            let entry = json!({ "MESSAGE": message, "__REALTIME_TIMESTAMP": "1" }).to_string();
            text(JsonReader::default().read(&entry).unwrap())
        };
        assert_eq!(of("\u{1b}[1m é".as_bytes()), Ok(Some("\u{1b}[1m é".to_owned())));
        assert_eq!(of(b"\xff"), Ok(None));
        assert!(of(b"\xff {\"jsonrpc\":\"2.0\"}").unwrap_err().contains("not UTF-8"));
    }
}
