//! Commutative states: each side updates its own replica, and a merge of the replicas gives the
//! value, independent of the order and the side of the updates.
//!
//! A handler updates and never reads: it would read only one side's part. Of a [`Merged`] state it
//! reads both parts, as of the last merge. [`Sum`] and [`CountMin`]
//! (and [`HeavyPrefixes`], which consists of them) merge by addition, [`Max`] and [`TopK`] by the
//! greater value, [`Latest`] by the later one. [`Sums`] and [`Maxima`] are arrays of them.

mod by_index;
mod count_min;
mod heavy_prefixes;
mod latest;
mod max;
mod merged;
mod sum;
mod top_k;

pub use by_index::{ByIndex, Maxima, Sums};
pub use count_min::CountMin;
pub use heavy_prefixes::HeavyPrefixes;
pub use latest::Latest;
pub use max::Max;
pub use merged::{EPOCH, Merged, Merging, ReadMerged, epoch_end, merged_fit};
pub use sum::Sum;
pub use top_k::TopK;

use super::memory::bytes_for;
use super::{
    Announced, DescribeItem, Described, Home, Kind, Malformed, Memory, OutOfMemory, Visit,
};
use crate::plain::Describe;

/// A replica of a commutative state: an array of units that are exported and merged one by one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not commutative",
    label = "not commutative",
    note = "a `#[state(commutative)]` is made of `Sum`, `Max`, `Sums<N>`, `Maxima<N>`, \
            `CountMin<ROWS, COLUMNS>`, `TopK<Key, N>` and `Latest<Key, Value, SETS>`: replicas of these merge to one value, whatever the order"
)]
pub trait Replica: Sized + 'static {
    /// A replica without updates.
    const EMPTY: Self;
    /// Number of units.
    const UNITS: u32;

    /// Turns zero bytes into a replica without updates, in place.
    fn clear(&mut self);

    /// Encodes a unit to the front of `out` ([`MAX_UNIT`] bytes or more). Returns the number of
    /// bytes.
    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize;

    /// Merges an encoded unit of another replica into this one.
    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed>;

    /// Sets the hash seed for keys; called before the first update. Replicas to be merged have the
    /// same seed. It is secret: a sender could otherwise choose packets that are counted for
    /// another key.
    fn key(&mut self, seed: u64) {
        let _ = seed;
    }

    /// Begins the next packet; all earlier updates are final. Updates can be rolled back only with
    /// `undo`; without it, no undo log is written.
    fn begin(&mut self, undo: bool);

    /// Rolls back the updates since [`Self::begin`], which must have had `undo` set.
    fn rollback(&mut self);

    /// Does what updates left to do later, between two packets: the units are then read sooner.
    fn settle(&mut self) {}

    /// Describes the value.
    fn describe(&self, to: &mut dyn Describe);
}

/// Maximum length in bytes of an encoded unit.
pub const MAX_UNIT: usize = 64;

/// A commutative state: `#[state(commutative)]`.
pub trait Commutative: Replica {
    /// The name of the type.
    const NAME: &'static str;
}

/// The storage of one side's replica.
#[derive(Debug)]
pub struct Replicated<S: 'static> {
    replica: &'static mut S,
}

impl<S: Commutative> Replicated<S> {
    /// Bytes of [`Memory`] that it takes.
    pub const BYTES: usize = bytes_for::<S>(1);

    /// A replica without updates.
    pub fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { replica: empty(memory)? })
    }

    /// The replica.
    #[inline]
    pub const fn value(&mut self) -> &mut S {
        self.replica
    }
}

/// A replica without updates, in this memory.
fn empty<S: Commutative>(memory: &mut Memory) -> Result<&'static mut S, OutOfMemory> {
    let replica: &'static mut S = memory.take_zeroes()?;
    replica.clear();
    replica.key(memory.seed());
    Ok(replica)
}

/// A replica without updates, in the place of this one.
fn empty_again<S: Commutative>(replica: &mut S, seed: u64) {
    *replica = S::EMPTY;
    replica.key(seed);
}

/// Upper bound of the bytes that an export takes.
const fn most_bytes<S: Replica>() -> usize {
    S::UNITS as usize * (1 + MAX_UNIT)
}

/// Bytes of units in one exported piece.
const PIECE: usize = 1024;

/// Units of an empty replica that end a piece: most counters of many are 0, and are not sent.
const GAP: u32 = 8;

