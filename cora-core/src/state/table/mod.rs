//! Keyed states: fixed capacity, one entry per key, in memory supplied by the caller.
//!
//! ```text
//! index    lines of ten slots; a slot is (16 bits of hash, entry number)
//! entries  key, value, last use; numbered, never moved
//! beside   fields that a hit does not read: links, reply keys that can't be derived
//! wheel    lazy timer wheel: an entry is examined when it would expire if never used again, and
//!          put back if it was used; so expiry neither scans nor touches a line on a hit
//! flows    per flow, a list of its entries, which move with the flow
//! journal  undo log of the current packet's writes, for a punt
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | [`raw`] | the table itself, generic over key and value: insert, remove |
//! | `lookup` | look-up of entries by key |
//! | [`lived`] | values with the time of their insertion, for entries with a `life` |
//! | `index` | keys to entry numbers |
//! | `simd` | ten comparisons at once |
//! | `entry` | one entry, and its links to others |
//! | `numbered` | entries by their numbers |
//! | [`prefetch`] | prefetch for a burst of packets |
//! | `codec` | entries outside of the table: encoded, decoded, installed |
//! | `wheel` | expiry |
//! | `group` | groups of flows by an address |
//! | [`scope`] | groups of flows by a key that the program names |
//! | `evict` | eviction |
//! | `journal` | undo |
//! | [`dirty`] | changed entries of a durable state, to be reported |
//! | `ended` | ended entries of a recorded state |
//! | [`hooked`] | expired entries that wait for their hooks |
//! | `hook_order` | the order of the hooks |
//! | [`apart`] | expired entries of buckets that move |
//! | `transaction` | a packet's run: begin, commit, roll back |
//! | `by_flow` | the entries of a flow, and the flow of an entry |
//! | [`transfer`] | transfer of a flow's entries to the other side |
//!
//! Insert and remove are off the fast path. At the host their parts are inlined into them, which
//! takes a fifth fewer instructions; elsewhere each part is one function (`inline(never)`), to save
//! code size in the NIC's program.

mod announced;
pub mod apart;
pub(super) mod by_flow;
mod codec;
pub mod dirty;
mod ended;
mod entry;
mod evict;
mod group;
mod hook_order;
pub mod hooked;
mod index;
mod journal;
pub mod lived;
mod lookup;
mod numbered;
pub mod prefetch;
pub mod raw;
pub mod scope;
mod simd;
mod transaction;
pub mod transfer;
mod wheel;

pub use apart::{EndedIn, MovingEnds};
pub use dirty::{Change, Durable, Moved};
pub use ended::{Ending, Why};
pub use entry::{Entry, Whole};
pub use hooked::{Ended, Hooked, Waiting};
pub use lived::{Holds, Lived, NEVER};
pub use transfer::{Travelling, Which};

use core::fmt;

use super::{
    DescribeItem, Described, EntryLayout, Home, Keyed, Kind, Malformed, Memory, OutOfMemory,
    Stored, Visit,
};
use crate::bucket::Mark;
use crate::key::{Address, Answer, EntryKey, FiveTuple, Key, PacketKey};
use crate::plain::Plain;
use crate::trace::{Asked, asked};
use crate::verdict::{Reason, Stop, reasons};
use raw::{RawTable, Shape};
use scope::Scope;

/// The kind of key that found an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The key it was inserted under.
    Original,
    /// The key of the reply direction.
    Reply,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Original => Self::Reply,
            Self::Reply => Self::Original,
        }
    }
}

/// The capacity of a table: this number, if it is in range. If it is not, the build script says so.
#[must_use]
pub const fn capacity(number: u64) -> u32 {
    if 1 <= number && number <= 1 << 26 { number as u32 } else { 1 }
}

/// Why an entry could not be inserted. `?` turns it into a drop with that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    /// The number of entries has reached the table's capacity.
    Full,
    /// The reply key belongs to another entry.
    KeyTaken,
    /// The key belongs to another group of flows than the packet.
    ForeignKey,
}

