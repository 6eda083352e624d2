//! Prefetches index lines and entries for the packets of a burst, so that their handlers hit the
//! cache.
//!
//! 1. [`RawTable::prefetch_index`] hashes a packet's key and prefetches its index line.
//! 2. [`RawTable::prefetch_entry`] reads that line and prefetches the entry that it names.
//! 3. When the first packet's turn begins ([`RawTable::begin`]), the second lines have arrived for
//!    keys without a match in their home line. They are read, and the entries that they name are
//!    prefetched.
//! 4. In the packet's turn, its look-up tries that entry first. The entry counts only if it is
//!    alive and has the key, regardless of the packets in between.
//!
//! A table that only packets of unknown flows need is announced for those packets alone, after the
//! stage `prefetch_entry` of the first tables
//! ([`Prefetch::FURTHER`](crate::app::Prefetch::FURTHER)). Its prefetch state of the previous burst
//! is dropped then ([`RawTable::forget`]).

use core::num::NonZeroU64;

use super::entry::NONE;
use super::index::HomeLine;
use super::raw::RawTable;
use crate::hash::FlowHasher;
use crate::key::EntryKey;
use crate::plain::Plain;

/// Maximum number of packets in a burst.
pub const BURST: usize = 32;

/// In place of a packet's number in its burst: the packet was not announced.
pub const ALONE: u8 = u8::MAX;

/// Number of slots: twice a burst, so that every number has a slot without a bounds check, and
/// [`ALONE`] has one that is never filled.
const PLACES: usize = 2 * BURST;

/// The prefetch state of one packet.
#[derive(Clone, Copy, Debug)]
struct Prediction {
    hash: u64,
    /// The index line where its look-up begins.
    home: u32,
    /// The entry that it probably finds.
    entry: u32,
}

impl Prediction {
    /// No key is announced for the packet.
    const NONE: Self = Self { hash: 0, home: u32::MAX, entry: NONE };
}

/// In place of an entry: the key's home line names none. The key itself is then kept.
const MISSED: u32 = NONE - 1;

/// In place of the index's count of insertions: another line may name an entry. No index reaches
/// this count.
const ELSEWHERE: NonZeroU64 = NonZeroU64::MAX;

/// The information in a key's home line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probed {
    /// The key may have an entry; or there is no key.
    Maybe,
    /// If the key has an entry, another line names it.
    Elsewhere,
    /// The key has no entry.
    Nowhere,
}

/// The prefetch state of all packets of the burst.
#[derive(Debug)]
pub(super) struct Ahead<K: EntryKey> {
    predictions: [Prediction; PLACES],
    /// The keys that [`MISSED`], so that an insertion need not hash them again. Beside each, the
    /// index's [`taken`](super::index::Index::taken) count when the key was absent, or
    /// [`ELSEWHERE`].
    missed: [Option<(K::Packed, NonZeroU64)>; BURST],
    /// Bitmap of packets with a second line still to be read.
    elsewhere: u32,
}

/// The predictions of a burst without announcements.
#[cold]
#[inline(never)]
const fn no_predictions() -> [Prediction; PLACES] {
    [Prediction::NONE; PLACES]
}

impl<K: EntryKey> Ahead<K> {
    /// No prefetch state. Filled at run time: a constant would be an image of this size for each
    /// type of key.
    pub(super) fn nothing() -> Self {
        Self { predictions: no_predictions(), missed: [None; BURST], elsewhere: 0 }
    }

    /// The entry that this packet probably finds; an invalid number if there is none.
    #[inline(always)]
    pub(super) fn entry(&self, packet: u8) -> u32 {
        self.predictions[usize::from(packet) % PLACES].entry
    }

    /// Drops the predicted entry of this packet.
    #[inline(never)]
    pub(super) fn drop_predicted(&mut self, packet: u8) {
        self.predictions[usize::from(packet) % PLACES].entry = NONE;
    }

