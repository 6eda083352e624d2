//! The ports of the public address, in blocks: the owner of each block, and the mapping of each
//! port.
//!
//! Leases end by themselves: a session renews those of its ports, and a port that of its block,
//! before they do. So a block is free when no session of its subscriber's can be alive. A mapping
//! counts the sessions that were opened with it and are not over: when the last one ends, so does
//! the lease. One that falls silent is never counted as over; then the lease ends in its time.

use cora::prelude::*;

pub(crate) const FIRST_PORT: u16 = 32_768;
const PORTS: usize = 32_768;
/// Ports of a block: as many mappings has a subscriber at most (RFC 6888, REQ-4).
pub(crate) const BLOCK: usize = 64;
const BLOCKS: usize = PORTS / BLOCK;

pub(crate) const NO_BLOCK_LEFT: Reason = Reason::new("no-block-left");
pub(crate) const BLOCK_USED_UP: Reason = Reason::new("block-used-up");

/// Where somebody inside sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) address: Address,
    pub(crate) port: u16,
    pub(crate) protocol: u8,
}

/// A block of ports: its subscriber, and when its lease ends (s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Block {
    subscriber: Address,
    until: u32,
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
}

/// A port: the endpoint of its block's subscriber that is mapped to it, and when its lease ends
/// (s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Mapping {
    until: u32,
    /// Sessions that began and were not seen to end.
    open: u32,
    inside_port: u16,
    protocol: u8,
}

/// All of them.
#[state(singleton, durable)]
pub(crate) struct Pool {
    blocks: Tracked<Block, BLOCKS>,
    ports: Tracked<Mapping, PORTS>,
}

impl Default for Pool {
    fn default() -> Self {
        let block = Block { subscriber: Address::default(), until: 0 };
        let free = Mapping { until: 0, open: 0, inside_port: 0, protocol: 0 };
        Self { blocks: Tracked::new([block; BLOCKS]), ports: Tracked::new([free; PORTS]) }
    }
}

impl Pool {
    /// The public port of an endpoint, for another session: the one that it has, or a free one of
    /// its subscriber's block.
    pub(crate) fn lease(&mut self, from: &Endpoint, now: u32, until: u32) -> Result<u16, Reason> {
        let block = self.block_of(from.address, now).ok_or(NO_BLOCK_LEFT)?;
        let first = block * BLOCK;
        let Some(ports) = self.ports.get(first..first + BLOCK) else {
            return Err(NO_BLOCK_LEFT);
        };
        let is_its = |port: &Mapping| {
            port.until > now && port.inside_port == from.port && port.protocol == from.protocol
        };
        let its = ports.iter().position(is_its);
        // From somewhere that depends on the inside port, so that the next one is not known from
        // the last.
        let start = usize::from(from.port).wrapping_mul(0x9e37) >> 4;
        let free = || {
            (0..BLOCK)
                .map(|at| (start + at) % BLOCK)
                .find(|at| ports.get(*at).is_some_and(|port| port.until <= now))
        };
        let at = its.or_else(free).ok_or(BLOCK_USED_UP)?;
        if its.is_none()
            && let Some(port) = self.ports.get_mut(first + at)
        {
            let Endpoint { port: inside_port, protocol, .. } = *from;
            *port = Mapping { until: 0, open: 0, inside_port, protocol };
        }
        let port = FIRST_PORT + (first + at) as u16;
        self.claim(port, Claim::Begin, until);
        Ok(port)
    }

    /// Who inside has this public port.
    pub(crate) fn owner(&self, port: u16, protocol: u8, now: u32) -> Option<(Address, u16)> {
        let at = usize::from(port.checked_sub(FIRST_PORT)?);
        let mapping = self.ports.get(at)?;
        let block = self.blocks.get(at / BLOCK)?;
        let is_leased = mapping.until > now && mapping.protocol == protocol;
        is_leased.then_some((block.subscriber, mapping.inside_port))
    }

    /// From now on the port is leased at least so long, or no longer if that was the last of its
    /// sessions; its block is a little longer than any of its ports.
    pub(crate) fn claim(&mut self, port: u16, claim: Claim, until: u32) {
        let at = usize::from(port.saturating_sub(FIRST_PORT));
        let Some(mapping) = self.ports.get_mut(at) else { return };
        match claim {
            Claim::Begin => mapping.open += 1,
            Claim::Renew => {}
            Claim::End => mapping.open = mapping.open.saturating_sub(1),
        }
        let is_last = claim == Claim::End && mapping.open == 0;
        mapping.until = if is_last { until } else { mapping.until.max(until) };
        let first = at / BLOCK * BLOCK;
        let ports = self.ports.get(first..first + BLOCK).unwrap_or_default();
        if let Some(block) = self.blocks.get_mut(at / BLOCK) {
            block.until = ports.iter().map(|port| port.until + 1).max().unwrap_or(until);
        }
    }

    /// The subscriber's block: its own, or else the first free one from where its address says,
    /// which is where it would be found first.
    fn block_of(&mut self, subscriber: Address, now: u32) -> Option<usize> {
        let home = (subscriber.bits() as usize).wrapping_mul(0x9e37_79b9) >> 7;
        let mut free = None;
        for at in (0..BLOCKS).map(|at| (home + at) % BLOCKS) {
            let block = self.blocks.get(at)?;
            if block.until <= now {
                free = free.or(Some(at));
            } else if block.subscriber == subscriber {
                return Some(at);
            }
        }
        let at = free?;
        *self.blocks.get_mut(at)? = Block { subscriber, until: now + 1 };
        Some(at)
    }
}
