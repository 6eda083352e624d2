//! Groups of flows by an address: a packet finds only entries of its own group.
//!
//! Packets of one group are handled at one side, those of another group possibly at the other. An
//! entry belongs to the group of the packet that inserted it, and only packets of that group find
//! it, on either side: two groups may each have an entry with the same key. So the result does not
//! depend on whether both groups are at the same side. Such equal keys occur with forged addresses,
//! or if both ends of a conversation are inside, so that each is the inside host of its own
//! packets.
//!
//! The group is one of the addresses in the key, so an entry stores only which of them; a key
//! without that address is refused. Programs in which all keys are flow keys skip these checks:
//! there [`Sight`] stays [`All`](Sight::All).

use super::entry::{Entry, Facts};
use super::raw::RawTable;
use crate::key::{Address, Key};
use crate::plain::Plain;

/// The entries that keys can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// All entries: the program has no groups.
    All,
    /// The entries of this group.
    Of(Address),
    /// No entries: the packet has no group, or there is no packet.
    Nothing,
}

impl Sight {
    /// Which of the key's addresses is the group: whether the second one. `None` if neither is, so
    /// the key belongs to another group.
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
    /// Limits look-ups to entries of this group; to none without a group. The entry predicted for
    /// the packet counts only if it is among them.
    #[inline(always)]
    pub fn enter(&mut self, group: Option<Address>) {
        self.sight = group.map_or(Sight::Nothing, Sight::Of);
        let predicted = self.entries.get(self.ahead.entry(self.visit.ahead));
        if predicted.is_some_and(|entry| !self.sees(entry)) {
            core::hint::cold_path();
            self.ahead.drop_predicted(self.visit.ahead);
        }
    }

    /// Whether the entry's group lets keys find it.
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

    /// Limits look-ups to the group of an entry with this key, if the program has groups. For use
    /// between packets.
    #[inline(always)]
    pub(super) fn see_group_of(&mut self, key: &K, of_second: bool) {
        if self.sight != Sight::All {
            self.sight = key.group_address(of_second).map_or(Sight::Nothing, Sight::Of);
        }
    }
}
