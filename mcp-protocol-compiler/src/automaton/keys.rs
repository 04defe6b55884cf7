//! Which keys a message carries, and which messages need one.

use std::collections::BTreeSet;

use mcp_protocol_machine::protocol::{KeyIndex, Kind, MessageIndex};

use crate::declarations::{Declarations, Message};

/// The keys that a message carries.
pub(super) fn keys(declarations: &Declarations, message: MessageIndex) -> BTreeSet<KeyIndex> {
    let message = declarations.message(message);
    message.into_iter().flat_map(|message| message.table.keys.iter().map(|carried| carried.key)).collect()
}

/// Whether a later step needs a key: a reply is tied by the id of its request, and a cancel names its request. So does a
/// report, which is a step only if it has a key.
pub(super) fn needs_key(message: &Message) -> bool {
    !matches!(message.table.kind, Kind::Reply { .. } | Kind::Refusal { .. })
        && message.table.cancels.is_none()
        && (message.table.reports.is_none() || !message.table.keys.is_empty())
}
