//! States: the data that a handler keeps between packets.
//!
//! Eight kinds, each with its own rule for the sides that may hold it (see the table in
//! `ARCHITECTURE.md`): keyed by the flow key, keyed by a coarser key, [objects] of a flow,
//! singleton, [region], per bucket, commutative, read-mostly. `#[state]` implements the traits of
//! this module; a program names none of them.

pub mod commutative;
pub mod configured;
mod divided;
mod generation;
pub mod kept;
pub(crate) mod memory;
pub mod objects;
mod pinned;
mod reads;
pub mod region;
mod region_memory;
pub mod table;
mod tracked;

pub use commutative::{Commutative, Replica, Replicated};
pub use configured::{Acl, Map, Prefixes, Row};
pub use divided::Divided;
pub use generation::Generation;
pub use kept::{Changed, Kept, Touched};
#[cfg(test)]
pub(crate) use memory::leak as memory_for_tests;
pub use memory::{Line, MOST_BYTES, Memory, OutOfMemory, bytes_for, largest, within_limit};
pub use objects::{Id, Object, ObjectError, ObjectState, Objects};
pub use pinned::{Pinned, Versioned};
pub use region::{Region, RegionState};
pub use region_memory::RegionMemory;
pub use table::Table;
pub use tracked::Tracked;

use crate::bucket::{Bucket, BucketsBy, Mark};
use crate::key::{Address, Endpoint, Key};
use crate::packet::Packet;
use crate::plain::{Describe, Plain};

/// The declared kind of a state, which decides the sides that may hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One entry per key.
    Keyed,
    /// One value.
    Singleton,
    /// Items by number.
    Region,
    /// One value per [bucket](crate::bucket).
    PerBucket,
    /// One replica per side; the value is their merge.
    Commutative,
    /// One copy per side, replaced in whole versions by the control plane.
    ReadMostly,
}

/// Where the plan puts a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Entries are on the side that owns their flow.
    Travels,
    /// Only the NIC holds it.
    Nic,
    /// Only the host holds it.
    Host,
    /// Both sides hold a replica.
    Replica,
    /// Each bucket's value is at the side that has the bucket.
    Divided,
    /// The host holds it, and the NIC reads copies of its items.
    Fetched,
}

impl Place {
    /// Whether the host holds all of it, alone.
    #[must_use]
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::Host | Self::Fetched)
    }
}

/// The states that a build of a handler can reach. Access to any other state becomes a punt, and
/// the code after it is eliminated.
pub trait Reach {
    /// The place of each state, by name; `None` if every state is in reach.
    const PLACES: Option<&'static [(&'static str, Place)]>;
    /// Whether the handlers' steps are [noted](crate::trace), in a build of any kind.
    const TRACED: bool = false;
}

/// For the host, and for plans that don't split: every state is in reach.
#[derive(Clone, Copy, Debug)]
pub struct EveryState;

impl Reach for EveryState {
    const PLACES: Option<&'static [(&'static str, Place)]> = None;
}

/// Whether state `S` is in reach of `R`; evaluated at compile time.
///
/// # Panics
/// If the plan does not know the state, which fails the build: the build script did not see it.
pub const fn reaches<R: Reach, S: Stored>() -> bool {
    let Some(places) = R::PLACES else { return true };
    let mut at = 0;
    while at < places.len() {
        if same(places[at].0, S::NAME) {
            return !matches!(places[at].1, Place::Host);
        }
        at += 1;
    }
    panic!("the plan has no place for this state: is it made by a macro, or outside the crate?");
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The object behind a handler's parameter, as the runtime uses it: a [`Table`], or for the other
/// kinds the state itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    label = "not a state",
    note = "a handler reaches `&mut Table<S>` for a keyed `#[state(key = …)]`, `&mut S` for a \
            singleton or commutative one, `&S` for a read-mostly one"
)]
pub trait Stored: Sized + 'static {
    /// The name of the state's type.
    const NAME: &'static str;
    /// The kind of the state.
    const KIND: Kind;
    /// Upper bound of the bytes of [`Memory`] that [`Self::create`] takes.
    const BYTES: usize;
    /// Those of them that hold the items of a region.
    const ITEMS: usize = 0;
    /// Size in bytes of its value, if a program makes and passes one (`Default`, `Configure`): the
    /// stack then holds several such values.
    const VALUE: usize = 0;
    /// Whether it is a durable singleton.
    const KEPT: bool = false;
    /// The object that the runtime keeps: `Table<S>` itself, which a handler's parameter names, or
    /// a `&'static mut S` in supplied memory.
    type Home: Home;

    /// Makes the state, empty, in `memory`.
    fn create(memory: &mut Memory) -> Result<Self::Home, OutOfMemory>;

    /// The state as a handler's parameter.
    fn borrow(home: &mut Self::Home) -> &mut Self;
}

