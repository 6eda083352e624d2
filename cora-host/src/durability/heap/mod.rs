//! Replicas of durable entries in this process's memory: they survive the NIC.

mod index;

use cora_runtime::durability::{Holder, Replica, ReplicaStore};

pub(crate) use crate::durability::heap::index::Index;

/// Replicas, by state and key, each with its size in bytes.
#[derive(Debug)]
pub(crate) struct Copies {
    index: Index<usize>,
    bytes: usize,
    most: usize,
}

impl Copies {
    /// An empty store for at most `most` bytes: a faulty NIC may report more entries than any table
    /// can hold.
    pub(crate) fn new(most: usize) -> Self {
        Self { index: Index::default(), bytes: 0, most }
    }
}

impl ReplicaStore for Copies {
    fn keep(&mut self, copy: &Replica<'_>) -> bool {
        let bytes = copy.group.len() + copy.key.len() + copy.piece.len();
        let older = self.index.place(copy.state, copy.key).unwrap_or(0);
        if self.bytes - older + bytes > self.most {
            self.bytes -= self.index.take(copy.state, copy.key).unwrap_or(0);
            return false;
        }
        self.bytes += bytes;
        self.bytes -= self.index.put(copy, bytes).unwrap_or(0);
        true
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        self.bytes -= self.index.take_of(holder, state, key).unwrap_or(0);
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        self.bytes -= self.index.take_all(holder, group).iter().sum::<usize>();
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        self.index.assign(from, to, group);
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool {
        self.index.find(state, key, visit)
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Replica<'_>)) {
        self.index.each(holder, group, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_found_by_key_holder_and_flow() {
        let mut copies = Copies::new(1000);
        let copy = |group: &'static [u8], piece: &'static [u8], holder| Replica {
            state: 3,
            holder,
            group,
            key: &piece[..4],
            piece,
        };
        copies.keep(&copy(b"one", b"key1 a", Holder::Host));
        copies.keep(&copy(b"one", b"key2 b", Holder::Nic));
        copies.keep(&copy(b"two", b"key1 c", Holder::Host));
        let all = |copies: &Copies, holder, group: Option<&[u8]>| {
            let mut found = Vec::new();
            copies.each(holder, group, &mut |copy| found.push(copy.piece.to_vec()));
            found
        };
        assert_eq!(all(&copies, Holder::Host, None), [b"key1 c"], "a key has one copy");
        assert_eq!(all(&copies, Holder::Host, Some(b"one")), [b""; 0], "of another flow now");
        copies.assign(Holder::Nic, Holder::Host, Some(b"two"));
        copies.forget(Holder::Host, 3, b"key2");
        assert_eq!(all(&copies, Holder::Nic, Some(b"one")), [b"key2 b"], "the NIC holds it");
        copies.assign(Holder::Nic, Holder::Unsure, None);
        copies.forget_all(Holder::Unsure, None);
        assert!(!copies.find(3, b"key2", &mut |_| {}) && copies.find(3, b"key1", &mut |_| {}));
        assert_eq!(copies.index.groups(), 1, "nothing is left of a flow without copies");
    }

    #[test]
    fn copies_take_no_more_than_they_may() {
        let mut copies = Copies::new(60);
        let piece = |number: u8| [b'k', b'e', b'y', number, 0, 0];
        let keep = |copies: &mut Copies, number: u8, more: usize| {
            let piece = [&piece(number)[..], &vec![7; more]].concat();
            let (group, key) = (&b"flow"[..], &piece[..4]);
            copies.keep(&Replica { state: 1, holder: Holder::Nic, group, key, piece: &piece })
        };
        // Each takes 14 bytes plus its extra length.
        assert!((0..4).all(|number| keep(&mut copies, number, 0)));
        assert!(!keep(&mut copies, 4, 0), "there is no room");
        assert!(keep(&mut copies, 0, 4), "in place of the older one");
        assert!(!keep(&mut copies, 0, 5), "then there is none of it");
        assert!(!copies.find(1, b"key\0", &mut |_| {}) && copies.bytes == 42);
        copies.forget(Holder::Nic, 1, b"key\x01");
        assert!(keep(&mut copies, 5, 18), "there is room again");
        copies.forget_all(Holder::Nic, Some(b"flow"));
        assert_eq!(copies.bytes, 0);
    }
}
