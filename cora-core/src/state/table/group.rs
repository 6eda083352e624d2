//! Groups of flows by an address or a named key: a packet finds only entries of its own group.
//!
//! Packets of one group are handled at one side, those of another group possibly at the other. An
//! entry belongs to the group of the packet that inserted it, and only packets of that group find
//! it, on either side: two groups may each have an entry with the same key. So the result does not
//! depend on whether both groups are at the same side. Such equal keys occur with forged addresses,
//! or if both ends of a conversation are inside, so that each is the inside host of its own
//! packets.
//!
//! An address group is one of the addresses in the key, so an entry stores only which of them; a
//! key without that address is refused. In a table that is keyed by a group that `within` names
//! elsewhere, the key is the group. Where ports decide [buckets](crate::bucket), the group is the
//! bucket, and an entry stores at which end of its key it stands. Programs in which all keys are
//! flow keys skip these checks: there [`Sight`] stays [`All`](Sight::All).

use super::entry::{Entry, Facts};
use super::raw::RawTable;
use crate::bucket::{Bucket, End, Mark};
use crate::key::{Address, EntryKey};
use crate::plain::Plain;

/// The entries that keys can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// All entries: the program has no groups.
    All,
    /// The entries of this address.
    Of(Address),
    /// The entry with these words of its key.
    Named([u64; 5]),
    /// The entries whose key has a port of this mark's bucket, at the end that the entry notes. A
    /// new entry notes the mark's end.
    Marked(Mark),
    /// No entries: the packet has no group, or there is no packet.
    Nothing,
}

impl Sight {
    /// Which of the key's addresses is the group: whether the second one. `None` if neither is, so
    /// the key belongs to another group.
    #[inline(always)]
    pub(super) fn which<K: EntryKey>(&self, key: &K) -> Option<bool> {
        if *self == Self::All { Some(false) } else { self.which_address(key) }
    }

    /// Reads its words where they are: a copy by wide loads, right after narrower stores, would
    /// wait until the processor has written those.
    #[inline(never)]
    fn which_address<K: EntryKey>(&self, key: &K) -> Option<bool> {
        match self {
            Self::Of(group) => [false, true]
                .into_iter()
                .find(|second| key.group_address(*second).as_ref() == Some(group)),
            Self::Named(group) => (key.words() == *group).then_some(false),
            Self::Marked(mark) => {
                let port = key.port_at(mark.end)?;
                (Bucket::of_port(port) == mark.bucket).then_some(mark.end == End::Destination)
            }
            Self::All | Self::Nothing => None,
        }
    }

    /// Whether packets with this reply key find the entry of a packet that may insert it.
    #[inline(always)]
    pub(super) fn has_reply<K: EntryKey>(&self, reply: &K) -> bool {
        let Self::Marked(mark) = *self else { return true };
        reply.port_at(mark.end.opposite()).map(Bucket::of_port) == Some(mark.bucket)
    }
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Limits look-ups to entries of this address; to none without one. The entry predicted for the
    /// packet counts only if it is among them.
    #[inline(always)]
    pub fn enter(&mut self, group: Option<Address>) {
        self.look_at(group.map_or(Sight::Nothing, Sight::Of));
    }

    /// The same with the words of a group's key, in a table with that key.
    #[inline]
    pub fn enter_named(&mut self, group: Option<[u64; 5]>) {
        self.look_at(group.map_or(Sight::Nothing, Sight::Named));
    }

    /// Limits look-ups to entries of the bucket of a packet with this mark.
    #[inline(always)]
    pub fn enter_marked(&mut self, mark: Mark) {
        self.look_at(Sight::Marked(mark));
    }

    #[inline(always)]
    pub(super) fn look_at(&mut self, sight: Sight) {
        self.sight = sight;
        let predicted = self.entries.get(self.ahead.entry(self.visit.ahead));
        if predicted.is_some_and(|entry| !self.sees(entry)) {
            core::hint::cold_path();
            self.ahead.drop_predicted(self.visit.ahead);
        }
    }

    /// Whether the entry's group lets keys find it.
    #[inline(always)]
    pub(super) fn sees(&self, entry: &Entry<K, V>) -> bool {
        self.sight == Sight::All || self.is_in_sight(entry)
    }

    // One copy serves all look-ups, to save code size in the NIC's program.
    #[inline(never)]
    fn is_in_sight(&self, entry: &Entry<K, V>) -> bool {
        if let Sight::Marked(mark) = self.sight {
            let its = self.mark_of(&entry.key(), entry.facts.has(Facts::OF_SECOND));
            return its.map(|its| its.bucket) == Some(mark.bucket);
        }
        // Of two equal addresses the first one is the group, as for a new entry.
        self.sight.which(&entry.key()) == Some(entry.facts.has(Facts::OF_SECOND))
    }

    /// The mark of the packets that carry this key of an entry, if ports decide buckets.
    pub(super) fn mark_of(&self, key: &K, of_second: bool) -> Option<Mark> {
        if !matches!(self.sight, Sight::Marked(_)) {
            return None;
        }
        let end = if of_second { End::Destination } else { End::Source };
        Some(Mark { bucket: Bucket::of_port(key.port_at(end)?), end })
    }

    /// Limits look-ups to the group of an entry with this key, if the program has groups. For use
    /// between packets.
    #[inline(always)]
    pub(super) fn see_group_of(&mut self, key: &K, of_second: bool) {
        if self.sight != Sight::All {
            self.look_at_group_of(key, of_second);
        }
    }

    #[inline(never)]
    fn look_at_group_of(&mut self, key: &K, of_second: bool) {
        if let Some(mark) = self.mark_of(key, of_second) {
            self.sight = Sight::Marked(mark);
            return;
        }
        // A key without an address is the group itself.
        let by_address = !matches!(self.sight, Sight::Named(_));
        let group = if by_address { key.group_address(of_second) } else { None };
        self.sight = group.map_or_else(|| Sight::Named(key.words()), Sight::Of);
    }
}
