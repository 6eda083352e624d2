//! Expired entries of buckets that move between shards.
//!
//! A packet that is held at one shard is older than others that run meanwhile. The time that these
//! bring must not run hooks that are due behind the held packet. So while a bucket moves, its
//! expired entries are kept apart, and only packets of these buckets make their hooks due. They go
//! along with the bucket. When the move is over, they wait with all others again.
//!
//! They are few: those of a few buckets that ended within a second. So they are a list in no order.

use super::entry::{NONE, Whole};
use super::hooked::{Expired, hook_time};
use super::raw::RawTable;
use crate::bucket::{Bucket, BucketSet};
use crate::key::EntryKey;
use crate::plain::Plain;
use crate::state::{Keyed, Malformed, Table};

/// The list.
#[derive(Debug)]
pub(super) struct Apart {
    /// Entries of these buckets are kept apart.
    buckets: BucketSet,
    first: u32,
    /// Number of its entries.
    pub(super) count: usize,
    /// The earliest end; the maximum if there is none.
    next_end: u64,
}

impl Apart {
    pub(super) const NONE: Self =
        Self { buckets: BucketSet::EMPTY, first: NONE, count: 0, next_end: u64::MAX };

    /// Their places are gone.
    pub(super) const fn forget(&mut self) {
        (self.first, self.count, self.next_end) = (NONE, 0, u64::MAX);
    }
}

/// An expired entry as it moves: its bucket, when it ended (ns), and the entry, encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedIn<'a> {
    /// Its bucket.
    pub bucket: Bucket,
    /// When it ended (ns of packet time).
    pub end: u64,
    /// The whole entry, encoded.
    pub piece: &'a [u8],
}

/// A table whose entries' ends have a hook, where flows are buckets that move.
pub trait MovingEnds {
    /// Keeps expired entries of these buckets apart from now on, and no others.
    fn keep_apart(&mut self, buckets: BucketSet);

    /// Those kept apart whose hooks are due at `now` wait with the others: a packet of these
    /// buckets is about to run.
    fn join_due(&mut self, now: u64);

