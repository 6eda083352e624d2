//! The flow table against hashbrown with foldhash: a key of 13 bytes, a value of 32.

use std::array;
use std::hash::BuildHasher as _;
use std::hint::black_box;

use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::{Line, Memory, NO_FLOW, Visit};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::figure::Figure;
use crate::keys::{Skew, Tuple4, Value, size};
use crate::turns::{Turns, take};

const BASELINE: &str = "hashbrown+foldhash";
/// Operations of a turn.
pub(crate) const TURN: usize = 1 << 20;
const BATCH: usize = 32;

pub(crate) type Table = RawTable<Tuple4, Value>;
type Map = HashMap<Tuple4, Value, RandomState>;

/// The two contestants, with the same contents.
struct Ring {
    entries: u64,
    /// The number of the oldest key.
    oldest: u64,
    table: Table,
    map: Map,
}

/// Measures look-ups, misses and churn.
pub(crate) fn run(quick: bool, wanted: &dyn Fn(&str) -> bool, tell: &mut dyn FnMut(Figure)) {
    let sizes: &[u64] = if quick { &[1_000, 1_000_000] } else { &[1_000, 1_000_000, 8_000_000] };
    let turns = if quick { 5 } else { 11 };
    for entries in sizes {
        let whats = ["hit-zipf", "hit-uniform", "miss", "churn", "churn-alone"];
        let names = whats.map(|what| (what, name(what, *entries)));
        if !names.iter().any(|(_, name)| wanted(name)) {
            continue;
        }
        let mut ring = Ring::of(*entries);
        for (what, name) in names.into_iter().filter(|(_, name)| wanted(name)) {
            tell(match what {
                "hit-zipf" => ring.hits(name, Skew::Zipf, turns),
                "hit-uniform" => ring.hits(name, Skew::Uniform, turns),
                "miss" => ring.misses(name, turns),
                "churn" => ring.churn(name, turns, Announced::InBursts),
                _ => ring.churn(name, turns, Announced::Not),
            });
        }
    }
    if wanted("table/bytes-per-entry") {
        let cora = bytes_per_entry(8_000_000);
        tell(Figure::of_limit("table/bytes-per-entry".to_owned(), cora, 80.0, "bytes"));
    }
}

fn name(what: &str, entries: u64) -> String {
    format!("table/{what}/{}", size(entries))
}

fn shape(entries: u64) -> Shape {
    Shape { capacity: entries as u32, spare: 0, idle: u64::MAX / 4, reply: false }
}

const VISIT: Visit = Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead: ALONE };

/// Makes a full table of that capacity.
pub(crate) fn filled(entries: u64) -> Table {
    let shape = shape(entries);
    let lines = vec![Line::ZERO; Table::bytes(shape).div_ceil(Line::BYTES) + 16].leak();
    let mut memory = Memory::new(lines).with_seed(RandomState::default().hash_one(0));
    #[expect(clippy::expect_used, reason = "the memory was made for it")]
    let mut table = Table::create(&mut memory, shape).expect("there is memory");
    table.begin(VISIT);
    for number in 0..entries {
        let inserted = table.insert(Tuple4::of_number(number), None, Value::default());
        assert!(inserted.is_ok(), "there is room for {entries}");
    }
    table
}

impl Ring {
    fn of(entries: u64) -> Self {
        let table = filled(entries);
        let mut map = Map::with_capacity_and_hasher(entries as usize, RandomState::default());
        for number in 0..entries {
            map.insert(Tuple4::of_number(number), Value::default());
        }
        Self { entries, oldest: 0, table, map }
    }

    /// Finds and changes entries, in batches like a burst of packets.
    fn hits(&mut self, name: String, skew: Skew, turns: usize) -> Figure {
        let draws = skew.draws(self.entries, TURN, 7);
        let keys: Vec<Tuple4> = draws.into_iter().map(Tuple4::of_number).collect();
        let Self { table, map, .. } = self;
        let [cora, peer] = take(
            turns,
            [
                &mut || {
                    let found: u64 = keys.chunks(BATCH).map(|batch| find(table, batch)).sum();
                    assert_eq!(found, keys.len() as u64);
                    found
                },
                &mut || {
                    let mut found = 0;
                    for key in &keys {
                        if let Some(value) = map.get_mut(key) {
                            value.0[0] += 1;
                            found += 1;
                        }
                    }
                    found
                },
            ],
        );
        let goal = match (skew, self.entries) {
            (_, ..1_000_000) => 1.0,
            (Skew::Zipf, _) => 2.0,
            (Skew::Uniform, _) => 1.2,
        };
        Figure::of_times(name, &cora, &peer, BASELINE, goal)
    }

