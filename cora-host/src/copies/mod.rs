//! Copies of durable entries in this process's memory: they outlive the NIC.

mod index;

use cora_core::migration::{Copied, Holder, Standby};

pub(crate) use index::Index;

/// Copies, by state and key.
#[derive(Debug, Default)]
pub(crate) struct Copies(Index<()>);

impl Standby for Copies {
    fn keep(&mut self, copy: &Copied<'_>) -> bool {
        let _older = self.0.put(copy, ());
        true
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        let _known = self.0.take_of(holder, state, key);
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        self.0.take_all(holder, group);
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        self.0.assign(from, to, group);
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Copied<'_>)) -> bool {
        self.0.find(state, key, visit)
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Copied<'_>)) {
        self.0.each(holder, group, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_found_by_key_holder_and_flow() {
        let mut copies = Copies::default();
        let copy = |group: &'static [u8], piece: &'static [u8], holder| Copied {
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
        assert_eq!(copies.0.groups(), 1, "nothing is left of a flow without copies");
    }
}
