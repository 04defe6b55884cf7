//! What errors say, and what has caused them.

/// Implements `Display` and `Error` for a type: for each pattern what it says, as `format!` takes it, and the cause
/// that it holds.
///
/// It is not a macro of another crate: to build one takes longer than to build all that it would write here, and every
/// program that uses this crate builds it.
macro_rules! error_texts {
    ($type:ty { $($pattern:pat => ($($said:tt)+) $(from $cause:expr)?,)+ }) => {
        impl ::std::fmt::Display for $type {
            #[allow(unused_variables)]
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($pattern => ::std::write!(formatter, $($said)+),)+
                }
            }
        }

        impl ::std::error::Error for $type {
            #[allow(unused_variables)]
            fn source(&self) -> Option<&(dyn ::std::error::Error + 'static)> {
                match self {
                    $($pattern => error_texts!(@cause $($cause)?),)+
                }
            }
        }
    };
    (@cause) => { None };
    (@cause $cause:expr) => { Some($cause) };
}
pub(crate) use error_texts;
