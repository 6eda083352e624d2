use super::*;
use crate::key::{Address, SourceAddress};
use crate::plain::Describe;
use crate::state::table::prefetch::ALONE;
use crate::state::table::{Durable as _, Travelling as _};
use crate::state::{NO_FLOW, Visit, memory_for_tests};
use core::time::Duration;
use std::collections::BTreeSet;
use std::vec::Vec;

const SECOND: u64 = 1_000_000_000;

/// A number, and an idle time (ns).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held(u64, u64);

impl Plain for Held {
    const SIZE: usize = 16;
    const DURABLE: bool = true;
    const HOOKED: bool = true;
    const IDLE_VARIES: bool = true;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
        self.1.put(&mut out[8..]);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self(u64::get(bytes)?, u64::get(bytes.get(8..)?)?))
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
    fn idle_time(&self) -> Duration {
        Duration::from_nanos(self.1)
    }
}

type Tested = RawTable<SourceAddress, Held>;

/// Few draws, so that Miri is done soon.
const fn scaled(count: u64) -> u64 {
    if cfg!(miri) { count / 16 } else { count }
}

/// A sequence of numbers that looks like chance.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }
}

fn sized(capacity: u32, idle: u64) -> Tested {
    let shape = Shape { capacity, spare: capacity, idle, reply: false };
    let mut memory = memory_for_tests(Tested::bytes(shape) + 4096);
    let mut table = Tested::create(&mut memory, shape).unwrap();
    table.attach(&mut memory_for_tests(1 << 16), 8).unwrap();
    table
}

fn table() -> Tested {
    sized(8, 4 * SECOND)
}

fn key(last: u64) -> SourceAddress {
    SourceAddress(Address::v4([10, 0, (last >> 8) as u8, last as u8]))
}

fn visit(table: &mut Tested, now: u64, flow: u32) {
    table.begin(Visit { now, horizon: now, undo: false, flow, ahead: ALONE });
}

/// A table with one entry of flow 3: it ends at 4.1 s, which is amid a tick of the wheel.
fn with_one() -> (Tested, u64) {
    let mut table = table();
    visit(&mut table, SECOND / 10, 3);
    table.insert(key(1), None, Held(1, 4 * SECOND)).unwrap();
    (table, 4 * SECOND + SECOND / 10)
}

/// An encoded entry.
fn piece(number: u64, used: u64, idle: u64) -> Vec<u8> {
    let (key, value) = (key(number), Held(number, idle));
    let whole = Whole { key, reply: key, used, value, of_second: false };
    let mut bytes = Vec::new();
    Tested::encode(&whole, &mut |piece| bytes = piece.to_vec());
    bytes
}

/// The numbers of the entries that wait for their hooks, in the order of these, with their ends.
fn hooks(table: &mut Tested) -> Vec<(u64, u64)> {
    let next = |table: &mut Tested| table.expired.take_first();
    std::iter::from_fn(|| next(table)).map(|(end, whole)| (whole.value.0, end)).collect()
}

/// Numbers of the entries that the replicas learn of: those that wait, and those whose hooks ran.
fn news(table: &mut Tested) -> (Vec<u64>, Vec<u64>) {
    let (mut waiting, mut ran) = (Vec::new(), Vec::new());
    let known = |name: &[u8]| {
        let [.., high, low] = SourceAddress::get(name)?.0.as_v4()?;
        Some(u64::from(high) << 8 | u64::from(low))
    };
    table.tell_waiting(&mut |what| match what {
        Waiting::Is(name, piece) => {
            assert!(piece.starts_with(name) && name.len() == Tested::ENDED_NAME);
            waiting.push(Tested::decode(piece).unwrap().value.0);
        }
        Waiting::Ran(name) => {
            assert_eq!(name.len(), Tested::ENDED_NAME);
            ran.push(known(name).unwrap());
        }
    });
    (waiting, ran)
}

#[test]
fn hooks_come_by_end_and_key_whatever_came_first() {
    for seed in 0..scaled(48) {
        let (mut draw, mut table, mut model) = (Draw(seed), table(), BTreeSet::new());
        for _ in 0..scaled(400) {
            let number = draw.below(1000);
            let used = draw.below(6);
            let bytes = piece(number, used, 3 * SECOND);
            let name = bytes[..Tested::NAME].to_vec();
            if model.len() < 64 && model.insert((used + 3 * SECOND, name, number)) {
                table.take_expired(&bytes).unwrap();
            }
            if draw.below(3) == 0 {
                let first = model.pop_first().map(|(end, _, number)| (number, end));
                let next = table.expired.take_first();
                assert_eq!(next.map(|(end, whole)| (whole.value.0, end)), first, "seed {seed}");
            }
            let first = model.first().map_or(u64::MAX, |(end, ..)| *end);
            assert_eq!(table.next_end(), first, "seed {seed}");
        }
        let rest: Vec<_> = model.into_iter().map(|(end, _, number)| (number, end)).collect();
        assert_eq!(hooks(&mut table), rest, "seed {seed}");
        assert_eq!(table.lost_ends(), 0);
    }
}

