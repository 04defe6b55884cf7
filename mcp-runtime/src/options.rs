//! The settings of a session.
//!
//! [`Options`] has a setter for each limit and time, and the capabilities and versions that this side works with. A
//! session that another program has opened is continued with [`Resumed`].

mod rate;
mod resumed;
mod settings;
mod timeouts;
mod versions;

pub use self::rate::RateLimit;
pub(crate) use self::resumed::Announced;
pub use self::resumed::Resumed;
pub use self::settings::Options;
pub(crate) use self::timeouts::CallTimeouts;
pub use self::versions::negotiate_version;
