//! The final state of every table, in canonical order: by state name, then by encoded key. Two runs
//! with the same final state write the same bytes.

use std::collections::BTreeMap;
use std::fmt::Display;

use cora_core::app::App;
use cora_core::plain::Describe;
use cora_core::state::{Described, Kind};
use cora_runtime::channel::ProtocolError;
use serde_json::{Map, Value};

use crate::observe::report::Filled;

/// Entries by state and encoded key.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    states: BTreeMap<usize, BTreeMap<Vec<u8>, Value>>,
    /// Number of keys that two sides, or two pairs, hold: they have one owner too many.
    pub(crate) doubled: u64,
}

impl Contents {
    /// Imports a piece exported by the NIC: entries are recorded here, replicas and whole values
    /// are merged into this side's.
    pub(crate) fn take_in<A: App>(
        &mut self,
        app: &mut A,
        state: u16,
        piece: &[u8],
        now: u64,
    ) -> Result<(), ProtocolError> {
        let number = usize::from(state);
        if number >= A::STATES {
            return Err(ProtocolError::BadPiece(state));
        }
        let states = &mut self.states;
        let doubled = &mut self.doubled;
        app.described(number)
            .import(piece, now, &mut |key, describe| {
                let value = to_json(describe);
                let before = states.entry(number).or_default().insert(key.to_vec(), value);
                *doubled += u64::from(before.is_some());
            })
            .map_err(|_| ProtocolError::BadPiece(state))
    }

    /// Imports another pair's state: its entries are recorded here, its replicas are merged into
    /// `app`'s. It has the same version of a read-mostly state, and can't have a singleton.
    pub(crate) fn add_shard<A: App>(
        &mut self,
        app: &mut A,
        shard: &mut A,
        now: u64,
    ) -> Result<(), ProtocolError> {
        for number in 0..A::STATES {
            let own = shard.described(number);
            match own.kind() {
                Kind::Keyed => self.note(number, own, now),
                Kind::Commutative => {
                    let mut merged = Ok(());
                    own.export(now, &mut |piece| {
                        let taken = app.state(number).merge(piece);
                        merged = merged.and(taken);
                    });
                    merged.map_err(|_| ProtocolError::BadPiece(number as u16))?;
                }
                Kind::Singleton | Kind::ReadMostly => {}
            }
        }
        Ok(())
    }

    /// Adds the entries of another pair's NIC.
    pub(crate) fn join(&mut self, other: Self) {
        for (number, entries) in other.states {
            let mine = self.states.entry(number).or_default();
            for (key, value) in entries {
                self.doubled += u64::from(mine.insert(key, value).is_some());
            }
        }
        self.doubled += other.doubled;
    }

    /// Adds this side's entries.
    pub(crate) fn add_own<A: App>(&mut self, app: &mut A, now: u64) {
        for number in 0..A::STATES {
            self.note(number, app.described(number), now);
        }
    }

    fn note(&mut self, number: usize, state: &dyn Described, now: u64) {
        let entries = self.states.entry(number).or_default();
        let doubled = &mut self.doubled;
        state.describe(now, &mut |key, describe| {
            let before = entries.insert(key.to_vec(), to_json(describe));
            *doubled += u64::from(before.is_some());
        });
    }

    /// Number of entries in the fullest table.
    pub(crate) fn entries<A: App>(&self, app: &mut A) -> u64 {
        let mut most = 0;
        for (number, entries) in &self.states {
            if matches!(app.state(*number).kind(), Kind::Keyed) {
                most = most.max(entries.len() as u64);
            }
        }
        most
    }

