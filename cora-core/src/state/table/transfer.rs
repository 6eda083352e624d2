//! Entries that move with their flow: the table's interface for the migration protocol.

use core::any::{Any, TypeId};

use super::super::{Malformed, Memory, NO_FLOW, OutOfMemory};
use super::InsertError;
use super::by_flow::ByFlow;
use super::dirty::Durable;
use super::entry::{Facts, NONE};
use super::group::Sight;
use super::hooked::Hooked;
use super::raw::RawTable;
use crate::bucket::{Bucket, End, Mark};
use crate::key::{EntryKey, InBucket};
use crate::plain::Plain;

/// Why an entry from the other side could not be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// The bytes don't encode an entry.
    Malformed(Malformed),
    /// There is no free place, or its key is taken.
    Refused(InsertError),
}

/// The entries of a table that somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those in so many places, from this one on.
    Places(u32, u32),
    /// The one that the packet with this number in its burst was announced to find, if any.
    Announced(u8),
    /// Those of this flow, at most so many.
    OfFlow(u32, u32),
}

/// A table with entries that move with their flows.
pub trait Travelling {
    /// Allocates the lists for the entries of up to `flows` flows. Until then, entries belong to no
    /// flow.
    fn attach(&mut self, memory: &mut Memory, flows: u32) -> Result<(), OutOfMemory>;

    /// Bytes of [`Memory`] that [`Self::attach`] takes.
    fn attached_bytes(&self, flows: u32) -> usize;

    /// Maximum number of entries.
    fn capacity(&self) -> u32;

    /// Number of entries here, including expired ones that were not noticed yet.
    fn filled(&self) -> u32;

    /// The maximum idle time of entries (ns).
    fn idle(&self) -> u64;

    /// The type of the key.
    fn key_type(&self) -> TypeId;

    /// The flow of the entry that the key finds at `now`, by the prediction for packet `ahead` of
    /// the burst, before its turn. `None` if the key is of another type than the table's keys. With
    /// a bucket, only an entry of that bucket is found.
    fn flow_of(&mut self, key: (&dyn Any, Option<Bucket>), now: u64, ahead: u8) -> Option<u32>;

    /// Whether the flow has entries here, and whether any entry joined a flow since the last call.
    fn look_back(&mut self, flow: u32) -> (bool, bool);

    /// Visits the words of each key that finds an entry of the flow; where ports decide buckets,
    /// [in its bucket](InBucket::words_of).
    fn each_key(&self, flow: u32, visit: &mut dyn FnMut(&[u64; 5]));

    /// Number of entries without a flow, because it could not be stored.
    fn strays(&self) -> u32;

    /// Number of the flow's entries that are alive at `now`.
    fn count_flow(&self, flow: u32, now: u64) -> u32;

    /// Removes entries of the flow and exports those that are alive at `now`, at most `most` of
    /// them. Returns how many; a smaller number means that none is left.
    fn take_out(&mut self, flow: u32, now: u64, most: u32, piece: &mut dyn FnMut(&[u8])) -> u32;

    /// Prefetches for an installation of an entry with this key, if that is the type of the table's
    /// keys.
    fn prefetch_new(&self, key: &dyn Any);

    /// Installs an entry of the flow that the other side exported, unless there are `most` entries
    /// here or it expired during the transfer. Returns the time of its last use.
    fn import_entry(&mut self, piece: &[u8], flow: u32, most: u32) -> Result<u64, ImportError>;

    /// Installs an entry of a flow that returns, as [`Self::import_entry`] does. There is always a
    /// place: if all are occupied, a less needed entry is evicted. Refused only if another entry
    /// has its key by now.
    fn take_back(&mut self, piece: &[u8], flow: u32) -> Result<u64, ImportError>;

    /// Number of evicted entries so far.
    fn evicted(&self) -> u64;

    /// Number of entries that expired so far, as far as that was noticed: an expired entry stands
    /// in its place until somebody wants that, or its time on the wheel has come.
    fn expired(&self) -> u64;

