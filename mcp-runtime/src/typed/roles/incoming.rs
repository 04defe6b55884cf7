//! The macro that writes what the peer may send at any time: its messages, their queue, and the trait that answers them.

/// What the peer may send at any time in a session or a sub-session, and the trait of what answers it. Each row is a
/// method of the trait as a program writes it, and the message with the variant of `Incoming` that it becomes; `gated`
/// means that it needs a capability. `async fn ping(&self, context: Context) -> Result<(), typed::RpcError> =>
/// request(PING) as Ping(typed::Responder<()>);`
#[doc(hidden)]
#[macro_export]
macro_rules! __incoming {
    (
        $(#[$($what:tt)*])*
        $handler:ident, $incoming:ident, $queue:ident, $subject:literal;
        $(
            $(#[$($doc:tt)*])*
            async fn $method:ident(&self, context: Context $(, params: $params:ty)? $(, sub_session: $opened:ty)? $(,)?)
                $(-> Result<$reply:ty, typed::RpcError>)?
                => $kind:ident($message:ident $(, $gated:ident)?) as $variant:ident $(($($field:ty),+ $(,)?))?;
        )*
    ) => {
        $(#[$($what)*])*
        ///
        /// Implement the methods as `async fn`. A request that is not implemented is answered with *method not found*;
        /// if this side has announced a capability for it, that is reported when `serve` begins. A notification that is
        /// not implemented is ignored. A handler starts in the task of `serve`, and continues in a task of its own if
        /// it has to wait: requests side by side, notifications one after another. A handler that panics fails its own
        /// message only: a request is answered with an error, and the session lives on.
        pub trait $handler: ::std::marker::Send + ::std::marker::Sync + 'static {
            $($crate::__private::roles::handler_method! {
                $(#[$($doc)*])*
                $kind $method($($params)?) $(opens $opened)? $(-> $reply)?, super::messages::$message
            })*
        }

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
                        $kind($($params)?) arrival, $variant
                    },)*
                    _ => Err(arrival.unexpected()),
                }
            }
        }

        #[doc = concat!("The messages that the peer may send at any time in the ", $subject, ".")]
        /// Each goes to one consumer.
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
                self.queue.serve(::std::boxed::Box::new(move |arrival| {
                    Self::dispatch(::std::sync::Arc::clone(&handler), arrival)
                }))
            }

            /// Names the requests that need a capability, and whether a handler leaves them to their default methods.
            fn begin_handler<H: $handler>(&self, _: &H) {
                self.queue.begin_handler(&[$($crate::__private::roles::unhandled! {
                    [$($gated)?] $kind($($params)?) H, $method, super::messages::$message
                },)*]);
            }

            fn dispatch(
                handler: ::std::sync::Arc<impl $handler>,
                arrival: $crate::__private::Arrival,
            ) -> $crate::__private::Handling {
                match arrival.message() {
                    $(super::messages::$message => $crate::__private::roles::dispatch! {
                        $kind($($params)?) arrival, handler, $handler::$method
                    },)*
                    _ => arrival.reject(),
                }
            }
        }
    };
}