    /// The fill level of each table, with one such table in each of `pairs` pairs.
    pub(crate) fn tables<A: App>(
        &self,
        app: &mut A,
        pairs: usize,
    ) -> BTreeMap<&'static str, Filled> {
        let mut tables = BTreeMap::new();
        for (number, (name, _)) in A::PLACES.iter().enumerate() {
            if let Some(table) = app.state(number).as_travelling() {
                let entries = self.states.get(&number).map_or(0, |entries| entries.len() as u64);
                let capacity = u64::from(table.capacity()) * pairs as u64;
                tables.insert(*name, Filled { entries, capacity });
            }
        }
        tables
    }

    /// The whole as JSON: `{"schema", "program", "states": {name: [entry…] | value}}`.
    pub(crate) fn into_json<A: App>(self, app: &mut A) -> Value {
        let mut states = Map::new();
        for (number, entries) in self.states {
            let Some((name, _)) = A::PLACES.get(number) else { continue };
            let mut values: Vec<Value> = entries.into_values().collect();
            let value = match app.state(number).kind() {
                Kind::Keyed => Value::Array(values),
                _ => values.pop().unwrap_or(Value::Null),
            };
            states.insert((*name).into(), value);
        }
        serde_json::json!({ "schema": "cora-state/1", "program": A::NAME, "states": states })
    }
}

fn to_json(describe: &mut dyn FnMut(&mut dyn Describe)) -> Value {
    let mut json = Json::default();
    describe(&mut json);
    json.done.unwrap_or(Value::Null)
}

/// Builds a JSON value from a description.
#[derive(Default)]
struct Json {
    /// Open values: structs with the name of the next field, and lists.
    open: Vec<Open>,
    done: Option<Value>,
}

enum Open {
    Struct(Map<String, Value>, &'static str),
    List(Vec<Value>),
}

impl Json {
    fn value(&mut self, value: Value) {
        match self.open.last_mut() {
            Some(Open::Struct(fields, name)) => drop(fields.insert((*name).into(), value)),
            Some(Open::List(items)) => items.push(value),
            None => self.done = Some(value),
        }
    }
}

impl Describe for Json {
    fn number(&mut self, value: u128) {
        // JSON readers keep at most 64 bits; larger numbers become text.
        let json =
            u64::try_from(value).map_or_else(|_| Value::String(value.to_string()), Value::from);
        self.value(json);
    }

    fn signed(&mut self, value: i128) {
        let json =
            i64::try_from(value).map_or_else(|_| Value::String(value.to_string()), Value::from);
        self.value(json);
    }

    fn truth(&mut self, value: bool) {
        self.value(Value::Bool(value));
    }

    fn text(&mut self, value: &dyn Display) {
        self.value(Value::String(value.to_string()));
    }

    fn open(&mut self) {
        self.open.push(Open::Struct(Map::new(), ""));
    }

    fn field(&mut self, name: &'static str) {
        if let Some(Open::Struct(_, next)) = self.open.last_mut() {
            *next = name;
        }
    }

    fn close(&mut self) {
        if let Some(Open::Struct(fields, _)) = self.open.pop() {
            self.value(Value::Object(fields));
        }
    }

    fn open_list(&mut self) {
        self.open.push(Open::List(Vec::new()));
    }

    fn close_list(&mut self) {
        if let Some(Open::List(items)) = self.open.pop() {
            self.value(Value::Array(items));
        }
    }
}

#[cfg(test)]
mod tests {
    use cora_core::key::{Address, FiveTuple};
    use cora_core::plain::Plain as _;

    use super::*;

    #[test]
    fn describes_trees() {
        let value = to_json(&mut |to| {
            to.open();
            to.field("flow");
            FiveTuple { source: Address::v4([10, 0, 0, 1]), ..FiveTuple::default() }.describe(to);
            to.field("counts");
            [1_u32, 2].describe(to);
            to.field("big");
            u128::MAX.describe(to);
            to.close();
        });
        let expected = serde_json::json!({
            "flow": "ip-0 10.0.0.1:0 > [::]:0", "counts": [1, 2],
            "big": "340282366920938463463374607431768211455",
        });
        assert_eq!(value, expected);
    }
}
