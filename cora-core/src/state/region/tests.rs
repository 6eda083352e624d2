use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::{Described as _, Home as _, RegionMemory, Visit, memory_for_tests};
use super::*;
use crate::plain::Describe;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Node {
    is_leaf: bool,
    next: [u64; 3],
}

impl Plain for Node {
    const SIZE: usize = 25;
    fn put(&self, out: &mut [u8]) {
        self.is_leaf.put(out);
        self.next.put(out.get_mut(1..).unwrap_or_default());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { is_leaf: bool::get(bytes)?, next: Plain::get(bytes.get(1..)?)? })
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.next.describe(to);
    }
}

impl RegionState for Node {
    const NAME: &'static str = "Node";
    const LENGTH: u32 = 1_000;
}

const ZERO: Node = Node { is_leaf: false, next: [0; 3] };

fn node(first: u64) -> Node {
    Node { is_leaf: true, next: [first, 0, 7] }
}

fn region() -> Region<Node> {
    Region::create(&mut memory_for_tests(Region::<Node>::BYTES)).unwrap()
}

/// Memory for items that two sides have, and a region at each.
fn both() -> (&'static [AtomicU64], Region<Node>, Region<Node>) {
    let words: Vec<AtomicU64> = (0..Region::<Node>::ITEMS / 8).map(|_| AtomicU64::new(0)).collect();
    let words = &*words.leak();
    (words, of(RegionMemory::at_home(words, 0)), of(RegionMemory::away(words)))
}

/// A region in this memory.
fn of(memory: RegionMemory) -> Region<Node> {
    let beside = memory_for_tests(Region::<Node>::BYTES - Region::<Node>::ITEMS);
    Region::create(&mut beside.with_regions(memory)).unwrap()
}

/// A run that writes items, and commits.
fn put(home: &mut Region<Node>, items: &[(u32, u64)]) {
    begin(home);
    for (number, first) in items {
        home.write(*number, node(*first)).unwrap();
    }
    home.commit(false);
    home.publish();
}

fn begin(region: &mut Region<Node>) {
    region.begin(Visit::OF_A_HOOK);
}

fn name(stopped: Result<impl Sized, Stop>) -> &'static str {
    stopped.err().and_then(|stop| stop.reason()).map_or("none", |reason| reason.name())
}

#[test]
fn a_run_sees_its_own_writes_and_others_see_them_when_it_has_ended() {
    let mut region = region();
    begin(&mut region);
    assert_eq!(region.read(999).unwrap(), &ZERO);
    region.write(999, node(1)).unwrap();
    region.write(3, node(2)).unwrap();
    region.write(3, node(3)).unwrap();
    assert_eq!((region.read(999).unwrap(), region.read(3).unwrap()), (&node(1), &node(3)));
    region.rollback();
    begin(&mut region);
    assert_eq!((region.read(999).unwrap(), region.read(3).unwrap()), (&ZERO, &ZERO));
    region.write(3, node(4)).unwrap();
    region.commit(true);
    begin(&mut region);
    assert_eq!((region.read(999).unwrap(), region.read(3).unwrap()), (&ZERO, &node(4)));
    // References to several items live side by side.
    let (one, two) = (region.read(3).unwrap(), region.read(4).unwrap());
    assert_ne!(one, two);
}

