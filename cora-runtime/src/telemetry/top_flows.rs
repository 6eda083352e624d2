//! The top flows: Space-Saving (Metwally, Agrawal, El Abbadi, 2005). A flow that is not counted
//! replaces the one with the smallest count, and starts from that count. So no count is too low,
//! and the error bounds by how much it may be too high.

/// A counted flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Talker<K> {
    /// Its key.
    pub key: K,
    /// Upper bound of its packets.
    pub count: u32,
    /// Upper bound of the excess of `count`.
    pub error: u32,
}

/// Up to `N` counted flows.
#[derive(Debug)]
pub struct Talkers<K, const N: usize> {
    counted: heapless::Vec<Talker<K>, N>,
}

impl<K: Copy + Eq, const N: usize> Talkers<K, N> {
    /// No flows.
    pub const fn new() -> Self {
        Self { counted: heapless::Vec::new() }
    }

    /// Counts one packet of the flow.
    #[inline(never)]
    pub fn add(&mut self, key: K) {
        if let Some(talker) = self.counted.iter_mut().find(|talker| talker.key == key) {
            talker.count = talker.count.saturating_add(1);
            return;
        }
        let fresh = Talker { key, count: 1, error: 0 };
        if self.counted.push(fresh).is_ok() {
            return;
        }
        if let Some(least) = self.counted.iter_mut().min_by_key(|talker| talker.count) {
            *least = Talker { key, count: least.count.saturating_add(1), error: least.count };
        }
    }

    /// All counted flows, in no order.
    pub fn all(&self) -> &[Talker<K>] {
        &self.counted
    }

    /// Halves all counts, so that the newest packets count most.
    pub fn age(&mut self) {
        for talker in &mut self.counted {
            talker.count /= 2;
            talker.error /= 2;
        }
        self.counted.retain(|talker| talker.count > 0);
    }
}

impl<K: Copy + Eq, const N: usize> Default for Talkers<K, N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The bounds that the paper proves: no count is too low, none is too high by more than its
    /// error, no error exceeds the total / `N`, and every flow above that is counted.
    #[test]
    fn counts_are_within_their_bounds() {
        let mut talkers = Talkers::<u32, 8>::new();
        let mut exact = BTreeMap::<u32, u32>::new();
        let mut random = 7_u32;
        let all = 5_000;
        for _ in 0..all {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The number of trailing zeros has a geometric distribution, so few keys are frequent.
            let key = ((random >> 4) | 1 << 12).trailing_zeros() * 10 + (random >> 24) % 3;
            talkers.add(key);
            *exact.entry(key).or_default() += 1;
        }
        for talker in talkers.all() {
            let exact = exact[&talker.key];
            assert!(talker.count >= exact && talker.count - talker.error <= exact, "{talker:?}");
            assert!(talker.error <= all / 8);
        }
        for (key, count) in exact {
            assert!(count <= all / 8 || talkers.all().iter().any(|talker| talker.key == key));
        }
        talkers.age();
        assert!(talkers.all().iter().all(|talker| talker.count <= all / 2));
        (0..40).for_each(|_| talkers.age());
        assert!(talkers.all().is_empty());
    }
}