    /// Home line and hash of the announced key, if the packet's predicted entry is this one.
    #[inline(always)]
    pub(super) fn home_of(&self, packet: u8, entry: u32) -> Option<(u32, u64)> {
        let prediction = &self.predictions[usize::from(packet) % PLACES];
        (prediction.entry == entry).then_some((prediction.home, prediction.hash))
    }

    /// The hash of the key, if it was announced for this packet and missed. Also called between
    /// turns, for whichever packet has that number then.
    #[inline]
    pub(super) fn hash_of(&self, packet: u8, key: &K) -> Option<u64> {
        let packet = usize::from(packet);
        let prediction =
            self.predictions.get(packet).filter(|prediction| prediction.entry == MISSED)?;
        let (missed, _) = self.missed.get(packet)?.as_ref()?;
        (K::unpack(missed) == *key).then_some(prediction.hash)
    }

    /// Whether the key is known to be absent from an index with this `taken` count. Results of an
    /// earlier burst are valid too.
    #[inline]
    pub(super) fn is_absent(&self, packet: u8, key: &K, taken: NonZeroU64) -> bool {
        let missed = self.missed.get(usize::from(packet)).and_then(Option::as_ref);
        missed.is_some_and(|(missed, known)| *known == taken && K::unpack(missed) == *key)
    }
}

