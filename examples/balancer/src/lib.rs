//! # balancer: one service address, many backends
//!
//! Spreads connections to a service address over its backends by consistent hashing (Maglev, NSDI
//! 2016): when a backend comes or goes, few connections would be sent elsewhere, and those that are
//! open stay where they are, because each is pinned, until it is over. Answers leave with the
//! service's address. IPv4 and IPv6. All packets that are neither for the service nor answers pass
//! as they are.
//!
//! Try it:  `cargo cora run balancer --nic native --in some.pcap --out out.pcap --config
//! Backends=backends.txt`
//!
//! where backends.txt says `service 192.0.2.80`, then `backend 10.1.0.1`, one per line, with
//! `weight 3` or `draining` behind it; without it these are 192.0.2.80 and 10.1.0.1 to 10.1.0.4.
//! Expect: the backends are read-mostly, so both sides have them and nothing ever punts; the host
//! handles the first packet of a connection, the NIC the rest.
//!
//! | for programs of several crates | |
//! | --- | --- |
//! | [`balancer`] | the handler |
//! | [`Pin`], [`Backends`] | its states |
#![cfg_attr(target_os = "none", no_std)]

use core::time::Duration;

use cora::prelude::*;

const MOST_BACKENDS: usize = 64;
/// Prime, and about a hundred times the backends, so that shares differ by about one percent.
const SLOTS: usize = 6_553;
/// In place of a backend's number: a slot that none takes, as when all are draining.
const NOBODY: u8 = u8::MAX;

const LINE: &str = "a line is `service ADDRESS` or `backend ADDRESS`, the latter with `weight NUMBER` or `draining` behind it";

const NO_BACKEND: Reason = Reason::new("no-backend");

/// The backend that a connection stays with.
#[state(key = FiveTuple, reply, capacity = 1 << 19, idle = "2h4m", idle_by = Self::idle)]
pub struct Pin {
    backend: Address,
    tcp: TcpState,
    packets: u64,
}

impl Pin {
    fn idle(&self) -> Duration {
        self.tcp.idle()
    }

    /// Moves on by another packet. One that can't be of the connection is the ends' to judge.
    #[inline(always)]
    fn follow(&mut self, packet: &Headers, direction: Direction) {
        self.packets += 1;
        let _is_of_it = self.tcp.advance(packet, direction).is_ok();
    }
}

/// The service and its backends, with the look-up table made of them.
#[state(read_mostly)]
pub struct Backends {
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
                Some("service") if third.is_some() => return Err(LINE),
                Some("service") if backends.service != Address::default() => {
                    return Err("two `service` lines");
                }
                Some("service") => backends.service = address,
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

    /// The address that clients know.
    pub fn service(&self) -> Address {
        self.service
    }

