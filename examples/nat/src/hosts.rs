//! How many ports of the pool each host inside has.
//!
//! A host's ports are of many buckets, and many shards. Each counts its own, and the counts are
//! merged ten times a second: a host may exceed its limit by what it opens in 200 ms.

use core::net::Ipv4Addr;

use cora::prelude::*;

/// Counts: hosts whose addresses have the same last 8 bits share one.
const HOSTS: usize = 256;

pub(crate) const TOO_MANY_PORTS: Reason = Reason::new("too-many-ports-of-host");

/// Ports that hosts got, and those that they gave back.
#[state(commutative, merged)]
pub struct Hosts {
    opened: Sums<HOSTS>,
    closed: Sums<HOSTS>,
}

impl Hosts {
    const fn of(host: Ipv4Addr) -> usize {
        host.to_bits() as usize % HOSTS
    }

    /// The host got another port.
    pub(crate) fn open(&mut self, host: Ipv4Addr) {
        self.opened.add(Self::of(host), 1);
    }

    /// It gave one back.
    pub(crate) fn close(&mut self, host: Ipv4Addr) {
        self.closed.add(Self::of(host), 1);
    }

    /// How many it has.
    pub(crate) fn held(&self, host: Ipv4Addr) -> u64 {
        let host = Self::of(host);
        self.opened.value(host).saturating_sub(self.closed.value(host))
    }
}
