//! A network that loses, doubles, reorders and damages frames.

/// A generator of numbers (SplitMix64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn one_in(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// A direction of the network: frames with the time of their arrival.
pub(crate) struct Network {
    frames: Vec<(u64, u64, Vec<u8>)>,
    sent: u64,
    /// Each fault in thousandths.
    faults: u64,
    pub(crate) free: Vec<Vec<u8>>,
}

impl Network {
    pub(crate) fn new(faults: u64) -> Self {
        Self { frames: Vec::new(), sent: 0, faults, free: Vec::new() }
    }

    pub(crate) fn send(&mut self, frame: &[u8], now: u64, draw: &mut Draw) {
        let copies = match (draw.one_in(self.faults), draw.one_in(self.faults)) {
            (true, _) => 0,
            (_, true) => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let mut copy = self.free.pop().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(frame);
            if draw.one_in(self.faults) {
                let bit = draw.below(8 * copy.len() as u64);
                copy[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            if draw.one_in(self.faults) {
                copy.truncate(draw.below(copy.len() as u64) as usize);
            }
            // A frame takes 10 us; one that is overtaken takes up to 100 more.
            let late = if draw.one_in(self.faults) { draw.below(100_000) } else { 0 };
            self.sent += 1;
            self.frames.push((now + 10_000 + late, self.sent, copy));
        }
    }

    /// The frames that have arrived by now, in the order of their arrival.
    pub(crate) fn arrived(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut here: Vec<_> = self.frames.extract_if(.., |(when, ..)| *when <= now).collect();
        here.sort_unstable_by_key(|(when, number, _)| (*when, *number));
        here.into_iter().map(|(_, _, frame)| frame).collect()
    }
}
