//! The results of a campaign, for people and for programs.

pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod list;
pub(crate) mod table;
