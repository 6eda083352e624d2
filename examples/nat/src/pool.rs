//! The ports of the public address, and the endpoint inside that each is mapped to.
//!
//! Everything that is sent from one endpoint has one port, wherever it goes (RFC 4787, REQ-1). So a
//! mapping is found by its endpoint, through chains of those with the same hash. A port stays in
//! its chain when its lease is over, and leaves it when another endpoint gets the port.
//!
//! Nothing runs when a session expires, so leases end by themselves, and sessions renew them before
//! they do. A mapping counts the sessions that were opened with it and are not over. While there is
//! one, the lease is as long as that one wants; when the last ends, so does the lease. A session
//! that falls silent is never counted as over: then the longest wish holds.

use core::net::Ipv4Addr;

use cora::prelude::*;

pub(crate) const FIRST_PORT: u16 = 32_768;
pub(crate) const PORTS: usize = 32_768;
const CHAINS: usize = 16_384;
/// No port.
const END: u16 = u16::MAX;

pub(crate) const NO_PORT_LEFT: Reason = Reason::new("no-port-left");

/// Where somebody inside sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) protocol: u8,
}

/// A session's wish for its port's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It begins.
    Begin,
    /// It goes on.
    Renew,
    /// It is over.
    End,
    /// It was over before, and still has packets on their way.
    Linger,
}

/// A port: its endpoint, and when its lease ends, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Mapping {
    until: u32,
    /// Sessions that began and were not seen to end.
    open: u32,
    address: Ipv4Addr,
    port: u16,
    /// The next one of its chain.
    next: u16,
    protocol: u8,
}

/// All of them, counted from the first.
#[state(singleton, durable)]
pub struct PortPool {
    next: u16,
    chains: Tracked<u16, CHAINS>,
    mappings: Tracked<Mapping, PORTS>,
}

impl Default for PortPool {
    fn default() -> Self {
        let free = Mapping {
            until: 0,
            open: 0,
            address: Ipv4Addr::UNSPECIFIED,
            port: 0,
            next: END,
            protocol: 0,
        };
        Self { next: 0, chains: Tracked::new([END; CHAINS]), mappings: Tracked::new([free; PORTS]) }
    }
}

impl Endpoint {
    /// Which chain it is in.
    fn chain(&self) -> usize {
        let ports = u64::from(self.port) << 8 | u64::from(self.protocol);
        let bits = u64::from(self.address.to_bits()) << 24 | ports;
        (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as usize % CHAINS
    }
}

impl Mapping {
    const fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.address, port: self.port, protocol: self.protocol }
    }
}

impl PortPool {
    /// The public port of an endpoint, for another session: the one that it has, or the first that
    /// is free from where the last search ended, so that a port rests before it is reused.
    pub(crate) fn lease(&mut self, from: &Endpoint, now: u32, until: u32) -> Result<u16, Reason> {
        let at = self.find(from, now).or_else(|| self.map(from, now)).ok_or(NO_PORT_LEFT)?;
        let port = FIRST_PORT + at;
        self.claim(port, Claim::Begin, until);
        Ok(port)
    }

    /// From now on the port is leased until then, unless another session wants it for longer.
    pub(crate) fn claim(&mut self, port: u16, claim: Claim, until: u32) {
        let Some(mapping) = self.mappings.get_mut(usize::from(port.saturating_sub(FIRST_PORT)))
        else {
            return;
        };
        match claim {
            Claim::Begin => mapping.open += 1,
            Claim::End => mapping.open = mapping.open.saturating_sub(1),
            Claim::Renew | Claim::Linger => {}
        }
        let alone = match claim {
            Claim::Renew => mapping.open == 1,
            Claim::End => mapping.open == 0,
            Claim::Begin | Claim::Linger => false,
        };
        mapping.until = if alone { until } else { mapping.until.max(until) };
    }

    fn find(&self, from: &Endpoint, now: u32) -> Option<u16> {
        let mut at = *self.chains.get(from.chain())?;
        // No chain is longer than there are ports.
        for _ in 0..PORTS {
            let mapping = self.mappings.get(usize::from(at))?;
            if mapping.until > now && mapping.endpoint() == *from {
                return Some(at);
            }
            at = mapping.next;
        }
        None
    }

    /// Maps a free port to the endpoint.
    fn map(&mut self, from: &Endpoint, now: u32) -> Option<u16> {
        let begin = usize::from(self.next);
        let free = (0..PORTS)
            .map(|step| (begin + step) % PORTS)
            .find(|at| self.mappings.get(*at).is_some_and(|mapping| mapping.until <= now))?;
        self.next = ((free + 1) % PORTS) as u16;
        self.unchain(free as u16);
        let head = self.chains.get_mut(from.chain())?;
        let next = core::mem::replace(head, free as u16);
        let Endpoint { address, port, protocol } = *from;
        *self.mappings.get_mut(free)? =
            Mapping { until: 0, open: 0, address, port, next, protocol };
        Some(free as u16)
    }

    /// Takes a port out of the chain that it is in, if it ever was in one.
    fn unchain(&mut self, port: u16) {
        let Some(mapping) = self.mappings.get(usize::from(port)).copied() else { return };
        let chain = mapping.endpoint().chain();
        let Some(mut at) = self.chains.get(chain).copied() else { return };
        if at == port {
            if let Some(head) = self.chains.get_mut(chain) {
                *head = mapping.next;
            }
            return;
        }
        // No chain is longer than there are ports.
        for _ in 0..PORTS {
            let Some(before) = self.mappings.get(usize::from(at)) else { return };
            if before.next == port {
                if let Some(before) = self.mappings.get_mut(usize::from(at)) {
                    before.next = mapping.next;
                }
                return;
            }
            at = before.next;
        }
    }

    /// When each port's lease ends.
    #[cfg(test)]
    pub(crate) fn leases(&self) -> impl Iterator<Item = u32> {
        self.mappings.iter().map(|mapping| mapping.until)
    }
}
