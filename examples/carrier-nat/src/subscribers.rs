//! Which block of ports each subscriber has: a function of its address (RFC 7422), so all shards
//! know it, and no log is needed to find who had a port.

use core::net::Ipv4Addr;

use cora::prelude::*;

pub(crate) const FIRST_PORT: u16 = 1_024;
/// Ports of a block: four in each bucket.
pub(crate) const BLOCK: u16 = 1_024;
/// Blocks of a public address: all ports from [`FIRST_PORT`] on.
pub(crate) const BLOCKS: u32 = (65_536 - FIRST_PORT as u32) / BLOCK as u32;
/// Networks, at most.
const NETWORKS: usize = 8;

/// A subscriber's ports: a block of a public address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
pub(crate) struct Block {
    pub(crate) public: Ipv4Addr,
    pub(crate) number: u8,
}

impl Block {
    pub(crate) const NONE: Self = Self { public: Ipv4Addr::UNSPECIFIED, number: 0 };

    /// The block that has this port.
    pub(crate) fn of(public: Ipv4Addr, port: u16) -> Option<Self> {
        let number = port.checked_sub(FIRST_PORT)? / BLOCK;
        Some(Self { public, number: number as u8 })
    }
}

/// One of the block's ports in this bucket.
pub(crate) fn port_of(block: Block, bucket: Bucket, nth: u16) -> Option<BucketPort> {
    bucket.port(FIRST_PORT.saturating_add(u16::from(block.number).saturating_mul(BLOCK)), nth)
}

/// A network of subscribers, and the first of the public addresses that they share.
#[derive(Clone, Copy, Plain)]
struct Network {
    inside: Ipv4Addr,
    /// Subscribers.
    count: u32,
    public: Ipv4Addr,
}

/// The networks inside, and their public addresses.
#[state(read_mostly)]
pub(crate) struct Subscribers {
    networks: [Network; NETWORKS],
    count: u8,
}

const NOBODY: Network =
    Network { inside: Ipv4Addr::UNSPECIFIED, count: 0, public: Ipv4Addr::UNSPECIFIED };

impl Default for Subscribers {
    fn default() -> Self {
        let network = |inside: [u8; 4], bits: u32, public: u8| Network {
            inside: Ipv4Addr::from(inside),
            count: 1 << (32 - bits),
            public: Ipv4Addr::new(192, 0, 2, public),
        };
        let mut networks = [NOBODY; NETWORKS];
        networks[0] = network([10, 77, 0, 0], 24, 1);
        networks[1] = network([10, 0, 0, 0], 19, 6);
        networks[2] = network([10, 1, 0, 0], 20, 137);
        Self { networks, count: 3 }
    }
}

impl Network {
    /// How many public addresses it has.
    const fn addresses(&self) -> u32 {
        self.count.div_ceil(BLOCKS)
    }

    const fn has(&self, inside: Ipv4Addr) -> bool {
        inside.to_bits().wrapping_sub(self.inside.to_bits()) < self.count
    }

    const fn shares(&self, public: Ipv4Addr) -> bool {
        public.to_bits().wrapping_sub(self.public.to_bits()) < self.addresses()
    }
}

impl Subscribers {
    fn all(&self) -> impl Iterator<Item = &Network> {
        self.networks.iter().take(self.count.into())
    }

    /// The block of the subscriber with this address.
    pub(crate) fn block(&self, address: Ipv4Addr) -> Option<Block> {
        let network = self.all().find(|network| network.has(address))?;
        let number = address.to_bits().wrapping_sub(network.inside.to_bits());
        let public = network.public.to_bits().wrapping_add(number / BLOCKS);
        Some(Block { public: Ipv4Addr::from_bits(public), number: (number % BLOCKS) as u8 })
    }

    /// Whether it is a public address of subscribers.
    pub(crate) fn share(&self, address: Ipv4Addr) -> bool {
        self.all().any(|network| network.shares(address))
    }
}

#[host_only]
impl Configure for Subscribers {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self { networks: [NOBODY; NETWORKS], count: 0 };
        for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
            if line.is_empty() {
                continue;
            }
            let network = Network::read(line)?;
            if read.all().any(|other| other.meets(&network)) {
                return Err("networks must not overlap, inside or in their public addresses");
            }
            let place = read.networks.get_mut(usize::from(read.count));
            *place.ok_or("more than eight networks")? = network;
            read.count += 1;
        }
        Ok(read)
    }
}

#[host_only]
impl Network {
    fn read(line: &str) -> Result<Self, &'static str> {
        const LINE: &str =
            "a line is a network inside and its first public address: `100.64.0.0/20 192.0.2.1`";
        let (network, public) = line.split_once(char::is_whitespace).ok_or(LINE)?;
        let (inside, bits) = network.split_once('/').ok_or(LINE)?;
        let inside: Ipv4Addr = inside.parse().map_err(|_| LINE)?;
        let bits: u32 = bits.parse().map_err(|_| LINE)?;
        let public: Ipv4Addr = public.trim().parse().map_err(|_| LINE)?;
        if !(8..=32).contains(&bits) {
            return Err("a network has 8 to 32 bits");
        }
        let count = 1_u32 << (32 - bits);
        if !inside.to_bits().is_multiple_of(count) {
            return Err("a network begins at a multiple of its size");
        }
        let read = Self { inside, count, public };
        if public.to_bits().checked_add(read.addresses()).is_none() {
            return Err("there are fewer public addresses than that from there on");
        }
        Ok(read)
    }

    /// Whether they have an address in common.
    fn meets(&self, other: &Self) -> bool {
        let overlap = |a: Ipv4Addr, count: u32, b: Ipv4Addr, others: u32| {
            a.to_bits().wrapping_sub(b.to_bits()) < others
                || b.to_bits().wrapping_sub(a.to_bits()) < count
        };
        overlap(self.inside, self.count, other.inside, other.count)
            || overlap(self.public, self.addresses(), other.public, other.addresses())
    }
}
