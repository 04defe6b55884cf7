//! What a transport knows of a message in addition to its text.

use std::any::Any;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// What a transport knows of a message that came in, such as the head of its HTTP request. A handler gets it with
/// `context.extension()`.
pub trait Extension: Any + fmt::Debug + Send + Sync {
    /// Says which peer sent the message, for limits that each peer has by itself. A handler gets it with
    /// `context.peer_identity()`. By default the peer is not known.
    fn peer_identity(&self) -> PeerIdentity {
        PeerIdentity::default()
    }
}

/// Which peer sent a message, as far as its transport knows. Over HTTP both fields may be known; over streams of bytes the
/// connection has one peer, and neither is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerIdentity {
    /// The name that the program has given to the peer, as `ServerOptions::principal` does over HTTP.
    pub principal: Option<Arc<str>>,
    /// The address that the message came from.
    pub address: Option<IpAddr>,
}

impl PeerIdentity {
    /// Sets the name that the program has given to the peer.
    #[must_use]
    pub fn with_principal(self, principal: impl Into<Arc<str>>) -> PeerIdentity {
        PeerIdentity { principal: Some(principal.into()), ..self }
    }

    /// Sets the address that the message came from.
    #[must_use]
    pub fn with_address(self, address: IpAddr) -> PeerIdentity {
        PeerIdentity { address: Some(address), ..self }
    }

    /// Returns the address, or the /64 network of an address of IPv6: one peer usually has such a network to itself.
    pub fn network(&self) -> Option<IpAddr> {
        self.address.map(network_of)
    }
}

/// The network of addresses that one peer usually has to itself.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> 64))),
        address => address,
    }
}
