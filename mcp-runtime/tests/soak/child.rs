//! The seller in a process of its own.

pub(crate) fn play(_seed: u64) {}

pub(crate) fn round(_seed: u64) {}
