//! Cache hits of a working set: Che's approximation.
//!
//! Items are accessed at random, each at its own rate. Under least-recently-used replacement, an
//! item is present if it was accessed within a characteristic time `T`. An item of rate `λ` then
//! hits with probability `1 − exp(−λT)`. `T` follows from the cache being full: `Σ bytes·(1 −
//! exp(−λT)) = capacity`.
//!
//! H. Che, Y. Tung, Z. Wang, "Hierarchical Web Caching Systems", IEEE JSAC 20(7), 2002. For its
//! accuracy: C. Fricker, P. Robert, J. Roberts, "A versatile and accurate approximation for LRU
//! cache performance", ITC 24, 2012.
//!
//! Accesses come in bursts, and the lines of a burst are prefetched together before their turns. So
//! a burst waits for its slowest access, even if all others hit. A few misses among many hits cost
//! more than their number suggests ([`Filled::slowest`]).
//!
//! Real caches are neither fully associative nor LRU, and share their lines with the frames. The
//! approximation is of the working set, not of the cache.

use crate::nic::Tier;

/// Items with the same access pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Item {
    /// Number of items.
    pub(super) count: f64,
    /// Bytes of one item.
    pub(super) bytes: f64,
    /// Accesses of all of them together, in any common unit.
    pub(super) rate: f64,
}

/// The caches of a tier, filled by a working set.
#[derive(Clone, Debug)]
pub(super) struct Filled {
    /// Per level: the characteristic time (infinite if everything fits) and the latency.
    levels: Vec<(f64, f64)>,
    memory_ns: f64,
}

/// Maximum number of Newton steps towards a characteristic time. A dozen suffice for similar rates;
/// rates far apart need more.
const ROUNDS: u32 = 300;

impl Filled {
    /// Fills the caches that `cores` cores of a tier have for themselves.
    pub(super) fn new(tier: &Tier, cores: f64, items: &[Item]) -> Self {
        let levels = tier.caches.iter().map(|cache| {
            // A shared cache is divided among the cores in use.
            let sharers = cache.shared_by.value.min(cores).max(1.0);
            let capacity = cache.bytes.value * cores / sharers;
            (characteristic_time(items, capacity), cache.latency_ns.value)
        });
        Self { levels: levels.collect(), memory_ns: tier.memory_ns.value }
    }

    /// Per level: the share of accesses to `item` that miss.
    pub(super) fn missed(&self, item: Item) -> Vec<f64> {
        let rate = if item.count > 0.0 { item.rate / item.count } else { 0.0 };
        let mut missed = 1.0_f64;
        let levels = self.levels.iter();
        levels
            .map(|(time, _)| {
                missed = miss(rate, *time).min(missed);
                missed
            })
            .collect()
    }

    /// Expected latency of an access in nanoseconds, given the share of misses per level.
    pub(super) fn latency(&self, missed: &[f64]) -> f64 {
        let latencies = || self.levels.iter().map(|(_, latency)| *latency).chain([self.memory_ns]);
        let further = latencies().skip(1).zip(latencies()).map(|(next, level)| next - level);
        let nearest = latencies().next().unwrap_or_default();
        nearest + missed.iter().zip(further).map(|(missed, more)| missed * more).sum::<f64>()
    }

    /// Expected latency of the slowest access in a burst.
    pub(super) fn slowest(&self, missed: &[f64]) -> f64 {
        let any: Vec<f64> = missed.iter().map(|missed| any(*missed)).collect();
        self.latency(&any)
    }
}

/// A burst is 2 to this power of packets (`cora-core/src/state/table/prefetch.rs`: 32).
const DOUBLINGS: u32 = 5;

/// Probability that at least one access of a burst has an event of this probability.
fn any(part: f64) -> f64 {
    1.0 - (0..DOUBLINGS).fold(1.0 - part, |none, _| none * none)
}

/// Probability that an item of this rate was not accessed within `time`.
fn miss(rate: f64, time: f64) -> f64 {
    if time.is_infinite() { 0.0 } else { decay(rate * time) }
}

/// `exp(−x)` for `x ≥ 0`. The standard library's result differs between machines in its last
/// digits, but a plan must not.
pub(super) fn decay(x: f64) -> f64 {
    if x > 700.0 {
        return 0.0;
    }
    // exp(−x) = (exp(−x / 2ⁿ))^(2ⁿ), because the series of a small argument needs few terms. Plain
    // loops, because planning spends most of its time here, and in development builds no optimiser
    // improves it.
    let (mut halvings, mut small) = (0, x);
    while small > 0.125 {
        small *= 0.5;
        halvings += 1;
    }
    // From the last term: 1 − s/1·(1 − s/2·(1 − …)).
    let (mut term, mut sum) = (10_u32, 1.0);
    while term > 0 {
        sum = 1.0 - small / f64::from(term) * sum;
        term -= 1;
    }
    while halvings > 0 {
        sum *= sum;
        halvings -= 1;
    }
    sum
}

