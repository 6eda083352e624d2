//! Finds replicas by key, by owner and by flow, in an index beside the shared memory.

use std::collections::{BTreeMap, BTreeSet};

use cora_runtime::durability::{Holder, Replica};

/// A state's number, and a key.
type Name = (u16, Vec<u8>);

/// Replicas by state and key, each with its place in the storage.
#[derive(Debug)]
pub(crate) struct Index<P> {
    copies: BTreeMap<Name, Kept<P>>,
    /// The replicas of each flow.
    groups: BTreeMap<Vec<u8>, BTreeSet<Name>>,
}

#[derive(Debug)]
struct Kept<P> {
    place: P,
    holder: Holder,
    group: Vec<u8>,
    piece: Vec<u8>,
}

impl<P> Default for Index<P> {
    fn default() -> Self {
        Self { copies: BTreeMap::new(), groups: BTreeMap::new() }
    }
}

impl<P: Copy> Index<P> {
    /// Adds a replica; returns the place of a previous one with the same key.
    pub(crate) fn put(&mut self, copy: &Replica<'_>, place: P) -> Option<P> {
        let name = (copy.state, copy.key.to_vec());
        if let Some(kept) = self.copies.get_mut(&name).filter(|kept| kept.group == copy.group) {
            kept.holder = copy.holder;
            kept.piece.clear();
            kept.piece.extend_from_slice(copy.piece);
            return Some(std::mem::replace(&mut kept.place, place));
        }
        let before = self.remove(&name);
        self.groups.entry(copy.group.to_vec()).or_default().insert(name.clone());
        let (group, piece) = (copy.group.to_vec(), copy.piece.to_vec());
        self.copies.insert(name, Kept { place, holder: copy.holder, group, piece });
        before
    }

    /// The place of the replica with this key.
    pub(crate) fn place(&self, state: u16, key: &[u8]) -> Option<P> {
        self.copies.get(&(state, key.to_vec())).map(|kept| kept.place)
    }

    /// Removes the replica with this key; returns its place.
    pub(crate) fn take(&mut self, state: u16, key: &[u8]) -> Option<P> {
        self.remove(&(state, key.to_vec()))
    }

    /// The same, if this side owns the entry.
    pub(crate) fn take_of(&mut self, holder: Holder, state: u16, key: &[u8]) -> Option<P> {
        let name = (state, key.to_vec());
        self.copies.get(&name).filter(|kept| kept.holder == holder)?;
        self.remove(&name)
    }

    /// Removes the replicas of this owner's entries, of one flow or of all; returns their places.
    pub(crate) fn take_all(&mut self, holder: Holder, group: Option<&[u8]>) -> Vec<P> {
        let names = self.names(holder, group);
        names.iter().filter_map(|name| self.remove(name)).collect()
    }

    /// Makes `to` the owner of the entries of `from`, of one flow or of all; returns the places of
    /// their replicas.
    pub(crate) fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) -> Vec<P> {
        let mut places = Vec::new();
        for name in self.names(from, group) {
            if let Some(kept) = self.copies.get_mut(&name) {
                kept.holder = to;
                places.push(kept.place);
            }
        }
        places
    }

    /// Visits the replica with this key; returns whether there is one.
    pub(crate) fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool {
        let Some(kept) = self.copies.get(&(state, key.to_vec())) else { return false };
        let Kept { holder, group, piece, .. } = kept;
        visit(&Replica { state, holder: *holder, group, key, piece });
        true
    }

    /// Visits the replicas of this owner's entries, of one flow or of all, in the order of states
    /// and keys.
    pub(crate) fn each(
        &self,
        holder: Holder,
        group: Option<&[u8]>,
        visit: &mut dyn FnMut(&Replica<'_>),
    ) {
        for (state, key) in self.names(holder, group) {
            self.find(state, &key, visit);
        }
    }

    fn remove(&mut self, name: &Name) -> Option<P> {
        let kept = self.copies.remove(name)?;
        if let Some(names) = self.groups.get_mut(&kept.group) {
            names.remove(name);
            if names.is_empty() {
                self.groups.remove(&kept.group);
            }
        }
        Some(kept.place)
    }

    /// The names of this owner's replicas, of one flow or of all.
    fn names(&self, holder: Holder, group: Option<&[u8]>) -> Vec<Name> {
        let held = |name: &&Name| self.copies.get(*name).is_some_and(|kept| kept.holder == holder);
        match group {
            Some(group) => {
                self.groups.get(group).into_iter().flatten().filter(held).cloned().collect()
            }
            None => self.copies.keys().filter(held).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_found_by_key_holder_and_flow() {
        let mut index = Index::default();
        let mut put = |group: &'static [u8], piece: &'static [u8], holder, place| {
            let key = &piece[..4];
            index.put(&Replica { state: 3, holder, group, key, piece }, place)
        };
        assert_eq!(put(b"one", b"key1 a", Holder::Host, 1), None);
        assert_eq!(put(b"one", b"key2 b", Holder::Nic, 2), None);
        assert_eq!(put(b"two", b"key1 c", Holder::Host, 3), Some(1), "a key has one replica");
        let all = |index: &Index<i32>, holder, group: Option<&[u8]>| {
            let mut found = Vec::new();
            index.each(holder, group, &mut |copy| found.push(copy.piece.to_vec()));
            found
        };
        assert_eq!(all(&index, Holder::Host, None), [b"key1 c"]);
        assert_eq!(all(&index, Holder::Host, Some(b"one")), [b""; 0], "of another flow now");
        assert_eq!(index.assign(Holder::Nic, Holder::Host, Some(b"two")), [0; 0]);
        assert_eq!(index.take_of(Holder::Host, 3, b"key2"), None, "the NIC holds it");
        assert_eq!(index.assign(Holder::Nic, Holder::Unsure, None), [2]);
        assert_eq!(index.take_all(Holder::Unsure, None), [2]);
        assert!(!index.find(3, b"key2", &mut |_| {}) && index.find(3, b"key1", &mut |_| {}));
        assert_eq!(index.groups.len(), 1, "nothing is left of a flow without replicas");
    }
}
