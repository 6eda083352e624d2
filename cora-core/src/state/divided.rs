//! Storage of a state with a value per [bucket](crate::bucket).
//!
//! A packet reaches the value of its own bucket and no other, so the values are as good as 256
//! programs' own: it makes no difference which of them are on one shard.
//!
//! As of a [singleton](super::Pinned), the values are made in place, need no undo, and a durable
//! state reports its changed blocks. Only values that a packet named since the last report are
//! compared.

use core::ops::Range;

#[cfg(doc)]
use super::Stored;
use super::kept::{BLOCK, Changed, Kept};
use super::memory::bytes_for;
use super::{
    Announced, DescribeItem, Described, EntryLayout, Home, Kind, Malformed, Memory, OutOfMemory,
    PerBucket, Visit,
};
use crate::bucket::{Bucket, Mark};
use crate::plain::{Describe, Plain};

/// Bytes of value in one exported piece, which begins with its offset (4 bytes).
const CHUNK: usize = 1024;

/// A bit per bucket.
type Buckets = [u64; Bucket::COUNT / 64];

/// A value per bucket, with a buffer for their encodings.
#[derive(Debug)]
pub struct Divided<S: 'static> {
    values: &'static mut [S; Bucket::COUNT],
    /// The bucket of the packet that is handled.
    current: Bucket,
    /// For a durable state: the encodings at the last scan for changes, one behind the other.
    encoded: &'static mut [u64],
    /// Blocks of it that changed and were not reported yet; empty for other states.
    changed: &'static mut [u64],
    /// Values that a handler may have changed since the last scan.
    touched: Buckets,
    /// They were reported whole, so changes suffice from now on.
    told: bool,
    /// Number of scans for changes of each value; empty for other states.
    looks: &'static mut [u64],
    /// The encoding of a value that comes piece by piece. It is no part of `encoded` before it is
    /// whole: a scan in between would mix it with the value that it replaces.
    coming: &'static mut [u64],
    /// The bytes of it that came, by their places among those of all values.
    came: Range<usize>,
}

impl<S: PerBucket> Divided<S> {
    const SIZE: usize = S::SIZE * Bucket::COUNT;
    const CHANGED: usize = if S::DURABLE { Changed::words(Self::SIZE) } else { 0 };
    const LOOKS: usize = if S::DURABLE { Bucket::COUNT } else { 0 };

    /// Bytes of [`Memory`] that it takes.
    pub const BYTES: usize = bytes_for::<[S; Bucket::COUNT]>(1)
        + bytes_for::<u64>(Self::SIZE.div_ceil(8))
        + bytes_for::<u64>(Self::CHANGED)
        + bytes_for::<u64>(Self::LOOKS)
        + bytes_for::<u64>(S::SIZE.div_ceil(8));

    /// The values as their buckets' `From` makes them; on bare metal as zeroes, until the host
    /// sends them.
    pub fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let values: &'static mut [S; Bucket::COUNT] = memory.take_zeroes()?;
        #[cfg(not(target_os = "none"))]
        for (value, bucket) in values.iter_mut().zip(Bucket::all()) {
            *value = S::from(bucket);
        }
        Ok(Self {
            values,
            current: Bucket::default(),
            encoded: memory.take_u64(Self::SIZE.div_ceil(8))?,
            changed: memory.take_u64(Self::CHANGED)?,
            looks: memory.take_u64(Self::LOOKS)?,
            coming: memory.take_u64(S::SIZE.div_ceil(8))?,
            came: 0..0,
            touched: ALL,
            told: false,
        })
    }

    /// The value of the packet's bucket, for a caller that may write it.
    #[inline]
    pub const fn value(&mut self) -> &mut S {
        &mut self.values[self.current.number()]
    }

    /// The value of the packet's bucket. A caller that writes it must call [`Self::touch`].
    #[inline]
    pub const fn lend(&mut self) -> &mut S {
        self.value()
    }

    /// A handler may have written the value of the packet's bucket.
    #[inline]
    pub const fn touch(&mut self) {
        self.touch_at(self.current.number());
    }

    #[inline]
    const fn touch_at(&mut self, number: usize) {
        self.touched[number / 64] |= 1 << (number % 64);
    }

    /// The bytes of a bucket's value in the encoding of all.
    fn part(encoded: &mut [u64], number: usize) -> &mut [u8] {
        let bytes = zerocopy::IntoBytes::as_mut_bytes(encoded);
        bytes.get_mut(number * S::SIZE..(number + 1) * S::SIZE).unwrap_or_default()
    }

    /// Encodes the value of this bucket. For a durable state that was reported, marks the changes.
    fn encode(&mut self, number: usize) {
        let (Some(value), part) = (self.values.get_mut(number), Self::part(self.encoded, number))
        else {
            return;
        };
        match self.looks.get_mut(number) {
            Some(looks) if self.told => {
                *looks += 1;
                let mut changed = Changed::new(self.changed, *looks);
                value.put_changed(part, number * S::SIZE, &mut changed);
            }
            _ => value.put(part),
        }
    }

    /// The bucket whose value a piece is of; `None` if it is malformed.
    fn bucket_at(offset: usize) -> Option<Bucket> {
        let number = offset.checked_div(S::SIZE)?;
        u8::try_from(number).ok().map(Bucket::new)
    }
}