    fn misses(&mut self, name: String, turns: usize) -> Figure {
        let draws = Skew::Uniform.draws(self.entries, TURN, 8);
        let entries = self.entries;
        let keys: Vec<Tuple4> =
            draws.into_iter().map(|number| Tuple4::of_number(number + entries)).collect();
        let Self { table, map, .. } = self;
        let [cora, peer] = take(
            turns,
            [
                &mut || {
                    let found: u64 = keys.chunks(BATCH).map(|batch| find(table, batch)).sum();
                    assert_eq!(found, 0);
                    keys.len() as u64
                },
                &mut || {
                    let found = keys.iter().filter(|key| map.contains_key(*key)).count();
                    assert_eq!(found, 0);
                    keys.len() as u64
                },
            ],
        );
        Figure::of_times(name, &cora, &peer, BASELINE, 1.0)
    }

    /// Removes the oldest entry and inserts a new one, in a full table.
    fn churn(&mut self, name: String, turns: usize, announced: Announced) -> Figure {
        let Self { table, map, entries, oldest } = self;
        let [cora, peer] = churn(*entries, oldest, turns, announced, table, |old, new| {
            let gone = map.remove(&Tuple4::of_number(old));
            let put = map.insert(Tuple4::of_number(new), Value::default());
            assert!(gone.is_some() && put.is_none());
        });
        Figure::of_times(name, &cora, &peer, BASELINE, 1.0)
    }
}

/// Whether a table gets the keys of a burst before their look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// Announced, like the keys of packets.
    InBursts,
    /// Not announced.
    Not,
}

/// Makes the table and a peer, both full, remove the oldest entry and insert a new one, again and
/// again.
pub(crate) fn churn(
    entries: u64,
    oldest: &mut u64,
    turns: usize,
    announced: Announced,
    table: &mut Table,
    mut replace_of_peer: impl FnMut(u64, u64),
) -> [Turns; 2] {
    let count = TURN as u64 / 4;
    let (mut of_table, mut of_peer) = (*oldest, *oldest);
    let took = take(
        turns,
        [
            &mut || {
                for first in (of_table..of_table + count).step_by(BATCH / 2) {
                    replace(table, &keys_of_burst(first, entries), announced);
                }
                of_table += count;
                count
            },
            &mut || {
                (of_peer..of_peer + count).for_each(|old| replace_of_peer(old, old + entries));
                of_peer += count;
                count
            },
        ],
    );
    *oldest = of_table;
    took
}

/// Returns the keys of a burst, as a parser leaves them: pairs of an old key, from `oldest` on, and
/// a new key, larger by `further`.
fn keys_of_burst(oldest: u64, further: u64) -> [[Tuple4; 2]; BATCH / 2] {
    black_box(array::from_fn(|at| {
        let old = oldest + at as u64;
        [old, old + further].map(Tuple4::of_number)
    }))
}

/// Removes keys, and inserts others.
fn replace(table: &mut Table, burst: &[[Tuple4; 2]], announced: Announced) {
    let keys = burst.as_flattened();
    if announced == Announced::InBursts {
        for (packet, key) in (0..).zip(keys) {
            table.prefetch_index(packet, Some(key));
        }
        for (packet, key) in (0..).zip(keys) {
            table.prefetch_entry(packet, || Some(*key));
        }
    }
    let visit = |packet| match announced {
        Announced::InBursts => Visit { ahead: packet, ..VISIT },
        Announced::Not => VISIT,
    };
    for (packet, [old, new]) in (0_u8..).step_by(2).zip(burst) {
        table.begin(visit(packet));
        let gone = table.remove(old);
        table.begin(visit(packet + 1));
        let put = table.insert(*new, None, Value::default());
        assert!(gone.is_some() && put.is_ok());
    }
}

/// Finds a batch, and returns the number of found entries.
pub(crate) fn find(table: &mut Table, batch: &[Tuple4]) -> u64 {
    let mut found = 0;
    for (packet, key) in (0..).zip(batch) {
        table.prefetch_index(packet, Some(key));
    }
    for (packet, key) in (0..).zip(batch) {
        table.prefetch_entry(packet, || Some(*key));
    }
    for (ahead, key) in (0..).zip(batch) {
        table.begin(Visit { ahead, ..VISIT });
        if let Some((_, value)) = table.find_mut(key) {
            value.0[0] += 1;
            found += 1;
        }
    }
    found
}

/// Returns the bytes per entry of a table with this capacity.
pub(crate) fn bytes_per_entry(entries: u64) -> f64 {
    Table::bytes(shape(entries)) as f64 / entries as f64
}