/// Reports the replica in pieces: the number of its first unit (4 bytes), then each unit after its
/// length (1 byte). Units of zeroes, as an empty replica has them, add nothing to a merge: those at
/// a piece's ends are left out.
fn export<S: Replica>(replica: &S, piece: &mut dyn FnMut(&[u8])) {
    let mut bytes = [0; 4 + PIECE + 1 + MAX_UNIT];
    // Bytes of the piece, and those up to its last unit that is not of zeroes.
    let (mut used, mut solid) = (4, 4);
    let (mut first, mut zeroes) = (0_u32, 0);
    for unit in 0..S::UNITS {
        let mut one = [0; MAX_UNIT];
        let length = replica.put_unit(unit, &mut one);
        let one = one.get(..length).unwrap_or_default();
        // There is enough space: a piece is sent as soon as another unit might not fit.
        let end = used + 1 + one.len();
        let room = bytes.get_mut(used..end).and_then(<[u8]>::split_first_mut);
        let Some((head, room)) = room else { return };
        *head = one.len() as u8;
        room.iter_mut().zip(one).for_each(|(to, from)| *to = *from);
        used = end;
        let is_zero = one.iter().all(|byte| *byte == 0);
        zeroes = if is_zero { zeroes + 1 } else { 0 };
        solid = if is_zero { solid } else { used };
        if used >= 4 + PIECE || zeroes == GAP || solid == 4 || unit + 1 == S::UNITS {
            if solid > 4 {
                bytes[..4].copy_from_slice(&first.to_le_bytes());
                piece(bytes.get(..solid).unwrap_or_default());
            }
            (used, solid, zeroes) = (4, 4, 0);
            first = unit + 1;
        }
    }
}

/// Merges such a piece into a replica.
fn merge<S: Replica>(replica: &mut S, piece: &[u8]) -> Result<(), Malformed> {
    let (first, mut rest) = piece.split_first_chunk().ok_or(Malformed)?;
    let mut unit = u32::from_le_bytes(*first);
    while let Some((&length, behind)) = rest.split_first() {
        let bytes = behind.get(..usize::from(length)).ok_or(Malformed)?;
        if unit >= S::UNITS {
            return Err(Malformed);
        }
        replica.merge_unit(unit, bytes)?;
        unit += 1;
        rest = behind.get(usize::from(length)..).ok_or(Malformed)?;
    }
    Ok(())
}

impl<S: Commutative> Announced for Replicated<S> {}

impl<S: Commutative> Home for Replicated<S> {
    fn kind(&self) -> Kind {
        Kind::Commutative
    }

    #[inline(always)]
    fn begin(&mut self, visit: Visit) {
        self.replica.begin(visit.undo);
    }

    #[inline]
    fn commit(&mut self, _: bool) {}

    #[inline]
    fn rollback(&mut self) {
        self.replica.rollback();
    }

    fn export(&mut self, _: u64, piece: &mut dyn FnMut(&[u8])) {
        export(self.replica, piece);
    }

    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        merge(self.replica, piece)
    }

    fn entries(&self, _: u64) -> u64 {
        1
    }
}

impl<S: Commutative> Described for Replicated<S> {
    fn describe(&self, _: u64, item: &mut DescribeItem<'_>) {
        item(&[], &mut |to| self.replica.describe(to));
    }

    fn value_bytes(&self) -> Option<usize> {
        Some(most_bytes::<S>())
    }

    fn reset(&mut self, seed: u64) {
        empty_again(self.replica, seed);
    }
}

