//! Macros for the methods that every generated session type, handle, context and queue has.

mod context;
mod handle;
mod incoming;
mod methods;
mod next;

#[doc(hidden)]
pub use crate::{
    __body as body, __constructors as constructors, __context as context, __dispatch as dispatch,
    __handle as handle, __handle_method as handle_method, __handler_method as handler_method,
    __incoming as incoming, __markers as markers, __method as method, __methods as methods, __next as next,
    __payloads as payloads, __read as read, __reference as reference, __role as role, __session as session,
    __sub_session as sub_session, __take as take, __unhandled as unhandled, __value as value,
};

/// The types that stand for the states of a session: `Uninit;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __markers {
    ($($(#[$($doc:tt)*])* $marker:ident;)*) => {
        $(
            $(#[$($doc)*])*
            #[derive(Debug)]
            pub struct $marker;
        )*
    };
}

/// What a session type has in every state: `McpClient is Client of PROTOCOL;`, what it can make, and its states.
#[doc(hidden)]
#[macro_export]
macro_rules! __role {
    (
        $name:ident is $side:ident of $protocol:path;
        $(handle = $handle:ty;)?
        $(incoming = $queue:ty;)?
        $(state $marker:ident = $state:path $(, $more:ident)?;)*
    ) => {
        $crate::__private::roles::session! { $name is $side of $protocol, false; $($marker = $state;)* }
        $($crate::__private::roles::constructors! { $($more)? $name<$marker> is $side of $protocol, $state })*

        #[allow(dead_code, unreachable_pub)]
        impl<State> $name<State> {
            fn at(session: $crate::__private::Session) -> Self {
                Self { session, state: ::std::marker::PhantomData }
            }

            $(
                /// Returns a handle for tasks that outlive a borrow of the session. The state is judged when the handle
                /// is used.
                pub fn handle(&self) -> $handle {
                    <$handle>::at(self.session.handle())
                }
            )?

            $(
                /// Returns what the peer may send at any time. Each message goes to one consumer.
                pub fn incoming(&self) -> $queue {
                    <$queue>::at(self.session.incoming())
                }
            )?

            /// Whether a message may be sent now, and if not, why: the state, or a capability.
            ///
            /// # Errors
            /// The violation that sending the message would be.
            pub fn permits(
                &self,
                message: $crate::__private::MessageIndex,
            ) -> ::std::result::Result<(), $crate::__private::Violation> {
                self.session.permits(message)
            }

            /// Returns the messages that may be sent now.
            pub fn permitted(&self) -> ::std::vec::Vec<$crate::__private::MessageIndex> {
                self.session.permitted()
            }

            /// From now on a side can do more than it has announced: the gates of a capability are open in this session.
            /// Nothing is written; the peer has to learn of it in some other way. What is granted more than once has to be
            /// revoked as often. Returns `false` if no message needs the capability.
            pub fn grant_capability(&self, side: $crate::protocol::Side, capability: impl ::std::convert::AsRef<str>) -> bool {
                self.session.grant_capability(side, capability)
            }

            /// Takes back what was granted while the session ran. What the side has announced stays announced. Messages
            /// of the peer that are on their way are late until the peer has answered a request that this side sends
            /// after this. Returns `false` if no message needs the capability.
            pub fn revoke_capability(&self, side: $crate::protocol::Side, capability: impl ::std::convert::AsRef<str>) -> bool {
                self.session.revoke_capability(side, capability)
            }

            /// Returns the same session without its type: what it permits is decided at run time, and `try_into_typed`
            /// leads back.
            pub fn into_checked(self) -> $crate::CheckedSession {
                self.session.into_checked()
            }

            /// Waits until the peer has said everything it will say, and has its answers.
            pub async fn ended(&self) {
                self.session.ended().await
            }

            /// Waits until there is something to take with `next` or `recv_…`, or there will be nothing. Takes
            /// nothing itself, so it may be dropped: in a `select!`, wait for this and take the message behind it.
            pub async fn readable(&self) {
                self.session.readable().await
            }

            /// Ends the session here and now; the peer sees the end of the stream.
            pub fn abort(self) {
                self.session.abort()
            }
        }
    };
}

/// A sub-session's type, and what it has in every state.
#[doc(hidden)]
#[macro_export]
macro_rules! __sub_session {
    (
        $(#[$($doc:tt)*])*
        $name:ident is $side:ident of $protocol:path;
        $(known by $id:ident;)?
        $(handle = $handle:ty;)?
        $(incoming = $queue:ty;)?
        $(state $marker:path = $state:path;)*
    ) => {
        $(#[$($doc)*])*
        #[must_use = "dropping a sub-session abandons it"]
        pub struct $name<State> {
            pub(super) session: $crate::__private::Session,
            state: ::std::marker::PhantomData<fn() -> State>,
        }

        $crate::__private::roles::session! { $name is $side of $protocol, true; $($marker = $state;)* }

        #[allow(dead_code, unreachable_pub)]
        impl<State> $name<State> {
            pub(super) fn at(session: $crate::__private::Session) -> Self {
                Self { session, state: ::std::marker::PhantomData }
            }

            /// Returns the same sub-session without its type: what it permits is decided at run time, and
            /// `try_into_typed` leads back.
            pub fn into_checked(self) -> $crate::CheckedSession {
                self.session.into_checked()
            }

            /// Waits until there is something to take with `next` or `recv_…`, or there will be nothing. Takes
            /// nothing itself, so it may be dropped.
            pub async fn readable(&self) {
                self.session.readable().await
            }

            $(
                /// Returns a handle for tasks that outlive a borrow of the sub-session. The state is judged when the
                /// handle is used.
                pub fn handle(&self) -> $handle {
                    <$handle>::at(self.session.handle())
                }
            )?

            $(
                /// Returns what the peer may send next to the channels of the sub-session. As long as the queue is there,
                /// that does not come through `next`. Each message goes to one consumer.
                pub fn incoming(&self) -> $queue {
                    <$queue>::at(self.session.incoming())
                }
            )?

            $(
                /// Returns the id of the request that opened it, which later messages carry; nothing once it is over.
                pub fn $id(&self) -> ::std::option::Option<$crate::__private::RequestId> {
                    self.session.$id()
                }
            )?
        }
    };
}

/// What the runtime knows of a session type and its states.
#[doc(hidden)]
#[macro_export]
macro_rules! __session {
    ($name:ident is $side:ident of $protocol:path, $sub_session:literal; $($marker:path = $state:path;)*) => {
        #[doc(hidden)]
        impl<State> $crate::__private::InState for $name<State> {
            fn at(session: $crate::__private::Session) -> Self {
                Self::at(session)
            }
        }

        impl<State> $crate::session::Readable for $name<State> {
            fn reader(&self) -> ::std::option::Option<$crate::__private::Reader<'_>> {
                $crate::session::Readable::reader(&self.session)
            }
        }

        impl<State> ::std::fmt::Debug for $name<State> {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(&self.session, formatter)
            }
        }

        #[doc(hidden)]
        impl<State> $crate::__private::InRole for $name<State> {
            const SIDE: $crate::__private::Side = $crate::__private::Side::$side;
            const SUB_SESSION: bool = $sub_session;

            fn protocol() -> &'static $crate::__private::Protocol {
                &$protocol
            }
        }

        $(
            impl $crate::__private::Typed for $name<$marker> {
                const STATE: $crate::__private::StateIndex = $state;
            }
        )*
    };
}

/// How a session comes to be in a state from nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __constructors {
    (starts $name:ident<$marker:ident> is $side:ident of $protocol:path, $state:path) => {
        #[allow(dead_code, unreachable_pub)]
        impl $name<$marker> {
            /// Starts a session over a transport.
            pub fn new(transport: impl $crate::Transport) -> Self {
                Self::with_options(transport, $crate::Options::default())
            }

            /// Starts a session over a transport, with these limits and times.
            pub fn with_options(transport: impl $crate::Transport, options: $crate::Options) -> Self {
                let side = $crate::__private::Side::$side;
                Self::at($crate::__private::Session::start(transport, &$protocol, side, options))
            }
        }
    };
    (resumable $name:ident<$marker:ident> is $side:ident of $protocol:path, $state:path) => {
        #[allow(dead_code, unreachable_pub)]
        impl $name<$marker> {
            /// Continues a session that was begun elsewhere and is in this state. Nothing checks that it is.
            pub fn resume(transport: impl $crate::Transport, resumed: $crate::Resumed) -> Self {
                let side = $crate::__private::Side::$side;
                Self::at($crate::__private::Session::resume(transport, &$protocol, side, $state, resumed))
            }
        }
    };
    ($name:ident<$marker:ident> is $side:ident of $protocol:path, $state:path) => {};
}

/// Checks that payload types can be payloads: `Initialize: Both<types::InitializeParams>;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __payloads {
    ($($message:ident: $how:ident<$payload:ty>;)*) => {
        #[allow(dead_code, non_camel_case_types)]
        const _: () = {
            mod carried_by { $(pub struct $message;)* }
            struct Payloads($($crate::__private::payload::$how<$payload, carried_by::$message>),*);
        };
    };
}