    /// Removes the flow's entries: those that remain have expired, or copies of them went to the
    /// other side.
    fn remove_flow(&mut self, flow: u32);

    /// Visits the entries alive at `now` that are meant: the place, the flow, and the exported
    /// entry. Returns the next place; `None` behind the last one. Entries that come and go
    /// meanwhile are visited or not. Objects are not visited.
    fn list(&self, which: Which, now: u64, visit: &mut dyn FnMut(u32, u32, &[u8])) -> Option<u32> {
        let _ = (which, now, visit);
        None
    }

    /// Removes the entry that these bytes at the beginning of an exported one name, as a handler
    /// does. Returns its flow, or [`NO_FLOW`]; `None` if it is not here.
    fn remove_named(&mut self, name: &[u8]) -> Option<u32> {
        let _ = name;
        None
    }

    /// The same table, if its state is durable.
    fn as_durable(&mut self) -> Option<&mut dyn Durable> {
        None
    }

    /// The same table, if its entries' ends have a hook.
    fn as_hooked(&mut self) -> Option<&mut dyn Hooked> {
        None
    }
}

impl<K: EntryKey, V: Plain> Travelling for RawTable<K, V> {
    fn attach(&mut self, memory: &mut Memory, flows: u32) -> Result<(), OutOfMemory> {
        let (room, made) = (self.entries.capacity(), self.entries.len());
        self.by_flow.strays = self.len();
        self.by_flow.attach(memory, flows, room, made)
    }

    fn attached_bytes(&self, flows: u32) -> usize {
        ByFlow::bytes(flows, self.entries.capacity())
    }

    fn capacity(&self) -> u32 {
        self.shape.capacity
    }

    fn filled(&self) -> u32 {
        self.len()
    }

    fn idle(&self) -> u64 {
        self.shape.idle
    }

    fn key_type(&self) -> TypeId {
        TypeId::of::<K>()
    }

    #[inline]
    fn flow_of(
        &mut self,
        (key, bucket): (&dyn Any, Option<Bucket>),
        now: u64,
        ahead: u8,
    ) -> Option<u32> {
        // Its turn has not begun: until then, the table still holds the previous packet's number.
        self.visit.ahead = ahead;
        if let Some(bucket) = bucket {
            self.look_at(Sight::Marked(Mark { bucket, end: End::Source }));
        }
        let number = self.number_of(key.downcast_ref()?)?;
        let entry = self.entry(number)?;
        let flow = self.by_flow.flow_of(number)?;
        (flow != NO_FLOW && !self.expired_at(entry, now)).then_some(flow)
    }

    #[inline]
    fn look_back(&mut self, flow: u32) -> (bool, bool) {
        (self.by_flow.first(flow) != NONE, self.by_flow.take_joined())
    }

    fn each_key(&self, flow: u32, visit: &mut dyn FnMut(&[u64; 5])) {
        self.each_of(flow, &mut |number| {
            let Some(entry) = self.entry(number) else { return };
            let reply = self.reply_of(number, entry);
            let key = entry.key();
            let mark = self.mark_of(&key, entry.facts.has(Facts::OF_SECOND));
            let words = |key: &K| match mark {
                Some(Mark { bucket, .. }) => InBucket::words_of(key.words(), bucket),
                None => key.words(),
            };
            visit(&words(&key));
            if reply != key {
                visit(&words(&reply));
            }
        });
    }

    fn strays(&self) -> u32 {
        self.by_flow.strays
    }

    fn count_flow(&self, flow: u32, now: u64) -> u32 {
        let mut alive = 0;
        self.each_of(flow, &mut |number| {
            alive +=
                u32::from(self.entry(number).is_some_and(|entry| !self.expired_at(entry, now)));
        });
        alive
    }

    #[inline(never)]
    fn take_out(&mut self, flow: u32, now: u64, most: u32, piece: &mut dyn FnMut(&[u8])) -> u32 {
        let mut given = 0;
        while given < most
            && let Some(entry) = self.entry(self.by_flow.first(flow))
        {
            let number = self.by_flow.first(flow);
            if self.expired_at(entry, now) {
                self.release_expired(number);
            } else {
                self.encode_entry(number, entry, piece);
                given += 1;
                self.release(number);
            }
        }
        given
    }