/// Every bucket.
const ALL: Buckets = [u64::MAX; Bucket::COUNT / 64];

/// The offset of an exported piece, and its bytes.
fn split(piece: &[u8]) -> Result<(usize, &[u8]), Malformed> {
    let (offset, bytes) = piece.split_first_chunk().ok_or(Malformed)?;
    Ok((u32::from_le_bytes(*offset) as usize, bytes))
}

impl<S: PerBucket> Announced for Divided<S> {}

impl<S: PerBucket> Home for Divided<S> {
    fn kind(&self) -> Kind {
        Kind::PerBucket
    }

    #[inline]
    fn begin(&mut self, _: Visit) {}
    #[inline]
    fn commit(&mut self, _: bool) {}
    #[inline]
    fn rollback(&mut self) {}

    #[inline(always)]
    fn enter_marked(&mut self, mark: Mark) {
        self.current = mark.bucket;
    }

    fn export(&mut self, _: u64, piece: &mut dyn FnMut(&[u8])) {
        Bucket::all().for_each(|bucket| self.export_bucket(bucket, piece));
    }

    fn export_bucket(&mut self, bucket: Bucket, piece: &mut dyn FnMut(&[u8])) {
        let mut chunk = [0; 4 + CHUNK];
        let number = bucket.number();
        self.encode(number);
        let part = Self::part(self.encoded, number);
        for (nth, bytes) in part.chunks(CHUNK).enumerate() {
            let (offset, room) = chunk.split_at_mut(4);
            let at = number * S::SIZE + nth * CHUNK;
            offset.copy_from_slice(&(at as u32).to_le_bytes());
            if let Some(place) = room.get_mut(..bytes.len()) {
                place.copy_from_slice(bytes);
            }
            piece(chunk.get(..4 + bytes.len()).unwrap_or_default());
        }
    }

    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        let (offset, bytes) = split(piece)?;
        let number = Self::bucket_at(offset).ok_or(Malformed)?.number();
        let begin = number * S::SIZE;
        if offset == begin {
            self.came = begin..begin;
        }
        // Behind the piece before.
        if self.came.start != begin || self.came.end != offset {
            return Err(Malformed);
        }
        let coming = zerocopy::IntoBytes::as_mut_bytes(self.coming);
        let coming = coming.get_mut(..S::SIZE).ok_or(Malformed)?;
        let (from, to) = (offset - begin, offset - begin + bytes.len());
        coming.get_mut(from..to).ok_or(Malformed)?.copy_from_slice(bytes);
        self.came.end = offset + bytes.len();
        // The last piece puts the bucket's value in force.
        if to < S::SIZE {
            return Ok(());
        }
        let value = self.values.get_mut(number).ok_or(Malformed)?;
        let is_read = value.read(coming);
        self.touch_at(number);
        is_read.then_some(()).ok_or(Malformed)
    }

    fn bucket_of(&self, piece: &[u8]) -> Option<Bucket> {
        Self::bucket_at(split(piece).ok()?.0)
    }

    fn entries(&self, _: u64) -> u64 {
        1
    }
}

