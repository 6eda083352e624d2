//! An end of a connection, and the bucket that its port is of.

use super::{Address, FiveTuple};
use crate::bucket::{Bucket, End, Mark};

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
        let (address, port) = match end {
            End::Source => (self.source, self.source_port),
            End::Destination => (self.destination, self.destination_port),
        };
        Endpoint { address, port, protocol: self.protocol }
    }

    /// The mark of packets with this key, if the port at `end` decides.
    #[inline(always)]
    #[must_use]
    pub const fn mark(&self, end: End) -> Mark {
        Mark { bucket: Bucket::of_port(self.endpoint(end).port), end }
    }

    /// Whether packets with this key are of the same bucket as those with this mark, which they
    /// answer.
    #[inline]
    #[must_use]
    pub fn answers(&self, mark: Mark) -> bool {
        self.mark(mark.end.opposite()).bucket == mark.bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::protocol;

    #[test]
    fn a_nat_that_keeps_the_bucket_steers_its_replies_back() {
        let flow = FiveTuple {
            source: Address::v4([10, 0, 0, 1]),
            destination: Address::v4([192, 0, 2, 80]),
            source_port: 40_001,
            destination_port: 443,
            protocol: protocol::TCP,
        };
        let mark = flow.mark(End::Source);
        for nth in 0..128 {
            let port = mark.bucket.port(32_768, nth).unwrap().number();
            let public = Address::v4([192, 0, 2, 1]);
            let reply =
                FiveTuple { destination: public, destination_port: port, ..flow.reversed() };
            assert!(reply.answers(mark));
            assert_eq!(reply.mark(End::Destination).bucket, mark.bucket);
            let other = FiveTuple { destination_port: port ^ 2, ..reply };
            assert!(!other.answers(mark));
        }
        assert!(flow.reversed().answers(mark));
    }
}