#[test]
fn a_run_uses_a_bounded_number_of_items() {
    let mut region = region();
    begin(&mut region);
    assert_eq!(name(region.read(1_000)), "no-such-item");
    assert_eq!(name(region.write(u32::MAX, ZERO)), "no-such-item");
    for number in 0..MOST_ITEMS as u32 {
        region.read(number).unwrap();
        region.read(0).unwrap();
    }
    assert_eq!(name(region.read(900)), "too-many-items");
    assert_eq!(name(region.write(900, ZERO)), "too-many-items");
    region.write(5, node(5)).unwrap();
    region.commit(false);
    begin(&mut region);
    assert_eq!(region.read(900).unwrap(), &ZERO);
    assert_eq!(region.read(5).unwrap(), &node(5));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of reads take it minutes")]
fn a_circle_of_items_ends() {
    let (_, mut home, mut away) = both();
    let follow = |region: &Region<Node>| {
        let mut number = 0;
        loop {
            match region.read(number) {
                Ok(_) => number = 1 - number,
                Err(stop) => break stop,
            }
        }
    };
    for _ in 0..2 {
        begin(&mut home);
        assert_eq!(follow(&home), Stop::drop(TooManyItems));
        home.rollback();
        begin(&mut away);
        assert_eq!(follow(&away), Stop::punt());
        assert!(away.is_void());
        away.rollback();
    }
}

#[test]
fn items_cross_and_are_told_by_their_numbers() {
    let (mut here, mut there) = (region(), region());
    begin(&mut here);
    for number in [0, 17, 999] {
        here.write(number, node(number.into())).unwrap();
    }
    here.commit(false);
    let mut pieces = Vec::new();
    here.export(0, &mut |piece| pieces.push(piece.to_vec()));
    assert_eq!(pieces.len(), 3);
    for piece in &pieces {
        there.merge(piece).unwrap();
    }
    let mut told = Vec::new();
    there.describe(0, &mut |key, _| told.push(key.to_vec()));
    assert_eq!(told, [[0, 0, 0, 0], [0, 0, 0, 17], [0, 0, 3, 231]]);
    begin(&mut there);
    assert_eq!(there.read(17).unwrap(), &node(17));
    // Nothing that is no item is believed.
    let long = [&pieces[0][..], &[0]].concat();
    let beyond = [&1_000_u32.to_le_bytes()[..], &pieces[0][4..]].concat();
    let mut invalid = pieces[0].clone();
    invalid[4] = 2;
    for piece in [&[][..], &pieces[0][..20], &long, &beyond, &invalid] {
        assert_eq!(there.merge(piece), Err(super::super::Malformed));
    }
}

#[test]
fn the_other_side_reads_copies_of_one_moment() {
    let (_, mut home, mut away) = both();
    put(&mut home, &[(3, 30), (4, 40)]);
    begin(&mut away);
    assert_eq!((away.read(3).unwrap(), away.read(5).unwrap()), (&node(30), &ZERO));
    // Another item changes: nothing of this run.
    put(&mut home, &[(9, 1)]);
    assert_eq!(away.read(4).unwrap(), &node(40));
    assert!(!away.is_void());
    away.commit(true);
    away.publish();
    // One of its own changes. It still has its copy, but can read nothing more, nor end well.
    begin(&mut away);
    assert_eq!(away.read(3).unwrap(), &node(30));
    put(&mut home, &[(3, 31), (4, 41)]);
    assert!(away.is_void());
    assert_eq!(away.read(3).unwrap(), &node(30));
    assert!(away.read(4).unwrap_err().reason().is_none(), "it punts");
    assert!(away.read(4).is_err() && away.read(3).is_err(), "and sees no mixture");
    away.rollback();
    begin(&mut away);
    assert_eq!((away.read(3).unwrap(), away.read(4).unwrap()), (&node(31), &node(41)));
    assert!(!away.is_void());
}

#[test]
fn what_is_peeked_is_of_any_moment_until_it_is_read() {
    let (_, mut home, mut away) = both();
    begin(&mut away);
    away.peek(3).unwrap();
    put(&mut home, &[(3, 31)]);
    assert_eq!(away.read(4).unwrap(), &ZERO);
    assert_eq!(away.peek(3).unwrap(), &ZERO, "the run's copy");
    assert!(!away.is_void());
    assert!(away.read(3).unwrap_err().reason().is_none(), "it is not of the moment of item 4");
    assert!(away.is_void());
    away.rollback();
    begin(&mut away);
    assert_eq!((away.peek(3).unwrap(), away.read(3).unwrap()), (&node(31), &node(31)));
    assert!(!away.is_void());
}

#[test]
fn a_run_that_writes_or_reads_too_much_goes_to_the_items() {
    let (_, _, mut away) = both();
    begin(&mut away);
    assert!(away.write(3, ZERO).unwrap_err().reason().is_none());
    assert!(away.is_void(), "though nothing was read");
    away.rollback();
    begin(&mut away);
    assert!(!away.is_void());
    for number in 0..MOST_FETCHED as u32 {
        away.read(number).unwrap();
        away.read(0).unwrap();
    }
    assert!(!away.is_void());
    assert!(away.read(900).unwrap_err().reason().is_none());
    // A handler that goes on regardless gets nothing more.
    assert!(away.read(0).is_err() && away.peek(1).is_err());
    assert!(away.is_void());
    away.rollback();
    begin(&mut away);
    assert!(away.read(1_000).unwrap_err().reason().is_none(), "the home knows");
}

#[test]
fn out_of_reach_all_that_asks_goes_to_the_items() {
    let mut away = of(RegionMemory::out_of_reach());
    begin(&mut away);
    assert!(!away.is_void());
    assert!(away.read(0).is_err() && away.peek(0).is_err() && away.is_void());
    let mut told = 0;
    away.describe(0, &mut |_, _| told += 1);
    assert_eq!(told, 0);
}

#[test]
fn a_home_that_follows_one_that_died_in_a_commit_gives_no_version_twice() {
    let (words, mut home, mut away) = both();
    put(&mut home, &[(3, 30)]);
    begin(&mut away);
    assert_eq!(away.read(3).unwrap(), &node(30));
    // The home dies within a commit, and its memory is zeroes again.
    for word in words {
        word.store(0, Ordering::Relaxed);
    }
    let mut next = of(RegionMemory::at_home(words, 1));
    assert!(away.is_void());
    put(&mut next, &[(3, 30)]);
    assert!(away.is_void(), "the item is equal, and another one");
    away.rollback();
    // Or its memory stays as it was. Until the next home is there, nothing is of one moment.
    words[0].fetch_add(1, Ordering::Relaxed);
    begin(&mut away);
    assert!(away.read(3).unwrap_err().reason().is_none());
    away.rollback();
    let _next = of(RegionMemory::at_home(words, 2));
    begin(&mut away);
    assert_eq!(away.read(3).unwrap(), &node(30));
    assert!(!away.is_void());
}

/// Two items always hold equal numbers, and a third one how often they changed.
#[test]
fn copies_are_of_one_moment_while_the_home_writes() {
    let (_, mut home, mut away) = both();
    let (runs, writes) = if cfg!(miri) { (30, 60) } else { (200_000, 200_000) };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=writes {
                put(&mut home, &[(3, round), (4, round), (700 + (round % 8) as u32, round)]);
            }
            done.store(true, Ordering::Release);
        });
        let (mut good, mut void, mut last) = (0_u64, 0_u64, 0);
        while good + void < runs || !done.load(Ordering::Acquire) {
            begin(&mut away);
            let read = away.read(3).copied();
            let (hint, other) = (away.peek(701).copied(), away.read(4).copied());
            // A run that is refused nothing sees no mixture, even before it ends.
            if let (Ok(one), Ok(_), Ok(other)) = (read, hint, other) {
                assert_eq!(one, other);
                if !away.is_void() {
                    assert!(one.next[0] >= last, "time runs forward");
                    (good, last) = (good + 1, one.next[0]);
                    away.commit(true);
                    continue;
                }
            }
            void += 1;
            away.rollback();
        }
        begin(&mut away);
        assert_eq!(away.read(3).unwrap().next[0], writes);
        assert!(good > 0);
    });
}