/// The context of a packet's run, for the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The packet's time, which idle times are measured by (ns).
    pub now: u64,
    /// The low watermark: no later packet is older than this, so entries that expired before it may
    /// be freed. It lags behind `now` while packets wait for a flow that moves.
    pub horizon: u64,
    /// The run may end in a punt, so its writes must be logged.
    pub undo: bool,
    /// The flow of new entries; [`NO_FLOW`] if nothing ever moves.
    pub flow: u32,
    /// The packet's number in its burst, if [`Announced::prefetch_index`] announced it;
    /// [`ALONE`](table::prefetch::ALONE) otherwise.
    pub ahead: u8,
}

impl Visit {
    /// For the states of a hook or a timer that bound a packet's updates: the next one's begin.
    #[doc(hidden)]
    pub const OF_A_HOOK: Self =
        Self { now: 0, horizon: 0, undo: false, flow: NO_FLOW, ahead: table::prefetch::ALONE };
}

/// In place of a flow's number: no flow.
pub const NO_FLOW: u32 = u32::MAX;

/// A stored state, as the runtime uses it: undo, export, merge.
pub trait Home {
    /// The kind of the state.
    fn kind(&self) -> Kind;

    // The following are called by name only: a vtable would link their code into the NIC half,
    // which never calls some of them.

    /// Drops all prefetch state: not every packet of the next burst will be announced.
    fn forget(&mut self)
    where
        Self: Sized,
    {
    }

    /// Prefetches the owner of the entry that packet `number` of a burst probably finds
    /// ([`Announced::prefetch_entry`]).
    fn prefetch_owner(&self, number: u8)
    where
        Self: Sized,
    {
        let _ = number;
    }

    /// The flow of that entry. Prefetches the head of the flow's entry list.
    fn predicted_owner(&self, number: u8) -> Option<u32>
    where
        Self: Sized,
    {
        let _ = number;
        None
    }

    /// Called once before the packet's handlers.
    fn begin(&mut self, visit: Visit);

    /// Called after [`Self::begin`] if flows are [grouped](crate::app::Transaction::GROUPED) by an
    /// address. The packet belongs to this group, or to none, and finds only entries of that group.
    fn enter(&mut self, group: Option<Address>)
    where
        Self: Sized,
    {
        let _ = group;
    }

    /// The same with the words of the packet's group, for a table that is keyed by a group that the
    /// program names.
    fn enter_named(&mut self, group: Option<[u64; 5]>)
    where
        Self: Sized,
    {
        let _ = group;
    }

    /// Called after [`Self::begin`] if [ports decide buckets](crate::bucket), or a state is divided
    /// by bucket: the packet is of this one, and finds only what is of that bucket.
    fn enter_marked(&mut self, mark: Mark)
    where
        Self: Sized,
    {
        let _ = mark;
    }

    /// The packet is completed: its writes stay. `undo` is that of the [visit](Visit::undo); a
    /// constant argument avoids the check.
    fn commit(&mut self, undo: bool);

    /// Called after [`Self::commit`] of all states: what was committed is there for others at one
    /// moment.
    #[inline(always)]
    fn publish(&mut self) {}

    /// Undoes the packet's writes.
    fn rollback(&mut self);

    /// Exports the content alive at `now` (for recorded states, all entries that have not ended),
    /// piece by piece: one call of `piece` per entry, or chunks of the whole for the other kinds.
    /// Each piece is at most [`MAX_PIECE`] bytes.
    fn export(&mut self, now: u64, piece: &mut dyn FnMut(&[u8]));

    /// Imports a piece exported by the same state at the other side: units of a replica are merged,
    /// chunks of a whole value replace it. An entry is refused: entries move only with their flows.
    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed>;

    /// Exports the value of a bucket, if the state is divided by bucket, in pieces as
    /// [`Self::export`] does.
    fn export_bucket(&mut self, bucket: Bucket, piece: &mut dyn FnMut(&[u8])) {
        let _ = (bucket, piece);
    }

    /// The bucket whose value an exported piece is of, if the state is divided by bucket.
    fn bucket_of(&self, piece: &[u8]) -> Option<Bucket> {
        let _ = piece;
        None
    }

    /// The table of a keyed state that travels with its flow.
    fn as_travelling(&mut self) -> Option<&mut dyn table::Travelling> {
        None
    }

    /// Whether the run can't stand, so that the packet must punt regardless of its verdict: it
    /// wrote more than can be undone, or it read of several moments. Asked last in a run.
    fn is_void(&self) -> bool {
        false
    }

    /// Number of entries alive at `now`; 1 for states that are not keyed.
    fn entries(&self, now: u64) -> u64;
}

