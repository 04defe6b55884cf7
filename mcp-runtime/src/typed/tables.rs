//! Macros with which generated code writes its tables.

#[doc(hidden)]
pub use mcp_protocol_machine::Capability;
#[doc(hidden)]
pub use mcp_protocol_machine::protocol::edges::{cancel, cancelled, receive, refuse, refused, send};
#[doc(hidden)]
pub use mcp_protocol_machine::protocol::{
    Advice, Announcement, Condition, Direction, Field, Gate, GateIndex, Key, KeyIndex, Level, Message,
    MessageIndex, MessageKey, NamedShape, Payload, Position, Protocol, RecordField, RequestVersion,
    Requirement, Role, Shape, ShapeIndex, Side, State, StateIndex,
};

#[doc(hidden)]
pub use crate::{
    __capabilities as capabilities, __keys as keys, __messages as messages, __numbered as numbered,
    __path as path, __paths as paths, __protocol as protocol, __shape as shape, __shapes as shapes,
    __states as states,
};

/// The messages of a table.
#[doc(hidden)]
pub const fn messages_of<const N: usize>(rows: [Message; N]) -> [Message; N] {
    Message::with_methods(rows)
}

/// The rows of a table that are whole by themselves.
#[doc(hidden)]
pub const fn rows_of<T, const N: usize>(rows: [T; N]) -> [T; N] {
    rows
}

/// The protocol: `PROTOCOL = Protocol::table("Mcp", m::rows);`.
#[doc(hidden)]
#[macro_export]
macro_rules! __protocol {
    ($name:ident = $table:expr;) => {
        #[allow(unused_imports)]
        use $crate::__private::tables::{Announcement, Field, Protocol, RequestVersion, Role, Side, path};
        pub(super) const $name: Protocol = $table;
    };
}