impl From<InsertError> for Reason {
    #[inline]
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Full => reasons::TableFull,
            InsertError::KeyTaken => reasons::KeyTaken,
            InsertError::ForeignKey => reasons::ForeignKey,
        }
    }
}

impl From<InsertError> for Stop {
    #[inline]
    fn from(error: InsertError) -> Self {
        Self::drop(error.into())
    }
}

/// The keys of a state's entries, as entries store them.
pub(crate) type KeyIn<S> = <<S as Keyed>::Scope as Scope<<S as Keyed>::Key>>::Entry;

/// The table of a state.
pub(crate) type RawOf<S> = RawTable<KeyIn<S>, <S as Keyed>::Held>;

/// A keyed state, as a handler uses it.
///
/// An entry lives until it is removed or was unused for its idle time (the state's, or with
/// `idle_by` its own), and with `life` until its insertion is so long ago. Any method here that
/// finds it counts as use. A handler's keys must come from
/// its packet: an entry of another flow may be at the other side. If all keys of a program contain
/// one address, or the state is declared `within` a group, a packet finds only the entries of its
/// own group.
pub struct Table<S: Keyed> {
    pub(crate) raw: RawOf<S>,
    /// The group of the packet that is handled.
    current: <S::Scope as Scope<S::Key>>::Current,
}

impl<S: Keyed> fmt::Debug for Table<S> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct(S::NAME).field("entries", &self.raw.len()).finish_non_exhaustive()
    }
}

impl<S: Keyed> Table<S> {
    /// Both sides hold up to `CAPACITY` entries, and all of them may move to one side. No entry is
    /// used before its insertion, so none outlives its last use by more than its life.
    pub(crate) const SHAPE: Shape = Shape {
        capacity: S::CAPACITY,
        spare: S::CAPACITY,
        idle: if S::LIFE < S::IDLE { S::LIFE } else { S::IDLE },
        reply: S::REPLY,
    };

    /// Bytes per entry, including its share of the index.
    pub const ENTRY_BYTES: usize = RawOf::<S>::bytes(Self::SHAPE) / S::CAPACITY as usize;

    /// The packet belongs to this group, or to none, and finds only entries of that group. Tables
    /// with keys that are not `within` a group don't change.
    #[doc(hidden)]
    #[inline]
    pub fn enter_scope(&mut self, group: Option<<S::Scope as Scope<S::Key>>::Group>) {
        self.current = S::Scope::current(group);
    }

    /// The entry with this key (or reply key).
    #[inline(always)]
    pub fn get(&self, key: &S::Key) -> Option<&S> {
        asked(S::NAME, Asked::Read);
        Some(self.raw.get(&S::Scope::stored(self.current, key)?)?.value())
    }

    /// Whether there is an entry with this key (or reply key).
    #[inline]
    pub fn contains(&self, key: &S::Key) -> bool {
        self.get(key).is_some()
    }

    /// The entry with this key (or reply key), mutable.
    #[inline(always)]
    pub fn get_mut(&mut self, key: &S::Key) -> Option<&mut S> {
        self.find_mut(key).map(|(_, value)| value)
    }

    /// The entry with this key, mutable, and the kind of key that found it.
    #[inline(always)]
    pub fn find_mut(&mut self, key: &S::Key) -> Option<(Direction, &mut S)> {
        asked(S::NAME, Asked::Write);
        let (direction, held) = self.raw.find_mut(&S::Scope::stored(self.current, key)?)?;
        Some((direction, held.value_mut()))
    }

    /// The entry with this key (or reply key), mutable; without one, this value is inserted.
    #[inline]
    pub fn get_or_insert(&mut self, key: S::Key, value: S) -> Result<&mut S, InsertError> {
        // Asked for twice, since the borrow checker does not see that a found entry is returned.
        if self.find_mut(&key).is_none() {
            self.insert(key, value)?;
        }
        S::Scope::with(self.current, &key, |key| self.raw.find_mut(key))
            .flatten()
            .map(|(_, held)| held.value_mut())
            .ok_or(InsertError::Full)
    }

