//! A table after a long silence: no single packet pays for all entries that expired meanwhile,
//! look-ups are exact nevertheless, and insertions find places when necessary.
#![cfg(not(loom))]

use cora_core::key::{Address, FiveTuple};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::{Line, Memory, NO_FLOW, Visit};

#[derive(Clone, Copy, Debug)]
struct Nothing;

impl Plain for Nothing {
    const SIZE: usize = 0;
    fn put(&self, _: &mut [u8]) {}
    fn get(_: &[u8]) -> Option<Self> {
        Some(Self)
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

const IDLE: u64 = 6400;
const CAPACITY: u32 = 20_000;
/// Entries that a packet may examine, with some slack.
const FEW: u32 = 40;

type Subject = RawTable<FiveTuple, Nothing>;

fn table() -> Subject {
    let shape = Shape { capacity: CAPACITY, spare: 0, idle: IDLE, reply: false };
    let lines = vec![Line::ZERO; Subject::bytes(shape).div_ceil(Line::BYTES) + 16].leak();
    RawTable::create(&mut Memory::new(lines).with_seed(7), shape).expect("memory made for it")
}

fn key(number: u32) -> FiveTuple {
    let [_, a, b, c] = number.to_be_bytes();
    FiveTuple {
        source: Address::v4([10, a, b, c]),
        destination: Address::v4([203, 0, 113, 1]),
        source_port: 7,
        destination_port: 9,
        protocol: 17,
    }
}

fn at(table: &mut Subject, now: u64) {
    table.begin(Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead: ALONE });
}

/// A full table, with entries used at these moments, one after the other.
fn full(moment: impl Fn(u32) -> u64) -> Subject {
    let mut table = table();
    for number in 0..CAPACITY {
        at(&mut table, moment(number));
        table.insert(key(number), None, Nothing).expect("there is room");
    }
    table
}

/// Silences of any length, with entries that came together or over an idle time.
#[test]
fn a_packet_behind_a_silence_looks_at_a_few_entries() {
    let together = |_: u32| IDLE;
    let spread = |number: u32| IDLE + u64::from(number) * IDLE / u64::from(CAPACITY) / 2;
    for silence in [2, 3, 4, 5, 9, 1000] {
        for mut table in [full(together), full(spread)] {
            let now = IDLE * (silence + 1);
            let before = table.len();
            at(&mut table, now);
            assert!(before - table.len() <= FEW, "{silence}: {} are left", table.len());
            assert!((0..CAPACITY).all(|number| table.get(&key(number)).is_none()), "{silence}");
            // Space for one entry requires the removal of one.
            let before = table.len() + 1;
            table.insert(key(CAPACITY + 1), None, Nothing).expect("all of them have expired");
            assert!(before - table.len() <= FEW, "{silence}: {} are left", table.len());
            // The following packets do the rest, at any pace.
            for later in 0..u64::from(CAPACITY / 4) {
                at(&mut table, now + later % IDLE / 2);
            }
            assert_eq!(table.len(), 1, "{silence}");
            assert!(table.get(&key(CAPACITY + 1)).is_some());
        }
    }
}

/// Some of the entries are used again while the wheel is far behind, at several paces of time:
/// those stay, and the others are freed in the end.
#[test]
fn what_is_used_meanwhile_stays_and_holds_nothing_up() {
    for (step, part) in [(0, 2), (1, 2), (1, 5), (3, 1000), (100, 7)] {
        let mut table = full(|_| IDLE);
        // Nine tenths of the idle time later, and at the end of three more such spans.
        let used: Vec<u32> = (0..CAPACITY).step_by(part).collect();
        for again in 1..=3 {
            at(&mut table, IDLE + again * IDLE * 9 / 10);
            assert!(used.iter().all(|number| table.get(&key(*number)).is_some()), "{step}");
        }
        // The others expired long ago; these live for an idle time from the last look-up.
        let begin = IDLE + 3 * IDLE * 9 / 10;
        let packets = (CAPACITY / 4).into();
        for packet in 0..packets {
            at(&mut table, (begin + packet * step).min(begin + IDLE - 1));
        }
        assert_eq!(table.len() as usize, used.len(), "{step}");
        assert!(used.iter().all(|number| table.get(&key(*number)).is_some()), "{step}");
    }
}
