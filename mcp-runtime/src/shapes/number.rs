//! What `number` becomes.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A JSON number: whole numbers keep all their digits, and stay whole numbers on the wire.
///
/// ```
/// use mcp_runtime::shapes::Number;
///
/// let half = Number::from(0.5);
/// assert_eq!(half.as_f64(), 0.5);
/// assert_eq!(serde_json::to_string(&Number::from(3))?, "3");
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// JSON has no infinite number and no NaN: one that was made from such an `f64` is an error when it is written.
#[derive(Clone, Copy, Debug)]
pub struct Number(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Int(i64),
    /// Above all that an `i64` can hold.
    Uint(u64),
    Float(f64),
}

impl Number {
    /// The nearest `f64`. Whole numbers beyond 2⁵³ may lose digits.
    pub fn as_f64(self) -> f64 {
        match self.0 {
            Kind::Int(number) => number as f64,
            Kind::Uint(number) => number as f64,
            Kind::Float(number) => number,
        }
    }
}

/// The largest whole number to which every whole number can be told from its neighbours as an `f64`.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

impl Number {
    /// The number, if it is whole and an `i64` can hold it: `1.0` and `1e3` are whole.
    pub fn as_i64(self) -> Option<i64> {
        match self.0 {
            Kind::Int(number) => Some(number),
            Kind::Uint(_) => None,
            Kind::Float(number) => {
                (number.fract() == 0.0 && number.abs() <= LARGEST_EXACT).then_some(number as i64)
            }
        }
    }

    /// The number, if it is whole and a `u64` can hold it.
    pub fn as_u64(self) -> Option<u64> {
        match self.0 {
            Kind::Uint(number) => Some(number),
            _ => u64::try_from(self.as_i64()?).ok(),
        }
    }
}

impl From<Number> for Value {
    /// Infinity and NaN, which JSON does not have, become `null`.
    fn from(number: Number) -> Value {
        match number.0 {
            Kind::Int(number) => number.into(),
            Kind::Uint(number) => number.into(),
            Kind::Float(number) => number.into(),
        }
    }
}

/// Numbers are equal if their values are: `1` and `1.0` are one number.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        match (self.0, other.0) {
            (Kind::Int(one), Kind::Int(other)) => one == other,
            (Kind::Uint(one), Kind::Uint(other)) => one == other,
            (Kind::Int(_), Kind::Uint(_)) | (Kind::Uint(_), Kind::Int(_)) => false,
            _ => self.as_f64() == other.as_f64(),
        }
    }
}

impl PartialEq<f64> for Number {
    fn eq(&self, other: &f64) -> bool {
        self.as_f64() == *other
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<std::cmp::Ordering> {
        match (self.0, other.0) {
            (Kind::Int(one), Kind::Int(other)) => Some(one.cmp(&other)),
            (Kind::Uint(one), Kind::Uint(other)) => Some(one.cmp(&other)),
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Int(number) => number.fmt(formatter),
            Kind::Uint(number) => number.fmt(formatter),
            Kind::Float(number) => number.fmt(formatter),
        }
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Number {
        Number(Kind::Float(number))
    }
}

impl From<f32> for Number {
    fn from(number: f32) -> Number {
        Number(Kind::Float(number.into()))
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Number {
        Number(i64::try_from(number).map_or(Kind::Uint(number), Kind::Int))
    }
}

macro_rules! from_small {
    ($($small:ty)*) => { $(
        impl From<$small> for Number {
            fn from(number: $small) -> Number {
                Number(Kind::Int(number.into()))
            }
        }
    )* };
}

from_small!(i8 i16 i32 i64 u8 u16 u32);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Kind::Int(number) => serializer.serialize_i64(number),
            Kind::Uint(number) => serializer.serialize_u64(number),
            Kind::Float(number) if number.is_finite() => serializer.serialize_f64(number),
            Kind::Float(number) => Err(serde::ser::Error::custom(format!("JSON has no number {number}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_their_form() {
        for text in ["0", "-3", "18446744073709551615", "9007199254740993", "0.1", "1.0", "1e300"] {
            let value: Value = serde_json::from_str(text).unwrap();
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(number).unwrap(), value, "{text}");
            assert_eq!(Value::from(number), value, "{text}");
        }
        assert_eq!(Number::from(1), Number::from(1.0));
        assert!(Number::from(u64::MAX) > Number::from(i64::MAX));
        assert_ne!(Number::from(u64::MAX), Number::from(-1));
        assert_eq!(Number::from(2), 2.0);
    }

    #[test]
    fn what_json_has_no_number_for_is_an_error() {
        let error = serde_json::to_string(&Number::from(f64::NAN)).unwrap_err();
        assert_eq!(error.to_string(), "JSON has no number NaN");
    }
}
