//! Pending keys find flows while their entries are still on their way here: offers announce them.

/// Most keys that pending offers can announce.
const ANNOUNCED: usize = 256;
/// Words of the filter.
const FILTER: usize = 16;
/// The filter is rebuilt after this many flows have arrived.
const STALE: u32 = 64;

/// The keys, as words. They are few and change with each offer, so the search is linear. A filter
/// excludes most packets' keys.
#[derive(Debug)]
pub(super) struct PendingKeys {
    keys: heapless::Vec<Announcement, ANNOUNCED>,
    /// A bit for each key present, and for some keys that were.
    filter: [u64; FILTER],
    /// Flows that arrived since the filter was built.
    stale: u32,
}

/// The place of a key's bit in the filter: word number and mask.
#[inline]
fn bit(words: &[u64; 5]) -> (usize, u64) {
    let mixed = words.iter().fold(0_u64, |mixed, word| mixed.rotate_left(23) ^ word);
    let hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    ((hash >> 6) as usize % FILTER, 1 << (hash & 63))
}

#[derive(Clone, Copy, Debug)]
struct Announcement {
    words: [u64; 5],
    flow: u32,
}

impl Announcement {
    /// Compares the last word first: it has the ports, in which most keys differ.
    #[inline]
    fn is_of(&self, words: &[u64; 5]) -> bool {
        let differs = |number: usize| self.words[number] ^ words[number];
        differs(4) == 0 && differs(0) | differs(1) | differs(2) | differs(3) == 0
    }
}

impl PendingKeys {
    /// No keys.
    pub(super) const fn new() -> Self {
        Self { keys: heapless::Vec::new(), filter: [0; FILTER], stale: 0 }
    }

    /// Whether there are no keys.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether there is room for `more` further keys.
    pub(super) fn has_room(&self, more: usize) -> bool {
        ANNOUNCED - self.keys.len() >= more
    }

    /// The flow that the key finds.
    #[inline(never)]
    pub(super) fn find(&self, words: &[u64; 5]) -> Option<u32> {
        let (word, mask) = bit(words);
        if self.filter[word] & mask == 0 {
            return None;
        }
        self.keys.iter().find(|key| key.is_of(words)).map(|key| key.flow)
    }

    /// Makes the key find the flow. The caller checks for room first; without room nothing is kept.
    #[inline(never)]
    pub(super) fn add(&mut self, words: [u64; 5], flow: u32) {
        let (word, mask) = bit(&words);
        self.filter[word] |= mask;
        match self.keys.iter_mut().find(|key| key.is_of(&words)) {
            Some(key) => key.flow = flow,
            None => drop(self.keys.push(Announcement { words, flow })),
        }
    }

    /// All keys, each with its flow.
    pub(super) fn all(&self) -> impl Iterator<Item = ([u64; 5], u32)> + '_ {
        self.keys.iter().map(|key| (key.words, key.flow))
    }

    /// Removes all keys of the flow.
    #[inline(never)]
    pub(super) fn forget(&mut self, flow: u32) {
        let mut at = 0;
        while let Some(key) = self.keys.get(at) {
            if key.flow == flow {
                self.keys.swap_remove(at);
            } else {
                at += 1;
            }
        }
        self.stale += 1;
        if self.stale >= STALE || self.keys.is_empty() {
            (self.filter, self.stale) = ([0; FILTER], 0);
            for key in &self.keys {
                let (word, mask) = bit(&key.words);
                self.filter[word] |= mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_find_the_flow_that_announced_them_last() {
        let mut announced = PendingKeys::new();
        for number in 0..ANNOUNCED as u64 {
            assert!(announced.has_room(1));
            announced.add([number, 0, 0, 0, 7], (number % 3) as u32);
        }
        assert!(!announced.has_room(1) && announced.has_room(0));
        announced.add([5, 0, 0, 0, 7], 9);
        assert_eq!(announced.find(&[5, 0, 0, 0, 7]), Some(9));
        assert_eq!(announced.find(&[4, 0, 0, 0, 7]), Some(1));
        assert_eq!(announced.find(&[4, 0, 0, 1, 7]), None);
        announced.forget(1);
        assert_eq!(announced.find(&[4, 0, 0, 0, 7]), None);
        assert_eq!(announced.find(&[3, 0, 0, 0, 7]), Some(0));
        for flow in [0, 2, 9] {
            announced.forget(flow);
        }
        assert!(announced.is_empty());
    }
}
