//! Making and freeing entries in a table of `cora-core`, beside each other: how a time for both is
//! to be divided.

use std::hint::black_box;
use std::io::{Error, Result};

use cora_core::key::{Address, FiveTuple};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::{NO_FLOW, Visit};
use cora_measure::ThreadTime;

use super::traffic::draw;

const SHAPE: Shape = Shape { capacity: 1 << 17, spare: 0, idle: u64::MAX / 4, reply: true };
const VISIT: Visit = Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead: ALONE };

/// A table, and keys that come and go.
#[derive(Debug)]
pub(crate) struct Entries {
    table: RawTable<FiveTuple, [u64; 2]>,
    keys: Vec<FiveTuple>,
}

impl Entries {
    /// A table that so many entries come and go in.
    pub(crate) fn new(entries: u64) -> Result<Self> {
        let lack = |lack: cora_core::state::OutOfMemory| Error::other(lack.to_string());
        let bytes = RawTable::<FiveTuple, [u64; 2]>::bytes(SHAPE);
        let mut memory = cora_host::memory_for_states(bytes).map_err(Error::other)?;
        let table = RawTable::create(&mut memory, SHAPE).map_err(lack)?;
        let mut seed = 3;
        let keys = (0..entries).map(|number| key(number, draw(&mut seed))).collect();
        let mut entries = Self { table, keys };
        // The first entries of a table meet memory that nobody has touched.
        entries.insert();
        entries.remove();
        Ok(entries)
    }

    /// Nanoseconds of making an entry, and of taking one out.
    pub(crate) fn round(&mut self) -> (f64, f64) {
        (self.insert(), self.remove())
    }

    fn insert(&mut self) -> f64 {
        let start = ThreadTime::now();
        for key in &self.keys {
            self.table.begin(VISIT);
            // There is room for all of them.
            let _made = black_box(self.table.insert(*key, Some(key.reversed()), [1, 0]));
        }
        start.elapsed().as_nanos() as f64 / self.keys.len() as f64
    }

    fn remove(&mut self) -> f64 {
        let start = ThreadTime::now();
        for key in &self.keys {
            self.table.begin(VISIT);
            black_box(self.table.remove(key));
        }
        start.elapsed().as_nanos() as f64 / self.keys.len() as f64
    }
}

/// A flow's key; the number makes it its own.
fn key(number: u64, mixed: u64) -> FiveTuple {
    let (number, mixed) = (number.to_le_bytes(), mixed.to_le_bytes());
    FiveTuple {
        source: Address::v4([10, number[2], number[1], number[0]]),
        destination: Address::v4([198, 18, mixed[0], mixed[1]]),
        source_port: u16::from_le_bytes([mixed[2], mixed[3]]) | 1,
        destination_port: 443,
        protocol: 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go() {
        let mut entries = Entries::new(1000).expect("memory");
        let (insert, remove) = entries.round();
        assert!(insert > 0.0 && remove > 0.0, "{insert} {remove}");
        entries.insert();
        let there = entries.keys.iter().filter(|key| entries.table.get(key).is_some()).count();
        assert_eq!(there, 1000, "every key is its own");
    }
}
