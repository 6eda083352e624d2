//! Replicas of durable entries, in memory that outlives both sides.

use std::collections::BTreeMap;

use cora_runtime::durability::waiting::ENDED;
use cora_runtime::durability::{Holder, Replica, ReplicaStore};

use crate::words::Life;

type Entries = BTreeMap<(u16, Vec<u8>), Copy>;
type Singletons = BTreeMap<u16, Vec<u8>>;

/// Replicas of entries, by state and key, and of singletons, by state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replicas {
    entries: Entries,
    singletons: Singletons,
    /// The process that keeps them, if it may die between two calls.
    keeper: Option<Life>,
    /// Their content when the transaction began.
    before: Option<(Entries, Singletons)>,
    /// If set, replicas of ended entries end with the next transaction instead of this one.
    lags: bool,
    lagging: Vec<(u16, Vec<u8>)>,
    /// If set, every third replica is lost: the number of replicas so far.
    loses: Option<u64>,
}

impl Replicas {
    /// Discards the replicas of singletons, as if they were damaged.
    pub(crate) fn lose_singletons(&mut self) {
        self.singletons.clear();
    }

    /// The process that keeps them from now on may die between two calls.
    pub(crate) fn endanger(&mut self, life: &Life) {
        self.keeper = Some(life.clone());
    }

    /// Whether they are kept by a process that may die between two calls.
    pub(crate) const fn are_endangered(&self) -> bool {
        self.keeper.is_some()
    }

    /// From now on, what a hook did and the end of its entry's replica are two steps.
    pub(crate) const fn lag(&mut self) {
        self.lags = true;
    }

    /// Counts a call, and returns whether it takes place.
    fn goes_on(&self) -> bool {
        self.keeper.as_ref().is_none_or(Life::goes_on)
    }

    /// Loses one replica of three from now on, but reports it as stored.
    pub(crate) const fn lose_some(&mut self) {
        self.loses = Some(0);
    }
}

#[derive(Clone, Debug)]
struct Copy {
    holder: Holder,
    group: Vec<u8>,
    piece: Vec<u8>,
}

impl Copy {
    fn is_of(&self, holder: Holder, group: Option<&[u8]>) -> bool {
        self.holder == holder && group.is_none_or(|group| group == self.group)
    }
}

impl ReplicaStore for Replicas {
    fn keep(&mut self, copy: &Replica<'_>) -> bool {
        if !self.goes_on() {
            return true;
        }
        let Replica { state, holder, group, key, piece } = *copy;
        let copy = Copy { holder, group: group.to_vec(), piece: piece.to_vec() };
        if let Some(kept) = &mut self.loses {
            *kept += 1;
            if kept.is_multiple_of(3) {
                return true;
            }
        }
        self.entries.insert((state, key.to_vec()), copy);
        true
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        if !self.goes_on() {
            return;
        }
        let name = (state, key.to_vec());
        if self.lags && state & ENDED != 0 {
            return self.lagging.push(name);
        }
        if self.entries.get(&name).is_some_and(|copy| copy.holder == holder) {
            self.entries.remove(&name);
        }
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        if self.goes_on() {
            self.entries.retain(|_, copy| !copy.is_of(holder, group));
        }
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        if !self.goes_on() {
            return;
        }
        for copy in self.entries.values_mut().filter(|copy| copy.is_of(from, group)) {
            copy.holder = to;
        }
    }

    fn begin(&mut self) {
        if self.goes_on() {
            for name in std::mem::take(&mut self.lagging) {
                self.entries.remove(&name);
            }
        }
        self.before = Some((self.entries.clone(), self.singletons.clone()));
    }

    fn commit(&mut self) {
        if let Some(before) = self.before.take()
            && !self.goes_on()
        {
            (self.entries, self.singletons) = before;
        }
    }

    fn keep_part(&mut self, state: u16, at: usize, part: &[u8]) {
        if !self.goes_on() {
            return;
        }
        let whole = self.singletons.entry(state).or_default();
        if whole.len() < at + part.len() {
            whole.resize(at + part.len(), 0);
        }
        whole[at..at + part.len()].copy_from_slice(part);
    }

    fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        self.singletons.get(&state).inspect(|whole| visit(0, whole)).is_some()
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool {
        let Some(Copy { holder, group, piece }) = self.entries.get(&(state, key.to_vec())) else {
            return false;
        };
        visit(&Replica { state, holder: *holder, group, key, piece });
        true
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Replica<'_>)) {
        for ((state, key), copy) in
            self.entries.iter().filter(|(_, copy)| copy.is_of(holder, group))
        {
            let Copy { holder, group, piece } = copy;
            visit(&Replica { state: *state, holder: *holder, group, key, piece });
        }
    }
}
