//! Entries outside of the table: encoded, decoded, visited, installed.

use super::super::{MAX_PIECE, NO_FLOW};
use super::InsertError;
use super::entry::{Entry, Facts, Whole};
use super::raw::RawTable;
use crate::key::EntryKey;
use crate::plain::Plain;

/// Buffer size that suffices for most entries.
const SHORT: usize = 256;
/// Buffer size for the name of an entry: a key within a group has at most 80 bytes.
pub(super) const MOST_NAME: usize = 96;

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Visits the entries alive at `now`.
    pub fn each_alive(&self, now: u64, visit: &mut dyn FnMut(&Whole<K, V>)) {
        self.each_entry(now, |number, entry| visit(&self.whole(number, entry)));
    }

    fn each_entry(&self, now: u64, mut visit: impl FnMut(u32, &Entry<K, V>)) {
        for number in 0..self.entries.len() as u32 {
            if let Some(entry) = self.entry(number)
                && !self.expired_at(entry, now)
            {
                visit(number, entry);
            }
        }
    }

    /// Exports the encoding of each entry alive at `now`.
    pub fn export(&self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        self.each_entry(now, |number, entry| self.encode_entry(number, entry, piece));
    }

    /// Exports the encoding of this entry. Inlined encoding: a [`Whole`] in memory would be read in
    /// other units than it is written in, which stalls on store forwarding.
    #[inline(never)]
    pub(super) fn encode_entry(
        &self,
        number: u32,
        entry: &Entry<K, V>,
        piece: &mut dyn FnMut(&[u8]),
    ) {
        Self::encode(&self.whole(number, entry), piece);
    }

    #[inline(always)]
    pub(super) fn whole(&self, number: u32, entry: &Entry<K, V>) -> Whole<K, V> {
        let reply = self.reply_of(number, entry);
        let of_second = entry.facts.has(Facts::OF_SECOND);
        Whole { key: entry.key(), reply, used: entry.used.get(), value: entry.value, of_second }
    }

    /// Bytes at the beginning of an encoded entry that identify it in its table: its key, and which
    /// of the key's addresses is its group.
    pub const NAME: usize = {
        assert!(K::SIZE < MOST_NAME, "the state's key is too long");
        K::SIZE + 1
    };
    /// Bytes of an encoded entry.
    pub const PIECE: usize = Self::NAME + K::SIZE + 8 + V::SIZE;

    /// Encodes an entry: its name, reply key, time of last use, value.
    #[inline(always)]
    pub(super) fn encode(whole: &Whole<K, V>, piece: &mut dyn FnMut(&[u8])) {
        const { assert!(Self::PIECE <= MAX_PIECE, "the state's entry is too large") };
        // The whole buffer is zeroed before it is written to, so a short one is cheaper.
        if const { Self::PIECE <= SHORT } {
            Self::encode_in([0; SHORT], whole, piece);
        } else {
            Self::encode_in([0; MAX_PIECE], whole, piece);
        }
    }

    #[inline(always)]
    fn encode_in<const ROOM: usize>(
        mut bytes: [u8; ROOM],
        whole: &Whole<K, V>,
        piece: &mut dyn FnMut(&[u8]),
    ) {
        Self::put_name(&whole.key, whole.of_second, &mut bytes);
        whole.reply.put(&mut bytes[Self::NAME..]);
        whole.used.put(&mut bytes[Self::NAME + K::SIZE..]);
        whole.value.put(&mut bytes[Self::NAME + K::SIZE + 8..]);
        piece(&bytes[..Self::PIECE]);
    }

    /// Encodes the name that identifies an entry.
    #[inline(always)]
    pub(super) fn put_name(key: &K, of_second: bool, bytes: &mut [u8]) {
        key.put(bytes);
        of_second.put(&mut bytes[K::SIZE..]);
    }

    /// Decodes an entry written by [`Self::export`]. The bytes come from the other side and are
    /// validated.
    #[inline(never)]
    pub fn decode(bytes: &[u8]) -> Option<Whole<K, V>> {
        if bytes.len() != Self::PIECE {
            return None;
        }
        Some(Whole {
            key: K::get(bytes)?,
            of_second: bool::get(bytes.get(K::SIZE..)?)?,
            reply: K::get(bytes.get(Self::NAME..)?)?,
            used: u64::get(bytes.get(Self::NAME + K::SIZE..)?)?,
            value: V::get(bytes.get(Self::NAME + K::SIZE + 8..)?)?,
        })
    }

    /// Inserts an entry with one key, which must be absent. Cheaper than an insertion, without a
    /// log record.
    pub fn add(&mut self, key: K, value: V) -> Result<(), InsertError> {
        let whole = Whole { key, reply: key, used: self.now(), value, of_second: false };
        self.install(&whole, NO_FLOW, self.shape.capacity)
    }

    /// Whether an entry from the other side expired during its transfer. Nobody will find it, and
    /// other entries may have its keys by now.
    pub(super) fn comes_late(&mut self, whole: &Whole<K, V>, flow: u32) -> bool {
        let late = Self::has_ended(self.shape.idle, whole, self.horizon());
        if late {
            self.note_late(whole, flow);
        }
        late
    }

    /// Installs an entry that was away. There is always a place for it, but another entry may have
    /// its key.
    #[inline(never)]
    pub(super) fn install_again(
        &mut self,
        whole: &Whole<K, V>,
        flow: u32,
    ) -> Result<(), InsertError> {
        let mut installed = self.install(whole, flow, u32::MAX);
        if installed == Err(InsertError::Full) && self.evict_for_returning(flow) {
            installed = self.install(whole, flow, u32::MAX);
        }
        if installed.is_err() {
            self.note_refused(whole, flow);
        }
        installed
    }

    /// Installs an entry from the other side with its flow, unless there are `most` entries.
    #[inline(never)]
    pub fn install(
        &mut self,
        whole: &Whole<K, V>,
        flow: u32,
        most: u32,
    ) -> Result<(), InsertError> {
        self.see_group_of(&whole.key, whole.of_second);
        let (key, reply) = (whole.key.pack(), whole.reply.pack());
        let (hash, second) = (self.hash(&key), self.hash_of_reply(&key, &reply));
        if self.find_unexpired(hash, &whole.key).is_some()
            || second.is_some_and(|second| self.find_unexpired(second, &whole.reply).is_some())
        {
            return Err(InsertError::KeyTaken);
        }
        let number = self.next_below(most).ok_or(InsertError::Full)?;
        self.store(number, whole);
        if !self.link(number, hash, second, flow) {
            self.release(number);
            return Err(InsertError::Full);
        }
        if const { V::DURABLE }
            && let Some(entry) = self.entries.get_mut(number)
        {
            // The side that it comes from reported it.
            entry.facts = entry.facts.with(Facts::KNOWN);
        }
        Ok(())
    }
}
