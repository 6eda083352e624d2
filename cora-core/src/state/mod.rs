//! States: what a handler may keep from one packet to the next.
//!
//! Five kinds, each with its own rule of who may hold it (see the table in `ARCHITECTURE.md`):
//! keyed by the flow key, keyed by a coarser key, singleton, commutative, read-mostly. `#[state]`
//! implements the traits of this module; a program names none of them.

pub mod commutative;
mod generation;
pub mod kept;
pub(crate) mod memory;
mod pinned;
pub mod table;
mod tracked;

pub use commutative::{Commutative, Replica, Replicated};
pub use generation::Generation;
pub use kept::{Changed, Kept, Touched};
#[cfg(test)]
pub(crate) use memory::leak as memory_for_tests;
pub use memory::{Line, MOST_BYTES, Memory, OutOfMemory, bytes_for, largest, within_limit};
pub use pinned::{Pinned, Versioned};
pub use table::Table;
pub use tracked::Tracked;

use crate::key::{Address, Key};
use crate::packet::Packet;
use crate::plain::{Describe, Plain};

/// How a state is declared, which decides who may hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One entry per key.
    Keyed,
    /// One value.
    Singleton,
    /// One replica per side; their merge is the value.
    Commutative,
    /// One copy per side, replaced in whole versions by the control plane.
    ReadMostly,
}

/// Where the plan puts a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Entries live at the side that owns their flow.
    Travels,
    /// Only the NIC holds it.
    Nic,
    /// Only the host holds it.
    Host,
    /// Both sides hold a replica.
    Replica,
}

/// Which states a build of a handler can reach: what is out of reach becomes a punt, and the code
/// behind it vanishes.
pub trait Reach {
    /// Each state's place by name; `None` when every state is in reach.
    const PLACES: Option<&'static [(&'static str, Place)]>;
}

/// The host's view, and a plan's that splits nothing: every state is in reach.
#[derive(Clone, Copy, Debug)]
pub struct EveryState;

impl Reach for EveryState {
    const PLACES: Option<&'static [(&'static str, Place)]> = None;
}

/// Whether state `S` is in reach of `R`; evaluated while compiling.
///
/// # Panics
/// When the plan does not know the state, which fails the build: the build script did not see it.
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

/// What the runtime asks of the thing behind a handler's parameter: a [`Table`], or the state
/// itself for the other kinds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    label = "not a state",
    note = "a handler reaches `&mut Table<S>` for a keyed `#[state(key = …)]`, `&mut S` for a \
            singleton or commutative one, `&S` for a read-mostly one"
)]
pub trait Stored: Sized + 'static {
    /// The state's name: that of its type.
    const NAME: &'static str;
    /// Its kind.
    const KIND: Kind;
    /// Bytes of [`Memory`] that [`Self::create`] takes, at most.
    const BYTES: usize;
    /// Bytes of its value, if it is one that a program makes and hands over (`Default`,
    /// `Configure`): so many are on a stack then, several times over.
    const VALUE: usize = 0;
    /// Whether it is a durable singleton.
    const KEPT: bool = false;
    /// The type that a handler's parameter names and the runtime keeps: `Table<S>` itself, or a
    /// `&'static mut S` in caller-supplied memory.
    type Home: Home;

    /// Makes the state, empty, in `memory`.
    fn create(memory: &mut Memory) -> Result<Self::Home, OutOfMemory>;

    /// The state as a handler's parameter.
    fn borrow(home: &mut Self::Home) -> &mut Self;
}

/// What a packet's run means to the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The packet's time, which idle times are counted in (ns).
    pub now: u64,
    /// No later packet is older than this: what expired before it may be freed. It lags behind
    /// `now` while packets wait for a flow that moves.
    pub horizon: u64,
    /// The run may end in a punt, so what it writes must be recorded.
    pub undo: bool,
    /// The flow that new entries belong to; [`NO_FLOW`] when nothing ever moves.
    pub flow: u32,
    /// The packet's number in its burst, if it was announced ([`Home::hint`]);
    /// [`ALONE`](table::ahead::ALONE) otherwise.
    pub ahead: u8,
}

/// In place of a flow's number: none.
pub const NO_FLOW: u32 = u32::MAX;

/// A stored state, as the runtime handles it: undo, export, merge.
pub trait Home {
    /// Its kind.
    fn kind(&self) -> Kind;

