//! A commutative state that handlers read as of the last merge.
//!
//! Packet time is divided into epochs of [`EPOCH`]. When the first packet of an epoch comes, the
//! replicas of both sides are merged as they are then: that merge has the updates of all packets
//! before the epoch. It is read from the next epoch on, so the sides have one epoch to exchange
//! their replicas. After an epoch without a packet, it is read at once. So what a packet reads
//! depends on packet times alone, and is the same under every plan.

use core::fmt;

use super::{Commutative, export, merge};
use crate::plain::Describe;
use crate::state::memory::bytes_for;
use crate::state::{
    Announced, DescribeItem, Described, Home, Kind, Malformed, Memory, OutOfMemory, Stored, Visit,
};

/// Nanoseconds of packet time between two merges.
pub const EPOCH: u64 = 100_000_000;

/// The end of the epoch that contains this time (ns of packet time).
#[doc(hidden)]
#[must_use]
pub const fn epoch_end(now: u64) -> u64 {
    (now / EPOCH).saturating_add(1).saturating_mul(EPOCH)
}

/// Maximum bytes of all values of a program that are read merged. Each merge sends them whole, and
/// the host keeps its part until the ring to the NIC has room.
const MOST: usize = 1 << 20;

/// Checks the sizes of values that are read merged, for generated code.
///
/// # Panics
/// If they are too large together; in a `const`, that is an error at build time.
#[doc(hidden)]
pub const fn merged_fit(sizes: &[usize]) {
    const MESSAGE: &str = "CORA0146: the states that are read merged have more than 1 MiB together; `cargo cora explain 146` \
                           says more";
    let (mut all, mut at) = (0_usize, 0);
    while at < sizes.len() {
        all = all.saturating_add(sizes[at]);
        at += 1;
    }
    assert!(all <= MOST, "{}", MESSAGE);
}

/// A commutative state that handlers read: `#[state(commutative, merged)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not read as of a merge",
    label = "no merged state",
    note = "write `#[state(commutative, merged)]` on it"
)]
pub trait ReadMerged: Commutative {
    /// Makes this replica equal to another one.
    fn set(&mut self, to: &Self);
}

/// A commutative state as handlers take it that read it: `&mut Merged<S>`, or `&Merged<S>`.
///
/// What [`Self::update`] lends has the updates of one side. What [`Self::merged`] lends has those
/// of both sides, as of the last merge: all updates by packets that came before a multiple of 100
/// ms of packet time, which is between 100 and 200 ms before the packet. If none came between two
/// multiples, it has all updates before that pause. What [`Self::earlier`] lends is the same of 100
/// ms before: the difference is of 100 ms.
pub struct Merged<S: 'static> {
    /// The updates of this side.
    own: &'static mut S,
    /// All updates before the current epoch, once those of the other side have come.
    next: &'static mut S,
    /// The merge that handlers read.
    read: &'static mut S,
    /// The merge of an epoch before that one.
    earlier: &'static mut S,
}

impl<S> fmt::Debug for Merged<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merged").finish_non_exhaustive()
    }
}

impl<S: ReadMerged> Merged<S> {
    /// Bytes of the value.
    #[doc(hidden)]
    pub const SIZE: usize = size_of::<S>();

    /// For updates: this side's replica.
    #[inline(always)]
    pub const fn update(&mut self) -> &mut S {
        self.own
    }

    /// The value of both sides as of the last merge.
    #[inline(always)]
    #[must_use]
    pub const fn merged(&self) -> &S {
        self.read
    }

    /// The value of both sides as it was [`EPOCH`] before the last merge.
    #[inline(always)]
    #[must_use]
    pub const fn earlier(&self) -> &S {
        self.earlier
    }
}

/// A state that is [`Merged`], as the runtime uses it when an epoch begins.
pub trait Merging {
    /// An epoch begins: its merge begins with this side's replica. If it `follows` the epoch
    /// before, the merge of that one is complete, and is read from now on.
    fn cut(&mut self, follows: bool);

    /// Reports this side's replica, piece by piece, for the other side.
    fn tell(&mut self, piece: &mut dyn FnMut(&[u8]));

    /// Maximum bytes that a report has, without what stands before each piece.
    fn most_told(&self) -> usize;

    /// Reports the merge of this epoch as far as it is made, piece by piece, for other shards.
    fn tell_merge(&mut self, piece: &mut dyn FnMut(&[u8]));

    /// Adds a piece of the other side's replica to the merge, or of another shard's merge.
    ///
    /// # Errors
    /// If it is no such piece.
    fn add(&mut self, piece: &[u8]) -> Result<(), Malformed>;

    /// The merge of this epoch is complete, and is read from now on.
    fn show(&mut self);
}

impl<S: ReadMerged> Merging for Merged<S> {
    fn cut(&mut self, follows: bool) {
        self.own.settle();
        if follows {
            core::mem::swap(&mut self.earlier, &mut self.read);
            core::mem::swap(&mut self.read, &mut self.next);
        }
        self.next.set(self.own);
        self.next.begin(false);
    }

    fn tell(&mut self, piece: &mut dyn FnMut(&[u8])) {
        export(self.own, piece);
    }

    fn most_told(&self) -> usize {
        super::most_bytes::<S>()
    }

    fn tell_merge(&mut self, piece: &mut dyn FnMut(&[u8])) {
        export(self.next, piece);
    }

    fn add(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        merge(self.next, piece)
    }

    fn show(&mut self) {
        self.read.set(self.next);
        // No packet came in the epoch before.
        self.earlier.set(self.next);
    }
}