#[test]
fn an_end_is_noted_once_however_it_is_noticed() {
    type Way = (&'static str, fn(&mut Tested, u64));
    let ways: [Way; 6] = [
        ("a look-up", |table, end| {
            visit(table, end, NO_FLOW);
            assert!(table.find_mut(&key(1)).is_none());
        }),
        ("an insertion", |table, end| {
            visit(table, end, NO_FLOW);
            table.insert(key(1), None, Held(2, 4 * SECOND)).unwrap();
            table.remove(&key(1)).unwrap();
        }),
        ("the wheel", |table, end| visit(table, end + DELAY / 2, NO_FLOW)),
        ("a handover", |table, end| {
            assert_eq!(table.take_out(3, end, 8, &mut |_| panic!("it expired")), 0);
        }),
        ("a move of its flow", |table, end| table.expire_flow(3, end)),
        ("the end of its flow", |table, _| table.remove_flow(3)),
    ];
    for (way, notice) in ways {
        let (mut table, end) = with_one();
        visit(&mut table, end - 1, NO_FLOW);
        assert!(table.expire_by(end - 1));
        assert_eq!((table.next_end(), table.len()), (u64::MAX, 1), "{way}: it lives");
        notice(&mut table, end);
        assert!(table.expire_by(end + 9 * SECOND));
        assert_eq!(table.len(), 0, "{way}");
        assert_eq!(hooks(&mut table), [(1, end)], "{way}");
    }
}

#[test]
fn only_what_expired_ends_before_its_flow_moves() {
    let (mut table, end) = with_one();
    visit(&mut table, 2 * SECOND, 3);
    table.insert(key(2), None, Held(2, 4 * SECOND)).unwrap();
    visit(&mut table, 2 * SECOND, 4);
    table.insert(key(3), None, Held(3, 2 * SECOND)).unwrap();
    table.expire_flow(3, end - 1);
    assert_eq!(hooks(&mut table), []);
    table.expire_flow(3, end);
    assert_eq!((hooks(&mut table), table.len()), (Vec::from([(1, end)]), 2));
}

#[test]
fn what_comes_late_from_the_other_side_has_ended() {
    let ways: [fn(&mut Tested, &[u8]) -> bool; 3] = [
        |table, piece| table.import_entry(piece, 4, 8).is_ok(),
        |table, piece| table.take_back(piece, 4).is_ok(),
        |table, piece| table.restore(piece, 4, 0).is_ok(),
    ];
    for come in ways {
        let mut table = table();
        visit(&mut table, 4 * SECOND, 4);
        assert!(come(&mut table, &piece(1, 0, 4 * SECOND)));
        assert_eq!((hooks(&mut table), table.len()), (Vec::from([(1, 4 * SECOND)]), 0));
    }
}

#[test]
fn what_is_removed_or_moves_does_not_end() {
    let (mut table, end) = with_one();
    table.remove(&key(1)).unwrap();
    assert!(table.expire_by(end + SECOND));
    assert_eq!(hooks(&mut table), []);

    let (mut table, end) = with_one();
    assert_eq!(table.take_out(3, end - 1, 8, &mut |_| {}), 1);
    assert!(table.expire_by(end + SECOND));
    assert_eq!(hooks(&mut table), []);

    // It stays until its flow's record is removed, even if that takes longer than it lives.
    let (mut table, end) = with_one();
    table.disown(3, end - 1);
    assert!(table.expire_by(end + SECOND));
    assert_eq!(table.len(), 1);
    table.remove_flow(3);
    assert_eq!((hooks(&mut table), table.len()), (Vec::new(), 0));
}

#[test]
fn the_wheel_waits_for_room_and_goes_on() {
    let mut table = sized(4, 4 * SECOND);
    // Places for eight entries, and those beyond.
    for (round, now) in [(0, 0), (1, 10 * SECOND), (2, 20 * SECOND)] {
        visit(&mut table, now, NO_FLOW);
        for number in 0..4 {
            table.insert(key(number), None, Held(10 * round + number, 4 * SECOND)).unwrap();
        }
    }
    let mut told = Vec::new();
    let tell = |table: &mut Tested, told: &mut Vec<u64>| {
        table.tell_expired(&mut |piece| told.push(Tested::decode(piece).unwrap().value.0));
    };
    assert!(!table.expire_by(30 * SECOND));
    assert_eq!((table.len(), told.len()), (4, 0), "eight wait");
    tell(&mut table, &mut told);
    assert_eq!((told.len(), table.next_end()), (8, u64::MAX));
    assert!(table.expire_by(30 * SECOND));
    tell(&mut table, &mut told);
    told.sort_unstable();
    assert_eq!(told, [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]);
    assert_eq!((table.len(), table.lost_ends()), (0, 0));
    tell(&mut table, &mut told);
    assert_eq!(told.len(), 12, "each is told once");
}

#[test]
fn no_more_is_taken_than_there_is_room_for() {
    let mut table = sized(4, 4 * SECOND);
    for number in 0..8 + BEYOND as u64 {
        table.take_expired(&piece(number, 0, 4 * SECOND)).unwrap();
    }
    let more = piece(100, 0, 4 * SECOND);
    assert_eq!(table.take_expired(&more), Err(Malformed));
    table.expired.take_first().unwrap();
    table.take_expired(&more).unwrap();
    assert_eq!(table.take_expired(&more[1..]), Err(Malformed));
    assert_eq!(hooks(&mut table).len(), 8 + BEYOND);
}

#[test]
fn replicas_learn_of_those_that_wait_and_of_hooks_that_ran() {
    let (mut table, end) = with_one();
    visit(&mut table, 2 * SECOND, 3);
    table.insert(key(2), None, Held(2, 4 * SECOND)).unwrap();
    assert!(!table.has_news());
    assert!(table.expire_by(end + DELAY / 2));
    assert!(table.has_news());
    assert_eq!(news(&mut table), (Vec::from([1]), Vec::new()));
    assert!(!table.has_news());
    assert_eq!(news(&mut table), (Vec::new(), Vec::new()));
    // The hook of one that nobody was told of needs no word.
    assert!(table.expire_by(9 * SECOND));
    assert_eq!(hooks(&mut table), [(1, end), (2, 6 * SECOND)]);
    assert_eq!(news(&mut table), (Vec::new(), Vec::from([1])));
    // There is a replica of one that came from the other side; its place may be another's.
    table.take_expired(&piece(3, end, 4 * SECOND)).unwrap();
    assert_eq!(news(&mut table), (Vec::new(), Vec::new()));
    assert_eq!(hooks(&mut table).len(), 1);
    table.take_expired(&piece(4, end, 4 * SECOND)).unwrap();
    assert_eq!(news(&mut table), (Vec::new(), Vec::from([3])));
    table.discard_expired();
    assert_eq!((table.has_news(), table.next_end(), hooks(&mut table).len()), (false, u64::MAX, 0));
}

#[test]
fn each_replica_ends_whatever_places_are_used_again() {
    let (mut table, mut draw, mut copies) = (table(), Draw(1), BTreeSet::new());
    let mut waiting = BTreeSet::new();
    for number in 0..scaled(512) {
        if waiting.len() < 60 && draw.below(2) == 0 {
            let whole = Tested::decode(&piece(number, draw.below(99), 4 * SECOND)).unwrap();
            table.keep_expired(&whole);
            waiting.insert(number);
        } else if let Some((_, whole)) = table.expired.take_first() {
            waiting.remove(&whole.value.0);
        }
        if draw.below(4) == 0 {
            let (is, ran) = news(&mut table);
            assert!(ran.iter().all(|number| copies.remove(number)), "one of {ran:?} had none");
            assert!(is.iter().all(|number| copies.insert(*number)), "one of {is:?} had one");
            assert_eq!(copies, waiting);
        }
    }
}

#[test]
fn the_shortest_time_counts_instead_of_less() {
    let mut table = table();
    visit(&mut table, 0, NO_FLOW);
    table.insert(key(1), None, Held(1, 1)).unwrap();
    table.insert(key(2), None, Held(2, 3 * SECOND)).unwrap();
    table.insert(key(3), None, Held(3, 99 * SECOND)).unwrap();
    assert!(table.expire_by(SHORTEST - 1));
    assert_eq!(table.len(), 3);
    assert!(table.expire_by(9 * SECOND));
    assert_eq!(hooks(&mut table), [(1, SHORTEST), (2, 3 * SECOND), (3, 4 * SECOND)]);
}

#[test]
fn an_entry_is_freed_well_before_its_hook_is_due() {
    // Turns of the wheel are shorter than the longest idle time, or much longer.
    for (seed, longest) in (0..scaled(16)).zip([2, 7, 100, 100_000].into_iter().cycle()) {
        let (mut draw, mut now) = (Draw(seed), SECOND);
        let (mut table, mut alive, mut over) =
            (sized(64, longest * SECOND), Vec::new(), Vec::new());
        for number in 0..scaled(600) {
            now += match draw.below(40) {
                0 => draw.below(2 * longest * SECOND),
                1..4 => draw.below(3 * SECOND),
                _ => draw.below(SECOND / 20),
            };
            visit(&mut table, now, NO_FLOW);
            assert!(table.expire_by(now));
            while let Some((end, whole)) = table.expired.take_first() {
                assert!(end <= now, "it had not ended");
                over.push((whole.value.0, end));
            }
            alive.retain(|entry| !over.contains(entry));
            let late = alive.iter().find(|(_, end)| end + DELAY / 2 <= now);
            assert_eq!(late, None, "seed {seed}, at {now}");
            let idle = SHORTEST.max(draw.below(longest * SECOND));
            if table.insert(key(number), None, Held(number, idle)).is_ok() {
                alive.push((number, now + idle));
            }
        }
        assert!(table.expire_by(now + 2 * longest * SECOND));
        over.extend(hooks(&mut table));
        let mut numbers: Vec<_> = over.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), over.len(), "each ends once");
    }
}
