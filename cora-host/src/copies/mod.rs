//! Copies of durable entries in this process's memory: they outlive the NIC.

use std::collections::{BTreeMap, BTreeSet};

use cora_core::migration::{Copied, Holder, Standby};

/// A state's number, and a key.
type Name = (u16, Vec<u8>);

/// Copies, by state and key.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    copies: BTreeMap<Name, Copy>,
    /// Those of each flow.
    groups: BTreeMap<Vec<u8>, BTreeSet<Name>>,
}

#[derive(Debug)]
struct Copy {
    holder: Holder,
    group: Vec<u8>,
    piece: Vec<u8>,
}

impl Copies {
    fn remove(&mut self, name: &Name) {
        let Some(copy) = self.copies.remove(name) else { return };
        if let Some(names) = self.groups.get_mut(&copy.group) {
            names.remove(name);
            if names.is_empty() {
                self.groups.remove(&copy.group);
            }
        }
    }

    /// The names of this holder's copies, of one flow or of all.
    fn names(&self, holder: Holder, group: Option<&[u8]>) -> Vec<Name> {
        let held = |name: &&Name| self.copies.get(*name).is_some_and(|copy| copy.holder == holder);
        match group {
            Some(group) => {
                self.groups.get(group).into_iter().flatten().filter(held).cloned().collect()
            }
            None => self.copies.keys().filter(held).cloned().collect(),
        }
    }
}

impl Standby for Copies {
    fn keep(&mut self, copy: &Copied<'_>) -> bool {
        let name = (copy.state, copy.key.to_vec());
        if let Some(kept) = self.copies.get_mut(&name).filter(|kept| kept.group == copy.group) {
            kept.holder = copy.holder;
            kept.piece.clear();
            kept.piece.extend_from_slice(copy.piece);
            return true;
        }
        self.remove(&name);
        self.groups.entry(copy.group.to_vec()).or_default().insert(name.clone());
        let (group, piece) = (copy.group.to_vec(), copy.piece.to_vec());
        self.copies.insert(name, Copy { holder: copy.holder, group, piece });
        true
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        let name = (state, key.to_vec());
        if self.copies.get(&name).is_some_and(|copy| copy.holder == holder) {
            self.remove(&name);
        }
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        for name in self.names(holder, group) {
            self.remove(&name);
        }
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        for name in self.names(from, group) {
            if let Some(copy) = self.copies.get_mut(&name) {
                copy.holder = to;
            }
        }
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Copied<'_>)) -> bool {
        let Some(copy) = self.copies.get(&(state, key.to_vec())) else { return false };
        let Copy { holder, group, piece } = copy;
        visit(&Copied { state, holder: *holder, group, key, piece });
        true
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Copied<'_>)) {
        for (state, key) in self.names(holder, group) {
            self.find(state, &key, visit);
        }
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
        assert_eq!(copies.groups.len(), 1, "nothing is left of a flow without copies");
    }
}
