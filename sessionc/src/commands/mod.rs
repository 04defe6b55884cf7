//! One command a file.

pub(crate) mod check;
pub(crate) mod compat;
pub(crate) mod completions;
pub(crate) mod diagram;
pub(crate) mod diff;
pub(crate) mod dual;
pub(crate) mod expand;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod guard;
pub(crate) mod init;
pub(crate) mod lsp;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod probe;
pub(crate) mod schema;
pub(crate) mod shapes;
pub(crate) mod trace;
