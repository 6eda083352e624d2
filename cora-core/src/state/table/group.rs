//! Groups of flows by an address: a packet finds the entries of its own group.
//!
//! Packets of one group are handled at one side, those of another group maybe at the other. An
//! entry belongs to the group of the packet that put it in, and only packets of that group find it,
//! wherever it is: two groups may each have an entry with the same key. So it makes no difference
//! whether both are at the same side. Keys meet like that when an address is forged, or when both
//! ends of a conversation are inside and each of them counts as the inside host of its packets.
//!
//! The group is one of the addresses that the key has, so an entry notes which of them it is; a key
//! that has no such address is refused. In programs whose keys all are those of flows nothing of
//! this is asked: there [`Sight`] stays [`All`](Sight::All).

use super::entry::{Entry, Facts};
use super::raw::RawTable;
use crate::key::{Address, Key};
use crate::plain::Plain;

/// The entries that keys find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// All of them: the program knows no such groups.
    All,
    /// Those of this group.
    Of(Address),
    /// None: the packet is of no group, or there is none.
    Nothing,
}

impl Sight {
    /// Which of the key's addresses is the group: the second one, or not; `None` if neither is, and
    /// the key is that of another group.
    #[inline(always)]
    pub(super) fn which<K: Key>(self, key: &K) -> Option<bool> {
        if self == Self::All { Some(false) } else { self.which_address(key) }
    }

    #[inline(never)]
    fn which_address<K: Key>(self, key: &K) -> Option<bool> {
        let Self::Of(group) = self else { return None };
        [false, true].into_iter().find(|second| key.group_address(*second) == Some(group))
    }
}

impl<K: Key, V: Plain> RawTable<K, V> {
    /// From here on keys find the entries of this group alone; of none, without one. The entry
    /// that was looked up ahead for the packet counts only if it is among them.
    #[inline(always)]
    pub fn enter(&mut self, group: Option<Address>) {
        self.sight = group.map_or(Sight::Nothing, Sight::Of);
        let guess = self.entries.get(self.ahead.entry(self.visit.ahead));
        if guess.is_some_and(|entry| !self.sees(entry)) {
            core::hint::cold_path();
            self.ahead.forget_entry(self.visit.ahead);
        }
    }

    /// Whether keys find the entry, as far as its group says.
    #[inline(always)]
    pub(super) fn sees(&self, entry: &Entry<K, V>) -> bool {
        match self.sight {
            Sight::All => true,
            Sight::Nothing => false,
            Sight::Of(group) => {
                entry.key().group_address(entry.facts.has(Facts::OF_SECOND)) == Some(group)
            }
        }
    }

    /// Between packets: from here on keys find the entries of the group that an entry with this key
    /// is of, if the program knows groups.
    #[inline(always)]
    pub(super) fn see_group_of(&mut self, key: &K, of_second: bool) {
        if self.sight != Sight::All {
            self.sight = key.group_address(of_second).map_or(Sight::Nothing, Sight::Of);
        }
    }
}