    /// Inserts an entry; an existing entry with this key is overwritten, and its life begins anew.
    /// If the state has `reply`, the reply direction's key finds it too.
    #[inline]
    pub fn insert(&mut self, key: S::Key, value: S) -> Result<(), InsertError> {
        asked(S::NAME, Asked::Insert);
        let inserted = S::Scope::with(self.current, &key, |key| {
            let reply = if S::REPLY { key.reply() } else { None };
            self.raw.insert(*key, reply, S::Held::begin(value, self.raw.now()))
        });
        inserted.unwrap_or(Err(InsertError::ForeignKey))
    }

    /// As [`Self::insert`], with a separate reply key: a NAT's translation. For states with
    /// `reply`.
    #[inline]
    pub fn insert_with_reply(
        &mut self,
        key: S::Key,
        reply: S::Key,
        value: S,
    ) -> Result<(), InsertError> {
        const { assert!(S::REPLY, "declare the state with `reply` to give its entries a second key") };
        asked(S::NAME, Asked::Insert);
        let inserted = S::Scope::with(self.current, &key, |key| {
            S::Scope::with(self.current, &reply, |reply| {
                self.raw.insert(*key, Some(*reply), S::Held::begin(value, self.raw.now()))
            })
        });
        inserted.flatten().unwrap_or(Err(InsertError::ForeignKey))
    }

    /// Removes an entry.
    #[inline]
    pub fn remove(&mut self, key: &S::Key) -> Option<S> {
        asked(S::NAME, Asked::Remove);
        let removed = S::Scope::with(self.current, key, |key| self.raw.remove(key)).flatten();
        removed.map(|held| *held.value())
    }
}

impl<S: Keyed<Key = FiveTuple>> Table<S> {
    /// As [`Self::insert`], with answers from another address, and at the same ports: a load
    /// balancer's. For states with `reply`.
    #[inline]
    pub fn insert_answered_by(
        &mut self,
        key: FiveTuple,
        address: Address,
        value: S,
    ) -> Result<(), InsertError> {
        self.insert_with_reply(key, FiveTuple { source: address, ..key.reversed() }, value)
    }

    /// As [`Self::insert`], with answers to another address and a port of the packet's bucket, or
    /// from another server: a NAT's. For states with `reply` and `bucket = …`.
    #[inline]
    pub fn insert_answered(
        &mut self,
        key: FiveTuple,
        answer: Answer,
        value: S,
    ) -> Result<(), InsertError> {
        const {
            assert!(
                S::BUCKETS_BY.is_some(),
                "say which end's port decides the bucket of its packets: add `bucket = InsidePort` or \
                 `bucket = OutsidePort` to the state"
            );
        };
        self.insert_with_reply(key, answer.key(), value)
    }
}

impl<S: Keyed> Stored for Table<S> {
    const NAME: &'static str = S::NAME;
    const KIND: Kind = Kind::Keyed;
    const BYTES: usize = RawOf::<S>::bytes(Self::SHAPE);
    type Home = Self;

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { raw: RawTable::create(memory, Self::SHAPE)?, current: S::Scope::NOBODY })
    }

    #[inline]
    fn borrow(home: &mut Self) -> &mut Self {
        home
    }
}

/// The keys of a table that packets find, for generated code.
pub trait Told {
    /// Whether the payload of a packet may decide which entries it finds.
    const READS_PAYLOAD: bool;
}

impl<S: Keyed<Key: PacketKey, Scope: Scope<S::Key, Group: PacketKey>>> Told for Table<S> {
    const READS_PAYLOAD: bool =
        S::Key::READS_PAYLOAD || <<S::Scope as Scope<S::Key>>::Group as PacketKey>::READS_PAYLOAD;
}

/// Checks that packets find a table's entries, for generated code.
#[doc(hidden)]
pub const fn told<T: Told>() {}

/// The keys of a table, for generated code.
pub trait KeyOf {
    /// The key of the group that an entry travels with: the table's key, or the group that the
    /// declaration names.
    type Group: Key;
    /// Maximum number of entries.
    const CAPACITY: u32;
}

