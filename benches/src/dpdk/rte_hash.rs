//! The flow table against `rte_hash`: both look up 32 keys at a time, and values lie beside
//! `rte_hash`, at its positions.

use cora_core::prefetch::prefetch;

use super::ffi::{BULK, Environment, Hash, PaddedKey};
use crate::figure::Figure;
use crate::keys::{Skew, Tuple4, Value, size};
use crate::table::{Announced, TURN, Table, churn, filled, find};
use crate::turns::take;

const PEER: &str = "rte_hash";

/// Measures look-ups, misses, churn and memory.
pub(super) fn run(
    environment: Environment,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) {
    let sizes: &[u64] = if quick { &[1_000, 1_000_000] } else { &[1_000, 1_000_000, 8_000_000] };
    let turns = if quick { 5 } else { 11 };
    for entries in sizes {
        let name = |what: &str| format!("table/{what}/{}, {PEER}", size(*entries));
        let whats = ["hit-zipf", "hit-uniform", "miss", "churn", "bytes-per-entry"];
        let whats = whats.into_iter().filter(|what| wanted(&name(what))).collect::<Vec<_>>();
        if whats.is_empty() {
            continue;
        }
        let Some(mut pair) = Pair::of(environment, *entries) else {
            eprintln!("{PEER} holds no {entries} keys, these rows lack");
            continue;
        };
        for what in whats {
            tell(match what {
                "hit-zipf" => pair.hits(name(what), Skew::Zipf, turns),
                "hit-uniform" => pair.hits(name(what), Skew::Uniform, turns),
                "miss" => pair.misses(name(what), turns),
                "churn" => pair.churn(name(what), turns),
                _ => pair.bytes_per_entry(name(what)),
            });
        }
    }
}

/// `rte_hash` and the values of its keys.
struct Peer {
    hash: Hash,
    values: Vec<Value>,
}

/// The two contestants, with the same contents.
struct Pair {
    entries: u64,
    table: Table,
    peer: Peer,
}

/// Returns a key with three zeros behind it.
fn padded(number: u64) -> PaddedKey {
    let mut key = [0; 16];
    key[..13].copy_from_slice(&Tuple4::of_number(number).0);
    key
}

impl Peer {
    /// Finds a batch, changes the found values, and returns their number. It prefetches all values
    /// before the first change, as `rte_hash` itself does with its key places.
    fn find(&mut self, keys: &[PaddedKey; BULK]) -> u64 {
        let positions = self.hash.find(keys);
        for position in positions {
            if let Some(value) = self.values.get(position.cast_unsigned() as usize) {
                prefetch(value);
            }
        }
        let mut found = 0;
        for position in positions {
            // A negative position becomes a large one.
            if let Some(value) = self.values.get_mut(position.cast_unsigned() as usize) {
                value.0[0] += 1;
                found += 1;
            }
        }
        found
    }

    fn find_all(&mut self, keys: &[[PaddedKey; BULK]]) -> u64 {
        keys.iter().map(|batch| self.find(batch)).sum()
    }

    /// Inserts a key and a new value, and returns whether there was room.
    fn add(&mut self, key: &PaddedKey) -> bool {
        let position = self.hash.add(key);
        let value = position.and_then(|position| self.values.get_mut(position));
        value.map(|value| *value = Value::default()).is_some()
    }
}

impl Pair {
    /// Returns `None` if `rte_hash` does not take all entries.
    fn of(environment: Environment, entries: u64) -> Option<Self> {
        let hash = environment.hash(&format!("hash-{}", size(entries)), entries as u32)?;
        let mut peer = Peer { values: vec![Value::default(); hash.positions()], hash };
        let all = (0..entries).all(|number| peer.add(&padded(number)));
        all.then(|| Self { entries, table: filled(entries), peer })
    }

    fn compare(&mut self, name: String, draws: &[u64], found: u64, turns: usize) -> Figure {
        let keys: Vec<Tuple4> = draws.iter().copied().map(Tuple4::of_number).collect();
        let padded: Vec<PaddedKey> = draws.iter().copied().map(padded).collect();
        let (batches, _) = padded.as_chunks::<BULK>();
        let Self { table, peer, .. } = self;
        let [cora, peer] = take(
            turns,
            [
                &mut || {
                    assert_eq!(
                        keys.chunks(BULK).map(|batch| find(table, batch)).sum::<u64>(),
                        found
                    );
                    keys.len() as u64
                },
                &mut || {
                    assert_eq!(peer.find_all(batches), found);
                    keys.len() as u64
                },
            ],
        );
        Figure::of_times(name, &cora, &peer, PEER, 1.0)
    }

    fn hits(&mut self, name: String, skew: Skew, turns: usize) -> Figure {
        let draws = skew.draws(self.entries, TURN, 7);
        self.compare(name, &draws, TURN as u64, turns)
    }

    fn misses(&mut self, name: String, turns: usize) -> Figure {
        let mut draws = Skew::Uniform.draws(self.entries, TURN, 8);
        for number in &mut draws {
            *number += self.entries;
        }
        self.compare(name, &draws, 0, turns)
    }

    /// Removes the oldest entry and inserts a new one, in a full table.
    fn churn(&mut self, name: String, turns: usize) -> Figure {
        let Self { entries, table, peer } = self;
        let [cora, peer] =
            churn(*entries, &mut 0, turns, Announced::InBursts, table, |old, new| {
                let gone = peer.hash.remove(&padded(old));
                assert!(gone.is_some() && peer.add(&padded(new)));
            });
        Figure::of_times(name, &cora, &peer, PEER, 1.0)
    }

    /// Compares the bytes of the peer's heap and values with the table's.
    fn bytes_per_entry(&self, name: String) -> Figure {
        let Peer { hash, values } = &self.peer;
        let peer = (hash.bytes() + size_of_val(values.as_slice())) as f64 / self.entries as f64;
        Figure::of_sizes(name, crate::table::bytes_per_entry(self.entries), peer, PEER)
    }
}
