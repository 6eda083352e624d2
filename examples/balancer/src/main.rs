//! # balancer: one service address, many backends
//!
//! Spreads connections to a service address over its backends by consistent hashing (Maglev, NSDI
//! 2016): when a backend comes or goes, few connections would be sent elsewhere, and those that are
//! open stay where they are, because each is pinned. Answers leave with the service's address. IPv4
//! and IPv6.
//!
//! Try it:  `cargo cora run balancer --nic native --in some.pcap --out out.pcap --config
//! Backends=backends.txt`
//!
//! where backends.txt says `service 192.0.2.80`, then `backend 10.1.0.1`, one per line, with
//! `weight 3` or `draining` behind it; without it these are 192.0.2.80 and 10.1.0.1 to 10.1.0.4.
//! Expect: the backends are read-mostly, so both sides have them and nothing ever punts; the host
//! handles the first packet of a connection, the NIC the rest.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const MOST_BACKENDS: usize = 64;
/// Prime, and about a hundred times the backends, so that shares differ by about one percent.
const SLOTS: usize = 6_553;
/// In place of a backend's number: a slot that none takes, as when all are draining.
const NOBODY: u8 = u8::MAX;

const LINE: &str = "a line is `service ADDRESS` or `backend ADDRESS`, the latter with `weight NUMBER` or `draining` behind it";

const NO_BACKEND: Reason = Reason::new("no-backend");

/// The backend that a connection stays with.
#[state(key = FiveTuple, reply, capacity = 1 << 19, idle = "5m")]
struct Pin {
    backend: Address,
    packets: u64,
}

/// The service and its backends, with the look-up table made of them.
#[state(read_mostly)]
struct Backends {
    service: Address,
    count: u8,
    addresses: [Address; MOST_BACKENDS],
    slots: [u8; SLOTS],
}

impl Default for Backends {
    fn default() -> Self {
        let mut backends = Self::none(Address::v4([192, 0, 2, 80]));
        for host in 1..=4 {
            backends.add(Address::v4([10, 1, 0, host]));
        }
        backends.fill(&[1; MOST_BACKENDS]);
        backends
    }
}

impl Configure for Backends {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut backends = Self::none(Address::default());
        let mut weights = [0; MOST_BACKENDS];
        for line in
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let mut words = line.split_whitespace();
            let (what, address) = (words.next(), words.next().ok_or(LINE)?);
            let address: core::net::IpAddr = address.parse().map_err(|_| "not an IP address")?;
            let address = Address::from(address);
            let third = words.next();
            let weight = match (third, words.next()) {
                (None, _) => 1,
                (Some("draining"), None) => 0,
                (Some("weight"), Some(weight)) => {
                    weight.parse().map_err(|_| "a weight is a number from 0 to 255")?
                }
                _ => return Err(LINE),
            };
            match what {
                _ if words.next().is_some() => return Err(LINE),
                Some("service") if third.is_none() => backends.service = address,
                Some("backend") if backends.all().contains(&address) => {
                    return Err("a backend stands there twice");
                }
                Some("backend") if usize::from(backends.count) == MOST_BACKENDS => {
                    return Err("more than 64 backends");
                }
                Some("backend") => {
                    weights[usize::from(backends.count)] = weight;
                    backends.add(address);
                }
                _ => return Err(LINE),
            }
        }
        if backends.service == Address::default() {
            return Err("no `service ADDRESS`");
        }
        let family = backends.service.is_v4();
        if backends.all().iter().any(|backend| backend.is_v4() != family) {
            return Err("service and backends are all IPv4 or all IPv6");
        }
        backends.fill(&weights);
        Ok(backends)
    }
}

impl Backends {
    fn none(service: Address) -> Self {
        Self {
            service,
            count: 0,
            addresses: [Address::default(); MOST_BACKENDS],
            slots: [NOBODY; SLOTS],
        }
    }

    fn add(&mut self, backend: Address) {
        if let Some(place) = self.addresses.get_mut(usize::from(self.count)) {
            *place = backend;
            self.count += 1;
        }
    }

    fn all(&self) -> &[Address] {
        self.addresses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Maglev's population (section 3.4 of the paper): the backends take turns, each claiming the
    /// next free slot of a permutation of its own, as many in a turn as its weight says. One that
    /// is draining claims none: it gets no new connection, and keeps those that are pinned to it.
    fn fill(&mut self, weights: &[u8; MOST_BACKENDS]) {
        let Self { count, addresses, slots, .. } = self;
        // How far each one is in its permutation.
        let mut turns = [0_usize; MOST_BACKENDS];
        let mut free = SLOTS;
        loop {
            let before = free;
            let backends = addresses.iter().zip(weights).zip(&mut turns);
            for (number, ((address, weight), turn)) in (0..*count).zip(backends) {
                let hash = mix(&SourceAddress(*address).words());
                let (offset, skip) =
                    (hash as usize % SLOTS, (hash >> 32) as usize % (SLOTS - 1) + 1);
                for _ in 0..free.min(usize::from(*weight)) {
                    let slot = loop {
                        let slot = slots.get_mut((offset + *turn) % SLOTS);
                        *turn += skip;
                        if let Some(slot) = slot.filter(|slot| **slot == NOBODY) {
                            break slot;
                        }
                    };
                    *slot = number;
                    free -= 1;
                }
            }
            // None is free, or nobody may take one.
            if free == before {
                break;
            }
        }
    }

    fn choose(&self, flow: FiveTuple) -> Result<Address, Reason> {
        let slot = (mix(&flow.words()) % SLOTS as u64) as usize;
        self.all().get(usize::from(self.slots[slot])).copied().ok_or(NO_BACKEND)
    }
}

/// SplitMix64's finaliser over the words of a key.
fn mix(words: &[u64; 5]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| {
        let mut z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Connections to the service go to a backend, answers come from the service; the rest passes.
#[flow_handler]
fn balancer(packet: &mut Headers, pins: &mut Table<Pin>, backends: &Backends) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    match pins.find_mut(&flow) {
        Some((Direction::Original, pin)) => {
            pin.packets += 1;
            packet.set_destination(pin.backend)?;
        }
        Some((Direction::Reply, pin)) => {
            pin.packets += 1;
            packet.set_source(backends.service)?;
        }
        None if flow.destination == backends.service => {
            let backend = backends.choose(flow)?;
            let answer = FiveTuple { source: backend, ..flow.reversed() };
            pins.insert_with_reply(flow, answer, Pin { backend, packets: 1 })?;
            packet.set_destination(backend)?;
        }
        None => {}
    }
    Transmit
}

cora::app!(balancer);

#[cfg(test)]
mod tests;
