//! The macro that writes the methods of session values: the steps of a state, and what may be sent at any time in it.

/// The methods of a session type, state by state. A row is the method as Rust has it, and what is done with which
/// message: `pub fn send_add(self, params: types::Item) -> typed::Step<Till<Open>, typed::StepError<Self>> =>
/// send_on(ADD);`.
#[doc(hidden)]
#[macro_export]
macro_rules! __methods {
    ($(
        $(#[$($allow:tt)*])*
        impl $type:ty {
            $(
                $(#[$($doc:tt)*])*
                pub $($word:ident)+ ($($args:tt)*) $(-> $output:ty)? => $how:ident($($given:tt)*);
            )*
        }
    )*) => {
        $(
            $(#[$($allow)*])*
            impl $type {
                $($crate::__private::roles::method! {
                    $(#[$($doc)*])* $($word)+ ($($args)*) $(-> $output)? => $how($($given)*)
                })*
            }
        )*
    };
}

/// One method, by how it takes the value.
#[doc(hidden)]
#[macro_export]
macro_rules! __method {
    (
        $(#[$($doc:tt)*])*
        fn $name:ident($self:ident $(, $value:ident: $type:ty)? $(,)?) -> $output:ty => $how:ident($($given:tt)*)
    ) => {
        $(#[$($doc)*])*
        pub fn $name($self $(, $value: $type)?) -> $output {
            $crate::__private::roles::body! { $how, $self, [$($value)?], $($given)* }
        }
    };
    (
        $(#[$($doc:tt)*])*
        fn $name:ident(&$self:ident $(, $value:ident: $type:ty)? $(,)?) -> $output:ty => $how:ident($($given:tt)*)
    ) => {
        $(#[$($doc)*])*
        pub fn $name(&$self $(, $value: $type)?) -> $output {
            $crate::__private::roles::body! { $how, $self, [$($value)?], $($given)* }
        }
    };
    (
        $(#[$($doc:tt)*])*
        fn $name:ident(&mut $self:ident $(, $value:ident: $type:ty)? $(,)?) -> $output:ty => $how:ident($($given:tt)*)
    ) => {
        $(#[$($doc)*])*
        pub fn $name(&mut $self $(, $value: $type)?) -> $output {
            $crate::__private::roles::body! { $how, $self, [$($value)?], $($given)* }
        }
    };
    (
        $(#[$($doc:tt)*])*
        async fn $name:ident(&$self:ident $(, $value:ident: $type:ty)? $(,)?) $(-> $output:ty)?
            => $how:ident($($given:tt)*)
    ) => {
        $(#[$($doc)*])*
        pub async fn $name(&$self $(, $value: $type)?) $(-> $output)? {
            $crate::__private::roles::body! { $how, $self, [$($value)?], $($given)* }
        }
    };
    (
        $(#[$($doc:tt)*])*
        async fn $name:ident(&mut $self:ident $(, $value:ident: $type:ty)? $(,)?) -> $output:ty
            => $how:ident($($given:tt)*)
    ) => {
        $(#[$($doc)*])*
        pub async fn $name(&mut $self $(, $value: $type)?) -> $output {
            $crate::__private::roles::body! { $how, $self, [$($value)?], $($given)* }
        }
    };
}

/// What a method does.
#[doc(hidden)]
#[macro_export]
macro_rules! __body {
    (close, $self:ident, [],) => {
        $self.session.close()
    };
    // A channel that is over has no value.
    (split, $self:ident, [], [$($part:tt),*], $($on:ident),*) => {{
        let [$($part),*] = $self.session.split();
        ($($crate::__private::InState::at($on)),*)
    }};
    (cancelled, $self:ident, [], $message:ident) => {
        $self.session.cancelled(messages::$message).await
    };
    (next_on, $self:ident, [], $next:ty) => {
        $self.session.next_on(<$next>::read)
    };
    (next_here, $self:ident, [], $next:ty) => {
        $self.session.next_here(<$next>::read).await
    };
    (exchange_next, $self:ident, [$($value:ident)?], $message:ident, $next:ty) => {
        $self.session.exchange_next(messages::$message, &($($value)?), <$next>::read)
    };
    (pages, $self:ident, [$($value:ident)?], $message:ident, $cursor:expr, $next:expr) => {
        $self.session.pages(messages::$message, &($($value)?), &$cursor, &$next)
    };
    (open, $self:ident, [$($value:ident)?], $message:ident) => {
        $self.session.open(messages::$message, &($($value)?)).await.map($crate::__private::InState::at)
    };
    (send_here, $self:ident, [$($value:ident)?], $message:ident) => {
        $self.session.send_here(messages::$message, &($($value)?)).await
    };
    (refuse_on, $self:ident, [$error:ident], $message:ident) => {
        $self.session.refuse_on(messages::$message, $error)
    };
    (receive_here, $self:ident, [], $message:ident) => {
        $self.session.receive_here(messages::$message).await
    };
    (receive_on, $self:ident, [], $message:ident) => {
        $self.session.receive_on(messages::$message)
    };
    (receive_empty, $self:ident, [], $message:ident) => {
        $self.session.receive_empty(messages::$message)
    };
    (receive_last, $self:ident, [], $message:ident) => {
        $self.session.receive_last(messages::$message)
    };
    ($how:ident, $self:ident, [$($value:ident)?], $message:ident) => {
        $self.session.$how(messages::$message, &($($value)?))
    };
}