    /// Takes those kept apart out: they go to another shard, or are void.
    fn give(&mut self, give: &mut dyn FnMut(EndedIn<'_>));

    /// Takes one that another shard gave.
    ///
    /// # Errors
    /// If the bytes encode no entry, or if there is no room for it.
    fn take(&mut self, ended: EndedIn<'_>) -> Result<(), Malformed>;
}

impl<K: EntryKey, V: Plain> Expired<K, V> {
    /// Puts an entry where entries of its bucket wait.
    pub(super) fn put_in_order(&mut self, (end, number): (u64, u32), bucket: u8) {
        if self.apart.buckets.has(Bucket::new(bucket)) {
            self.put_apart(end, number);
        } else {
            self.sift_up((end, number));
        }
    }

    #[cold]
    #[inline(never)]
    fn put_apart(&mut self, end: u64, number: u32) {
        let Some(place) = self.places.get_mut(number) else { return };
        place.next = self.apart.first;
        self.apart.first = number;
        self.apart.count += 1;
        self.apart.next_end = self.apart.next_end.min(end);
    }

    /// Takes an entry out of the list.
    fn take_apart(&mut self) -> Option<(u64, u32)> {
        let number = self.apart.first;
        let place = self.places.get(number)?;
        self.apart.first = place.next;
        self.apart.count -= 1;
        Some((place.end, number))
    }

    /// Takes all of the list out, and puts each entry where `is_apart` says.
    fn put_again(&mut self, is_apart: impl Fn(u8, u64) -> bool) {
        let mut next = self.apart.first;
        self.apart.forget();
        while let Some(place) = self.places.get(next) {
            let (number, end, bucket) = (next, place.end, place.bucket);
            next = place.next;
            if is_apart(bucket, end) {
                self.put_apart(end, number);
            } else {
                self.sift_up((end, number));
            }
        }
    }

    /// Visits the entries of the list.
    pub(super) fn each_apart(&self, visit: &mut dyn FnMut(&Whole<K, V>)) {
        let mut next = self.apart.first;
        while let Some(place) = self.places.get(next) {
            visit(&place.whole);
            next = place.next;
        }
    }

    fn keep_apart(&mut self, buckets: BucketSet) {
        self.apart.buckets = buckets;
        self.put_again(|bucket, _| buckets.has(Bucket::new(bucket)));
        let all = core::mem::take(&mut self.waiting);
        for at in 0..all as u32 {
            // No later element is overwritten: those in order are as many as were seen, or fewer.
            let Some(&(end, number)) = self.order.get(at) else { break };
            let bucket = self.places.get(number).map_or(0, |place| place.bucket);
            self.put_in_order((end, number), bucket);
        }
        self.note_next();
    }
}

/// For generated code.
impl<S: Keyed> Table<S> {
    /// The table's expired entries, where buckets move.
    #[doc(hidden)]
    #[must_use]
    pub fn moving_ends(&mut self) -> &mut dyn MovingEnds {
        &mut self.raw
    }
}

impl<K: EntryKey, V: Plain> MovingEnds for RawTable<K, V> {
    fn keep_apart(&mut self, buckets: BucketSet) {
        self.expired.keep_apart(buckets);
    }

    fn join_due(&mut self, now: u64) {
        if hook_time(self.expired.apart.next_end) <= now {
            self.expired.put_again(|_, end| hook_time(end) > now);
        }
    }

    fn give(&mut self, give: &mut dyn FnMut(EndedIn<'_>)) {
        while let Some((end, number)) = self.expired.take_apart() {
            let bucket = self.expired.places.get(number).map_or(0, |place| place.bucket);
            let bucket = Bucket::new(bucket);
            let Some(whole) = self.expired.vacate(number) else { return };
            Self::encode(&whole, &mut |piece| give(EndedIn { bucket, end, piece }));
        }
        self.expired.apart.forget();
    }

    fn take(&mut self, EndedIn { bucket, end, piece }: EndedIn<'_>) -> Result<(), Malformed> {
        let whole: Whole<K, V> = Self::decode(piece).ok_or(Malformed)?;
        let kept = self.expired.keep(end, &whole, 0, bucket.number() as u32);
        if kept { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Address, SourceAddress};
    use crate::plain::Describe;
    use crate::state::memory_for_tests;
    use crate::state::table::hooked::DELAY;
    use crate::state::table::raw::Shape;
    use crate::state::table::{Hooked as _, Waiting};
    use proptest::prelude::*;
    use std::vec::Vec;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Number(u64);

    impl Plain for Number {
        const SIZE: usize = 8;
        const DURABLE: bool = true;
        const HOOKED: bool = true;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            u64::get(bytes).map(Self)
        }
        fn describe(&self, to: &mut dyn Describe) {
            self.0.describe(to);
        }
    }

    type Tested = RawTable<SourceAddress, Number>;

    fn table() -> Tested {
        let shape = Shape { capacity: 64, spare: 64, idle: 4 * DELAY, reply: false };
        Tested::create(&mut memory_for_tests(Tested::bytes(shape) + 4096), shape).unwrap()
    }

    /// An entry expired, of this bucket, with this end.
    fn ends(table: &mut Tested, number: u64, bucket: u8, end: u64) {
        let key = SourceAddress(Address::v4([10, 0, 0, number as u8]));
        let value = Number(number);
        let whole = Whole { key, reply: key, used: 0, value, of_second: false };
        assert!(table.expired.keep(end, &whole, 0, bucket.into()), "there is room");
    }

    fn set(buckets: &[u8]) -> BucketSet {
        buckets.iter().map(|number| Bucket::new(*number)).collect()
    }

    /// The hooks that are due at `now`, in their order.
    fn due(table: &mut Tested, now: u64) -> Vec<u64> {
        let mut numbers = Vec::new();
        while hook_time(table.next_end()) <= now {
            numbers.push(table.expired.take_first().unwrap().1.value.0);
        }
        numbers
    }

    #[test]
    fn hooks_of_a_bucket_that_moves_wait_for_its_packets_and_go_along() {
        let (mut from, mut to) = (table(), table());
        for (number, bucket, end) in [(1, 7, 10), (2, 8, 20), (3, 7, 30), (4, 7, 40)] {
            ends(&mut from, number, bucket, end);
        }
        from.keep_apart(set(&[7]));
        // Entries that end meanwhile are kept apart, too.
        ends(&mut from, 5, 7, 35);
        assert_eq!(due(&mut from, DELAY + 25), [2], "a packet of another bucket");
        from.join_due(DELAY + 30);
        assert_eq!(due(&mut from, DELAY + 30), [1, 3], "one of this bucket");
        ends(&mut to, 6, 9, 37);
        to.keep_apart(set(&[7]));
        from.give(&mut |ended| to.take(ended).unwrap());
        assert_eq!(due(&mut to, DELAY + 50), [6], "the bucket is not here yet");
        to.keep_apart(set(&[]));
        assert_eq!(due(&mut to, DELAY + 36), [5]);
        assert_eq!(
            (due(&mut to, u64::MAX - 1), due(&mut from, u64::MAX - 1)),
            ([4].into(), [].into())
        );
    }

    #[test]
    fn replicas_follow_what_moves() {
        let (mut from, mut to) = (table(), table());
        ends(&mut from, 1, 7, 10);
        let news = |table: &mut Tested| {
            let (mut is, mut ran) = (Vec::new(), 0);
            table.tell_waiting(&mut |news| match news {
                Waiting::Is(_, _, bucket) => is.push(bucket),
                Waiting::Ran(_) => ran += 1,
            });
            (is, ran)
        };
        assert_eq!(news(&mut from), ([7].into(), 0));
        from.keep_apart(set(&[7]));
        assert_eq!(news(&mut from), ([].into(), 0));
        from.give(&mut |ended| to.take(ended).unwrap());
        assert_eq!((news(&mut from), news(&mut to)), (([].into(), 1), ([7].into(), 0)));
        assert_eq!(
            to.take(EndedIn { bucket: Bucket::new(7), end: 1, piece: &[1] }),
            Err(Malformed)
        );
    }

    #[derive(Clone, Debug)]
    enum Step {
        End { bucket: u8, end: u64 },
        KeepApart(Vec<u8>),
        Packet { bucket: u8, passes: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..4_u8, 0..DELAY).prop_map(|(bucket, end)| Step::End { bucket, end }),
            1 => prop::collection::vec(0..4_u8, 0..3).prop_map(Step::KeepApart),
            4 => (0..4_u8, 0..DELAY / 8).prop_map(|(bucket, passes)| Step::Packet { bucket, passes }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

        /// Each packet runs what is due of the buckets that rest, and of its own.
        #[test]
        fn each_packet_runs_what_is_due_for_it(steps in prop::collection::vec(step(), 1..60)) {
            let (mut table, mut now, mut apart) = (table(), DELAY, Vec::new());
            let mut waiting: Vec<(u64, u64, u8)> = Vec::new();
            for (number, step) in (0..).zip(steps) {
                match step {
                    Step::End { bucket, end } => {
                        // None is due before it is known.
                        let end = end.max(now - DELAY + 1);
                        ends(&mut table, number, bucket, end);
                        waiting.push((end, number, bucket));
                    }
                    Step::KeepApart(buckets) => {
                        table.keep_apart(set(&buckets));
                        apart = buckets;
                    }
                    Step::Packet { bucket, passes } => {
                        now += passes;
                        let is_apart = apart.contains(&bucket);
                        if is_apart {
                            table.join_due(now);
                        }
                        let runs = |(end, _, of): &(u64, u64, u8)| {
                            let mine = is_apart && apart.contains(of) || !apart.contains(of);
                            mine && end + DELAY <= now
                        };
                        waiting.sort_unstable();
                        let expected: Vec<u64> =
                            waiting.iter().filter(|it| runs(it)).map(|(_, number, _)| *number).collect();
                        waiting.retain(|it| !runs(it));
                        let mut ran = due(&mut table, now);
                        // Equal ends run by their keys.
                        prop_assert_eq!(ran.len(), expected.len());
                        ran.sort_unstable();
                        let mut expected = expected;
                        expected.sort_unstable();
                        prop_assert_eq!(ran, expected);
                    }
                }
            }
            let all = table.expired.waiting + table.expired.apart.count;
            prop_assert_eq!(all, waiting.len(), "none is lost");
        }
    }
}
