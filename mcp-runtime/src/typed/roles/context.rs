//! The macro that writes what a handler has in addition to the message.

/// What every handler's context has, and a row for each report on a request that runs.
#[doc(hidden)]
#[macro_export]
macro_rules! __context {
    (
        Context;
        $(peer = $handle:ty;)?
        $(reports = $reports:ident;)?
        $(
            $(#[$($doc:tt)*])*
            pub async fn $report:ident(&$self:ident $(, $params:ident: $type:ty)? $(,)?) -> $output:ty
                => report($message:ident);
        )*
    ) => {
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

            $(
                $(#[$($doc)*])*
                pub async fn $report(&$self $(, $params: $type)?) -> $output {
                    $self.context.report(super::messages::$message, &($($params)?)).await
                }
            )*

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
