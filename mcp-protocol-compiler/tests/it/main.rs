//! What the compiler says and writes.

mod compile;
mod conditions;
mod diagnostics;
mod dual;
mod explain;
mod gates;
mod generate;
mod helps;
mod late;
mod paths;
mod proofs;
mod renamed;
mod shapes;
#[path = "../support/mod.rs"]
mod support;
mod symbols;
mod typed_in;
mod view;
