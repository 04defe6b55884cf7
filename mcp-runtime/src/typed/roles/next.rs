//! The macro that writes what may come next in a state.

/// The enum of what may come next, a row for each: the variant, and what is taken with which message:
/// `ItemAdded(types::Item, Till<super::Open>) => then(ITEM_ADDED, params, session);`.
#[doc(hidden)]
#[macro_export]
macro_rules! __next {
    (
        $(#[$($what:tt)*])*
        $next:ident $(or $closed:ident)?;
        $(
            $(#[$($doc:tt)*])*
            $variant:ident $(($($field:ty),+ $(,)?))? => $how:ident($message:ident $(, $taken:ident)*);
        )*
    ) => {
        $(#[$($what)*])*
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug)]
        #[must_use = "it holds what the peer sent"]
        pub enum $next {
            $(
                /// The peer closed the session.
                $closed,
            )?
            $(
                $(#[$($doc)*])*
                $variant $(($($field),+))?,
            )*
        }

        impl $next {
            #[allow(clippy::result_large_err)]
            pub(super) fn read(
                input: $crate::__private::Input,
            ) -> ::std::result::Result<Self, $crate::__private::Unread> {
                $(
                    if input.is_closed() {
                        return Ok(Self::$closed);
                    }
                )?
                match input.message() {
                    $(super::messages::$message => $crate::__private::roles::take! {
                        $how, input, $variant, $($taken)*
                    },)*
                    _ => Err(input.unexpected()),
                }
            }
        }
    };
}

/// How an input becomes a variant. `then` moves the value, or ends it where it gives no `session`; `here` leaves it
/// where it is.
#[doc(hidden)]
#[macro_export]
macro_rules! __take {
    (then, $input:ident, $variant:ident, params session) => {
        $input.then(|params, session| Self::$variant(params, $crate::__private::InState::at(session)))
    };
    (then, $input:ident, $variant:ident, session) => {
        $input.then(|(), session| Self::$variant($crate::__private::InState::at(session)))
    };
    (then, $input:ident, $variant:ident, params) => {
        $input.then(|params, _over| Self::$variant(params))
    };
    (then, $input:ident, $variant:ident,) => {
        $input.then(|(), _over| Self::$variant)
    };
    (here, $input:ident, $variant:ident, params) => {
        $input.here(Self::$variant)
    };
    (here, $input:ident, $variant:ident,) => {
        $input.here(|()| Self::$variant)
    };
    (request, $input:ident, $variant:ident, params responder session) => {
        $input.request(|params, responder, session| {
            Self::$variant(params, responder, $crate::__private::InState::at(session))
        })
    };
    (request, $input:ident, $variant:ident, responder session) => {
        $input.request(|(), responder, session| {
            Self::$variant(responder, $crate::__private::InState::at(session))
        })
    };
    (request, $input:ident, $variant:ident, params responder) => {
        $input.request_here(Self::$variant)
    };
    (request, $input:ident, $variant:ident, responder) => {
        $input.request_here(|(), responder| Self::$variant(responder))
    };
    (opening, $input:ident, $variant:ident, params opened session) => {
        $input.opening(|params, opened, session| {
            let opened = $crate::__private::InState::at(opened);
            Self::$variant(params, opened, $crate::__private::InState::at(session))
        })
    };
    (opening, $input:ident, $variant:ident, opened session) => {
        $input.opening(|(), opened, session| {
            let opened = $crate::__private::InState::at(opened);
            Self::$variant(opened, $crate::__private::InState::at(session))
        })
    };
    (opening, $input:ident, $variant:ident, params opened) => {
        $input.opening_here(|params, opened| Self::$variant(params, $crate::__private::InState::at(opened)))
    };
    (opening, $input:ident, $variant:ident, opened) => {
        $input.opening_here(|(), opened| Self::$variant($crate::__private::InState::at(opened)))
    };
}
