//! Rules that are judged on their own, on the declarations or on the finished machines, one a file: the judge and its
//! words.

pub mod alternatives;
pub mod announcements;
pub(crate) mod cancels;
pub mod during;
pub mod gates;
mod hidden_inside;
pub mod messages;
pub mod names;
mod not_running;
pub mod pages;
pub mod read_otherwise;
pub(crate) mod shapes;
pub(crate) mod typed_api;
pub mod unused;