/// The rows of a table as `rows`, and each index as a constant.
#[doc(hidden)]
#[macro_export]
macro_rules! __numbered {
    ($rows:vis rows of $row:ident by $made:ident, $index:ident as $number:ident: $($(#[$meta:meta])* $name:ident = $entry:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, dead_code)]
        enum RowNumber { $($name),* }
        $(
            $(#[$meta])*
            #[allow(dead_code, unreachable_pub)]
            pub const $name: $crate::__private::tables::$index =
                $crate::__private::tables::$index(RowNumber::$name as $number);
        )*
        #[allow(non_upper_case_globals, unreachable_pub)]
        $rows const rows: &[$crate::__private::tables::$row] =
            &$crate::__private::tables::$made([$($entry),*]);
    };
}

/// The messages of a protocol: `PING = Message::request("Ping", "ping").payload(Payload::None);`.
#[doc(hidden)]
#[macro_export]
macro_rules! __messages {
    ($($(#[$meta:meta])* $name:ident = $entry:expr;)*) => {
        #[allow(unused_imports)]
        use $crate::__private::tables::{
            Condition, Level, Message, MessageKey, Payload, Requirement, path, paths,
        };
        $crate::__private::tables::numbered! { pub(super) rows of Message by messages_of, MessageIndex as u16: $(
            $(#[$meta])*
            #[doc = concat!("\n\n```text\n", stringify!($entry), "\n```")]
            $name = $entry;
        )* }
    };
}

/// The states of a role: `ACTIVE = State::replicated("Active", &[send(m::PING, AWAITING_PONG).spawn()]);`.
#[doc(hidden)]
#[macro_export]
macro_rules! __states {
    ($($name:ident = $entry:expr;)*) => {
        #[allow(unused_imports)]
        use $crate::__private::tables::{
            Advice, Direction, Level, State, cancel, cancelled, receive, refuse, refused, send,
        };
        $crate::__private::tables::numbered! { pub rows of State by rows_of, StateIndex as u32: $($name = $entry;)* }
    };
}

/// The correlation keys: `URI = Key::named("uri");`.
#[doc(hidden)]
#[macro_export]
macro_rules! __keys {
    ($($name:ident = $entry:expr;)*) => {
        use $crate::__private::tables::Key;
        $crate::__private::tables::numbered! { pub rows of Key by rows_of, KeyIndex as u16: $($name = $entry;)* }
    };
}

/// The shapes of payloads: `TOOL = "Tool": { "name": Text, "title"?: Text };`.
#[doc(hidden)]
#[macro_export]
macro_rules! __shapes {
    ($($name:ident = $shown:literal: $($shape:tt)|+;)*) => {
        #[allow(unused_imports)]
        use $crate::__private::tables::{NamedShape, Position, RecordField, Shape, shape};
        $crate::__private::tables::numbered! { pub rows of NamedShape by rows_of, ShapeIndex as u16: $(
            $name = NamedShape::named($shown, shape!(($($shape)|+)));
        )* }
    };
}

/// One shape, written as in a protocol: `{ "name": Text, "sizes"?: [Int], .. }`. What has several parts stands in
/// brackets: `("a" | "b")` is a union, `(tuple: [Text], ["width"?: Int])` a list with positions, of which the last may be
/// `[.. Text]`, and `{*: Text}` an object with any keys.
#[doc(hidden)]
#[macro_export]
macro_rules! __shape {
    (Any) => { Shape::Any };
    (Null) => { Shape::Null };
    (Bool) => { Shape::Bool };
    (Int) => { Shape::Int };
    (Uint) => { Shape::Uint };
    (Number) => { Shape::Number };
    (Text) => { Shape::Text };
    (Object) => { Shape::Object };
    (true) => { Shape::literal_bool(true) };
    (false) => { Shape::literal_bool(false) };
    ($name:ident) => { Shape::Named($name) };
    ($text:literal) => { Shape::literal($text) };
    ((int $number:literal $(,)?)) => { Shape::literal_int($number) };
    ((tuple: $($position:tt),* $(,)?)) => {
        Shape::tuple(const { &[$(shape!(@position $position)),*] })
    };
    (($shape:tt)) => { shape!($shape) };
    (($($shape:tt)|+)) => { Shape::union(const { &[$(shape!($shape)),+] }) };
    ([$of:tt $(,)?]) => { Shape::list(const { &shape!($of) }) };
    ({ *: $of:tt $(,)? }) => { Shape::map(const { &shape!($of) }) };
    ({ $($name:literal $(? $($never:ident)?)? : $of:tt),* $(,)? }) => {
        Shape::record(const { &[$(shape!(@field $name $(? $($never)?)? $of)),*] })
    };
    ({ $($name:literal $(? $($never:ident)?)? : $of:tt,)* .. }) => {
        Shape::record_with_rest(const { &[$(shape!(@field $name $(? $($never)?)? $of)),*] })
    };
    (@field $name:literal $of:tt) => { RecordField::required($name, shape!($of)) };
    (@field $name:literal ? $of:tt) => { RecordField::optional($name, shape!($of)) };
    (@position [$of:tt $(,)?]) => { Position::required(shape!($of)) };
    (@position [$of:tt ? $(,)?]) => { Position::optional(shape!($of)) };
    (@position [$label:literal: $of:tt $(,)?]) => { Position::required_as($label, shape!($of)) };
    (@position [$label:literal ?: $of:tt $(,)?]) => { Position::optional_as($label, shape!($of)) };
    (@position [.. $of:tt $(,)?]) => { Position::rest(shape!($of)) };
    (@position [$label:literal: .. $of:tt $(,)?]) => { Position::rest_as($label, shape!($of)) };
}

/// The capabilities that messages need: `RESOURCES_SUBSCRIBE = "resources.subscribe", ["resources", "subscribe"];`, and
/// what messages are permitted during: `@during DURING = Gate::during(const { &[messages::PING] });`.
#[doc(hidden)]
#[macro_export]
macro_rules! __capabilities {
    ($($(#[$meta:meta])* $name:ident = $shown:literal, [$($part:literal),* $(,)?];)* $(@during $during:ident = $entry:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, dead_code)]
        enum GateNumber { $($name,)* $($during),* }
        $(
            #[doc = concat!("`", $shown, "`, as it is announced.\n\n")]
            $(#[$meta])*
            pub const $name: $crate::__private::tables::Capability = $crate::__private::tables::Capability::new(
                $crate::__private::tables::GateIndex(GateNumber::$name as u16),
                $shown,
            );
        )*
        $(
            pub(super) const $during: $crate::__private::tables::GateIndex =
                $crate::__private::tables::GateIndex(GateNumber::$during as u16);
        )*
        #[allow(unused_imports)]
        use $crate::__private::tables::{Condition, Gate, path};
        #[allow(non_upper_case_globals)]
        pub(super) const rows: &[$crate::__private::tables::Gate] = &[
            $($crate::__private::tables::Gate::at($crate::__private::tables::path![$($part),*]),)*
            $($entry),*
        ];
    };
}

/// A path in JSON: `path!["params", "uri"]`.
#[doc(hidden)]
#[macro_export]
macro_rules! __path {
    ($($part:literal),* $(,)?) => { &[$(::std::borrow::Cow::Borrowed($part)),*] };
}

/// Several paths in JSON: `paths![["uri"], ["params", "uri"]]`.
#[doc(hidden)]
#[macro_export]
macro_rules! __paths {
    ($([$($part:literal),* $(,)?]),* $(,)?) => {
        &[$(::std::borrow::Cow::Borrowed($crate::__private::tables::path![$($part),*])),*]
    };
}

#[cfg(test)]
mod tests {
    use mcp_protocol_machine::protocol::{Literal, Presence, Record};

    use super::{NamedShape, Position, Protocol, RecordField, Shape, ShapeIndex};

    mod m {
        use super::shapes;
        use crate::__private::tables;

        tables::messages! {
            SHOW = Message::notification("Show", "show").shape(shapes::CONTENT);
        }
    }

    mod shapes {
        use crate::__private::tables;

        tables::shapes! {
            CONTENT = "Content": { "type": "text", "notes"?: [NOTE], "_meta"?: {*: Any}, .. };
            NOTE = "Note": Text | Uint;
            PAIR = "Pair": (tuple: [Text], ["width"?: Int], ["notes": .. NOTE]);
            CALL = "Call": (tuple: [Text], [.. Any]);
            RARE = "Rare": { "kind": ((int 7) | (int -1) | true), "empty": {}, "rest"?: { .. } };
        }
    }

    const PROTOCOL: Protocol = Protocol::table("Test", m::rows).shapes(shapes::rows);

    #[test]
    fn constant_shapes_are_those_that_are_built_at_run_time() {
        let note = || Shape::Named(ShapeIndex(1));
        let fields = vec![
            RecordField::new("type".into(), true, Shape::Literal("text".into())),
            RecordField::new("notes".into(), false, Shape::List(note().into())),
            RecordField::new("_meta".into(), false, Shape::Map(Shape::Any.into())),
        ];
        let positions = vec![
            Position::new(None, Presence::Required, Shape::Text),
            Position::new(Some("width".into()), Presence::Optional, Shape::Int),
            Position::new(Some("notes".into()), Presence::Rest, note()),
        ];
        let call = vec![
            Position::new(None, Presence::Required, Shape::Text),
            Position::new(None, Presence::Rest, Shape::Any),
        ];
        let kind = vec![
            Shape::Literal(Literal::Int(7)),
            Shape::Literal(Literal::Int(-1)),
            Shape::Literal(Literal::Bool(true)),
        ];
        let rare = vec![
            RecordField::new("kind".into(), true, Shape::Union(kind.into())),
            RecordField::new("empty".into(), true, Shape::Record(Record::new(Vec::new().into()))),
            RecordField::new("rest".into(), false, Shape::Record(Record::new(Vec::new().into()).rest())),
        ];
        let built = vec![
            NamedShape::new("Content".into(), Shape::Record(Record::new(fields.into()).rest())),
            NamedShape::new("Note".into(), Shape::Union(vec![Shape::Text, Shape::Uint].into())),
            NamedShape::new("Pair".into(), Shape::Tuple(positions.into())),
            NamedShape::new("Call".into(), Shape::Tuple(call.into())),
            NamedShape::new("Rare".into(), Shape::Record(Record::new(rare.into()))),
        ];
        assert_eq!(*PROTOCOL.shapes, *built);
        assert_eq!(PROTOCOL.message(m::SHOW).and_then(|message| message.shape), Some(shapes::CONTENT));
    }
}
