//! # port-scan: sources that try many services are blocked
//!
//! For each source it keeps the set of services (address, protocol and port) that it tried to open
//! within a window, as a bitmap of hashes that is counted by linear counting (Whang et al., ACM
//! TODS 15, 1990). A source that tried more than the threshold is a scanner, and blocked for a
//! while: all that it sends is dropped as `scanner`. A try is a TCP SYN, a ping, or a UDP datagram
//! to a port below 32,768, so that servers with answers to many ephemeral ports, are no scanners.
//!
//! Try it:  `cargo cora run port-scan --nic native --in some.pcap --config Limits=limits.txt
//! --state-out state.json`
//!
//! where limits.txt says `window 60`, `threshold 50` and `block 300` (seconds and services; these
//! are the defaults).
//!
//! Expect:  the entry of a source travels with it; `Alarms` in the state names the sixteen sources
//! that were dropped most, the same under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const SECOND: u64 = 1_000_000_000;
/// Bits of a bitmap: enough to count some 500 services to a tenth.
const BITS: u32 = 256;
/// Services that clients' ephemeral ports are above of (RFC 6335 says 49,152; Linux takes 32,768).
const FIRST_EPHEMERAL: u16 = 32_768;

const SCANNER: Reason = Reason::new("scanner");

/// The services that a source tried within its window.
#[state(key = SourceAddress, capacity = 1 << 20, idle = "10m")]
struct Source {
    /// When its window began (ns).
    since: u64,
    /// When it may send again (ns).
    blocked_until: u64,
    tried: [u64; 4],
    /// How many bits of that are set.
    set: u32,
    dropped: u64,
}

/// Who was dropped, and how often.
#[state(commutative)]
struct Alarms {
    dropped: Sum,
    scanners: TopK<SourceAddress, 16>,
}

/// When a source is a scanner.
#[state(read_mostly)]
struct Limits {
    limit: Limit,
}

/// The limits of a source.
#[derive(Debug, Clone, Copy, Plain)]
struct Limit {
    window: u64,
    block: u64,
    /// Set bits of a bitmap above which more services were tried than may be.
    bits: u32,
}

impl Limit {
    /// Set bits that so many services leave on average.
    const fn bits(services: u32) -> u32 {
        // In 65536ths of a bit; each service sets one of those that are not set.
        let (mut set, mut left) = (0_u64, services);
        while left > 0 {
            set += 65_536 - set / BITS as u64;
            left -= 1;
        }
        ((set + 32_768) / 65_536) as u32
    }
}

impl Default for Limits {
    fn default() -> Self {
        let bits = const { Limit::bits(50) };
        Self { limit: Limit { window: 60 * SECOND, block: 300 * SECOND, bits } }
    }
}

impl Configure for Limits {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let Self { mut limit } = Self::default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for line in lines.filter(|line| !line.is_empty()) {
            const FORM: &str =
                "a line is `window SECONDS`, `block SECONDS` or `threshold SERVICES`";
            let (what, number) = line.split_once(' ').ok_or(FORM)?;
            let number: u32 = number.trim().parse().map_err(|_| "not a whole number")?;
            match (what, number) {
                // An entry is forgotten when it was unused for ten minutes.
                ("window", 1..=600) => limit.window = u64::from(number) * SECOND,
                ("block", 1..=600) => limit.block = u64::from(number) * SECOND,
                ("window" | "block", _) => return Err("a time is from 1 to 600 seconds"),
                ("threshold", 1..=500) => limit.bits = Limit::bits(number),
                ("threshold", _) => return Err("a threshold is from 1 to 500 services"),
                _ => return Err(FORM),
            }
        }
        Ok(Self { limit })
    }
}

impl Source {
    const fn new(now: u64) -> Self {
        Self { since: now, blocked_until: 0, tried: [0; 4], set: 0, dropped: 0 }
    }

    /// Notes a service by its bit, if one is tried; whether the source may go on.
    fn note(&mut self, service: Option<u8>, limit: &Limit, now: u64) -> bool {
        if now < self.blocked_until {
            self.dropped += 1;
            return false;
        }
        if now.saturating_sub(self.since) >= limit.window {
            self.begin(now);
        }
        let Some(bit) = service else { return true };
        if let Some(word) = self.tried.get_mut(usize::from(bit / 64)) {
            let mask = 1 << (bit % 64);
            self.set += u32::from(*word & mask == 0);
            *word |= mask;
        }
        if self.set <= limit.bits {
            return true;
        }
        // The next window begins when the block ends.
        self.blocked_until = now.saturating_add(limit.block);
        self.begin(self.blocked_until);
        self.dropped += 1;
        false
    }

    /// Begins a window, in which nothing was tried.
    fn begin(&mut self, now: u64) {
        (self.since, self.tried, self.set) = (now, [0; 4], 0);
    }
}

/// The service that a packet tries to reach.
fn service(packet: &Headers, flow: &FiveTuple) -> Option<u8> {
    let (tried, destination_port) = match flow.protocol {
        protocol::ICMP | protocol::ICMPV6 => (packet.icmp_query() == Some(Query::Question), 0),
        protocol::TCP => {
            (packet.tcp_flags().is_some_and(|it| it.syn() && !it.ack()), flow.destination_port)
        }
        _ => (flow.destination_port < FIRST_EPHEMERAL, flow.destination_port),
    };
    let service =
        FiveTuple { source: Address::default(), source_port: 0, destination_port, ..*flow };
    tried.then(|| bit(&service))
}

/// Where a service's bit is. It has no source.
fn bit(service: &FiveTuple) -> u8 {
    let [_, _, words @ ..] = service.words();
    let mixed = words.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    });
    (mixed.wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8
}

/// Notes the service that a packet is for, and stops scanners.
#[flow_handler(transparent)]
fn watch(
    packet: &mut Headers,
    sources: &mut Table<Source>,
    alarms: &mut Alarms,
    limits: &Limits,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    // Not the flow's: an error of ICMP comes from a router, and belongs to a flow of somebody
    // else's.
    let Ok(source) = packet.source() else {
        return Transmit;
    };
    let key = SourceAddress(source);
    // A packet without ports tries no service, and is stopped where its source is.
    let service = packet.five_tuple().ok().and_then(|flow| service(packet, &flow));
    let now = packet.now();
    if let Some(source) = sources.get_mut(&key) {
        if !source.note(service, &limits.limit, now) {
            let dropped = source.dropped;
            alarms.dropped.add(1);
            alarms.scanners.raise(key, dropped);
            return Drop(SCANNER);
        }
    } else {
        let mut source = Source::new(now);
        source.note(service, &limits.limit, now);
        // Without room for it, its source is not watched.
        let _is_kept = sources.insert(key, source);
    }
    Transmit
}

cora::app!(watch);

#[cfg(test)]
mod tests;