impl<S: PerBucket> Described for Divided<S> {
    /// A list of the values that are not as they began, each with its bucket.
    fn describe(&self, _: u64, item: &mut DescribeItem<'_>) {
        item(&[], &mut |to| {
            to.open_list();
            for (value, bucket) in self.values.iter().zip(Bucket::all()) {
                if digest(value) == digest(&S::from(bucket)) {
                    continue;
                }
                to.open();
                to.field("bucket");
                bucket.describe(to);
                to.field("value");
                value.describe(to);
                to.close();
            }
            to.close_list();
        });
    }

    fn value_bytes(&self) -> Option<usize> {
        Some(Bucket::all().count() * S::SIZE)
    }

    fn kept(&mut self) -> Option<&mut dyn Kept> {
        if const { S::DURABLE } { Some(self) } else { None }
    }

    fn layout(&self) -> Option<EntryLayout> {
        const { S::DURABLE }.then_some(EntryLayout {
            key: 0,
            entry: Self::SIZE,
            value: Self::SIZE,
            fields: &[],
            before: &[],
        })
    }
}

impl<S: PerBucket> Kept for Divided<S> {
    fn is_touched(&self) -> bool {
        self.touched != [0; Bucket::COUNT / 64]
    }

    fn tell(&mut self, tell: &mut dyn FnMut(usize, &[u8])) {
        let touched = core::mem::take(&mut self.touched);
        if touched == [0; Bucket::COUNT / 64] {
            return;
        }
        for (nth, mut word) in touched.into_iter().enumerate() {
            while word != 0 {
                self.encode(64 * nth + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
        let mut changed = Changed::new(self.changed, 0);
        if !core::mem::replace(&mut self.told, true) {
            changed.note(0, Self::SIZE);
        }
        let encoded = zerocopy::IntoBytes::as_bytes(&*self.encoded);
        let encoded = encoded.get(..Self::SIZE).unwrap_or_default();
        changed.take(|block| {
            let at = block * BLOCK;
            tell(at, encoded.get(at..encoded.len().min(at + BLOCK)).unwrap_or_default());
        });
    }

    fn restore_part(&mut self, at: usize, part: &[u8]) {
        // The reported values are out of date, since the encoding is being replaced.
        (self.touched, self.told) = (ALL, false);
        let encoded = zerocopy::IntoBytes::as_mut_bytes(self.encoded);
        if let Some(place) = encoded.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
    }

    fn restore(&mut self) -> bool {
        let all = 0..Bucket::COUNT;
        if !all.clone().all(|number| S::get(Self::part(self.encoded, number)).is_some()) {
            return false;
        }
        for (number, value) in all.zip(self.values.iter_mut()) {
            // Valid, as shown above.
            let _ = value.read(Self::part(self.encoded, number));
        }
        // The replica equals the values.
        (self.touched, self.told) = ([0; Bucket::COUNT / 64], true);
        true
    }
}

/// A number that two descriptions share only if they are equal, but for chance.
fn digest(value: &impl Plain) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    value.describe(&mut digest);
    digest.0
}

/// FNV-1a, word by word.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}

impl core::fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        text.bytes().for_each(|byte| self.word(byte.into()));
        Ok(())
    }
}

