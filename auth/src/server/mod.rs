//! The server's side: validates the token of each request, and says who asks.
//!
//! - `resource.rs`: [`ProtectedResource`], the layer; `service.rs`: what it does with each request; `operation.rs`: what a
//!   request does, for the scopes that this needs.
//! - `validator.rs`: [`TokenValidator`]; `jwt.rs` and `introspection.rs` are two, `keys.rs` has the keys of the first, and
//!   `fetch.rs` the requests of both.
//! - `principal.rs`: [`Principal`], who makes a request.

mod fetch;
mod introspection;
mod jwt;
mod keys;
mod operation;
mod principal;
mod resource;
mod service;
mod validator;

pub use introspection::Introspection;
pub use jwt::Jwt;
pub use operation::Operation;
pub use principal::{Principal, principal};
pub use resource::{ProtectedResource, ResourceAddressError};
pub use service::Protected;
pub use validator::{TokenError, TokenValidator};