/// The time within which as many bytes are accessed as the cache holds.
///
/// The bytes are a concave function of the time, and its tangent lies above it. So Newton's steps
/// from zero approach the time from below and never pass it. They end when rounding allows no
/// further progress.
fn characteristic_time(items: &[Item], capacity: f64) -> f64 {
    let items = || items.iter().filter(|item| item.count > 0.0 && item.rate > 0.0);
    let all: f64 = items().map(|item| item.count * item.bytes).sum();
    if all <= capacity {
        return f64::INFINITY;
    }
    let mut time = 0.0;
    for _ in 0..ROUNDS {
        let (mut present, mut slope) = (0.0, 0.0);
        for item in items() {
            let gone = decay(item.rate / item.count * time);
            present += item.count * item.bytes * (1.0 - gone);
            slope += item.rate * item.bytes * gone;
        }
        let next = time + (capacity - present) / slope;
        // Also if nothing is left to come and the quotient is not a number.
        if !(next > time && next.is_finite()) {
            break;
        }
        time = next;
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits of a real LRU cache on a seeded stream, to compare with the approximation.
    fn simulated(items: &[Item], slots: usize) -> f64 {
        let mut seed = 1_u64;
        let mut draw = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        let total: f64 = items.iter().map(|item| item.rate).sum();
        let mut cache: Vec<(usize, u64)> = Vec::new();
        let (mut hits, mut asked) = (0_u32, 0_u32);
        for round in 0..60_000 {
            let mut at = draw() * total;
            let group = items.iter().position(|item| {
                at -= item.rate;
                at < 0.0
            });
            let group = group.unwrap_or(items.len() - 1);
            let thing = (group, (draw() * items[group].count).floor().to_bits());
            let found = cache.iter().position(|cached| *cached == thing);
            if round > 20_000 {
                asked += 1;
                hits += u32::from(found.is_some());
            }
            match found {
                Some(place) => drop(cache.remove(place)),
                None if cache.len() == slots => drop(cache.remove(0)),
                None => {}
            }
            cache.push(thing);
        }
        f64::from(hits) / f64::from(asked)
    }

    #[test]
    fn agrees_with_a_simulated_cache() {
        let hot = Item { count: 20.0, bytes: 1.0, rate: 6.0 };
        let warm = Item { count: 200.0, bytes: 1.0, rate: 3.0 };
        let cold = Item { count: 3_000.0, bytes: 1.0, rate: 1.0 };
        let items = [hot, warm, cold];
        for slots in [30, 150, 600] {
            let time = characteristic_time(&items, slots as f64);
            let hits: f64 =
                items.iter().map(|i| i.rate * (1.0 - miss(i.rate / i.count, time))).sum::<f64>()
                    / 10.0;
            let real = simulated(&items, slots);
            assert!((hits - real).abs() < 0.02, "{slots} slots: {hits} against {real}");
        }
    }

    #[test]
    fn the_characteristic_time_fills_the_cache() {
        for apart in [1.0, 10.0, 1e4, 1e8] {
            let item =
                |n: i32| Item { count: 8_f64.powi(n), bytes: 64.0, rate: f64::powi(apart, -n) };
            let items: Vec<Item> = (0..6).map(item).collect();
            let all: f64 = items.iter().map(|item| item.count * item.bytes).sum();
            for part in [1e-6, 0.01, 0.3, 0.9, 0.999] {
                let capacity = all * part;
                let time = characteristic_time(&items, capacity);
                let fills = |item: &Item| {
                    item.count * item.bytes * (1.0 - miss(item.rate / item.count, time))
                };
                let filled: f64 = items.iter().map(fills).sum();
                let off = (filled - capacity) / capacity;
                assert!(off.abs() < 1e-9, "{part} of rates {apart} apart: off by {off}");
            }
        }
    }

    #[test]
    fn a_burst_waits_for_its_slowest_access() {
        let filled = Filled { levels: vec![(1.0, 2.0), (9.0, 10.0)], memory_ns: 100.0 };
        assert!((filled.latency(&[0.5, 0.1]) - (2.0 + 4.0 + 9.0)).abs() < 1e-12);
        let none_of_32 = |part: f64| (1.0 - part).powi(32);
        let slowest = 2.0 + (1.0 - none_of_32(0.5)) * 8.0 + (1.0 - none_of_32(0.1)) * 90.0;
        assert!((filled.slowest(&[0.5, 0.1]) - slowest).abs() < 1e-9);
        // If all are alike, the slowest equals the others.
        for part in [0.0, 1.0] {
            assert!((filled.slowest(&[part; 2]) - filled.latency(&[part; 2])).abs() < 1e-12);
        }
        let without = Filled { levels: Vec::new(), memory_ns: 100.0 };
        assert!((without.slowest(&[]) - 100.0).abs() < 1e-12);
    }

    #[test]
    fn decay_is_the_exponential() {
        for tenth in 0..7_000 {
            let x = f64::from(tenth) / 10.0;
            let (ours, theirs) = (decay(x), (-x).exp());
            assert!((ours - theirs).abs() <= 1e-11 * theirs + 1e-300, "{x}: {ours} {theirs}");
        }
    }

    #[test]
    fn what_fits_is_always_found() {
        let items = [Item { count: 10.0, bytes: 64.0, rate: 1.0 }];
        assert!(characteristic_time(&items, 640.0).is_infinite());
        assert!(characteristic_time(&items, 639.0).is_finite());
    }
}
