//! Tests of the relations: cases by hand, and properties on random automata against the oracle.

mod cases;
pub(super) mod notation;
mod oracle;
mod properties;
mod random;
mod side_by_side;
mod suspension;