/// Decodes a unit of one number.
fn number(bytes: &[u8]) -> Result<u64, Malformed> {
    <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::super::memory::leak;
    use super::super::{NO_FLOW, table::prefetch::ALONE};
    use super::*;
    use crate::key::{Address, SourceAddress};

    struct Talkers {
        bytes: Sum,
        longest: Max,
        sketch: CountMin<3, 64>,
        top: TopK<SourceAddress, 4>,
    }

    /// As generated by `#[state(commutative)]`.
    impl Replica for Talkers {
        const EMPTY: Self = Self {
            bytes: Sum::EMPTY,
            longest: Max::EMPTY,
            sketch: CountMin::EMPTY,
            top: TopK::EMPTY,
        };
        const UNITS: u32 = 1 + 1 + 3 * 64 + TopK::<SourceAddress, 4>::UNITS;
        fn clear(&mut self) {
            self.top.clear();
        }
        fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
            match unit {
                0 => self.bytes.put_unit(0, out),
                1 => self.longest.put_unit(0, out),
                2..194 => self.sketch.put_unit(unit - 2, out),
                _ => self.top.put_unit(unit - 194, out),
            }
        }
        fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
            match unit {
                0 => self.bytes.merge_unit(0, bytes),
                1 => self.longest.merge_unit(0, bytes),
                2..194 => self.sketch.merge_unit(unit - 2, bytes),
                _ => self.top.merge_unit(unit - 194, bytes),
            }
        }
        fn key(&mut self, seed: u64) {
            self.sketch.key(seed);
        }
        fn begin(&mut self, undo: bool) {
            self.bytes.begin(undo);
            self.longest.begin(undo);
            self.sketch.begin(undo);
            self.top.begin(undo);
        }
        fn rollback(&mut self) {
            self.bytes.rollback();
            self.longest.rollback();
            self.sketch.rollback();
            self.top.rollback();
        }
        fn describe(&self, _: &mut dyn Describe) {}
    }

    impl Commutative for Talkers {
        const NAME: &'static str = "Talkers";
    }

    fn visit(undo: bool) -> Visit {
        Visit { now: 0, horizon: 0, undo, flow: NO_FLOW, ahead: ALONE }
    }

    fn home() -> Replicated<Talkers> {
        Replicated::create(&mut leak(Replicated::<Talkers>::BYTES)).unwrap()
    }

    fn contents(home: &mut Replicated<Talkers>) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        home.export(0, &mut |piece| pieces.push(piece.to_vec()));
        pieces
    }

    fn update(talkers: &mut Talkers, step: u64) {
        let source = SourceAddress(Address::v4([10, 0, 0, (step * step % 11) as u8]));
        talkers.bytes.add(step);
        talkers.longest.raise(step % 97);
        talkers.sketch.add(&source, step);
        talkers.top.raise(source, step * 7 % 101);
    }

    #[test]
    fn any_split_of_the_updates_merges_to_the_same_value() {
        let mut whole = home();
        for step in 0..500 {
            whole.begin(visit(false));
            update(whole.value(), step);
        }
        let expected = contents(&mut whole);
        for modulus in 2..6 {
            let (mut nic, mut host) = (home(), home());
            for step in 0..500 {
                let side = if step % modulus == 0 { &mut nic } else { &mut host };
                side.begin(visit(false));
                update(side.value(), step);
            }
            for piece in contents(&mut nic) {
                host.merge(&piece).unwrap();
            }
            assert_eq!(contents(&mut host), expected, "modulus {modulus}");
        }
    }

    /// Units of zeroes are left out: nothing else stands in an empty replica, and a merge with them
    /// changes nothing.
    #[test]
    fn what_is_left_out_adds_nothing() {
        let mut some = home();
        some.begin(visit(false));
        update(some.value(), 5);
        let pieces = contents(&mut some);
        assert!(contents(&mut home()).is_empty(), "an empty replica has nothing to tell");
        assert!(pieces.concat().len() < 200, "most of the sketch is left out: {pieces:?}");
        for unit in 0..Talkers::UNITS {
            let mut bytes = [0xff; MAX_UNIT];
            let length = Talkers::EMPTY.put_unit(unit, &mut bytes);
            assert!(bytes[..length].iter().all(|byte| *byte == 0), "unit {unit}");
            let piece = [&unit.to_le_bytes()[..], &[length as u8], &bytes[..length]].concat();
            some.merge(&piece).unwrap();
            assert_eq!(contents(&mut some), pieces, "unit {unit}");
        }
        let mut copy = home();
        for piece in &pieces {
            copy.merge(piece).unwrap();
        }
        assert_eq!(contents(&mut copy), pieces);
    }

    #[test]
    fn a_rolled_back_packet_leaves_no_trace() {
        let mut home = home();
        for step in 0..50 {
            home.begin(visit(false));
            update(home.value(), step);
        }
        home.begin(visit(true));
        let before = contents(&mut home);
        for step in 100..110 {
            update(home.value(), step);
        }
        home.rollback();
        assert_eq!(contents(&mut home), before);
    }

    #[test]
    fn refuses_units_that_are_not_there() {
        let mut home = home();
        assert_eq!(home.merge(&[0xff; 20]), Err(Malformed));
        assert_eq!(home.merge(&[0, 0, 0, 0, 8, 1]), Err(Malformed), "shorter than it says");
        assert_eq!(home.merge(&[0, 0, 0, 0, 3, 1, 1, 1]), Err(Malformed), "not a number");
    }
}