/// A stored state that packets find: what comes before a packet's turn.
pub trait Announced: Home {
    /// Announces packet `number` of a burst: prefetches the index line of its key.
    #[inline(always)]
    fn prefetch_index(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Second prefetch stage, once [`Self::prefetch_index`] announced all packets of the burst,
    /// with the same packets. `false` if the packet has a key that probably has no entry.
    #[inline(always)]
    fn prefetch_entry(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        let _ = (number, packet);
        true
    }
}

/// A stored state, as a report reads it. Separate from [`Home`], since only the host reports:
/// formatting code is not linked into the NIC half.
pub trait Described: Home {
    /// Describes the content alive at `now`: one call of `item` per entry, with the encoded key to
    /// sort by and a closure that describes the entry. For the other kinds, one call with an empty
    /// key.
    fn describe(&self, now: u64, item: &mut DescribeItem<'_>);

    /// The same state, if it is a durable singleton.
    fn kept(&mut self) -> Option<&mut dyn Kept> {
        None
    }

    /// The encoding of entries, if the state is keyed. For a durable singleton, the encoding of its
    /// value, as an entry without a key.
    fn layout(&self) -> Option<EntryLayout> {
        None
    }

    /// For a keyed state: converts an encoded value of its [previous](Plain::BEFORE) type into an
    /// encoded value. Returns whether that succeeded.
    fn convert(&self, before: &[u8], value: &mut [u8]) -> bool {
        let _ = (before, value);
        false
    }

    /// Upper bound of the bytes that an export of its value takes; `None` for states of entries and
    /// read-mostly ones, whose value others know.
    fn value_bytes(&self) -> Option<usize> {
        None
    }

    /// For a commutative state: it is as it was created, with this seed of its
    /// [memory](Memory::with_seed).
    fn reset(&mut self, seed: u64) {
        let _ = seed;
    }

    /// For a read-mostly state: sets the number of the version in force.
    fn begin_generation(&mut self, generation: Generation) {
        let _ = generation;
    }

    /// For a configured table with rows that are services: visits the ends where they are reached.
    fn each_service(&self, visit: &mut dyn FnMut(Endpoint)) {
        let _ = visit;
    }

    /// Imports a piece exported by the same state at the other side, as [`Home::merge`] does. An
    /// entry is only described to `item`, not kept.
    fn import(
        &mut self,
        piece: &[u8],
        now: u64,
        item: &mut DescribeItem<'_>,
    ) -> Result<(), Malformed> {
        let _ = (now, item);
        self.merge(piece)
    }
}

/// The encoding of a keyed state's entries: a prefix that is the same in any build of the program,
/// then the value's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryLayout {
    /// Bytes at the beginning that identify an entry: its key, and which address is its group.
    pub key: usize,
    /// Bytes of the whole entry.
    pub entry: usize,
    /// Bytes of the value, at the end of the entry.
    pub value: usize,
    /// The value's [`Plain::FIELDS`].
    pub fields: &'static [(&'static str, usize)],
    /// The value's [`Plain::BEFORE`].
    pub before: &'static [(&'static str, usize)],
}

/// Called by [`Described::describe`] per entry: the encoded key, and a closure that describes the
/// entry.
pub type DescribeItem<'a> = dyn FnMut(&[u8], &mut dyn FnMut(&mut dyn Describe)) + 'a;

/// Maximum length in bytes of a piece in [`Home::export`].
pub const MAX_PIECE: usize = 2048;

/// Bytes from the other side that don't encode a value of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A keyed state, as declared by `#[state(key = …)]`.
pub trait Keyed: Plain {
    /// The type of its key.
    type Key: Key;
    /// The scope of its keys: [`Everywhere`](table::scope::Everywhere), or the groups that the
    /// declaration names.
    type Scope: table::scope::Scope<Self::Key>;
    /// The name of the type.
    const NAME: &'static str;
    /// Maximum number of entries.
    const CAPACITY: u32;
    /// What its table keeps of a value: the value itself, or with `life` also the time of the
    /// insertion ([`Lived`](table::Lived)).
    type Held: table::Holds<Self>;
    /// The idle time of an entry, in nanoseconds of packet time; the maximum if entries have their
    /// own ([`Plain::IDLE_VARIES`]). [`NEVER`](table::NEVER) if entries stay however long they are
    /// unused.
    const IDLE: u64;
    /// The time from an entry's insertion to its end, used or not (ns of packet time);
    /// [`NEVER`](table::NEVER) if there is no such time.
    const LIFE: u64 = table::NEVER;
    /// Whether an entry is also found by the key of the reply direction.
    const REPLY: bool;
    /// The port that decides the buckets of its packets, if the declaration says so.
    const BUCKETS_BY: Option<BucketsBy> = None;
}

/// A singleton, as declared by `#[state(singleton)]`. Its initial value is its `Default`.
pub trait Singleton: Plain + Default {
    /// The name of the type.
    const NAME: &'static str;
}

/// A value per bucket, as declared by `#[state(per = Bucket)]`. Each begins as `From<Bucket>` makes
/// it.
pub trait PerBucket: Plain + From<Bucket> {
    /// The name of the type.
    const NAME: &'static str;
}

/// A read-mostly state, as declared by `#[state(read_mostly)]`. Without a configuration it is its
/// `Default`.
#[cfg(not(target_os = "none"))]
pub trait ReadMostly: Plain + Default + Configure {
    /// The name of the type.
    const NAME: &'static str;
}

/// A read-mostly state, as the NIC sees it: the host makes its versions.
#[cfg(target_os = "none")]
pub trait ReadMostly: Plain {
    /// The name of the type.
    const NAME: &'static str;
}

/// Makes a version of a read-mostly state from text, for the control plane at the host.
pub trait Configure: Sized {
    /// Parses one whole version. The error gives the fault and its place.
    fn configure(text: &str) -> Result<Self, &'static str>;
}
