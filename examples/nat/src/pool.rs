//! The ports of the public addresses, and the endpoint inside that each is mapped to.
//!
//! They are divided by bucket: an endpoint gets a port whose bits 1 to 8 are those of its own, so
//! that answers are steered to where its sessions are. Everything that is sent from one endpoint
//! has one port, wherever it goes (RFC 4787, REQ-1), and everything of one host has one address
//! (REQ-2). A mapping counts its sessions. It ends with the last of them: the hook of expired
//! sessions tells. Its port then rests behind all other free ports of the address in its bucket, as
//! long as there are others.

use core::net::Ipv4Addr;

use cora::prelude::*;

/// Public addresses, at most.
pub(crate) const ADDRESSES: usize = 4;
pub(crate) const FIRST_PORT: u16 = 32_768;
/// Ports of an address in a bucket.
pub(crate) const PORTS: usize = 128;
const ALL: usize = ADDRESSES * PORTS;
const CHAINS: usize = 256;
/// No mapping.
const END: u16 = u16::MAX;

pub(crate) const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

/// Where somebody inside sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) protocol: u8,
}

/// A port of the pool, and whether it is another one than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Which of the public addresses.
    pub(crate) address: u8,
    pub(crate) port: BucketPort,
    /// Whether the endpoint had none.
    pub(crate) is_new: bool,
}

/// A port's endpoint, and its sessions. Without a session it is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Mapping {
    sessions: u32,
    /// The next one in the chain of its endpoint.
    next: u16,
    address: Ipv4Addr,
    port: u16,
    protocol: u8,
}

/// Those of a bucket, address by address.
#[state(per = Bucket, durable)]
pub struct PortPool {
    bucket: Bucket,
    mappings: Tracked<Mapping, ALL>,
    chains: Tracked<u16, CHAINS>,
    /// Free ports of each address, as a ring: how many, and where it begins.
    free: Tracked<u8, ALL>,
    left: [u16; ADDRESSES],
    first: [u16; ADDRESSES],
}

impl From<Bucket> for PortPool {
    fn from(bucket: Bucket) -> Self {
        let unused = Mapping {
            sessions: 0,
            next: END,
            address: Ipv4Addr::UNSPECIFIED,
            port: 0,
            protocol: 0,
        };
        let mut free = [0; ALL];
        for (port, place) in free.iter_mut().enumerate() {
            *place = (port % PORTS) as u8;
        }
        Self {
            bucket,
            mappings: Tracked::new([unused; ALL]),
            chains: Tracked::new([END; CHAINS]),
            free: Tracked::new(free),
            left: [PORTS as u16; ADDRESSES],
            first: [0; ADDRESSES],
        }
    }
}

impl Inside {
    /// Which chain it is in.
    const fn chain(&self) -> usize {
        let ports = (self.port as u64) << 8 | self.protocol as u64;
        let bits = (self.address.to_bits() as u64) << 24 | ports;
        (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
    }

    /// Which of so many public addresses its host has.
    const fn address_of(&self, addresses: u8) -> u8 {
        let bits = self.address.to_bits().wrapping_mul(0x9e37_79b9);
        ((bits as u64 * addresses as u64) >> 32) as u8
    }
}

impl Mapping {
    const fn inside(&self) -> Inside {
        Inside { address: self.address, port: self.port, protocol: self.protocol }
    }
}

impl PortPool {
    /// The port of an endpoint, for another session: the one that it has, or a free one of an
    /// address among the first `addresses`.
    pub(crate) fn open(&mut self, from: &Inside, addresses: u8) -> Result<Lease, Reason> {
        let known = self.find(from).filter(|at| usize::from(*at) / PORTS < addresses.into());
        let number = match known {
            Some(number) => number,
            None => self.map(from, from.address_of(addresses))?,
        };
        let at = usize::from(number);
        let port = self.bucket.port(FIRST_PORT, (at % PORTS) as u16).ok_or(NO_PORT_LEFT)?;
        self.mappings.get_mut(at).ok_or(NO_PORT_LEFT)?.sessions += 1;
        Ok(Lease { address: (at / PORTS) as u8, port, is_new: known.is_none() })
    }

    /// Whether this endpoint has a port.
    pub(crate) fn has(&self, from: &Inside) -> bool {
        self.find(from).is_some()
    }

    /// A session of the port is over. With the last one the port is free: returns whether it is
    /// now.
    pub(crate) fn close(&mut self, address: u8, port: u16) -> bool {
        let address = usize::from(address);
        let Some(nth) = self.bucket.nth_of(FIRST_PORT, port) else { return false };
        let number = address * PORTS + usize::from(nth);
        let Some(mapping) = self.mappings.get_mut(number) else { return false };
        let Some(left) = mapping.sessions.checked_sub(1) else { return false };
        mapping.sessions = left;
        if left > 0 {
            return false;
        }
        let inside = mapping.inside();
        self.unchain(number as u16, &inside);
        let (Some(left), Some(first)) = (self.left.get_mut(address), self.first.get(address))
        else {
            return false;
        };
        let place = address * PORTS + usize::from(first + *left) % PORTS;
        *left += 1;
        if let Some(place) = self.free.get_mut(place) {
            *place = nth as u8;
        }
        true
    }

    fn find(&self, from: &Inside) -> Option<u16> {
        let mut at = *self.chains.get(from.chain())?;
        // No chain is longer than there are ports.
        for _ in 0..ALL {
            let mapping = self.mappings.get(usize::from(at))?;
            if mapping.inside() == *from {
                return Some(at);
            }
            at = mapping.next;
        }
        None
    }

    /// Maps the port of this address to the endpoint that has been free for longest.
    fn map(&mut self, from: &Inside, address: u8) -> Result<u16, Reason> {
        let address = usize::from(address);
        let begin = address * PORTS;
        let left = self.left.get_mut(address).ok_or(NO_PORT_LEFT)?;
        let first = self.first.get_mut(address).ok_or(NO_PORT_LEFT)?;
        let port = *self.free.get(begin + usize::from(*first)).ok_or(NO_PORT_LEFT)?;
        *left = left.checked_sub(1).ok_or(NO_PORT_LEFT)?;
        *first = (*first + 1) % PORTS as u16;
        let number = begin as u16 + u16::from(port);
        let head = self.chains.get_mut(from.chain()).ok_or(NO_PORT_LEFT)?;
        let next = core::mem::replace(head, number);
        let Inside { address, port, protocol } = *from;
        if let Some(mapping) = self.mappings.get_mut(usize::from(number)) {
            *mapping = Mapping { sessions: 0, next, address, port, protocol };
        }
        Ok(number)
    }

    /// Takes a port out of the chain of its endpoint.
    fn unchain(&mut self, number: u16, inside: &Inside) {
        let next = self.mappings.get(usize::from(number)).map_or(END, |mapping| mapping.next);
        let Some(head) = self.chains.get(inside.chain()).copied() else { return };
        if head == number {
            if let Some(head) = self.chains.get_mut(inside.chain()) {
                *head = next;
            }
            return;
        }
        let mut at = head;
        // No chain is longer than there are ports.
        for _ in 0..ALL {
            let Some(before) = self.mappings.get(usize::from(at)) else { return };
            if before.next != number {
                at = before.next;
                continue;
            }
            if let Some(before) = self.mappings.get_mut(usize::from(at)) {
                before.next = next;
            }
            return;
        }
    }

    /// Ports with a session.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        ALL - usize::from(self.left.iter().sum::<u16>())
    }
}
