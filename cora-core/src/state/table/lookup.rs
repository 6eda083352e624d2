//! Look-up of entries by key.
//!
//! Most packets were announced and carry the key of their entry's insertion: that path is inlined
//! into the handler. The other paths (a reply's key, a second index line, an expired entry) are
//! separate functions, and get a packed copy of the key. So a packet's key lives in registers
//! unless they need it, and is then written in the units that it is read in. `cold_path` marks them
//! as rare, here as in the parser: the compiler would otherwise save registers for them before the
//! branch, for every packet.

use super::Direction;
use super::entry::{Entry, Facts, Whole};
use super::hooked::SHORTEST;
use super::raw::RawTable;
use crate::key::EntryKey;
use crate::plain::Plain;

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Whether entries may expire by themselves.
    pub(super) const EXPIRES: bool = !V::FOREVER || V::IDLE_VARIES;

    /// The value with this key.
    #[inline(always)]
    pub fn get(&self, key: &K) -> Option<&V> {
        if let Some(number) = self.predicted_by_key(key) {
            return self.used_now(number);
        }
        core::hint::cold_path();
        self.get_unguessed(&key.pack())
    }

    /// The same without a usable prediction.
    #[inline(never)]
    fn get_unguessed(&self, key: &K::Packed) -> Option<&V> {
        let key = &K::unpack(key);
        let number = self.number_of(key)?;
        if self.expired(self.entries.get(number)?) {
            return None;
        }
        self.used_now(number)
    }

    /// The value of the entry with this number, which counts as used.
    #[inline(always)]
    fn used_now(&self, number: u32) -> Option<&V> {
        let entry = self.entries.get(number)?;
        entry.used_at(self.visit.now);
        Some(&entry.value)
    }

    /// The value with this key, mutable, and the kind of key that found it.
    #[inline(always)]
    pub fn find_mut(&mut self, key: &K) -> Option<(Direction, &mut V)> {
        if let Some(number) = self.predicted_by_key(key) {
            return self.handed_out(number, Direction::Original);
        }
        core::hint::cold_path();
        self.find_otherwise(&key.pack())
    }

    /// The same if the predicted entry does not have this first key. Separate from
    /// `find_unguessed`, so that a known miss uses no more registers. Inlined at the host, which
    /// saves a seventh of a miss's instructions; not at the NIC, to save code size.
    #[cfg_attr(target_arch = "x86_64", inline(always))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    fn find_otherwise(&mut self, key: &K::Packed) -> Option<(Direction, &mut V)> {
        if self.is_absent(&K::unpack(key)) {
            return None;
        }
        self.find_unguessed(key)
    }

    /// The value of the entry with this number, mutable, and the kind of key that found it.
    #[inline(always)]
    fn handed_out(&mut self, number: u32, found: Direction) -> Option<(Direction, &mut V)> {
        if self.visit.undo {
            return if self.note_change(number) { self.changing(number, found) } else { None };
        }
        if const { V::DURABLE } {
            self.note(number);
        }
        self.changing(number, found)
    }

    /// The same, once the old value is logged.
    #[inline(always)]
    fn changing(&mut self, number: u32, found: Direction) -> Option<(Direction, &mut V)> {
        if const { V::IDLE_VARIES } {
            self.touch(number);
        }
        let entry = self.entries.get_mut(number)?;
        entry.used_at(self.visit.now);
        Some((found, &mut entry.value))
    }

    /// The entry that the key finds, expired or not, and the kind of key.
    #[inline]
    pub fn find(&self, key: &K) -> Option<(u32, Direction)> {
        match self.predicted(key) {
            None if self.is_absent(key) => None,
            None => self.find_by(self.hash(&key.pack()), key),
            found => found,
        }
    }

    /// The same if the key may be present.
    #[inline(never)]
    fn find_unguessed(&mut self, key: &K::Packed) -> Option<(Direction, &mut V)> {
        let (number, direction) = self.find_alive(&K::unpack(key))?;
        self.handed_out(number, direction)
    }

    /// Whether the prefetch stages found that no entry has the key.
    #[inline(always)]
    pub(super) fn is_absent(&self, key: &K) -> bool {
        self.ahead.is_absent(self.visit.ahead, key, self.index.taken())
    }

    /// The predicted entry, if it is alive, expired or not.
    #[inline(always)]
    fn predicted_any(&self) -> Option<(u32, &Entry<K, V>)> {
        let predicted = self.ahead.entry(self.visit.ahead);
        let Some(entry) = self.entries.get(predicted) else {
            core::hint::cold_path();
            return None;
        };
        if !entry.is_alive() {
            core::hint::cold_path();
            return None;
        }
        Some((predicted, entry))
    }

    /// The predicted entry, if it has not expired and this is the key of its insertion.
    // Expiry is checked last, right before the use is recorded: both share one comparison.
    #[inline(always)]
    pub(super) fn predicted_by_key(&self, key: &K) -> Option<u32> {
        let (predicted, entry) = self.predicted_any()?;
        if entry.key() != *key || self.expired(entry) {
            core::hint::cold_path();
            return None;
        }
        Some(predicted)
    }

    /// The predicted entry, if it has the key and has not expired, and the kind of key.
    #[inline]
    fn predicted(&self, key: &K) -> Option<(u32, Direction)> {
        let (predicted, entry) = self.predicted_any().filter(|(_, entry)| !self.expired(entry))?;
        self.is(predicted, entry, key).map(|direction| (predicted, direction))
    }

    /// The entry that the key finds; an expired one is freed instead.
    #[inline]
    pub(super) fn find_unexpired(&mut self, hash: u64, key: &K) -> Option<(u32, Direction)> {
        let (number, direction) = self.find_by(hash, key)?;
        if self.entries.get(number).is_some_and(|entry| self.expired(entry)) {
            self.release_expired(number);
            return None;
        }
        Some((number, direction))
    }

    #[inline]
    fn find_by(&self, hash: u64, key: &K) -> Option<(u32, Direction)> {
        let mut found = Direction::Original;
        let number = self.index.find(hash, &mut |number| {
            let entry = self.entries.get(number);
            let direction = entry.and_then(|entry| {
                // The group is checked last: most entries with an equal hash have the key, and most
                // tables have no groups.
                self.is(number, entry, key).filter(|_| self.sees(entry))
            });
            found = direction.unwrap_or(found);
            direction.is_some()
        })?;
        Some((number, found))
    }

    /// Whether the key is one of the entry's, and which.
    #[inline(always)]
    fn is(&self, number: u32, entry: &Entry<K, V>, key: &K) -> Option<Direction> {
        if entry.key() == *key {
            return Some(Direction::Original);
        }
        let reply = if const { V::UNDIRECTED } {
            entry.key().reply().as_ref() == Some(key)
        } else {
            self.is_reply(number, entry, key)
        };
        reply.then_some(Direction::Reply)
    }

    /// Whether the key is the entry's reply key. Not inlined, to save registers.
    #[inline(never)]
    fn is_reply(&self, number: u32, entry: &Entry<K, V>, key: &K) -> bool {
        if entry.facts.has(Facts::REVERSED) {
            entry.key().reply().as_ref() == Some(key)
        } else {
            entry.facts.has(Facts::OWN_REPLY) && self.replies.get(number) == Some(key)
        }
    }

    /// The entry that the key finds, and the kind of key; an expired one is freed instead.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn find_alive(&mut self, key: &K) -> Option<(u32, Direction)> {
        self.predicted(key).or_else(|| self.find_unexpired(self.hash(&key.pack()), key))
    }

    #[inline(always)]
    fn expired(&self, entry: &Entry<K, V>) -> bool {
        self.expired_at(entry, self.visit.now)
    }

    /// Whether the entry is invisible at `now`.
    #[inline(always)]
    pub(super) fn expired_at(&self, entry: &Entry<K, V>, now: u64) -> bool {
        if const { !Self::EXPIRES } {
            return false;
        }
        if const { V::LIVES } && now >= entry.value.dies() {
            return true;
        }
        let unused = now.checked_sub(entry.used.get());
        unused.is_some_and(|unused| unused >= Self::idle_of(self.shape.idle, &entry.value))
    }

    /// Whether an entry outside of the table has ended at `now`; `longest` is the longest idle
    /// time.
    #[inline(always)]
    pub(crate) fn has_ended(longest: u64, whole: &Whole<K, V>, now: u64) -> bool {
        let unused = now.saturating_sub(whole.used);
        let is_over = const { V::LIVES } && now >= whole.value.dies();
        is_over || unused >= Self::idle_of(longest, &whole.value)
    }

    /// The idle time (ns) of an entry with this value; `longest` is the table's maximum. Never
    /// zero: an entry survives its own packet.
    #[inline(always)]
    pub(crate) fn idle_of(longest: u64, value: &V) -> u64 {
        if const { !V::IDLE_VARIES } {
            return longest;
        }
        let idle = value.idle_time();
        let seconds = idle.as_secs().saturating_mul(1_000_000_000);
        let shortest = if const { V::HOOKED } { SHORTEST } else { 1 };
        // Not `clamp`, which panics if the bounds are the wrong way round.
        seconds.saturating_add(u64::from(idle.subsec_nanos())).min(longest).max(shortest)
    }

    /// The key's hash, computed.
    #[inline(always)]
    pub(super) fn hash_anew(&self, key: &K) -> u64 {
        key.hash(&self.hasher, const { V::UNDIRECTED })
    }

    /// The key's hash for insertions and removals, off the fast path of hits. A packed key is read
    /// in the units that it was written in.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(super) fn hash(&self, key: &K::Packed) -> u64 {
        let key = K::unpack(key);
        let known = self.ahead.hash_of(self.visit.ahead, &key);
        known.unwrap_or_else(|| self.hash_anew(&key))
    }
}
