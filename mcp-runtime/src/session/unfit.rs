//! Announcements that the program cannot work with: capabilities that it requires of its peer and that are not there,
//! a version that it does not speak.
//!
//! In: accepted messages that announce. Out: a note that goes with the message to whoever takes it, and a report.
//! Refuses to decide what follows: whoever takes the message is told in place of its payload, and goes on or parts.

use mcp_protocol_machine::protocol::{Announcement, Field, Kind, MessageIndex, Path, Text};

use super::engine::Engine;
use crate::error::Error;
use crate::jsonrpc::path::{find, holds};
use crate::options::Report;

impl Engine {
    /// The peer has announced what it can do: whether that is all that the program requires.
    pub(super) fn look_for_required(&mut self, announcement: &Announcement, payload: Option<&str>) {
        if self.options.required().is_empty() {
            return;
        }
        let announced = payload.and_then(|payload| find(payload, &announcement.field.path));
        let there = |path: &Path| announced.is_some_and(|announced| holds(find(announced, path)));
        let missing: Vec<String> = self
            .options
            .required()
            .iter()
            .filter(|required| !there(&self.capability_path(required)))
            .map(ToString::to_string)
            .collect();
        if !missing.is_empty() {
            self.note_unfit(Error::MissingCapabilities { side: announcement.side, missing });
        }
    }

    /// A capability as it is written, as a path: that of the gate that is written so, or else its parts.
    fn capability_path(&self, written: &str) -> Path {
        match self.protocol.gates.iter().find(|gate| gate.to_string() == written) {
            Some(gate) => gate.path.clone(),
            None => written.split('.').map(|part| Text::Owned(part.to_owned())).collect(),
        }
    }

    /// Notes which version this side asks for, and looks at the one that the peer announces.
    pub(super) fn note_version(
        &mut self,
        field: &Field,
        message: MessageIndex,
        payload: Option<&str>,
        incoming: bool,
    ) {
        let announces = field.message == message;
        // A request whose reply announces the version says at the same place which one it asks for.
        let asks = || {
            let table = self.message(field.message);
            table.is_some_and(|table| table.kind == Kind::Reply { request: message })
        };
        if !(incoming && announces || !incoming && asks()) {
            return;
        }
        let version = payload
            .and_then(|payload| find(payload, &field.path))
            .and_then(|version| serde_json::from_str::<String>(version).ok());
        if !incoming {
            self.requested = version.map(String::into_boxed_str);
            return;
        }
        let Some(accepted) = self.options.accepted_versions(&self.protocol) else { return };
        if version.as_ref().is_some_and(|version| accepted.iter().any(|accepted| *accepted == **version)) {
            return;
        }
        let accepted = accepted.iter().map(ToString::to_string).collect();
        let requested = self.requested.as_ref().map(ToString::to_string);
        self.note_unfit(Error::Version { requested, offered: version, accepted });
    }

    fn note_unfit(&mut self, error: Error) {
        self.report(Report::Unfit { error: error.clone() });
        self.unfit = Some(Box::new(error));
    }
}
