//! Keys that find flows whose entries are still on their way here: offers announce them.

use super::nic::ANNOUNCED;

/// The keys, by their words. They are few and come and go with each offer, so they are searched one by
/// one, and only while there are any.
#[derive(Debug)]
pub(super) struct Announced {
    keys: heapless::Vec<Announcement, ANNOUNCED>,
}

#[derive(Clone, Copy, Debug)]
struct Announcement {
    words: [u64; 5],
    flow: u32,
}

impl Announcement {
    /// The last word has the ports, by which most keys differ.
    #[inline]
    fn is_of(&self, words: &[u64; 5]) -> bool {
        let differs = |number: usize| self.words[number] ^ words[number];
        differs(4) == 0 && differs(0) | differs(1) | differs(2) | differs(3) == 0
    }
}

impl Announced {
    /// None.
    pub(super) const fn new() -> Self {
        Self { keys: heapless::Vec::new() }
    }

    /// Whether there is none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether there is room for so many more.
    pub(super) fn has_room(&self, more: usize) -> bool {
        ANNOUNCED - self.keys.len() >= more
    }

    /// The flow that the key finds.
    #[inline(never)]
    pub(super) fn find(&self, words: &[u64; 5]) -> Option<u32> {
        self.keys.iter().find(|key| key.is_of(words)).map(|key| key.flow)
    }

    /// From now on the key finds the flow. Whoever offers looks for room first; without it nothing is kept.
    #[inline(never)]
    pub(super) fn add(&mut self, words: [u64; 5], flow: u32) {
        match self.keys.iter_mut().find(|key| key.is_of(&words)) {
            Some(key) => key.flow = flow,
            None => drop(self.keys.push(Announcement { words, flow })),
        }
    }

    /// No key finds the flow any more.
    #[inline(never)]
    pub(super) fn forget(&mut self, flow: u32) {
        self.keys.retain(|key| key.flow != flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_find_the_flow_that_announced_them_last() {
        let mut announced = Announced::new();
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
