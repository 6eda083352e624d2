//! The mappings of one bucket: the endpoint inside that has a port of its subscriber's block.
//!
//! A block is 1,024 ports of a public address, four in each bucket. An endpoint gets one of the
//! four that share bits 1 to 8 with its own port, so that answers are steered to where its sessions
//! are. A mapping counts its sessions, and ends with the last of them: the hook of expired sessions
//! tells. The port stays its subscriber's, so nobody else's packets reach the next endpoint there.

use core::net::Ipv4Addr;

use cora::prelude::*;

use crate::subscribers::{Block, port_of};

/// Mappings of a bucket, at most.
pub(crate) const MAPPINGS: usize = 256;
/// The ports of a block that are of one bucket, those of the first one's parity first.
pub(crate) const PORTS: [u8; 4] = [0, 2, 1, 3];
const CHAINS: usize = 64;
/// No mapping.
const END: u16 = u16::MAX;

pub(crate) const NO_MAPPING_LEFT: Reason = Reason::new("no-mapping-left");
pub(crate) const BLOCK_USED_UP: Reason = Reason::new("block-used-up");

/// Where somebody inside sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
pub(crate) struct Inside {
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
}

/// A public port of a protocol, and its endpoint. Without a session it is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
struct Mapping {
    sessions: u32,
    block: Block,
    /// Which of the block's ports in this bucket.
    nth: u8,
    protocol: u8,
    inside: Inside,
    /// The next one in the chain of its block, or of those that are free.
    next: u16,
}

const FREE: Mapping = Mapping {
    sessions: 0,
    block: Block::NONE,
    nth: 0,
    protocol: 0,
    inside: Inside { address: Ipv4Addr::UNSPECIFIED, port: 0 },
    next: END,
};

/// All mappings of a bucket.
#[state(per = Bucket, durable)]
pub(crate) struct Pool {
    bucket: Bucket,
    mappings: Tracked<Mapping, MAPPINGS>,
    /// The first mapping of the blocks with one hash.
    chains: Tracked<u16, CHAINS>,
    /// The first one that is free.
    free: u16,
}

impl From<Bucket> for Pool {
    fn from(bucket: Bucket) -> Self {
        let mut mappings = [FREE; MAPPINGS];
        for (number, mapping) in mappings.iter_mut().enumerate().take(MAPPINGS - 1) {
            mapping.next = number as u16 + 1;
        }
        let chains = Tracked::new([END; CHAINS]);
        Self { bucket, mappings: Tracked::new(mappings), chains, free: 0 }
    }
}

impl Pool {
    /// The port of an endpoint, for another session: the one that it has, or a free one of its
    /// subscriber's block, with the parity of its own if there is one.
    pub(crate) fn open(
        &mut self,
        block: Block,
        from: Inside,
        protocol: u8,
    ) -> Result<BucketPort, Reason> {
        let is_its = |mapping: &Mapping| mapping.protocol == protocol && mapping.inside == from;
        if let Some(number) = self.find(block, is_its) {
            return self.hold(number);
        }
        // Those with the parity of its own first.
        let parity = (from.port & 1) as u8;
        let mut ports = PORTS.into_iter().map(|nth| nth ^ parity);
        let is_taken = |nth: u8| {
            let takes = |mapping: &Mapping| mapping.protocol == protocol && mapping.nth == nth;
            self.find(block, takes).is_some()
        };
        let nth = ports.find(|nth| !is_taken(*nth)).ok_or(BLOCK_USED_UP)?;
        let number = self.free;
        let mapping = self.mappings.get_mut(usize::from(number)).ok_or(NO_MAPPING_LEFT)?;
        let head = self.chains.get_mut(chain(block)).ok_or(NO_MAPPING_LEFT)?;
        self.free = mapping.next;
        let next = core::mem::replace(head, number);
        *mapping = Mapping { sessions: 0, block, nth, protocol, inside: from, next };
        self.hold(number)
    }

    /// Who inside has this public port.
    pub(crate) fn owner(&self, block: Block, port: u16, protocol: u8) -> Option<Inside> {
        let number = self.mapping(block, port, protocol)?;
        Some(self.mappings.get(usize::from(number))?.inside)
    }

    /// Another session of this public port, if somebody has it.
    pub(crate) fn join(&mut self, block: Block, port: u16, protocol: u8) {
        if let Some(number) = self.mapping(block, port, protocol) {
            let _is_held = self.hold(number);
        }
    }

    /// A session of this public port is over. With the last one the mapping is.
    pub(crate) fn close(&mut self, block: Block, port: u16, protocol: u8) {
        let Some(number) = self.mapping(block, port, protocol) else { return };
        let Some(mapping) = self.mappings.get_mut(usize::from(number)) else { return };
        mapping.sessions = mapping.sessions.saturating_sub(1);
        if mapping.sessions > 0 {
            return;
        }
        let next = core::mem::replace(&mut mapping.next, self.free);
        self.unchain(block, number, next);
        self.free = number;
    }

    fn hold(&mut self, number: u16) -> Result<BucketPort, Reason> {
        let mapping = self.mappings.get_mut(usize::from(number)).ok_or(NO_MAPPING_LEFT)?;
        mapping.sessions += 1;
        port_of(mapping.block, self.bucket, mapping.nth.into()).ok_or(NO_MAPPING_LEFT)
    }

    /// The mapping of this public port.
    fn mapping(&self, block: Block, port: u16, protocol: u8) -> Option<u16> {
        let is_it = |mapping: &Mapping| {
            let its = port_of(mapping.block, self.bucket, mapping.nth.into());
            mapping.protocol == protocol && its.is_some_and(|its| its.number() == port)
        };
        self.find(block, is_it)
    }

    /// The block's mapping for which this is true.
    fn find(&self, block: Block, is_it: impl Fn(&Mapping) -> bool) -> Option<u16> {
        let mut at = *self.chains.get(chain(block))?;
        // No chain is longer than there are mappings.
        for _ in 0..MAPPINGS {
            let mapping = self.mappings.get(usize::from(at))?;
            if mapping.block == block && is_it(mapping) {
                return Some(at);
            }
            at = mapping.next;
        }
        None
    }

    /// Takes a mapping out of its block's chain, where `next` is behind it.
    fn unchain(&mut self, block: Block, number: u16, next: u16) {
        let Some(head) = self.chains.get(chain(block)).copied() else { return };
        if head == number {
            if let Some(head) = self.chains.get_mut(chain(block)) {
                *head = next;
            }
            return;
        }
        let mut at = head;
        // No chain is longer than there are mappings.
        for _ in 0..MAPPINGS {
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

    /// Mappings with a session.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.mappings.iter().filter(|mapping| mapping.sessions > 0).count()
    }
}

/// Which chain a block's mappings are in.
const fn chain(block: Block) -> usize {
    let bits = (block.public.to_bits() as u64) << 8 | block.number as u64;
    (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}
