//! The elements of a JSON list, one by one.

use std::fmt;

use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Visits the elements of a list that is in memory.
///
/// # Errors
/// If the text is not a list.
pub(crate) fn for_each_element<'a>(
    list: &'a [u8],
    visit: impl FnMut(&'a RawValue),
) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(list);
    json.deserialize_seq(Elements(visit))?;
    json.end()
}

struct Elements<F>(F);

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut all: A) -> Result<(), A::Error> {
        while let Some(element) = all.next_element::<&RawValue>()? {
            self.0(element);
        }
        Ok(())
    }
}