    fn all(&self) -> &[Address] {
        self.addresses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Maglev's population (section 3.4 of the paper): the backends take turns, each claiming the
    /// next free slot of a permutation of its own, until it has its share; those with smaller
    /// shares leave turns out, evenly. One that is draining has no share: it gets no new
    /// connection, and keeps those that are pinned to it.
    fn fill(&mut self, weights: &[u8; MOST_BACKENDS]) {
        let shares = shares(weights, usize::from(self.count));
        let most = shares.iter().copied().max().unwrap_or(0);
        // How far each one is in its permutation, and how many slots it has.
        let mut steps = [0_usize; MOST_BACKENDS];
        let mut claimed = [0_usize; MOST_BACKENDS];
        for turn in 1..=most {
            let backends =
                self.addresses.iter().zip(&shares).zip(steps.iter_mut().zip(&mut claimed));
            for (number, ((address, share), (step, claimed))) in (0..self.count).zip(backends) {
                if *claimed >= (share * turn).div_ceil(most) {
                    continue;
                }
                let hash = mix(&SourceAddress(*address).words());
                let (offset, skip) =
                    (hash as usize % SLOTS, (hash >> 32) as usize % (SLOTS - 1) + 1);
                // All shares together are the slots, so one is free.
                let slot = loop {
                    let slot = self.slots.get_mut((offset + *step) % SLOTS);
                    *step += skip;
                    if let Some(slot) = slot.filter(|slot| **slot == NOBODY) {
                        break slot;
                    }
                };
                *slot = number;
                *claimed += 1;
            }
        }
    }

    fn choose(&self, flow: FiveTuple) -> Result<Address, Reason> {
        let slot = (mix(&flow.words()) % SLOTS as u64) as usize;
        self.all().get(usize::from(self.slots[slot])).copied().ok_or(NO_BACKEND)
    }
}

/// The slots of each backend: proportional to its weight, by largest remainders, and one at least
/// where the weight is not 0.
fn shares(weights: &[u8; MOST_BACKENDS], count: usize) -> [usize; MOST_BACKENDS] {
    let mut shares = [0; MOST_BACKENDS];
    let mut remainders = [0; MOST_BACKENDS];
    let total: usize = weights.iter().take(count).map(|weight| usize::from(*weight)).sum();
    let mut given = 0;
    for (weight, (share, remainder)) in
        weights.iter().take(count).zip(shares.iter_mut().zip(&mut remainders))
    {
        let wanted = usize::from(*weight) * SLOTS;
        if wanted > 0 {
            (*share, *remainder) = (wanted / total, wanted % total);
            if *share == 0 {
                (*share, *remainder) = (1, 0);
            }
        }
        given += *share;
    }
    // The first of the largest, so that the order alone decides between equal ones.
    let largest = |of: &[usize; MOST_BACKENDS]| {
        let better = |best: usize, at: usize| if of[at] > of[best] { at } else { best };
        (0..MOST_BACKENDS).fold(0, better)
    };
    while total > 0 && given < SLOTS {
        let at = largest(&remainders);
        (shares[at], remainders[at]) = (shares[at] + 1, 0);
        given += 1;
    }
    // Where many have their one slot against their weight, those with most do without.
    while given > SLOTS {
        let at = largest(&shares);
        shares[at] -= 1;
        given -= 1;
    }
    shares
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

/// Sends a packet for the service on to its backend. A redirect is for the service's own link.
#[inline(always)]
fn sent_to(packet: &mut Headers, backend: Address) -> Verdict {
    if packet.is_redirect() {
        return Drop(IcmpRedirect);
    }
    packet.set_destination(backend)?;
    Transmit
}

/// Connections to the service go to a backend, answers come from the service; the rest passes.
#[flow_handler]
pub fn balancer(packet: &mut Headers, pins: &mut Table<Pin>, backends: &Backends) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = match packet.flow() {
        Ok(flow) => flow,
        // Which backend it is for can't be told, and nobody has the service's address.
        Err(reason) if packet.destination() == Ok(backends.service) => return Drop(reason),
        Err(_) => return Transmit,
    };
    let is_over = match pins.find_mut(&flow) {
        Some((Direction::Original, pin)) if !pin.tcp.reopens(packet) => {
            pin.follow(packet, Direction::Original);
            return sent_to(packet, pin.backend);
        }
        Some((Direction::Reply, pin)) => {
            pin.follow(packet, Direction::Reply);
            if packet.is_redirect() {
                return Drop(IcmpRedirect);
            }
            packet.set_source(backends.service)?;
            return Transmit;
        }
        Some((Direction::Original, _)) => true,
        None => false,
    };
    if flow.destination != backends.service {
        return Transmit;
    }
    let backend = backends.choose(flow)?;
    // An error about a connection that is not known, from before a restart: its backend is most
    // likely the one that it would get now.
    if packet.is_icmp_error() {
        return sent_to(packet, backend);
    }
    packet.forwardable()?;
    let tcp = TcpState::pick_up(packet)?;
    if is_over {
        pins.remove(&flow);
    }
    pins.insert_answered_by(flow, backend, Pin { backend, tcp, packets: 1 })?;
    sent_to(packet, backend)
}

#[cfg(test)]
mod tests;