impl Describe for Digest {
    fn number(&mut self, value: u128) {
        self.word(value as u64);
        self.word((value >> 64) as u64);
    }
    fn signed(&mut self, value: i128) {
        self.number(value.cast_unsigned());
    }
    fn truth(&mut self, value: bool) {
        self.word(value.into());
    }
    fn text(&mut self, value: &dyn core::fmt::Display) {
        // Writing to a digest does not fail.
        let _ = core::fmt::write(self, format_args!("{value}"));
    }
    fn open(&mut self) {
        self.word(1);
    }
    fn field(&mut self, name: &'static str) {
        self.word(name.len() as u64);
        // A variant is told by its name alone.
        name.bytes().for_each(|byte| self.word(byte.into()));
    }
    fn close(&mut self) {
        self.word(2);
    }
    fn open_list(&mut self) {
        self.word(3);
    }
    fn close_list(&mut self) {
        self.word(4);
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::super::{Stored, Tracked, memory_for_tests};
    use super::*;

    /// Larger than a chunk, so that one value crosses in pieces.
    const PLACES: usize = 300;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Pool {
        bucket: Bucket,
        places: Tracked<u32, PLACES>,
    }

    impl Plain for Pool {
        const SIZE: usize = 1 + 4 * PLACES;
        const DURABLE: bool = true;
        fn put(&self, out: &mut [u8]) {
            self.bucket.put(out);
            self.places.put(out.get_mut(1..).unwrap_or_default());
        }
        fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
            self.bucket.put_changed(kept, at, changed);
            self.places.put_changed(kept.get_mut(1..).unwrap_or_default(), at + 1, changed);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            Some(Self { bucket: Plain::get(bytes)?, places: Plain::get(bytes.get(1..)?)? })
        }
        fn describe(&self, to: &mut dyn Describe) {
            to.open();
            to.field("bucket");
            self.bucket.describe(to);
            to.field("places");
            self.places.describe(to);
            to.close();
        }
    }

    impl From<Bucket> for Pool {
        fn from(bucket: Bucket) -> Self {
            Self { bucket, places: Tracked::new([7; PLACES]) }
        }
    }

    impl PerBucket for Pool {
        const NAME: &'static str = "Pool";
    }

    impl Stored for Pool {
        const NAME: &'static str = "Pool";
        const KIND: Kind = Kind::PerBucket;
        const BYTES: usize = Divided::<Self>::BYTES;
        type Home = Divided<Self>;
        fn create(memory: &mut Memory) -> Result<Self::Home, OutOfMemory> {
            Divided::create(memory)
        }
        fn borrow(home: &mut Self::Home) -> &mut Self {
            home.lend()
        }
    }

    fn divided() -> Divided<Pool> {
        Pool::create(&mut memory_for_tests(Pool::BYTES)).unwrap()
    }

    fn write(home: &mut Divided<Pool>, bucket: u8, place: usize, value: u32) {
        home.enter_marked(Mark { bucket: Bucket::new(bucket), ..Mark::default() });
        *home.value().places.get_mut(place).unwrap() = value;
        home.touch();
    }

    fn told(home: &mut Divided<Pool>, replica: &mut [u8]) -> Vec<usize> {
        let mut told = Vec::new();
        home.tell(&mut |at, bytes| {
            replica[at..at + bytes.len()].copy_from_slice(bytes);
            told.push(at / BLOCK);
        });
        told
    }

    #[test]
    fn a_packet_reaches_the_value_of_its_bucket() {
        let mut home = divided();
        write(&mut home, 9, 0, 1);
        write(&mut home, 200, 299, 2);
        assert_eq!((home.value().bucket, home.value().places[299]), (Bucket::new(200), 2));
        home.enter_marked(Mark { bucket: Bucket::new(9), ..Mark::default() });
        assert_eq!((home.value().places[0], home.value().places[299]), (1, 7));
        home.enter_marked(Mark::default());
        assert_eq!(*home.value(), Pool::from(Bucket::new(0)));
    }

    #[test]
    fn values_cross_bucket_by_bucket() {
        let (mut here, mut there) = (divided(), divided());
        for bucket in [3, 4] {
            write(&mut here, bucket, 5, 50);
        }
        here.export(0, &mut |piece| {
            let of = here_bucket(piece);
            if of == Bucket::new(4) {
                there.merge(piece).unwrap();
            }
        });
        for (bucket, value) in [(3, 7), (4, 50)] {
            there.enter_marked(Mark { bucket: Bucket::new(bucket), ..Mark::default() });
            assert_eq!(there.value().places[5], value, "{bucket}");
        }
        for wrong in [&[][..], &[1, 0, 0], &[0xff, 0xff, 0xff, 0xff, 1]] {
            assert_eq!(there.merge(wrong), Err(Malformed));
        }
        let mut pieces = pieces_of(&mut here, 4);
        assert_eq!(there.merge(&pieces[1]), Err(Malformed), "the first one is missing");
        there.merge(&pieces[0]).unwrap();
        pieces[1].push(0);
        assert_eq!(there.merge(&pieces[1]), Err(Malformed), "it is of two buckets");
        there.merge(&pieces[0]).unwrap();
        let of_another = pieces_of(&mut here, 5);
        assert_eq!(there.merge(&of_another[1]), Err(Malformed), "it begins another value");
    }

