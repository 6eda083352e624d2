//! A chain of items, each with the number of the next one: read from an array by a loop, and from a
//! region of the other side, whose home is in the same thread. Items have 128 bytes, and 1,000 of
//! them are in the nearest caches.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;

use cora_core::plain::{Describe, Plain};
use cora_core::state::{Home as _, Line, Memory, Region, RegionMemory, RegionState, Stored, Visit};

use crate::figure::Figure;
use crate::turns::take;

/// Reads of a run.
const READS: usize = 5;
/// Runs of a turn.
const TURN: u32 = 10_000;
/// Limits (ns): a fetched read with its part of all that a run costs, and the check of a run's
/// reads after another run has written.
const READ: f64 = 20.0;
const CHECK: f64 = 10.0;

#[derive(Clone, Copy, Debug)]
struct Item {
    next: u32,
    rest: [u64; 15],
}

impl Plain for Item {
    const SIZE: usize = 4 + 15 * 8;

    fn put(&self, out: &mut [u8]) {
        self.next.put(out);
        self.rest.put(out.get_mut(4..).unwrap_or_default());
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { next: u32::get(bytes)?, rest: Plain::get(bytes.get(4..)?)? })
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.next.describe(to);
    }
}

const LENGTH: u32 = 1_000;

impl RegionState for Item {
    const NAME: &'static str = "Item";
    const LENGTH: u32 = LENGTH;
}

/// All items, in a ring of large steps.
fn item(number: u32) -> Item {
    Item { next: (number + 377) % LENGTH, rest: [number.into(); 15] }
}

/// A region in this memory.
fn region(memory: RegionMemory) -> Region<Item> {
    let lines = Region::<Item>::BYTES.div_ceil(Line::BYTES) + 16;
    let beside = Memory::new(vec![Line::ZERO; lines].leak());
    Region::create(&mut beside.with_regions(memory)).expect("there is memory")
}

/// A run of a home that writes these items.
fn put(home: &mut Region<Item>, numbers: impl Iterator<Item = u32>) {
    home.begin(Visit::OF_A_HOOK);
    for number in numbers {
        home.write(number, item(number)).expect("it is one of them");
    }
    home.commit(false);
    home.publish();
}

/// A run that reads a chain from `first` on. `meanwhile` happens before it ends.
fn chain(region: &mut Region<Item>, first: u32, meanwhile: impl FnOnce()) -> u64 {
    region.begin(Visit::OF_A_HOOK);
    let (mut number, mut sum) = (first, 0);
    for _ in 0..READS {
        let Ok(item) = region.read(number) else { break };
        number = item.next;
        sum += item.rest[7];
    }
    meanwhile();
    assert!(!region.is_void(), "nobody wrote what it read");
    region.commit(true);
    sum
}

/// Runs `run` with the first number of each chain of a turn.
fn turn(mut run: impl FnMut(u32) -> u64) -> u64 {
    let sum: u64 = (0..TURN).map(|number| run(number * 13 % LENGTH)).sum();
    black_box(sum);
    TURN.into()
}

pub(super) fn run(quick: bool, tell: &mut dyn FnMut(Figure)) {
    let words: Vec<AtomicU64> = (0..Region::<Item>::ITEMS / 8).map(|_| AtomicU64::new(0)).collect();
    let words = &*words.leak();
    // In turns, each is the home: they run in one thread.
    let [mut home, mut other_home, mut own] =
        [(); 3].map(|()| region(RegionMemory::at_home(words, 1)));
    let [mut away, mut checked] = [(); 2].map(|()| region(RegionMemory::away(words)));
    for number in 0..LENGTH {
        put(&mut home, std::iter::once(number));
    }
    let plain: Vec<Item> = (0..LENGTH).map(item).collect();
    let loop_of = |first: u32| {
        let (mut number, mut sum) = (first, 0);
        for _ in 0..READS {
            let item = black_box(&plain)[number as usize];
            number = item.next;
            sum += item.rest[7];
        }
        sum
    };
    // Of other items than any chain of that turn reads next.
    let other = |first: u32| std::iter::once((first + 500) % LENGTH);
    let [plain, here, fetched, writes, both] = take(
        if quick { 15 } else { 101 },
        [
            &mut || turn(loop_of),
            &mut || turn(|first| chain(&mut own, first, || ())),
            &mut || turn(|first| chain(&mut away, first, || ())),
            &mut || {
                turn(|first| {
                    put(&mut home, other(first));
                    0
                })
            },
            &mut || turn(|first| chain(&mut checked, first, || put(&mut other_home, other(first)))),
        ],
    );
    let per_read = |ns: f64| ns / READS as f64;
    let limit =
        |name: &str, ns: f64, most: f64| Figure::of_limit(format!("active/{name}"), ns, most, "ns");
    let spread = fetched.spread();
    tell(Figure { spread, ..limit("a fetched read, of five", per_read(fetched.median()), READ) });
    let check = both.median() - fetched.median() - writes.median();
    let spread = both.spread();
    tell(Figure { spread, ..limit("a run's check after another has written", check, CHECK) });
    tell(Figure::of_times("active/five reads, fetched".into(), &fetched, &plain, "an array", 0.0));
    tell(Figure::of_times("active/five reads, at home".into(), &here, &plain, "an array", 0.0));
    tell(Figure::of_times("active/a write, at home".into(), &writes, &plain, "reads, array", 0.0));
}
