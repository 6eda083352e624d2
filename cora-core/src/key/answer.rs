//! Keys of replies that handlers choose, and that come back to the bucket of the packet.

use super::{Address, FiveTuple, protocol};
use crate::bucket::BucketPort;

/// The key of the packets that answer a flow, where a handler translates: they go to another
/// address and a port of the packet's bucket, or come from another server, or both.
///
/// ```
/// # use cora_core::bucket::Bucket;
/// # use cora_core::key::{Address, FiveTuple, protocol};
/// # let flow = FiveTuple {
/// #     source: Address::v4([10, 0, 0, 1]),
/// #     destination: Address::v4([198, 51, 100, 7]),
/// #     source_port: 1_000,
/// #     destination_port: 80,
/// #     protocol: protocol::TCP,
/// # };
/// let port = Bucket::of_port(flow.source_port).port(32_768, 0).expect("the first one");
/// let answer = flow.answered_to(Address::v4([192, 0, 2, 1]), port).key();
/// assert_eq!((answer.source, answer.destination_port), (flow.destination, port.number()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer(FiveTuple);

impl FiveTuple {
    /// The answers go to this address and port: a NAT's public ones. Answers to ICMP queries have
    /// the port as their identifier.
    #[inline]
    #[must_use]
    pub const fn answered_to(&self, address: Address, port: BucketPort) -> Answer {
        let port = port.number();
        let key = Self { destination: address, destination_port: port, ..self.reversed() };
        Answer(if self.has_ports() { key } else { Self { source_port: port, ..key } })
    }

    /// The answers come from this address and port: those of the server behind a service.
    #[inline]
    #[must_use]
    pub const fn answered_by(&self, address: Address, port: u16) -> Answer {
        Answer(Self { source: address, source_port: port, ..self.reversed() })
    }
}

impl Answer {
    /// Moreover, the answers come from this address. Between families, ICMP is that of the
    /// address.
    #[inline]
    #[must_use]
    pub const fn by(self, address: Address) -> Self {
        let protocol = match self.0.protocol {
            protocol::ICMP | protocol::ICMPV6 if address.is_v4() => protocol::ICMP,
            protocol::ICMP | protocol::ICMPV6 => protocol::ICMPV6,
            other => other,
        };
        Self(FiveTuple { source: address, protocol, ..self.0 })
    }

    /// The key.
    #[inline]
    #[must_use]
    pub const fn key(self) -> FiveTuple {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Bucket;

    const PUBLIC: Address = Address::v4([192, 0, 2, 1]);

    const fn flow(protocol: u8, source_port: u16, destination_port: u16) -> FiveTuple {
        let source = Address::v6([0xfd; 16]);
        let destination = Address::v6([1; 16]);
        FiveTuple { source, destination, source_port, destination_port, protocol }
    }

    #[test]
    fn answers_of_a_query_have_its_new_identifier_twice() {
        let port = Bucket::of_port(9).port(32_768, 1).unwrap();
        let answer = flow(protocol::ICMPV6, 9, 9).answered_to(PUBLIC, port);
        let key = answer.by(Address::v4([198, 51, 100, 7])).key();
        assert_eq!((key.source_port, key.destination_port), (port.number(), port.number()));
        assert_eq!(key.protocol, protocol::ICMP, "as its addresses are IPv4");
        let key = flow(protocol::UDP, 9, 53).answered_to(PUBLIC, port).key();
        assert_eq!((key.source_port, key.destination_port), (53, port.number()));
        assert_eq!(key.source, Address::v6([1; 16]));
    }

    #[test]
    fn a_service_answers_from_its_own_port() {
        let key = flow(protocol::TCP, 5_555, 443).answered_by(PUBLIC, 8_443).key();
        assert_eq!((key.source, key.source_port), (PUBLIC, 8_443));
        assert_eq!((key.destination, key.destination_port), (Address::v6([0xfd; 16]), 5_555));
    }
}
