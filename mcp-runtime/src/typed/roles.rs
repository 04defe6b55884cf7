//! Macros for the methods that every generated session type, handle, context and queue has.

mod handle;

#[doc(hidden)]
pub use crate::{
    __constructors as constructors, __context as context, __dispatch as dispatch, __handle as handle,
    __handle_method as handle_method, __incoming as incoming, __payloads as payloads, __read as read,
    __reference as reference, __role as role, __session as session, __sub_session as sub_session,
    __unhandled as unhandled, __value as value,
};

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

/// What a sub-session's type has in every state.
#[doc(hidden)]
#[macro_export]
macro_rules! __sub_session {
    (
        $name:ident is $side:ident of $protocol:path;
        $(known by $id:ident;)?
        $(handle = $handle:ty;)?
        $(incoming = $queue:ty;)?
        $(state $marker:path = $state:path;)*
    ) => {
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

/// What every handler's context has.
#[doc(hidden)]
#[macro_export]
macro_rules! __context {
    (Context; $(peer = $handle:ty;)? $(reports = $reports:ident;)?) => {
        /// What a handler has in addition to the message.
        #[derive(Clone, Debug)]
        pub struct Context {
            context: $crate::__private::Context,
        }

        impl Context {
            fn at(context: $crate::__private::Context) -> Self {
                Self { context }
            }

            $(
                /// Returns what may be sent to the peer while its message is handled.
                pub fn peer(&self) -> $handle {
                    <$handle>::at(self.context.handle())
                }
            )?

            $(
                /// Whether the peer wants reports on its request.
                pub fn $reports(&self) -> bool {
                    self.context.$reports()
                }
            )?

            /// Waits until the peer cancels its request, or the session ends.
            pub async fn cancelled(&self) {
                self.context.cancelled().await
            }

            /// Waits until the peer has closed its side, or the session ends. A peer that has closed its side cancels
            /// nothing any more, and reads replies alone: notifications to it are dropped. End here what only notifies.
            pub async fn peer_closed(&self) {
                self.context.peer_closed().await
            }

            /// Returns the error with which a handler answers that has given up because the peer has cancelled the
            /// request.
            pub fn cancelled_error(&self) -> $crate::RpcError {
                self.context.cancelled_error()
            }

            /// Whether the peer has cancelled its request, or the session has ended. The answer to such a request is
            /// sent only if the protocol says that the reply follows a cancel.
            pub fn is_cancelled(&self) -> bool {
                self.context.is_cancelled()
            }

            /// Ends the connection on which the peer waits for the answer, where the transport has one for each
            /// request and the peer can come back for the rest, as over HTTP. The request goes on.
            pub fn release_connection(&self) {
                self.context.release_connection()
            }

            /// Returns what the transport knows of the message, if that is of this type: over HTTP, the head of its
            /// request.
            pub fn extension<T: ::std::any::Any + ::std::marker::Send + ::std::marker::Sync>(
                &self,
            ) -> ::std::option::Option<::std::sync::Arc<T>> {
                self.context.extension()
            }

            /// Returns which peer sent the message, as far as the transport knows: over HTTP, by address and by principal.
            pub fn peer_identity(&self) -> $crate::driver::PeerIdentity {
                self.context.peer_identity()
            }
        }
    };
}

/// What the peer may send at any time in a session or a sub-session: `PING: request() ping =>
/// Ping(typed::Responder<()>);`. Each row is a variant of `Incoming`, how it is read, and the method of the handler that it
/// is given to; `gated` means that it needs a capability.
#[doc(hidden)]
#[macro_export]
macro_rules! __incoming {
    ($incoming:ident, $queue:ident, $handler:ident, $subject:literal; $(
        $message:ident: $kind:ident $carried:tt $method:ident $($gated:ident)?
            => $variant:ident $(($($field:ty),+))?;
    )*) => {
        #[doc = concat!("A message that the peer may send at any time in the ", $subject, ".")]
        #[allow(clippy::large_enum_variant, rustdoc::broken_intra_doc_links)]
        #[derive(Debug)]
        #[must_use = "a request that is dropped is answered with an error"]
        pub enum $incoming {
            $(
                #[doc = concat!("See [`", stringify!($handler), "::", stringify!($method), "`].")]
                $variant $(($($field),+))?,
            )*
        }

        impl $incoming {
            #[allow(clippy::result_large_err)]
            fn read(arrival: $crate::__private::Arrival) -> ::std::result::Result<Self, $crate::__private::Unread> {
                match arrival.message() {
                    $(super::messages::$message => $crate::__private::roles::read! {
                        $kind $carried arrival, $variant
                    },)*
                    _ => Err(arrival.unexpected()),
                }
            }
        }

        #[doc = concat!("The messages that the peer may send at any time in the ", $subject, ". Each goes to one consumer.")]
        #[derive(Debug)]
        pub struct $queue {
            queue: $crate::__private::IncomingQueue,
        }

        impl $crate::session::Readable for $queue {
            fn reader(&self) -> ::std::option::Option<$crate::__private::Reader<'_>> {
                $crate::session::Readable::reader(&self.queue)
            }
        }

        impl $queue {
            pub(super) fn at(queue: $crate::__private::IncomingQueue) -> Self {
                Self { queue }
            }

            #[doc = concat!("Returns the next message; `None` when the ", $subject, " is over.")]
            pub async fn next(&self) -> ::std::option::Option<$incoming> {
                self.queue.next($incoming::read).await
            }

            #[doc = concat!("Gives every message to a handler until the ", $subject, " is over, requests side by side.")]
            pub fn serve(
                self,
                handler: impl $handler,
            ) -> impl ::std::future::Future<Output = ()> + ::std::marker::Send {
                self.begin_handler(&handler);
                let handler = ::std::sync::Arc::new(handler);
                self.queue.serve(::std::boxed::Box::new(move |arrival| Self::dispatch(handler.clone(), arrival)))
            }

            /// Names the requests that need a capability, and whether a handler leaves them to their default methods.
            fn begin_handler<H: $handler>(&self, _: &H) {
                self.queue.begin_handler(&[$($((
                    super::messages::$message,
                    $crate::__private::roles::unhandled! { $gated $kind $carried H, $method },
                ),)?)*]);
            }

            fn dispatch(
                handler: ::std::sync::Arc<impl $handler>,
                arrival: $crate::__private::Arrival,
            ) -> $crate::__private::Handling {
                match arrival.message() {
                    $(super::messages::$message => $crate::__private::roles::dispatch! {
                        $kind $carried arrival, handler, $method
                    },)*
                    _ => arrival.reject(),
                }
            }
        }
    };
}

/// How a message becomes a variant.
#[doc(hidden)]
#[macro_export]
macro_rules! __read {
    (notification() $arrival:ident, $variant:ident) => {
        $arrival.notification().map(|()| Self::$variant)
    };
    (notification($params:ident) $arrival:ident, $variant:ident) => {
        $arrival.notification().map(Self::$variant)
    };
    (request() $arrival:ident, $variant:ident) => {
        $arrival.request().map(|((), responder)| Self::$variant(responder))
    };
    (request($params:ident) $arrival:ident, $variant:ident) => {
        $arrival.request().map(|($params, responder)| Self::$variant($params, responder))
    };
    (opening() $arrival:ident, $variant:ident) => {
        $arrival.open().map(|((), session)| Self::$variant($crate::__private::InState::at(session)))
    };
    (opening($params:ident) $arrival:ident, $variant:ident) => {
        $arrival
            .open()
            .map(|($params, session)| Self::$variant($params, $crate::__private::InState::at(session)))
    };
}

/// How a message is given to a handler.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (notification() $arrival:ident, $handler:ident, $method:ident) => {
        $arrival.deliver(move |context, ()| async move { $handler.$method(Context::at(context)).await })
    };
    (notification($params:ident) $arrival:ident, $handler:ident, $method:ident) => {
        $arrival.deliver(move |context, $params| async move {
            $handler.$method(Context::at(context), $params).await
        })
    };
    (request() $arrival:ident, $handler:ident, $method:ident) => {
        $arrival.answer(move |context, ()| async move { $handler.$method(Context::at(context)).await })
    };
    (request($params:ident) $arrival:ident, $handler:ident, $method:ident) => {
        $arrival.answer(move |context, $params| async move {
            $handler.$method(Context::at(context), $params).await
        })
    };
    (opening() $arrival:ident, $handler:ident, $method:ident) => {
        $arrival.attend(move |context, (), session| async move {
            $handler.$method(Context::at(context), $crate::__private::InState::at(session)).await
        })
    };
    (opening($params:ident) $arrival:ident, $handler:ident, $method:ident) => {
        $arrival.attend(move |context, $params, session| async move {
            $handler.$method(Context::at(context), $params, $crate::__private::InState::at(session)).await
        })
    };
}

/// Whether a handler's method is the default one.
#[doc(hidden)]
#[macro_export]
macro_rules! __unhandled {
    (gated request() $handler:ident, $method:ident) => {
        $crate::__private::is_unhandled(|(handler, context): (&'static $handler, _)| handler.$method(context))
    };
    (gated request($params:ident) $handler:ident, $method:ident) => {
        $crate::__private::is_unhandled(|(handler, context, params): (&'static $handler, _, _)| {
            handler.$method(context, params)
        })
    };
    (gated opening() $handler:ident, $method:ident) => {
        $crate::__private::is_unhandled(|(handler, context, opened): (&'static $handler, _, _)| {
            handler.$method(context, opened)
        })
    };
    (gated opening($params:ident) $handler:ident, $method:ident) => {
        $crate::__private::is_unhandled(|(handler, context, params, opened): (&'static $handler, _, _, _)| {
            handler.$method(context, params, opened)
        })
    };
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