    /// Packet `number` of a burst will come: what it is likely to look up may be fetched.
    fn hint(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// All packets of the burst are announced by [`Self::hint`]: the second step of looking up
    /// ahead, with the same packets. `false` if the packet has a key that probably has no entry.
    fn guess(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        let _ = (number, packet);
        true
    }

    // Called by name only: the NIC's half has no room for what its lists of methods name and it
    // never calls.

    /// Nothing is known ahead any more: of the next burst, not every packet will be announced.
    fn forget(&mut self)
    where
        Self: Sized,
    {
    }

    /// What tells whose the entry is that packet `number` of a burst may find ([`Self::guess`]) may
    /// be fetched.
    fn hint_owner(&self, number: u8)
    where
        Self: Sized,
    {
        let _ = number;
    }

    /// The flow of that entry. What tells whether the flow has entries may be fetched.
    fn guess_owner(&self, number: u8) -> Option<u32>
    where
        Self: Sized,
    {
        let _ = number;
        None
    }

    /// Called once before the packet's handlers.
    fn begin(&mut self, visit: Visit);

    /// Called behind [`Self::begin`] where flows are [grouped](crate::app::App::GROUPED) by an
    /// address: the packet is of this group, or of none, and finds the entries of that alone.
    fn enter(&mut self, group: Option<Address>)
    where
        Self: Sized,
    {
        let _ = group;
    }

    /// The packet is through: what it wrote stays. `undo` is its [visit's](Visit::undo): whoever
    /// knows it when the program is compiled need not ask.
    fn commit(&mut self, undo: bool);

    /// What the packet wrote is undone.
    fn rollback(&mut self);

    /// Hands out what is alive at `now` (of recorded states, all that did not end yet), piece by
    /// piece: one call of `piece` per entry, or chunks of the whole for the other kinds. Each piece
    /// is at most [`MAX_PIECE`] bytes.
    fn export(&mut self, now: u64, piece: &mut dyn FnMut(&[u8]));

    /// Takes in a piece that the same state exported at the other side: a replica's units are
    /// merged, chunks of a whole value replace it. An entry is refused: entries move only with
    /// their flows.
    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed>;

    /// The table behind a keyed state that travels with its flow.
    fn as_travelling(&mut self) -> Option<&mut dyn table::Travelling> {
        None
    }

    /// Whether the packet wrote more than can be taken back, so that it must punt whatever it says.
    fn overflowed(&self) -> bool {
        false
    }

    /// Entries alive at `now`; 1 for states that are not keyed.
    fn entries(&self, now: u64) -> u64;
}

/// A stored state, as a report reads it. Apart from [`Home`], since only the host reports: what
/// formats values is not linked into the NIC half.
pub trait Described: Home {
    /// Describes what is alive at `now`: one call of `item` per entry, with the encoded key to sort
    /// by and a closure that describes the entry; one call with an empty key for the other kinds.
    fn describe(&self, now: u64, item: &mut DescribeItem<'_>);

    /// The same state, if it is a durable singleton.
    fn kept(&mut self) -> Option<&mut dyn Kept> {
        None
    }

    /// How entries are encoded, if the state is keyed; of a durable singleton, how its value is, as
    /// an entry without a key.
    fn layout(&self) -> Option<EntryLayout> {
        None
    }

    /// Of a keyed state: makes a value of one of the type that it was [before](Plain::BEFORE), both
    /// encoded; whether that worked.
    fn convert(&self, before: &[u8], value: &mut [u8]) -> bool {
        let _ = (before, value);
        false
    }

    /// Of a read-mostly state: the version in force has this number from now on.
    fn begin_generation(&mut self, generation: Generation) {
        let _ = generation;
    }

    /// Takes in a piece that the same state exported at the other side, as [`Home::merge`] does; an
    /// entry is described to `item`, not kept.
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

/// How a keyed state's entries are encoded: so many bytes that any build of the program has alike,
/// and then the value's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryLayout {
    /// Bytes that tell an entry from others, from the first: its key, and which address is its
    /// group.
    pub key: usize,
    /// Bytes of the whole entry.
    pub entry: usize,
    /// Bytes of the value, which ends the entry.
    pub value: usize,
    /// The value's [`Plain::FIELDS`].
    pub fields: &'static [(&'static str, usize)],
    /// The value's [`Plain::BEFORE`].
    pub before: &'static [(&'static str, usize)],
}

/// What [`Described::describe`] calls per entry: its encoded key, and a closure that describes it.
pub type DescribeItem<'a> = dyn FnMut(&[u8], &mut dyn FnMut(&mut dyn Describe)) + 'a;

/// Most bytes of a piece in [`Home::export`].
pub const MAX_PIECE: usize = 2048;

/// Bytes from the other side that encode no value of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A keyed state: what `#[state(key = …)]` says.
pub trait Keyed: Plain {
    /// The type of its key.
    type Key: Key;
    /// Its name: that of the type.
    const NAME: &'static str;
    /// Most entries at a time.
    const CAPACITY: u32;
    /// How long an entry lives unused, in nanoseconds of packet time; at most, where entries say it
    /// themselves ([`Plain::IDLE_VARIES`]).
    const IDLE: u64;
    /// Whether an entry is also found by the key of the reply direction.
    const REPLY: bool;
}

/// A singleton: what `#[state(singleton)]` says. It begins as its `Default`.
pub trait Singleton: Plain + Default {
    /// Its name: that of the type.
    const NAME: &'static str;
}

/// A read-mostly state: what `#[state(read_mostly)]` says. Without a configuration it is its
/// `Default`.
#[cfg(not(target_os = "none"))]
pub trait ReadMostly: Plain + Default + Configure {
    /// Its name: that of the type.
    const NAME: &'static str;
}

/// A read-mostly state, as the NIC sees it: the host makes its versions.
#[cfg(target_os = "none")]
pub trait ReadMostly: Plain {
    /// Its name: that of the type.
    const NAME: &'static str;
}

/// How the control plane makes a version of a read-mostly state from text, at the host.
pub trait Configure: Sized {
    /// Parses one whole version; the error says what is wrong and where.
    fn configure(text: &str) -> Result<Self, &'static str>;
}
