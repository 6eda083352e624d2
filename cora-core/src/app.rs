//! A program as the runtimes see it: its handlers in a chain, and the states they use.
//!
//! `#[flow_handler]` implements [`Handler`]; the file that the build script writes to `OUT_DIR`
//! implements [`App`]. A program names neither.

use crate::key::Key;
use crate::packet::Packet;
use crate::record::{Fields, When};
use crate::state::table::Ending;
#[cfg(not(target_os = "none"))]
use crate::state::{Described, Home, Malformed, Memory, OutOfMemory, Place, Reach, Touched, Visit};
use crate::verdict::Verdict;

/// One handler, as `#[flow_handler]` leaves it behind.
pub trait Handler {
    /// The handler's name: that of its function.
    const NAME: &'static str;
    /// What its parameters after the packet refer to, in order: a tuple of
    /// [`Stored`](crate::state::Stored) types.
    type States;
    /// The parameters themselves: a tuple of references.
    type Parameters<'a>;
    /// Whether its body names the packet: one that doesn't can't tell packets apart.
    const READS_PACKET: bool = true;
    /// Whether it may read what the packet carries: one that takes its
    /// [headers](crate::packet::Headers) can't.
    const READS_PAYLOAD: bool = true;

    /// Runs the handler once. A state out of `R`'s reach ends it as a punt; the durable singletons
    /// that it names are noted.
    fn run<R: Reach>(
        packet: &mut Packet<'_>,
        states: Self::Parameters<'_>,
        touched: &Touched,
    ) -> Verdict;
}

/// The type at a position of [`Handler::States`].
pub trait Nth<const POSITION: usize> {
    /// That type.
    type Type;
}

macro_rules! positions {
    (@one [$($all:ident)*] $position:literal $this:ident) => {
        impl<$($all),*> Nth<$position> for ($($all,)*) {
            type Type = $this;
        }
    };
    (@each $all:tt $($position:literal $this:ident)*) => {
        $(positions!(@one $all $position $this);)*
    };
    ($($position:literal $this:ident)*) => {
        positions!(@each [$($this)*] $($position $this)*);
    };
}

positions!(0 A);
positions!(0 A 1 B);
positions!(0 A 1 B 2 C);
positions!(0 A 1 B 2 C 3 D);
positions!(0 A 1 B 2 C 3 D 4 E);
positions!(0 A 1 B 2 C 3 D 4 E 5 F);
positions!(0 A 1 B 2 C 3 D 4 E 5 F 6 G);
positions!(0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H);

/// What the plan says that the runtimes must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanFacts {
    /// `host-only`, `nic-only` or `split`.
    pub name: &'static str,
    /// Hash of plan, graph and source: both binaries and the shared region carry it.
    pub hash: u64,
    /// Which side runs packets.
    pub sides: Sides,
    /// Packets reach the host in the order of their arrival, even across flows: a state pinned to
    /// the host shows its order of access in results, or a state that travels has reply keys that
    /// its handlers choose.
    pub host_ordered: bool,
    /// Flows need no entry to be owned by the NIC: no state travels.
    pub stateless_flows: bool,
    /// Of 1024 flows, how many the NIC may own.
    pub nic_share: u16,
    /// Packets of a flow that the host handles before it offers the flow to the NIC: 1 offers every
    /// flow after its first, more keeps flows that end sooner from moving in vain.
    pub offer_after: u32,
    /// States that keep the program on one pair of NIC core and host worker, each with the reason:
    /// packets that steering sends to several pairs reach the same of it.
    /// Without one, any number of pairs give the result of one.
    pub one_pair: &'static [(&'static str, &'static str)],
}

/// Which side runs packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    /// The host runs all; the NIC passes packets on.
    HostOnly,
    /// The NIC runs all.
    NicOnly,
    /// Each flow is owned by one side at a time.
    Split,
}

