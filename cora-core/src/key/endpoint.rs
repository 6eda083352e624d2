//! An end of a connection.

use super::{Address, FiveTuple};
use crate::bucket::End;

/// An end of a connection: an address, and a port of a transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Its address.
    pub address: Address,
    /// Its port.
    pub port: u16,
    /// The protocol that the port is of.
    pub protocol: u8,
}

impl FiveTuple {
    /// The end that sends packets with this key, or the one that they are for.
    #[inline]
    #[must_use]
    pub const fn endpoint(&self, end: End) -> Endpoint {
        let address = match end {
            End::Source => self.source,
            End::Destination => self.destination,
        };
        Endpoint { address, port: end.port(self), protocol: self.protocol }
    }
}