/// The slot of a packet in a burst. A burst has at most as many packets as slots; the modulo avoids
/// a bounds check.
#[inline(always)]
const fn place(packet: u8) -> usize {
    packet as usize % BURST
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Announces the key that packet `packet` of the burst will look up, if it has one.
    #[inline(always)]
    pub fn prefetch_index(&mut self, packet: u8, key: Option<&K>) {
        self.prefetch_index_at(packet, key.map(|key| self.hash_anew(key)));
    }

    /// Announces the key that the packet carries, by its hash.
    #[inline(always)]
    pub fn prefetch_index_by(
        &mut self,
        number: u8,
        hash: impl FnOnce(&FlowHasher, bool) -> Option<u64>,
    ) {
        self.prefetch_index_at(number, hash(&self.hasher, const { V::UNDIRECTED }));
    }

    #[inline(always)]
    fn prefetch_index_at(&mut self, packet: u8, hash: Option<u64>) {
        let prediction = &mut self.ahead.predictions[place(packet)];
        let Some(hash) = hash else {
            core::hint::cold_path();
            *prediction = Prediction::NONE;
            return;
        };
        *prediction = Prediction { hash, home: self.index.prefetch(hash), entry: NONE };
    }

    /// Prefetches the flow number of the predicted entry.
    #[inline(always)]
    pub(super) fn prefetch_owner(&self, packet: u8) {
        self.by_flow.prefetch_flow(self.ahead.entry(packet));
    }

    /// The flow of the predicted entry. Prefetches the head of the flow's entry list.
    #[inline(always)]
    pub(super) fn predicted_owner(&self, packet: u8) -> Option<u32> {
        self.by_flow.flow_ahead(self.ahead.entry(packet))
    }

    /// Prefetches the entry with this number.
    #[inline(always)]
    pub fn prefetch(&self, number: u32) {
        self.entries.prefetch(number);
    }

    /// Prefetches for an insertion under this key: the home lines of the key and its reply key, and
    /// the next free place.
    #[inline(never)]
    pub fn prefetch_new(&self, key: &K) {
        let packed = key.pack();
        self.index.prefetch(self.hash(&packed));
        if const { !V::UNDIRECTED }
            && let Some(reply) = key.reply()
        {
            self.hash_of_reply(&packed, &reply.pack());
        }
        let next = self.next_place();
        self.entries.prefetch(next);
        self.by_flow.prefetch(next);
    }

    /// Drops all prefetch state.
    #[inline]
    pub fn forget(&mut self) {
        self.ahead.predictions[..BURST].fill(Prediction::NONE);
    }

    /// Looks the announced key up in its home line; `key` returns the key, if there is one. `false`
    /// if that line names no entry for it.
    #[inline(always)]
    pub fn prefetch_entry(&mut self, packet: u8, key: impl FnOnce() -> Option<K>) -> bool {
        self.prefetch_and_probe(packet, key) == Probed::Maybe
    }

    /// The same, with the full result.
    #[inline(always)]
    pub fn prefetch_and_probe(&mut self, packet: u8, key: impl FnOnce() -> Option<K>) -> Probed {
        let prediction = &mut self.ahead.predictions[place(packet)];
        let known = match self.index.probe_home(prediction.home, prediction.hash) {
            HomeLine::Entry(number) => {
                self.entries.prefetch(number);
                prediction.entry = number;
                return Probed::Maybe;
            }
            HomeLine::Elsewhere => {
                self.ahead.elsewhere |= 1 << place(packet);
                self.wheel.call();
                ELSEWHERE
            }
            // The packet has no key.
            HomeLine::Unasked => return Probed::Maybe,
            HomeLine::Nowhere => self.index.taken(),
        };
        let Some(key) = key() else { return Probed::Maybe };
        prediction.entry = MISSED;
        self.ahead.missed[place(packet)] = Some((key.pack(), known));
        if known == ELSEWHERE { Probed::Elsewhere } else { Probed::Nowhere }
    }

    /// Continues the look-ups without a match in the home line: the second lines have arrived
    /// meanwhile.
    pub(super) fn probe_second_lines(&mut self) {
        if self.ahead.elsewhere == 0 {
            return;
        }
        self.wheel.called();
        let mut left = core::mem::take(&mut self.ahead.elsewhere);
        while left != 0 {
            let packet = left.trailing_zeros() as u8;
            left &= left - 1;
            let prediction = &mut self.ahead.predictions[place(packet)];
            // The packet may have been announced again.
            if prediction.entry != MISSED {
                continue;
            }
            match self.index.first(prediction.hash) {
                Some(number) => {
                    self.entries.prefetch(number);
                    prediction.entry = number;
                }
                None => {
                    if let Some((_, known)) = &mut self.ahead.missed[place(packet)] {
                        *known = self.index.taken();
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::leak;
    use super::super::super::{NO_FLOW, Visit};
    use super::super::raw::Shape;
    use super::*;
    use crate::key::{Address, FiveTuple};

    fn key(number: u32) -> FiveTuple {
        let source = Address::v4(number.to_be_bytes());
        let destination = Address::v4([10, 0, 0, 1]);
        FiveTuple { source, destination, source_port: 1, destination_port: 2, protocol: 17 }
    }

    /// For a full table, with many keys in their second lines.
    #[test]
    fn all_is_known_when_the_first_packet_begins() {
        // Enough to fill lines.
        let keys = if cfg!(miri) { 640 } else { 2048 };
        let shape = Shape { capacity: keys, spare: 0, idle: 1 << 40, reply: false };
        let mut memory = leak(RawTable::<FiveTuple, u64>::bytes(shape) + 1024);
        let mut table = RawTable::<FiveTuple, u64>::create(&mut memory, shape).unwrap();
        let visit = |ahead| Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead };
        table.begin(visit(ALONE));
        (0..keys).for_each(|number| table.insert(key(number), None, u64::from(number)).unwrap());
        let mut elsewhere = 0;
        for first in (0..2 * keys).step_by(BURST) {
            let burst = || (0_u8..).zip(first..first + BURST as u32);
            burst().for_each(|(packet, number)| table.prefetch_index(packet, Some(&key(number))));
            for (packet, number) in burst() {
                table.prefetch_entry(packet, || Some(key(number)));
            }
            elsewhere += table.ahead.elsewhere.count_ones();
            table.begin(visit(0));
            for (packet, number) in burst() {
                table.begin(visit(packet));
                let found = table.find_mut(&key(number)).map(|(_, value)| *value);
                assert_eq!(found, (number < keys).then_some(u64::from(number)));
                // Except for keys that share their mark with others.
                let predicted = table.predicted_by_key(&key(number)).is_some();
                let known = predicted || table.is_absent(&key(number));
                assert!(known || table.ahead.entry(packet) < keys);
            }
        }
        assert!(elsewhere > 0);
    }
}
