//! The macro that writes a handle: what may be sent at any time, from any task.

/// A handle with its methods, a row each: the method with the type of its `params`, what it replies or opens, and what
/// is done with which message: `list_tools(types::Params) -> types::Tools => call(TOOLS_LIST);`. The documentation is
/// that of the session's method of the same name, unless `see` names another one.
#[doc(hidden)]
#[macro_export]
macro_rules! __handle {
    ($(#[$($doc:tt)*])* $name:ident of super::$owner:path, $error:ident; $(
        $method:ident($($params:ty)?) $(-> $output:ty)? => $how:ident($message:ident $(, $cursor:tt, $next:tt)?)
            $(see $documented:ident)?;
    )*) => {
        $(#[$($doc)*])*
        ///
        /// A message that the state does not permit is refused before it is written.
        #[derive(Clone, Debug)]
        pub struct $name {
            handle: $crate::__private::Handle,
        }

        impl $name {
            pub(super) fn at(handle: $crate::__private::Handle) -> Self {
                Self { handle }
            }

            /// Returns a handle that sends nothing for which it needs other capabilities than these. It can be
            /// restricted further, and never be widened.
            pub fn restrict(&self, capabilities: &$crate::__private::Capabilities) -> Self {
                Self { handle: self.handle.restrict(capabilities) }
            }

            /// Whether a message may be sent now, and if not, why: the state of the session, or a capability.
            ///
            /// # Errors
            /// The violation that sending the message would be.
            pub fn permits(
                &self,
                message: $crate::__private::MessageIndex,
            ) -> ::std::result::Result<(), $crate::__private::Violation> {
                self.handle.permits(message)
            }

            /// Returns the messages that may be sent now.
            pub fn permitted(&self) -> ::std::vec::Vec<$crate::__private::MessageIndex> {
                self.handle.permitted()
            }
        }

        #[allow(rustdoc::broken_intra_doc_links)]
        impl $name {
            $($crate::__private::roles::handle_method! {
                $how, #[doc = $crate::__private::roles::reference!($owner, $method $(, $documented)?)]
                $method($($params)?) $(-> $output)?, $error, super::messages::$message $(, &$cursor, &$next)?
            })*
        }
    };
}

/// One method of a handle, by what it does. A request can be cancelled if the protocol does not say otherwise.
#[doc(hidden)]
#[macro_export]
macro_rules! __handle_method {
    (notify, $($row:tt)*) => { $crate::__private::roles::handle_method! { @notify notify, $($row)* } };
    (notify_step, $($row:tt)*) => { $crate::__private::roles::handle_method! { @notify notify_step, $($row)* } };
    (call, $($row:tt)*) => { $crate::__private::roles::handle_method! { @call CancellableCall call, $($row)* } };
    (call_step, $($row:tt)*) => {
        $crate::__private::roles::handle_method! { @call CancellableCall call_step, $($row)* }
    };
    (exchange, $($row:tt)*) => {
        $crate::__private::roles::handle_method! { @call CancellableCall open_exchange, $($row)* }
    };
    (exchange_empty, $($row:tt)*) => {
        $crate::__private::roles::handle_method! { @call CancellableCall open_exchange_empty, $($row)* }
    };
    (uncancellable_call, $($row:tt)*) => { $crate::__private::roles::handle_method! { @call Call call, $($row)* } };
    (uncancellable_call_step, $($row:tt)*) => {
        $crate::__private::roles::handle_method! { @call Call call_step, $($row)* }
    };
    (uncancellable_exchange, $($row:tt)*) => {
        $crate::__private::roles::handle_method! { @call Call open_exchange, $($row)* }
    };
    (uncancellable_exchange_empty, $($row:tt)*) => {
        $crate::__private::roles::handle_method! { @call Call open_exchange_empty, $($row)* }
    };
    (
        pages, #[$doc:meta] $method:ident($($params:ty)?) -> $page:ty, $error:ident,
        $message:path, $cursor:expr, $next:expr
    ) => {
        #[$doc]
        pub fn $method(&self, $(params: $params)?) -> $crate::__private::Pages<'static, $page> {
            let params = $crate::__private::roles::value!($(params as $params)?);
            self.handle.pages($message, params, $cursor, $next)
        }
    };
    (open, #[$doc:meta] $method:ident($($params:ty)?) -> $opened:ty, $error:ident, $message:path) => {
        #[$doc]
        ///
        /// # Errors
        #[doc = concat!("See [`", stringify!($error), "`](super::", stringify!($error), ").")]
        pub async fn $method(
            &self,
            $(params: $params)?
        ) -> ::std::result::Result<$opened, super::$error> {
            let params = $crate::__private::roles::value!($(params as $params)?);
            self.handle.open($message, params).await.map(<$opened>::at)
        }
    };
    (@notify $send:ident, #[$doc:meta] $method:ident($($params:ty)?), $error:ident, $message:path) => {
        #[$doc]
        pub fn $method(&self, $(params: $params)?) -> $crate::__private::Notify<'static> {
            let params = $crate::__private::roles::value!($(params as $params)?);
            self.handle.$send($message, params)
        }
    };
    (
        @call $call:ident $send:ident, #[$doc:meta] $method:ident($($params:ty)?) -> $reply:ty, $error:ident,
        $message:path
    ) => {
        #[$doc]
        pub fn $method(&self, $(params: $params)?) -> $call<'static, $reply> {
            let params = $crate::__private::roles::value!($(params as $params)?);
            self.handle.$send($message, params)
        }
    };
}

/// A reference to the method of a session that has the documentation.
#[doc(hidden)]
#[macro_export]
macro_rules! __reference {
    ($owner:path, $method:ident) => {
        concat!(
            "See [`",
            stringify!($owner),
            "::",
            stringify!($method),
            "`](super::",
            stringify!($owner),
            "::",
            stringify!($method),
            ").",
        )
    };
    ($owner:path, $method:ident, $documented:ident) => {
        $crate::__private::roles::reference!($owner, $documented)
    };
}

/// What a message carries: the value, or nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __value {
    () => {
        &()
    };
    ($value:ident as $type:ty) => {
        &$value
    };
}
