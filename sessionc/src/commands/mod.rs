//! One command a file.

pub(crate) mod check;
pub(crate) mod diagram;
pub(crate) mod expand;
pub(crate) mod explain;