impl<S: ReadMerged> Stored for Merged<S> {
    const NAME: &'static str = S::NAME;
    const KIND: Kind = Kind::Commutative;
    const BYTES: usize = 4 * bytes_for::<S>(1);
    type Home = Self;

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            own: super::empty(memory)?,
            next: super::empty(memory)?,
            read: super::empty(memory)?,
            earlier: super::empty(memory)?,
        })
    }

    #[inline(always)]
    fn borrow(home: &mut Self) -> &mut Self {
        home
    }
}

impl<S: ReadMerged> Announced for Merged<S> {}

impl<S: ReadMerged> Home for Merged<S> {
    fn kind(&self) -> Kind {
        Kind::Commutative
    }

    #[inline(always)]
    fn begin(&mut self, visit: Visit) {
        self.own.begin(visit.undo);
    }

    #[inline]
    fn commit(&mut self, _: bool) {}

    #[inline]
    fn rollback(&mut self) {
        self.own.rollback();
    }

    fn export(&mut self, _: u64, piece: &mut dyn FnMut(&[u8])) {
        export(self.own, piece);
    }

    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        merge(self.own, piece)
    }

    fn entries(&self, _: u64) -> u64 {
        1
    }
}

impl<S: ReadMerged> Described for Merged<S> {
    fn describe(&self, _: u64, item: &mut DescribeItem<'_>) {
        item(&[], &mut |to: &mut dyn Describe| self.own.describe(to));
    }

    fn value_bytes(&self) -> Option<usize> {
        Some(super::most_bytes::<S>())
    }

    fn reset(&mut self, seed: u64) {
        super::empty_again(self.own, seed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::leak;
    use super::super::{Replica, Sum};
    use super::*;
    use crate::state::NO_FLOW;
    use crate::state::table::prefetch::ALONE;
    use std::vec::Vec;

    struct Count(Sum);

    /// As generated by `#[state(commutative, merged)]`.
    impl Replica for Count {
        const EMPTY: Self = Self(Sum::EMPTY);
        const UNITS: u32 = 1;
        fn clear(&mut self) {}
        fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
            self.0.put_unit(unit, out)
        }
        fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
            self.0.merge_unit(unit, bytes)
        }
        fn begin(&mut self, undo: bool) {
            self.0.begin(undo);
        }
        fn rollback(&mut self) {
            self.0.rollback();
        }
        fn describe(&self, _: &mut dyn Describe) {}
    }

    impl Commutative for Count {
        const NAME: &'static str = "Count";
    }

    impl ReadMerged for Count {
        fn set(&mut self, to: &Self) {
            self.0 = to.0;
        }
    }

    fn side() -> Merged<Count> {
        Merged::create(&mut leak(Merged::<Count>::BYTES)).unwrap()
    }

    fn add(side: &mut Merged<Count>, amount: u64) {
        side.begin(Visit { now: 0, horizon: 0, undo: true, flow: NO_FLOW, ahead: ALONE });
        side.update().0.add(amount);
    }

    fn pieces(side: &mut Merged<Count>) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        side.tell(&mut |piece| pieces.push(piece.to_vec()));
        pieces
    }

    /// An epoch begins at both sides.
    fn turn(sides: &mut [Merged<Count>; 2], follows: bool) {
        for side in &mut *sides {
            side.cut(follows);
        }
        let [one, other] = sides;
        let told = [pieces(one), pieces(other)];
        for (from, to) in told.iter().zip([other, one]) {
            for piece in from {
                to.add(piece).unwrap();
            }
        }
        if !follows {
            sides.iter_mut().for_each(Merging::show);
        }
    }

    /// What handlers read at both sides: the merge, and the earlier one.
    fn read(sides: &[Merged<Count>; 2]) -> (u64, u64) {
        let of = |side: &Merged<Count>| (side.merged().0.value(), side.earlier().0.value());
        assert_eq!(of(&sides[0]), of(&sides[1]));
        of(&sides[0])
    }

    #[test]
    fn a_merge_is_read_from_the_next_epoch_on() {
        let mut sides = [side(), side()];
        add(&mut sides[0], 5);
        turn(&mut sides, true);
        assert_eq!(read(&sides), (0, 0));
        add(&mut sides[1], 7);
        turn(&mut sides, true);
        assert_eq!(read(&sides), (5, 0));
        add(&mut sides[0], 100);
        assert_eq!(read(&sides), (5, 0));
        turn(&mut sides, true);
        assert_eq!(read(&sides), (12, 5));
        turn(&mut sides, true);
        assert_eq!(read(&sides), (112, 12));
        turn(&mut sides, true);
        assert_eq!(read(&sides), (112, 112));
    }

    #[test]
    fn after_a_pause_it_is_read_at_once() {
        let mut sides = [side(), side()];
        add(&mut sides[0], 5);
        turn(&mut sides, true);
        add(&mut sides[1], 7);
        turn(&mut sides, false);
        assert_eq!(read(&sides), (12, 12));
        add(&mut sides[0], 1);
        turn(&mut sides, true);
        assert_eq!(read(&sides), (12, 12));
        turn(&mut sides, true);
        assert_eq!(read(&sides), (13, 12));
    }

    #[test]
    fn what_a_packet_takes_back_is_in_no_merge() {
        let mut sides = [side(), side()];
        add(&mut sides[0], 5);
        sides[0].rollback();
        turn(&mut sides, false);
        assert_eq!(read(&sides), (0, 0));
    }
}
