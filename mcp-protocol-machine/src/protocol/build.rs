//! `const` constructors of the tables, so that a new field does not break generated code.

mod message;
mod role;
mod shape;

use std::borrow::Cow;
use std::mem;

use super::{
    Announcement, Dialect, Field, Gate, GateIndex, Key, List, Message, MessageIndex, NamedShape, Path,
    Protocol, RequestVersion, Role, Side, Text, VersionField,
};

/// Puts a value in the place of one that owns nothing.
const fn put<T>(place: &mut T, value: T) {
    mem::forget(mem::replace(place, value));
}

impl Protocol {
    /// A protocol of these messages, without roles.
    pub const fn new(name: Text, messages: List<Message>) -> Protocol {
        Protocol {
            name,
            version: None,
            numeric_version: false,
            batch: false,
            dialect: Dialect::Standard,
            reuses_ids: false,
            messages,
            gates: Cow::Borrowed(&[]),
            keys: Cow::Borrowed(&[]),
            shapes: Cow::Borrowed(&[]),
            announcements: Cow::Borrowed(&[]),
            version_field: None,
            client: None,
            server: None,
        }
    }

    /// Sets the name and the messages of a constant.
    pub const fn table(name: &'static str, messages: &'static [Message]) -> Protocol {
        Protocol::new(Cow::Borrowed(name), Cow::Borrowed(messages))
    }

    /// Sets the revision.
    #[must_use]
    pub const fn version(mut self, version: &'static str) -> Protocol {
        put(&mut self.version, Some(Cow::Borrowed(version)));
        self
    }

    /// Sets the revision, which stands in messages as a whole number.
    #[must_use]
    pub const fn numeric_version(mut self, version: &'static str) -> Protocol {
        self.numeric_version = true;
        self.version(version)
    }

    /// Allows batches.
    #[must_use]
    pub const fn batch(mut self) -> Protocol {
        self.batch = true;
        self
    }

    /// Leaves the member `jsonrpc` out of messages.
    #[must_use]
    pub const fn without_jsonrpc(mut self) -> Protocol {
        self.dialect = Dialect::WithoutJsonrpc;
        self
    }

    /// Makes messages those of JSON-RPC 1.0.
    #[must_use]
    pub const fn jsonrpc_1(mut self) -> Protocol {
        self.dialect = Dialect::Version1;
        self
    }

    /// Permits the id of an exchange that is over for another request.
    #[must_use]
    pub const fn reuses_ids(mut self) -> Protocol {
        self.reuses_ids = true;
        self
    }

    /// Sets the capabilities that messages need.
    #[must_use]
    pub const fn gates(mut self, gates: &'static [Gate]) -> Protocol {
        put(&mut self.gates, Cow::Borrowed(gates));
        self
    }

    /// Sets the correlation keys.
    #[must_use]
    pub const fn keys(mut self, keys: &'static [Key]) -> Protocol {
        put(&mut self.keys, Cow::Borrowed(keys));
        self
    }

    /// Sets the shapes of payloads.
    #[must_use]
    pub const fn shapes(mut self, shapes: &'static [NamedShape]) -> Protocol {
        put(&mut self.shapes, Cow::Borrowed(shapes));
        self
    }

    /// Sets where each role announces what it can do.
    #[must_use]
    pub const fn announcements(mut self, announcements: &'static [Announcement]) -> Protocol {
        put(&mut self.announcements, Cow::Borrowed(announcements));
        self
    }

    /// Sets where the revision is announced that governs the session.
    #[must_use]
    pub const fn version_field(mut self, field: Field) -> Protocol {
        put(&mut self.version_field, Some(VersionField::Message(field)));
        self
    }

    /// Sets where each request says its revision.
    #[must_use]
    pub const fn request_version(mut self, place: RequestVersion) -> Protocol {
        put(&mut self.version_field, Some(VersionField::EachRequest(place)));
        self
    }

    /// Sets the machine of the client.
    #[must_use]
    pub const fn client(mut self, role: Role) -> Protocol {
        put(&mut self.client, Some(role));
        self
    }

    /// Sets the machine of the server.
    #[must_use]
    pub const fn server(mut self, role: Role) -> Protocol {
        put(&mut self.server, Some(role));
        self
    }
}

impl RequestVersion {
    /// Each request says its revision at a path of its params.
    pub const fn new(path: Path, error: Option<i64>) -> RequestVersion {
        RequestVersion { path, error }
    }

    /// The same, with a path that borrows.
    pub const fn at(path: &'static [Text]) -> RequestVersion {
        RequestVersion::new(Cow::Borrowed(path), None)
    }

    /// A request of another revision is refused with this code.
    #[must_use]
    pub const fn with_error(mut self, code: i64) -> RequestVersion {
        self.error = Some(code);
        self
    }
}

impl Announcement {
    /// A side announces its capabilities in a field.
    pub const fn new(side: Side, mut field: Field) -> Announcement {
        let path = mem::replace(&mut field.path, Cow::Borrowed(&[]));
        let message = Some(field.message);
        mem::forget(field);
        Announcement { side, message, path, defaults: Cow::Borrowed(&[]), open: false, error: None }
    }

    /// Each request of a side announces at a path of its params what the side can do during this request.
    pub const fn in_each_request(side: Side, path: Path) -> Announcement {
        Announcement { side, message: None, path, defaults: Cow::Borrowed(&[]), open: false, error: None }
    }

    /// The same at a constant path.
    pub const fn in_each_request_at(side: Side, path: &'static [Text]) -> Announcement {
        Announcement::in_each_request(side, Cow::Borrowed(path))
    }

    /// The gates of this side are open until it has announced what it can do.
    #[must_use]
    pub const fn open_until_announced(mut self) -> Announcement {
        self.open = true;
        self
    }

    /// A request that announces too little is refused with this code.
    #[must_use]
    pub const fn with_error(mut self, code: i64) -> Announcement {
        self.error = Some(code);
        self
    }

    /// Sets what is announced as well by a capability with nothing in it.
    #[must_use]
    pub const fn defaults(mut self, defaults: &'static [GateIndex]) -> Announcement {
        put(&mut self.defaults, Cow::Borrowed(defaults));
        self
    }
}

impl Field {
    /// A place in the payload of a message.
    pub const fn new(message: MessageIndex, path: Path) -> Field {
        Field { message, path }
    }

    /// A constant place in the payload of a message.
    pub const fn of(message: MessageIndex, path: &'static [Text]) -> Field {
        Field::new(message, Cow::Borrowed(path))
    }
}
