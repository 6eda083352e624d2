//! The tenant of each address. Packets with ports have one by these, and fragments by the first one
//! of their packet.

use std::collections::HashMap;

use ahash::RandomState;
use cora_core::bucket::End;
use cora_core::key::Endpoint;
use cora_core::packet::{Datagrams, Meta, Packet, Port};

/// Fragmented packets under way that are known.
const UNDER_WAY: usize = 64;

/// Addresses and their tenants.
#[derive(Debug)]
pub(super) struct Book {
    tenants: HashMap<Endpoint, usize, RandomState>,
    fragments: Box<Datagrams<UNDER_WAY>>,
}

/// Fragments that were seen so far.
pub(super) type Fragments = Datagrams<UNDER_WAY>;

/// The end of a flow that a tenant may have: packets from inside come from a server there, and
/// others go to one.
pub(super) const fn servers_end(from_inside: bool) -> End {
    if from_inside { End::Source } else { End::Destination }
}

impl Book {
    pub(super) fn new() -> Self {
        // Nobody but operators and servers chooses the addresses.
        let tenants = HashMap::with_hasher(RandomState::with_seed(0));
        Self { tenants, fragments: Box::default() }
    }

    /// The tenant of this packet, if there is one.
    pub(super) fn tenant_of(&mut self, frame: &mut [u8], meta: Meta) -> Option<usize> {
        if self.tenants.is_empty() {
            return None;
        }
        let flow = self.fragments.five_tuple(&Packet::new(frame, meta)).ok()?;
        let end = servers_end(meta.port == Port::INSIDE);
        self.tenants.get(&flow.endpoint(end)).copied()
    }

    /// The tenant of this address.
    pub(super) fn owner(&self, endpoint: &Endpoint) -> Option<usize> {
        self.tenants.get(endpoint).copied()
    }

    /// From now on packets for these addresses are this tenant's.
    pub(super) fn enter(&mut self, endpoints: &[Endpoint], tenant: usize) {
        self.tenants.extend(endpoints.iter().map(|endpoint| (*endpoint, tenant)));
    }

    /// Packets of this tenant pass by again.
    pub(super) fn strike(&mut self, tenant: usize) {
        self.tenants.retain(|_, its| *its != tenant);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::SocketAddrV4;

    use cora_core::key::{Address, protocol};

    use super::*;

    /// A UDP packet in Ethernet. With an offset (in units of 8 bytes) or more fragments behind it,
    /// it is a fragment of the packet with number 7.
    pub(in crate::tenants) fn packet(from: &str, to: &str, offset: u16, more: bool) -> Vec<u8> {
        let [from, to] = [from, to].map(|it| it.parse::<SocketAddrV4>().expect("an address"));
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 60, 0, 7]);
        frame.extend((offset | u16::from(more) << 13).to_be_bytes());
        frame.extend([64, 17, 0, 0]);
        frame.extend(from.ip().octets());
        frame.extend(to.ip().octets());
        let words = frame[14..].chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
        let sum: u32 = words.sum();
        let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(from.port().to_be_bytes());
        frame.extend(to.port().to_be_bytes());
        frame.extend([0, 40, 0, 0]);
        frame.resize(74, 0);
        frame
    }

    pub(in crate::tenants) fn at(port: Port) -> Meta {
        Meta { port, now: 1, ..Meta::default() }
    }

    pub(in crate::tenants) fn endpoint(text: &str) -> Endpoint {
        let at: SocketAddrV4 = text.parse().expect("an address");
        let address = Address::v4(at.ip().octets());
        Endpoint { address, port: at.port(), protocol: protocol::UDP }
    }

    const SERVER: &str = "10.0.0.2:53";
    const CLIENT: &str = "192.0.2.9:4000";

    #[test]
    fn packets_have_the_tenant_of_the_servers_end() {
        let mut book = Book::new();
        let of = |book: &mut Book, from, to, port| {
            book.tenant_of(&mut packet(from, to, 0, false), at(port))
        };
        assert_eq!(of(&mut book, CLIENT, SERVER, Port::OUTSIDE), None, "nobody is attached");
        book.enter(&[endpoint(SERVER)], 4);
        assert_eq!(of(&mut book, CLIENT, SERVER, Port::OUTSIDE), Some(4));
        assert_eq!(of(&mut book, SERVER, CLIENT, Port::INSIDE), Some(4));
        // As a client the server's machine is none of it, nor is a client that has its address.
        assert_eq!(of(&mut book, CLIENT, SERVER, Port::INSIDE), None);
        assert_eq!(of(&mut book, SERVER, CLIENT, Port::OUTSIDE), None);
        assert_eq!(of(&mut book, CLIENT, "10.0.0.2:54", Port::OUTSIDE), None);
        book.strike(4);
        assert_eq!(of(&mut book, CLIENT, SERVER, Port::OUTSIDE), None);
    }

    #[test]
    fn fragments_go_where_the_first_one_went() {
        let mut book = Book::new();
        book.enter(&[endpoint(SERVER)], 4);
        let mut of = |offset, more| {
            book.tenant_of(&mut packet(CLIENT, SERVER, offset, more), at(Port::OUTSIDE))
        };
        assert_eq!(of(5, true), None, "its first one has not come");
        assert_eq!(of(0, true), Some(4));
        assert_eq!(of(5, true), Some(4));
        assert_eq!(of(10, false), Some(4));
    }

    #[test]
    fn frames_that_are_no_packets_have_no_tenant() {
        let mut book = Book::new();
        book.enter(&[endpoint(SERVER)], 4);
        let whole = packet(CLIENT, SERVER, 0, false);
        for length in 0..whole.len() {
            let tenant = book.tenant_of(&mut whole[..length].to_vec(), at(Port::OUTSIDE));
            assert_eq!(tenant, None, "{length} bytes");
        }
    }
}
