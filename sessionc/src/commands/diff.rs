//! `sessionc diff`: what has changed between two versions of a protocol.

use crate::arguments::Compat;
use crate::commands::compat::compared;
use crate::end::End;
use crate::files::Failure;

/// Lists the changes; exits 1 if there are any.
pub(crate) fn run(arguments: &Compat) -> Result<End, Failure> {
    let (_, verdict) = compared(arguments)?;
    Ok(if verdict.changes.is_empty() { End::Clean } else { End::Findings })
}