    fn pieces_of(home: &mut Divided<Pool>, bucket: u8) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        home.export_bucket(Bucket::new(bucket), &mut |piece| pieces.push(piece.to_vec()));
        assert_eq!(pieces.len(), 2);
        pieces
    }

    /// Packets of other buckets run while a value comes, and changes are reported behind each
    /// burst.
    #[test]
    fn a_report_amid_a_value_that_comes_spoils_neither() {
        let (mut here, mut there) = (divided(), divided());
        let mut replica = std::vec![0; Divided::<Pool>::SIZE];
        for round in 0..3 {
            write(&mut here, 4, 5, 50 + round);
            write(&mut here, 4, 299, 60 + round);
            for (nth, piece) in pieces_of(&mut here, 4).iter().enumerate() {
                write(&mut there, 9, nth, 1 + round);
                // As if it had been the bucket's owner before.
                write(&mut there, 4, 7, 9);
                told(&mut there, &mut replica);
                there.merge(piece).unwrap();
            }
            assert_eq!(there.values[4], here.values[4]);
            let told = told(&mut there, &mut replica);
            assert!(told.len() <= Pool::SIZE / BLOCK + 2, "of that value alone: {told:?}");
            let mut again = divided();
            again.restore_part(0, &replica);
            assert!(again.restore());
            assert_eq!(*again.values, *there.values);
        }
    }

    fn here_bucket(piece: &[u8]) -> Bucket {
        divided().bucket_of(piece).unwrap()
    }

    #[test]
    fn what_changed_is_told_and_restored() {
        let mut home = divided();
        let mut replica = std::vec![0; Divided::<Pool>::SIZE];
        assert_eq!(told(&mut home, &mut replica).len(), Divided::<Pool>::SIZE.div_ceil(BLOCK));
        assert!(!home.is_touched());
        write(&mut home, 100, 299, 8);
        write(&mut home, 101, 0, 9);
        home.touch();
        // Both are in the same block.
        assert_eq!(told(&mut home, &mut replica), [101 * Pool::SIZE / BLOCK]);
        write(&mut home, 100, 1, 7);
        assert_eq!(told(&mut home, &mut replica), [0; 0], "it had that value");
        let mut again = divided();
        again.restore_part(0, &replica);
        assert!(again.restore());
        assert_eq!(again.values[100], home.values[100]);
        assert_eq!(again.values[101], home.values[101]);
        assert!(!again.is_touched(), "the replica is the value");
        write(&mut again, 0, 0, 3);
        assert_eq!(told(&mut again, &mut replica), [0]);
    }

    #[test]
    fn values_as_they_began_are_not_described() {
        #[derive(Default)]
        struct Buckets(Vec<u128>);
        impl Describe for Buckets {
            fn number(&mut self, value: u128) {
                self.0.push(value);
            }
            fn signed(&mut self, _: i128) {}
            fn truth(&mut self, _: bool) {}
            fn text(&mut self, _: &dyn core::fmt::Display) {}
            fn open(&mut self) {}
            fn field(&mut self, _: &'static str) {}
            fn close(&mut self) {}
            fn open_list(&mut self) {}
            fn close_list(&mut self) {}
        }
        let mut home = divided();
        write(&mut home, 77, 3, 1);
        write(&mut home, 78, 3, 7);
        let mut found = Buckets::default();
        home.describe(0, &mut |_, describe| describe(&mut found));
        assert_eq!(found.0.iter().filter(|number| **number == 77).count(), 2);
        assert!(!found.0.contains(&78), "it was written, and not changed");
    }
}
