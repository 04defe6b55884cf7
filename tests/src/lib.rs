//! What the tests of this package share.

pub mod everything;
pub mod example;
pub mod http;
pub mod page;
pub mod tap;
