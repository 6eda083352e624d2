//! The ports of the public addresses, and the endpoint inside that each is mapped to.
//!
//! Everything that is sent from one endpoint has one port, wherever it goes (RFC 4787, REQ-1), and
//! everything of one host has one address (REQ-2). A mapping counts its sessions. It ends with the
//! last of them: the hook of expired sessions tells. Its port then rests behind all other free
//! ports of the address, as long as there are others.

use core::net::Ipv4Addr;

use cora::prelude::*;

/// Public addresses, at most.
pub(crate) const ADDRESSES: usize = 4;
pub(crate) const FIRST_PORT: u16 = 32_768;
/// Ports of an address.
pub(crate) const PORTS: usize = 32_768;
const ALL: usize = ADDRESSES * PORTS;
const CHAINS: usize = 65_536;
/// Counts of hosts' ports: hosts whose addresses end alike share one.
const HOSTS: usize = 65_536;
/// No mapping.
const END: u32 = u32::MAX;

pub(crate) const NO_PORT_LEFT: Reason = Reason::new("no-port-left");
pub(crate) const TOO_MANY_PORTS: Reason = Reason::new("too-many-ports-of-host");

/// Where somebody inside sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) protocol: u8,
}

/// A port of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
pub(crate) struct Lease {
    /// Which of the public addresses.
    pub(crate) address: u8,
    pub(crate) port: u16,
}

/// A port's endpoint, and its sessions. Without a session it is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Mapping {
    sessions: u32,
    /// The next one in the chain of its endpoint.
    next: u32,
    address: Ipv4Addr,
    port: u16,
    protocol: u8,
}

/// All of them, address by address.
#[state(singleton, durable)]
pub struct PortPool {
    mappings: Tracked<Mapping, ALL>,
    chains: Tracked<u32, CHAINS>,
    /// Free ports of each address, as a ring: how many, and where it begins.
    free: Tracked<u16, ALL>,
    left: [u32; ADDRESSES],
    first: [u32; ADDRESSES],
    /// Ports of each host.
    hosts: Tracked<u16, HOSTS>,
}

impl Default for PortPool {
    fn default() -> Self {
        let unused = Mapping {
            sessions: 0,
            next: END,
            address: Ipv4Addr::UNSPECIFIED,
            port: 0,
            protocol: 0,
        };
        let mut free = [0; ALL];
        for (port, place) in free.iter_mut().enumerate() {
            *place = (port % PORTS) as u16;
        }
        Self {
            mappings: Tracked::new([unused; ALL]),
            chains: Tracked::new([END; CHAINS]),
            free: Tracked::new(free),
            left: [PORTS as u32; ADDRESSES],
            first: [0; ADDRESSES],
            hosts: Tracked::new([0; HOSTS]),
        }
    }
}

impl Endpoint {
    /// Which chain it is in.
    const fn chain(&self) -> usize {
        let ports = (self.port as u64) << 8 | self.protocol as u64;
        let bits = (self.address.to_bits() as u64) << 24 | ports;
        (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
    }

    const fn host(&self) -> usize {
        self.address.to_bits() as usize % HOSTS
    }

    /// Which of so many public addresses its host has.
    const fn address_of(&self, addresses: u8) -> u8 {
        let bits = self.address.to_bits().wrapping_mul(0x9e37_79b9);
        ((bits as u64 * addresses as u64) >> 32) as u8
    }
}

impl Mapping {
    const fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.address, port: self.port, protocol: self.protocol }
    }
}

impl Lease {
    const fn of(number: u32) -> Self {
        let number = number as usize;
        Self { address: (number / PORTS) as u8, port: FIRST_PORT + (number % PORTS) as u16 }
    }

    const fn number(self) -> u32 {
        self.address as u32 * PORTS as u32 + self.port.saturating_sub(FIRST_PORT) as u32
    }
}