    fn prefetch_new(&self, key: &dyn Any) {
        // Only the host half calls this. Saves code size in the NIC's program.
        if cfg!(target_os = "none") {
            return;
        }
        if let Some(key) = key.downcast_ref() {
            self.prefetch_new(key);
        }
    }

    fn import_entry(&mut self, piece: &[u8], flow: u32, most: u32) -> Result<u64, ImportError> {
        let whole = Self::decode(piece).ok_or(ImportError::Malformed(Malformed))?;
        if !self.comes_late(&whole, flow) {
            self.install(&whole, flow, most).map_err(ImportError::Refused)?;
        }
        Ok(whole.used)
    }

    fn take_back(&mut self, piece: &[u8], flow: u32) -> Result<u64, ImportError> {
        // Only the host half calls this. Saves code size in the NIC's program.
        if cfg!(target_os = "none") {
            return Err(ImportError::Refused(InsertError::Full));
        }
        let whole = Self::decode(piece).ok_or(ImportError::Malformed(Malformed))?;
        if !self.comes_late(&whole, flow) {
            self.install_again(&whole, flow).map_err(ImportError::Refused)?;
        }
        Ok(whole.used)
    }

    fn evicted(&self) -> u64 {
        self.evicted
    }

    fn expired(&self) -> u64 {
        self.expirations
    }

    fn remove_flow(&mut self, flow: u32) {
        while self.by_flow.first(flow) != NONE {
            self.release_expired(self.by_flow.first(flow));
        }
    }

    #[cold]
    #[inline(never)]
    fn list(&self, which: Which, now: u64, visit: &mut dyn FnMut(u32, u32, &[u8])) -> Option<u32> {
        let made = self.entries.len() as u32;
        let (from, places) = match which {
            Which::Places(from, places) => (from, places),
            Which::Announced(packet) => (self.ahead.entry(packet), 1),
            Which::OfFlow(flow, most) => {
                let mut number = self.by_flow.first(flow);
                for _ in 0..most {
                    self.tell(number, now, visit);
                    number = self.by_flow.next(number);
                }
                return None;
            }
        };
        let until = from.saturating_add(places).min(made);
        for number in from..until {
            self.tell(number, now, visit);
        }
        (until < made).then_some(until)
    }

    #[cold]
    #[inline(never)]
    fn remove_named(&mut self, name: &[u8]) -> Option<u32> {
        let (key, of_second) = name.split_at_checked(K::SIZE)?;
        let (key, of_second) = (K::get(key)?, bool::get(of_second)?);
        self.see_group_of(&key, of_second);
        let flow = self.by_flow.flow_of(self.number_of(&key)?).unwrap_or(NO_FLOW);
        self.remove(&key).map(|_| flow)
    }

    fn as_durable(&mut self) -> Option<&mut dyn Durable> {
        if const { V::DURABLE } { Some(self) } else { None }
    }

    fn as_hooked(&mut self) -> Option<&mut dyn Hooked> {
        if const { V::HOOKED } { Some(self) } else { None }
    }
}

impl<K: EntryKey, V: Plain> RawTable<K, V> {
    /// Visits the entry in this place, if one is there that is alive at `now`.
    fn tell(&self, number: u32, now: u64, visit: &mut dyn FnMut(u32, u32, &[u8])) {
        if let Some(entry) = self.entry(number)
            && !self.expired_at(entry, now)
        {
            let flow = self.by_flow.flow_of(number).unwrap_or(NO_FLOW);
            self.encode_entry(number, entry, &mut |piece| visit(number, flow, piece));
        }
    }

    pub(super) fn each_of(&self, flow: u32, visit: &mut dyn FnMut(u32)) {
        let mut number = self.by_flow.first(flow);
        while number != NONE {
            visit(number);
            number = self.by_flow.next(number);
        }
    }
}
