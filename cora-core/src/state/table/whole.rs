//! Entries outside of the table: encoded, decoded, visited, installed.

use super::super::{MAX_PIECE, NO_FLOW};
use super::InsertError;
use super::entry::{Entry, Facts, Whole};
use super::raw::RawTable;
use crate::key::Key;
use crate::plain::Plain;

/// Room for most entries.
const SHORT: usize = 256;

impl<K: Key, V: Plain> RawTable<K, V> {
    /// Visits what is alive at `now`.
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

    /// Hands out the encoding of each entry alive at `now`.
    pub fn export(&self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        self.each_entry(now, |number, entry| self.encode_entry(number, entry, piece));
    }

    /// Hands out the encoding of this entry. In one go: as a [`Whole`] in memory it would be read
    /// in other pieces than it is written in, which the processor waits for.
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

    /// Bytes that tell an encoded entry from all others of its table, from the first: its key, and
    /// which of the key's addresses is its group.
    pub const NAME: usize = K::SIZE + 1;
    /// Bytes of an encoded entry.
    pub const PIECE: usize = Self::NAME + K::SIZE + 8 + V::SIZE;

    /// Encodes an entry: its name, reply key, time of last use, value.
    #[inline(always)]
    pub(super) fn encode(whole: &Whole<K, V>, piece: &mut dyn FnMut(&[u8])) {
        const { assert!(Self::PIECE <= MAX_PIECE, "the state's entry is too large") };
        // All the room is zeroed before it is written to.
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

    /// Encodes the name that tells an entry from all others.
    #[inline(always)]
    pub(super) fn put_name(key: &K, of_second: bool, bytes: &mut [u8]) {
        key.put(bytes);
        of_second.put(&mut bytes[K::SIZE..]);
    }

    /// Reads what [`Self::export`] wrote; the bytes come from the other side and are checked.
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

    /// Puts an entry with one key in, which must not be there: less than an insertion takes, of
    /// which there is no record either.
    pub fn add(&mut self, key: K, value: V) -> Result<(), InsertError> {
        let whole = Whole { key, reply: key, used: self.now(), value, of_second: false };
        self.install(&whole, NO_FLOW, self.shape.capacity)
    }

    /// Whether an entry from the other side has expired on its way: nobody will find it, and its
    /// keys may be another's by now.
    pub(super) fn comes_late(&mut self, whole: &Whole<K, V>) -> bool {
        let unused = self.horizon().saturating_sub(whole.used);
        let late = unused >= Self::idle_of(self.shape.idle, &whole.value);
        if late {
            self.note_late(whole);
        }
        late
    }

    /// Puts an entry in that was away: there is always a place for it, though another may have its
    /// key.
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
            self.note_refused(whole);
        }
        installed
    }

    /// Puts an entry from the other side in, with the flow it belongs to, unless there are `most`.
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
        self.place(number, whole);
        if !self.settle(number, hash, second, flow) {
            self.release(number);
            return Err(InsertError::Full);
        }
        if const { V::DURABLE }
            && let Some(entry) = self.entries.get_mut(number)
        {
            // Where it comes from it was told.
            entry.facts = entry.facts.with(Facts::KNOWN);
        }
        Ok(())
    }
}