impl PortPool {
    /// The port of an endpoint, for another session: the one that it has, or a free one of an
    /// address among the first `addresses`, unless its host has `most` already.
    pub(crate) fn open(
        &mut self,
        from: &Endpoint,
        addresses: u8,
        most: u16,
    ) -> Result<Lease, Reason> {
        let number = match self.find(from).filter(|at| Lease::of(*at).address < addresses) {
            Some(number) => number,
            None => self.map(from, from.address_of(addresses), most)?,
        };
        let mapping = self.mappings.get_mut(number as usize).ok_or(NO_PORT_LEFT)?;
        mapping.sessions += 1;
        Ok(Lease::of(number))
    }

    /// A session of the port is over. With the last one the port is free.
    pub(crate) fn close(&mut self, lease: Lease) {
        let number = lease.number();
        let Some(mapping) = self.mappings.get_mut(number as usize) else { return };
        let Some(left) = mapping.sessions.checked_sub(1) else { return };
        mapping.sessions = left;
        if left > 0 {
            return;
        }
        let endpoint = mapping.endpoint();
        self.unchain(number, &endpoint);
        if let Some(ports) = self.hosts.get_mut(endpoint.host()) {
            *ports = ports.saturating_sub(1);
        }
        let address = usize::from(lease.address);
        let (Some(left), Some(first)) = (self.left.get_mut(address), self.first.get(address))
        else {
            return;
        };
        let place = address * PORTS + (first + *left) as usize % PORTS;
        *left += 1;
        if let Some(place) = self.free.get_mut(place) {
            *place = lease.port - FIRST_PORT;
        }
    }

    fn find(&self, from: &Endpoint) -> Option<u32> {
        let mut at = *self.chains.get(from.chain())?;
        // No chain is longer than there are ports.
        for _ in 0..ALL {
            let mapping = self.mappings.get(at as usize)?;
            if mapping.endpoint() == *from {
                return Some(at);
            }
            at = mapping.next;
        }
        None
    }

    /// Maps the port of this address to the endpoint that has been free for longest.
    fn map(&mut self, from: &Endpoint, address: u8, most: u16) -> Result<u32, Reason> {
        let ports = self.hosts.get_mut(from.host()).ok_or(NO_PORT_LEFT)?;
        if *ports >= most {
            return Err(TOO_MANY_PORTS);
        }
        let begin = usize::from(address) * PORTS;
        let left = self.left.get_mut(usize::from(address)).ok_or(NO_PORT_LEFT)?;
        let first = self.first.get_mut(usize::from(address)).ok_or(NO_PORT_LEFT)?;
        let port = *self.free.get(begin + *first as usize).ok_or(NO_PORT_LEFT)?;
        *left = left.checked_sub(1).ok_or(NO_PORT_LEFT)?;
        *first = (*first + 1) % PORTS as u32;
        *ports += 1;
        let number = begin as u32 + u32::from(port);
        let head = self.chains.get_mut(from.chain()).ok_or(NO_PORT_LEFT)?;
        let next = core::mem::replace(head, number);
        let Endpoint { address, port, protocol } = *from;
        if let Some(mapping) = self.mappings.get_mut(number as usize) {
            *mapping = Mapping { sessions: 0, next, address, port, protocol };
        }
        Ok(number)
    }

    /// Takes a port out of the chain of its endpoint.
    fn unchain(&mut self, number: u32, endpoint: &Endpoint) {
        let next = self.mappings.get(number as usize).map_or(END, |mapping| mapping.next);
        let Some(head) = self.chains.get(endpoint.chain()).copied() else { return };
        if head == number {
            if let Some(head) = self.chains.get_mut(endpoint.chain()) {
                *head = next;
            }
            return;
        }
        let mut at = head;
        // No chain is longer than there are ports.
        for _ in 0..ALL {
            let Some(before) = self.mappings.get(at as usize) else { return };
            if before.next != number {
                at = before.next;
                continue;
            }
            if let Some(before) = self.mappings.get_mut(at as usize) {
                before.next = next;
            }
            return;
        }
    }

    /// Ports with a session.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        ALL - self.left.iter().sum::<u32>() as usize
    }
}