/// A method of the trait, with what it does if a program leaves it out.
#[doc(hidden)]
#[macro_export]
macro_rules! __handler_method {
    ($(#[$($doc:tt)*])* notification $method:ident($($params:ty)?), $message:path) => {
        $(#[$($doc)*])*
        #[allow(unused_variables)]
        fn $method(
            &self,
            context: Context,
            $(params: $params)?
        ) -> impl ::std::future::Future<Output = ()> + ::std::marker::Send {
            ::std::future::ready(())
        }
    };
    ($(#[$($doc:tt)*])* request $method:ident($($params:ty)?) -> $reply:ty, $message:path) => {
        $(#[$($doc)*])*
        #[allow(unused_variables)]
        fn $method(
            &self,
            context: Context,
            $(params: $params)?
        ) -> impl ::std::future::Future<
            Output = ::std::result::Result<$reply, $crate::__private::RpcError>,
        > + ::std::marker::Send {
            $crate::__private::Unhandled::request(&super::PROTOCOL, $message)
        }
    };
    ($(#[$($doc:tt)*])* opening $method:ident($($params:ty)?) opens $opened:ty, $message:path) => {
        $(#[$($doc)*])*
        #[allow(unused_variables)]
        fn $method(
            &self,
            context: Context,
            $(params: $params,)?
            sub_session: $opened,
        ) -> impl ::std::future::Future<Output = ()> + ::std::marker::Send {
            $crate::__private::Unhandled::decline(&super::PROTOCOL, $message, sub_session.session)
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
    (notification($params:ty) $arrival:ident, $variant:ident) => {
        $arrival.notification().map(Self::$variant)
    };
    (request() $arrival:ident, $variant:ident) => {
        $arrival.request().map(|((), responder)| Self::$variant(responder))
    };
    (request($params:ty) $arrival:ident, $variant:ident) => {
        $arrival.request().map(|(params, responder)| Self::$variant(params, responder))
    };
    (opening() $arrival:ident, $variant:ident) => {
        $arrival.open().map(|((), session)| Self::$variant($crate::__private::InState::at(session)))
    };
    (opening($params:ty) $arrival:ident, $variant:ident) => {
        $arrival
            .open()
            .map(|(params, session)| Self::$variant(params, $crate::__private::InState::at(session)))
    };
}

/// How a message is given to a handler. The method is named by its trait, for the `Arc` has methods of its own, `clone`
/// and `into`, which a message may be called, too.
#[doc(hidden)]
#[macro_export]
macro_rules! __dispatch {
    (notification() $arrival:ident, $handler:ident, $trait:ident::$method:ident) => {
        $arrival.deliver(
            move |context, ()| async move { $trait::$method(&*$handler, Context::at(context)).await },
        )
    };
    (notification($params:ty) $arrival:ident, $handler:ident, $trait:ident::$method:ident) => {
        $arrival.deliver(move |context, params| async move {
            $trait::$method(&*$handler, Context::at(context), params).await
        })
    };
    (request() $arrival:ident, $handler:ident, $trait:ident::$method:ident) => {
        $arrival
            .answer(move |context, ()| async move { $trait::$method(&*$handler, Context::at(context)).await })
    };
    (request($params:ty) $arrival:ident, $handler:ident, $trait:ident::$method:ident) => {
        $arrival.answer(move |context, params| async move {
            $trait::$method(&*$handler, Context::at(context), params).await
        })
    };
    (opening() $arrival:ident, $handler:ident, $trait:ident::$method:ident) => {
        $arrival.attend(move |context, (), session| async move {
            $trait::$method(&*$handler, Context::at(context), $crate::__private::InState::at(session)).await
        })
    };
    (opening($params:ty) $arrival:ident, $handler:ident, $trait:ident::$method:ident) => {
        $arrival.attend(move |context, params, session| async move {
            $trait::$method(&*$handler, Context::at(context), params, $crate::__private::InState::at(session))
                .await
        })
    };
}

/// A request that needs a capability, and whether a handler's method for it is the default one; nothing for other
/// messages.
#[doc(hidden)]
#[macro_export]
macro_rules! __unhandled {
    ([] $kind:ident($($params:ty)?) $handler:ident, $method:ident, $message:path) => {
        ::std::option::Option::None
    };
    ([gated] request() $handler:ident, $method:ident, $message:path) => {
        $crate::__private::unhandled($message, |(handler, context): (&'static $handler, _)| {
            handler.$method(context)
        })
    };
    ([gated] request($params:ty) $handler:ident, $method:ident, $message:path) => {
        $crate::__private::unhandled($message, |(handler, context, params): (&'static $handler, _, _)| {
            handler.$method(context, params)
        })
    };
    ([gated] opening() $handler:ident, $method:ident, $message:path) => {
        $crate::__private::unhandled($message, |(handler, context, opened): (&'static $handler, _, _)| {
            handler.$method(context, opened)
        })
    };
    ([gated] opening($params:ty) $handler:ident, $method:ident, $message:path) => {
        $crate::__private::unhandled(
            $message,
            |(handler, context, params, opened): (&'static $handler, _, _, _)| {
                handler.$method(context, params, opened)
            },
        )
    };
}