/// A whole program.
pub trait App: Sized + 'static {
    /// Its name: that of its package.
    const NAME: &'static str;
    /// Its plan.
    const PLAN: PlanFacts;
    /// The places of its states, by name.
    const PLACES: &'static [(&'static str, Place)];
    /// Bytes of [`Memory`] that [`Self::new`] takes, at most.
    const MEMORY: usize;
    /// What ownership goes by, the coarsest key of the states that travel, and what packets are
    /// steered to pairs by.
    type Group: Key + Send;
    /// Whether any handler reads packets, or any state finds entries by them. Where none does, a
    /// packet is parsed only if it matters which flow it belongs to.
    const READS_PACKETS: bool = true;
    /// Whether no handler reads more of a packet than its [headers](crate::packet::Headers): then
    /// the host may get the heads of long frames alone.
    const HEADS: bool = false;
    /// Whether any of its states is durable.
    const DURABLE: bool = false;
    /// Whether any of its states is read-mostly.
    const READ_MOSTLY: bool = false;

    /// The numbers of its durable singletons: the host keeps a copy of each.
    const KEPT: &'static [usize] = &[];
    /// The host's states that entries of flows rest on and that are not durable, by name. When the
    /// host half ends, they are lost, and so are all flows: a session whose port pool is gone would
    /// be somebody else's by the next lease.
    const RESTS_ON: &'static [&'static str] = &[];

    /// Whether flows are grouped by an address, under every plan alike: some keyed state has it for
    /// a key, and packets that share an entry of any keyed state share it. A packet then finds the
    /// entries of its own group alone, since those of others may be elsewhere.
    const GROUPED: bool = false;

    /// The numbers of its recorded states.
    const RECORDED: &'static [usize] = &[];

    /// Bytes of its largest [value](crate::state::Stored::VALUE).
    const VALUE: usize = 0;

    /// Makes all states, empty, in `memory`.
    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory>;

    /// Runs the chain of handlers once: from the first to the last for a packet from inside, from
    /// the last to the first for one from outside, like boxes cabled in a row. It goes on while a
    /// handler says [`Transmit`](crate::verdict::Transmit).
    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>) -> Verdict;

    /// Number of states.
    const STATES: usize;

    /// The state with this number, counted as in [`Self::PLACES`].
    fn state(&mut self, number: usize) -> &mut dyn Home;

    /// The same, to report, at the host.
    #[cfg(not(target_os = "none"))]
    fn described(&mut self, number: usize) -> &mut dyn Described;

    /// Whether it has *further* states: those that only packets of flows without an entry need, so
    /// that only these look them up ahead.
    const FURTHER: bool = false;

    /// Calls [`Home::hint`] of every state that isn't further.
    #[inline]
    fn hint(&mut self, number: u8, packet: &Packet<'_>) {
        (0..Self::STATES).for_each(|state| self.state(state).hint(number, packet));
    }

    /// Calls [`Home::guess`] of the same states; whether none of them missed an entry.
    #[inline]
    fn guess(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        (0..Self::STATES).fold(true, |known, state| self.state(state).guess(number, packet) & known)
    }

    /// Calls [`Home::forget`] of every further state.
    fn forget_further(&mut self) {}

    /// Calls [`Home::hint`] of every further state.
    fn hint_further(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Home::guess`] of every further state.
    fn guess_further(&mut self, number: u8, packet: &Packet<'_>) {
        let _ = (number, packet);
    }

    /// Calls [`Home::hint_owner`] of every state that travels.
    fn hint_owner(&self, number: u8) {
        let _ = number;
    }

    /// The first that [`Home::guess_owner`] of a state that travels gives.
    fn guess_owner(&self, number: u8) -> Option<u32> {
        let _ = number;
        None
    }

    /// Calls [`Home::begin`] of every state.
    #[inline]
    fn begin(&mut self, visit: Visit) {
        (0..Self::STATES).for_each(|state| self.state(state).begin(visit));
    }

    /// Where flows are [grouped](Self::GROUPED): calls [`Home::enter`] of every keyed state with
    /// the packet's group, if there is a packet and it has one.
    #[inline]
    fn enter(&mut self, packet: Option<&Packet<'_>>) {
        let _ = packet;
    }

    /// Calls [`Home::commit`] of every state.
    #[inline]
    fn commit(&mut self, undo: bool) {
        (0..Self::STATES).for_each(|state| self.state(state).commit(undo));
    }

    /// Calls [`Home::rollback`] of every state.
    #[inline]
    fn rollback(&mut self) {
        (0..Self::STATES).for_each(|state| self.state(state).rollback());
    }

    /// Whether [`Home::overflowed`] of any state.
    #[inline]
    fn overflowed(&mut self) -> bool {
        (0..Self::STATES).any(|state| self.state(state).overflowed())
    }

    /// Tells which entries of recorded states ended since this was last called, each with its
    /// state's number.
    #[inline]
    fn ended(&mut self, tell: &mut dyn FnMut(u16, Ending<'_>)) {
        let _ = tell;
    }

    /// Tells the record of an entry, encoded in `piece`, of the recorded state with this number;
    /// gives when a packet last found it (ns). Only the host calls it.
    fn record(
        state: usize,
        piece: &[u8],
        when: When,
        fields: &mut dyn Fields,
    ) -> Result<u64, Malformed> {
        let _ = (state, piece, when, fields);
        Err(Malformed)
    }

    /// Makes version 1 of the read-mostly state `name` from text, at the host.
    #[cfg(not(target_os = "none"))]
    fn configure(&mut self, name: &str, text: &str) -> Result<(), ConfigureError>;
}

/// Why a read-mostly state could not be configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigureError {
    /// The program has no read-mostly state of that name.
    NoSuchState,
    /// The text is not what the state's `Configure` wants.
    Refused(&'static str),
}
