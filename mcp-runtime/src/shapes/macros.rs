//! What generated code calls for the types of shapes.

/// A record: a struct, what makes it, and how it is written and read.
#[doc(hidden)]
#[macro_export]
macro_rules! __record {
    (
        $(#[$meta:meta])*
        $name:ident {
            $(literals { $($text_key:literal = $text:literal;)* };)?
            $(required { $($(#[$required_meta:meta])* $required:ident: $required_type:ty, $required_key:literal, $required_from:ty $(, $required_each:ident)?;)* };)?
            $(optional { $($(#[$optional_meta:meta])* $optional:ident: $optional_type:ty, $optional_key:literal, $optional_from:ty $(, $optional_each:ident)?;)* };)?
            $(rest $rest:ident;)?
        };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(
                $(#[$required_meta])*
                #[doc = concat!("\n\n`", $required_key, "` on the wire.")]
                pub $required: $required_type,
            )*)?
            $($(
                $(#[$optional_meta])*
                #[doc = concat!("\n\n`", $optional_key, "` on the wire, left out if `None`.")]
                pub $optional: Option<$optional_type>,
            )*)?
            $(
                /// The members that are not among the others.
                pub $rest: $crate::shapes::Object,
            )?
        }

        #[allow(clippy::useless_conversion, clippy::too_many_arguments, clippy::new_without_default)]
        impl $name {
            /// What must be there is given, and all else is absent.
            pub fn new($($($required: $required_from),*)?) -> Self {
                Self {
                    $($($required: $crate::__given!($required $($required_each)?),)*)?
                    $($($optional: None,)*)?
                    $($rest: $crate::shapes::Object::new(),)?
                }
            }

            $($(
                $(#[$optional_meta])*
                #[doc = concat!("\n\nSets `", $optional_key, "`.")]
                #[must_use]
                pub fn $optional(mut self, $optional: $optional_from) -> Self {
                    self.$optional = Some($crate::__given!($optional $($optional_each)?));
                    self
                }
            )*)?
        }

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = concat!("an object `", stringify!($name), "`");

            #[allow(unused_mut, unused_variables)]
            fn from_object(
                members: &mut $crate::shapes::Members<'_, 'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                let literals: &mut [$crate::shapes::Literal] =
                    &mut [$($($crate::shapes::Literal::new($text_key, $text)),*)?];
                $($(let mut $required = None;)*)?
                $($(let mut $optional = None;)*)?
                $(let mut $rest = $crate::shapes::Object::new();)?
                while let Some(key) = members.next_key()? {
                    match &*key {
                        $($($text_key => $crate::shapes::Literal::read(literals, members, $text_key)?,)*)?
                        $($($required_key => $required = Some(members.value($required_key)?),)*)?
                        $($($optional_key => $optional = members.value($optional_key)?,)*)?
                        $(_ => drop($rest.insert(key.into_owned(), members.any_value()?)),)?
                        #[allow(unreachable_patterns)]
                        _ => members.ignore()?,
                    }
                }
                $crate::shapes::Literal::all_there(literals)?;
                Ok(Self {
                    $($($required: $crate::shapes::required($required, $required_key)?,)*)?
                    $($($optional,)*)?
                    $($rest,)?
                })
            }
        }

        impl $crate::shapes::serde::Serialize for $name {
            fn serialize<S: $crate::shapes::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                use $crate::shapes::serde::ser::SerializeMap;
                let mut members = serializer.serialize_map(None)?;
                $($(members.serialize_entry($text_key, &$text)?;)*)?
                $($(members.serialize_entry($required_key, &self.$required)?;)*)?
                $($(
                    if let Some(value) = &self.$optional {
                        members.serialize_entry($optional_key, value)?;
                    }
                )*)?
                $(
                    for (key, value) in &self.$rest {
                        members.serialize_entry(key, value)?;
                    }
                )?
                members.end()
            }
        }

        $crate::__deserialize! { $name }
    };
}

/// A tuple that is a struct: what makes it, and how it is written and read, as a list.
#[doc(hidden)]
#[macro_export]
macro_rules! __tuple {
    (
        $(#[$meta:meta])*
        $name:ident, $expected:literal {
            $(literals { $($text_place:literal = $text:literal;)* };)?
            $(required { $($(#[$required_meta:meta])* $required:ident: $required_type:ty, $required_place:literal, $required_from:ty $(, $required_each:ident)?;)* };)?
            $(optional { $($(#[$optional_meta:meta])* $optional:ident: $optional_type:ty, $optional_place:literal, $optional_from:ty $(, $optional_each:ident)?;)* };)?
            $(rest $(#[$rest_meta:meta])* $rest:ident: $rest_type:ty, $rest_place:literal, $rest_from:ty $(, $rest_each:ident)?;)?
        };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(
                $(#[$required_meta])*
                #[doc = concat!("\n\n`[", $required_place, "]` on the wire.")]
                pub $required: $required_type,
            )*)?
            $($(
                $(#[$optional_meta])*
                #[doc = concat!("\n\n`[", $optional_place, "]` on the wire, left out if `None`.")]
                pub $optional: Option<$optional_type>,
            )*)?
            $(
                $(#[$rest_meta])*
                #[doc = concat!("\n\n`[", $rest_place, "]` on the wire, and all elements behind it.")]
                pub $rest: $rest_type,
            )?
        }

        #[allow(clippy::useless_conversion, clippy::too_many_arguments, clippy::new_without_default)]
        impl $name {
            /// What must be there is given, and all else is absent.
            pub fn new($($($required: $required_from),*)?) -> Self {
                Self {
                    $($($required: $crate::__given!($required $($required_each)?),)*)?
                    $($($optional: None,)*)?
                    $($rest: ::std::vec::Vec::new(),)?
                }
            }

            $($(
                $(#[$optional_meta])*
                #[doc = concat!("\n\nSets `[", $optional_place, "]`. What stands before it must be set, too.")]
                #[must_use]
                pub fn $optional(mut self, $optional: $optional_from) -> Self {
                    self.$optional = Some($crate::__given!($optional $($optional_each)?));
                    self
                }
            )*)?

            $(
                $(#[$rest_meta])*
                #[doc = concat!("\n\nSets `[", $rest_place, "]` and all behind it. What stands before it must be set, too.")]
                #[must_use]
                pub fn $rest(mut self, $rest: $rest_from) -> Self {
                    self.$rest = $crate::__given!($rest $($rest_each)?);
                    self
                }
            )?
        }

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = $expected;

            #[allow(unused_mut)]
            fn from_list(
                list: &mut $crate::shapes::Elements<'_, 'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                $($(let mut $required = None;)*)?
                $($(let mut $optional = None;)*)?
                $(let mut $rest = ::std::vec::Vec::new();)?
                for place in 0_usize.. {
                    match place {
                        $($($text_place => $crate::shapes::literal_element(list, $text)?,)*)?
                        $($($required_place => $required = Some(list.required()?),)*)?
                        $($($optional_place => $optional = list.optional()?,)*)?
                        $($rest_place => $rest = list.rest()?,)?
                        _ => break,
                    }
                }
                list.end()?;
                Ok(Self {
                    $($($required: $crate::shapes::required_element($required, $required_place)?,)*)?
                    $($($optional,)*)?
                    $($rest,)?
                })
            }
        }

        impl $crate::shapes::serde::Serialize for $name {
            #[allow(unused_mut, unused_variables, unused_assignments)]
            fn serialize<S: $crate::shapes::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                use $crate::shapes::serde::ser::SerializeSeq;
                let (mut elements, mut absent) = (serializer.serialize_seq(None)?, None::<usize>);
                for place in 0_usize.. {
                    match place {
                        $($($text_place => elements.serialize_element(&$text)?,)*)?
                        $($($required_place => elements.serialize_element(&self.$required)?,)*)?
                        $($($optional_place => match (&self.$optional, absent) {
                            (Some(value), None) => elements.serialize_element(value)?,
                            (Some(_), Some(absent)) => return Err($crate::shapes::gap(absent, place)),
                            (None, _) => absent = absent.or(Some(place)),
                        },)*)?
                        $($rest_place => match (self.$rest.as_slice(), absent) {
                            ([], _) => {}
                            (_, Some(absent)) => return Err($crate::shapes::gap(absent, place)),
                            (rest, None) => {
                                for element in rest {
                                    elements.serialize_element(element)?;
                                }
                            }
                        },)?
                        _ => break,
                    }
                }
                elements.end()
            }
        }

        $crate::__deserialize! { $name }
    };
}

/// A field of what was given for it.
#[doc(hidden)]
#[macro_export]
macro_rules! __given {
    ($given:ident) => {
        $given.into()
    };
    ($given:ident each) => {
        $given.into_iter().collect()
    };
    ($given:ident texts) => {
        $given.into_iter().map(Into::into).collect()
    };
}

/// A union of which each alternative is a type, or a value by itself.
#[doc(hidden)]
#[macro_export]
macro_rules! __union {
    (
        $(#[$meta:meta])*
        $name:ident is $index:path, of $protocol:path {
            $(texts { $($text_place:literal => $text_variant:ident = $text:literal;)* };)?
            $(values { $($value_place:literal => $value_variant:ident = $value:literal;)* };)?
            $($place:literal => $variant:ident($type:ty);)*
        };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(
                #[doc = concat!("`\"", $text, "\"`")]
                $text_variant,
            )*)?
            $($(
                #[doc = concat!("`", $value, "`")]
                $value_variant,
            )*)?
            $(
                #[allow(missing_docs)]
                $variant($type),
            )*
        }

        $(
            impl From<$type> for $name {
                fn from(value: $type) -> Self {
                    Self::$variant(value)
                }
            }
        )*

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = concat!("`", stringify!($name), "`");

            fn from_tree(
                value: $crate::shapes::JsonTree<'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                match $crate::shapes::chosen(&$protocol, $index, &value)? {
                    $($($text_place => Ok(Self::$text_variant),)*)?
                    $($($value_place => Ok(Self::$value_variant),)*)?
                    $($place => value.read().map(Self::$variant),)*
                    _ => Err($crate::shapes::mismatch(Self::EXPECTED, &value)),
                }
            }

            fn from_object(
                members: &mut $crate::shapes::Members<'_, 'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                match members.chosen(&$protocol, $index)? {
                    $(Some($place) => $crate::shapes::FromJson::from_object(members).map(Self::$variant),)*
                    _ => Self::from_tree($crate::shapes::FromJson::from_object(members)?),
                }
            }
        }

        impl $crate::shapes::serde::Serialize for $name {
            fn serialize<S: $crate::shapes::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                match self {
                    $($(Self::$text_variant => serializer.serialize_str($text),)*)?
                    $($(Self::$value_variant => $value.serialize(serializer),)*)?
                    $(Self::$variant(value) => value.serialize(serializer),)*
                }
            }
        }

        $crate::__deserialize! { $name }
    };
}

/// A union of texts; with `other`, any other text is kept.
#[doc(hidden)]
#[macro_export]
macro_rules! __words {
    (
        $(#[$meta:meta])*
        $name:ident, $expected:literal { $($variant:ident = $text:literal;)* };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("`\"", $text, "\"`")]
                $variant,
            )*
        }

        impl $name {
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = $expected;

            fn from_tree(
                value: $crate::shapes::JsonTree<'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                const ALL: &[$name] = &[$($name::$variant),*];
                let found = value.text().and_then(|text| ALL.iter().find(|word| word.as_str() == text));
                found.copied().ok_or_else(|| $crate::shapes::mismatch(Self::EXPECTED, &value))
            }
        }

        $crate::__word! { $name }
    };
    (
        $(#[$meta:meta])*
        $name:ident { other $other:ident; $($variant:ident = $text:literal;)* };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("`\"", $text, "\"`")]
                $variant,
            )*
            /// Another text.
            $other(String),
        }

        impl $name {
            /// The text on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::$other(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::$other(text),
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::from(text.to_owned())
            }
        }

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = "a string";

            fn from_tree(
                value: $crate::shapes::JsonTree<'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                String::from_tree(value).map(Self::from)
            }
        }

        $crate::__word! { $name }
    };
}

/// A union of whole numbers; with `other`, any other whole number is kept.
#[doc(hidden)]
#[macro_export]
macro_rules! __numbers {
    (
        $(#[$meta:meta])*
        $name:ident: $type:ident, $as:ident, $expected:literal { $($variant:ident = $number:literal;)* };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("`", $number, "`")]
                $variant,
            )*
        }

        impl $name {
            /// The number on the wire.
            pub fn $as(&self) -> $type {
                match self {
                    $(Self::$variant => $number,)*
                }
            }
        }

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = $expected;

            fn from_tree(
                value: $crate::shapes::JsonTree<'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                const ALL: &[$name] = &[$($name::$variant),*];
                let number = match &value {
                    $crate::shapes::JsonTree::Number(number) => number.$as(),
                    _ => None,
                };
                let found = ALL.iter().find(|known| Some(known.$as()) == number);
                found.copied().ok_or_else(|| $crate::shapes::mismatch(Self::EXPECTED, &value))
            }
        }

        $crate::__number! { $name, $as }
    };
    (
        $(#[$meta:meta])*
        $name:ident: $type:ident, $as:ident { other $other:ident; $($variant:ident = $number:literal;)* };
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("`", $number, "`")]
                $variant,
            )*
            /// Another whole number.
            $other($type),
        }

        impl $name {
            /// The number on the wire.
            pub fn $as(&self) -> $type {
                match self {
                    $(Self::$variant => $number,)*
                    Self::$other(number) => *number,
                }
            }
        }

        impl From<$type> for $name {
            fn from(number: $type) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    _ => Self::$other(number),
                }
            }
        }

        impl<'de> $crate::shapes::FromJson<'de> for $name {
            const EXPECTED: &'static str = <$type as $crate::shapes::FromJson<'de>>::EXPECTED;

            fn from_tree(
                value: $crate::shapes::JsonTree<'de>,
            ) -> ::std::result::Result<Self, $crate::shapes::ReadError> {
                <$type>::from_tree(value).map(Self::from)
            }
        }

        $crate::__number! { $name, $as }
    };
}

/// What both kinds of numbers have.
#[doc(hidden)]
#[macro_export]
macro_rules! __number {
    ($name:ident, $as:ident) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.$as().fmt(formatter)
            }
        }

        impl $crate::shapes::serde::Serialize for $name {
            fn serialize<S: $crate::shapes::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                self.$as().serialize(serializer)
            }
        }

        $crate::__deserialize! { $name }
    };
}

/// What both kinds of words have.
#[doc(hidden)]
#[macro_export]
macro_rules! __word {
    ($name:ident) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl $crate::shapes::serde::Serialize for $name {
            fn serialize<S: $crate::shapes::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        $crate::__deserialize! { $name }
    };
}

/// Reads a type as [`FromJson`](crate::shapes::FromJson) does.
#[doc(hidden)]
#[macro_export]
macro_rules! __deserialize {
    ($name:ident) => {
        impl<'de> $crate::shapes::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::shapes::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::shapes::deserialize(deserializer)
            }
        }
    };
}
