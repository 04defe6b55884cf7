//! Capabilities by name.

use std::fmt;

use super::GateIndex;

/// One capability by name: its gate, and its path in the announcement as it is written. Generated code has a constant
/// for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Capability {
    /// Its gate.
    pub gate: GateIndex,
    /// `resources.subscribe`
    pub path: &'static str,
}

impl Capability {
    /// A capability of this gate, by its path as it is written.
    pub const fn new(gate: GateIndex, path: &'static str) -> Capability {
        Capability { gate, path }
    }
}

impl AsRef<str> for Capability {
    fn as_ref(&self) -> &str {
        self.path
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.path)
    }
}
