//! # policer: each source is held to a rate
//!
//! A token bucket for each source address, IPv4 and IPv6 (a single-rate policer as in RFC 2697,
//! without colours): a source may send at its rate for ever, and a burst at once; further packets
//! are dropped as `over-rate`. Which rate a source has is configured by prefix; the first line that
//! matches counts.
//!
//! Try it:  `cargo cora run policer --nic native --in some.pcap --config Rates=rates.txt`
//!
//! where rates.txt says `rate 10.1.0.0/16 100000 131072` (kilobits a second, and bytes at once),
//! one per line, with 0.0.0.0/0 and ::/0 for all others. Without it each source has 8000 and 65536.
//! A source without a line is not held to anything.
//!
//! Expect:  the rates are read-mostly, so both sides have them; the buckets travel with their
//! sources, so all flows of a source are on the same side.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const MOST_RATES: usize = 16;
/// A second in the unit of buckets.
const PS_PER_NS: u64 = 1_000;

const OVER_RATE: Reason = Reason::new("over-rate");

/// A source's bucket. Time is its unit rather than bytes, so that filling it needs no division.
#[state(key = SourceAddress, capacity = 1 << 20, idle = "2m")]
struct Bucket {
    /// Its content: picoseconds that it took to fill.
    saved_ps: u64,
    /// When it was last filled (ns).
    filled_at: u64,
    passed: u64,
    dropped: u64,
}

/// The rate of one source.
#[derive(Debug, Clone, Copy, Plain)]
struct Rate {
    /// As an IPv6 address; those of IPv4 are mapped.
    prefix: u128,
    mask: u128,
    ps_per_byte: u64,
    /// A full bucket.
    burst_ps: u64,
}

/// The rates by prefix; the first that matches counts.
#[state(read_mostly)]
struct Rates {
    count: u8,
    rates: [Rate; MOST_RATES],
}

impl Rate {
    const NONE: Self = Self { prefix: 0, mask: 0, ps_per_byte: 0, burst_ps: 0 };

    /// `kbit` kilobits (of 1000 bits) a second, `burst` bytes at once; none when that can't be
    /// reckoned with.
    fn new(prefix: u128, mask: u128, kbit: u64, burst: u64) -> Option<Self> {
        let ps_per_byte = 8_000_000_000_u64.checked_div(kbit).filter(|ps| *ps > 0)?;
        // A bucket is filled by adding to it, so half of the range stays free.
        let burst_ps = ps_per_byte.checked_mul(burst).filter(|ps| *ps <= u64::MAX / 2)?;
        Some(Self { prefix: prefix & mask, mask, ps_per_byte, burst_ps })
    }
}

impl Default for Rates {
    fn default() -> Self {
        let mut rates = [Rate::NONE; MOST_RATES];
        // A mask of nothing: IPv4 and IPv6.
        rates[0] = Rate::new(0, 0, 8_000, 65_536).unwrap_or(Rate::NONE);
        Self { count: 1, rates }
    }
}

impl Configure for Rates {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut rates = Self { count: 0, rates: [Rate::NONE; MOST_RATES] };
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for line in lines.filter(|line| !line.is_empty()) {
            let place =
                rates.rates.get_mut(usize::from(rates.count)).ok_or("more than 16 rates")?;
            *place = rate(line)?;
            rates.count += 1;
        }
        Ok(rates)
    }
}

/// Reads a line.
fn rate(line: &str) -> Result<Rate, &'static str> {
    const FORM: &str = "a line is `rate PREFIX KILOBITS_PER_SECOND BURST_BYTES`";
    let mut words = line.split_whitespace();
    let (Some("rate"), Some(prefix), Some(kbit), Some(burst), None) =
        (words.next(), words.next(), words.next(), words.next(), words.next())
    else {
        return Err(FORM);
    };
    let (prefix, mask) = Address::prefix(prefix)?;
    let number = |word: &str| word.parse::<u64>().map_err(|_| "rate and burst are whole numbers");
    Rate::new(prefix, mask, number(kbit)?, number(burst)?)
        .ok_or("a rate is from 1 kbit/s to 8 Tbit/s, and a burst less than 100 days of it")
}

impl Rates {
    fn of(&self, source: &SourceAddress) -> Option<&Rate> {
        let rates = self.rates.get(..usize::from(self.count)).unwrap_or_default();
        rates.iter().find(|rate| source.0.bits() & rate.mask == rate.prefix)
    }
}

impl Bucket {
    const fn full(rate: &Rate, now: u64) -> Self {
        Self { saved_ps: rate.burst_ps, filled_at: now, passed: 0, dropped: 0 }
    }

    /// Takes so many bytes out, if they are there.
    fn take(&mut self, rate: &Rate, bytes: u64, now: u64) -> Result<(), Reason> {
        let since = now.saturating_sub(self.filled_at).saturating_mul(PS_PER_NS);
        self.saved_ps = self.saved_ps.saturating_add(since).min(rate.burst_ps);
        self.filled_at = now;
        let left = self.saved_ps.checked_sub(bytes.saturating_mul(rate.ps_per_byte));
        self.saved_ps = left.unwrap_or(self.saved_ps);
        self.passed += u64::from(left.is_some());
        self.dropped += u64::from(left.is_none());
        if left.is_some() { Ok(()) } else { Err(OVER_RATE) }
    }
}

/// Lets pass as much as the source's bucket holds.
#[flow_handler]
fn police(packet: &mut Headers, buckets: &mut Table<Bucket>, rates: &Rates) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    // Without a source there is no line for it.
    let Ok(source) = packet.source() else {
        return Transmit;
    };
    let source = SourceAddress(source);
    let (bytes, now) = (packet.len() as u64, packet.now());
    let Some(rate) = rates.of(&source) else {
        return Transmit;
    };
    if let Some(bucket) = buckets.get_mut(&source) {
        bucket.take(rate, bytes, now)?;
    } else {
        let mut bucket = Bucket::full(rate, now);
        let taken = bucket.take(rate, bytes, now);
        buckets.insert(source, bucket)?;
        taken?;
    }
    Transmit
}

cora::app!(police);

#[cfg(test)]
mod tests;