impl<S: Keyed> KeyOf for Table<S> {
    type Group = <S::Scope as Scope<S::Key>>::Group;
    const CAPACITY: u32 = S::CAPACITY;
}

impl<S: Keyed> Home for Table<S> {
    fn kind(&self) -> Kind {
        Kind::Keyed
    }

    #[inline]
    fn forget(&mut self) {
        self.raw.forget();
    }

    #[inline(always)]
    fn prefetch_owner(&self, number: u8) {
        self.raw.prefetch_owner(number);
    }

    #[inline(always)]
    fn predicted_owner(&self, number: u8) -> Option<u32> {
        self.raw.predicted_owner(number)
    }

    #[inline(always)]
    fn begin(&mut self, visit: Visit) {
        self.raw.begin(visit);
    }

    #[inline(always)]
    fn enter(&mut self, group: Option<Address>) {
        self.raw.enter(group);
    }

    #[inline]
    fn enter_named(&mut self, group: Option<[u64; 5]>) {
        self.raw.enter_named(group);
    }

    #[inline(always)]
    fn enter_marked(&mut self, mark: Mark) {
        self.raw.enter_marked(mark);
    }

    #[inline]
    fn commit(&mut self, undo: bool) {
        self.raw.commit_visit(undo);
    }

    #[inline]
    fn rollback(&mut self) {
        self.raw.rollback();
    }

    fn export(&mut self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        // At time 0 everything is alive: entries that expired unnoticed have a record too.
        let now = if const { S::RECORDED } { 0 } else { now };
        self.raw.export(now, piece);
    }

    fn merge(&mut self, _: &[u8]) -> Result<(), Malformed> {
        Err(Malformed)
    }

    fn is_void(&self) -> bool {
        self.raw.overflowed()
    }

    fn as_travelling(&mut self) -> Option<&mut dyn Travelling> {
        Some(&mut self.raw)
    }

    fn entries(&self, now: u64) -> u64 {
        let mut count = 0;
        self.raw.each_alive(now, &mut |_| count += 1);
        count
    }
}

impl<S: Keyed> Described for Table<S> {
    fn describe(&self, now: u64, item: &mut DescribeItem<'_>) {
        self.raw.each_alive(now, &mut |entry| describe_entry::<S>(entry, item));
    }

    fn layout(&self) -> Option<EntryLayout> {
        Some(EntryLayout {
            key: RawOf::<S>::NAME,
            entry: RawOf::<S>::PIECE,
            value: S::SIZE,
            fields: S::FIELDS,
            before: S::BEFORE,
        })
    }

    fn convert(&self, before: &[u8], value: &mut [u8]) -> bool {
        let converted = S::from_before(before);
        if let Some(converted) = converted {
            converted.put(value);
        }
        converted.is_some()
    }

    fn import(
        &mut self,
        piece: &[u8],
        now: u64,
        item: &mut DescribeItem<'_>,
    ) -> Result<(), Malformed> {
        let entry = RawOf::<S>::decode(piece).ok_or(Malformed)?;
        if !RawOf::<S>::has_ended(Self::SHAPE.idle, &entry, now) {
            describe_entry::<S>(&entry, item);
        }
        Ok(())
    }
}

fn describe_entry<S: Keyed>(entry: &Whole<KeyIn<S>, S::Held>, item: &mut DescribeItem<'_>) {
    let mut name = [0; codec::MOST_NAME];
    RawOf::<S>::put_name(&entry.key, entry.of_second, &mut name);
    item(&name[..RawOf::<S>::NAME], &mut |to| {
        to.open();
        to.field("key");
        entry.key.describe(to);
        if entry.reply != entry.key {
            to.field("reply");
            entry.reply.describe(to);
        }
        to.field("used");
        to.number(u128::from(entry.used));
        if let Some(inserted) = entry.value.inserted() {
            to.field("inserted");
            to.number(u128::from(inserted));
        }
        to.field("value");
        entry.value.value().describe(to);
        to.close();
    });
}
