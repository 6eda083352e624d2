//! The final state of every table, in canonical order: by state name, then by encoded key. Two runs
//! with the same final state write the same bytes.
//!
//! Each shard exports its states in pieces ([`account`](crate::observe::account)). Entries of all
//! shards are united, replicas of commutative states are merged, each value per bucket is that of
//! the shard that has the bucket, and each state of one value is that of the first shard: a program
//! with a singleton has no other, and all shards have the same version of a read-mostly state.

use std::collections::BTreeMap;
use std::fmt::Display;

use cora_core::app::App;
use cora_core::plain::Describe;
use cora_core::state::{DescribeItem, Kind};
use cora_runtime::channel::ProtocolError;
use cora_runtime::steering::Deal;
use serde_json::{Map, Value};

use crate::RunError;
use crate::ingress::versions::Version;
use crate::observe::account::Piece;

/// Entries by state and encoded key.
#[derive(Debug, Default)]
struct Contents {
    states: BTreeMap<usize, BTreeMap<Vec<u8>, Value>>,
    /// Number of keys that two sides, or two shards, hold: they have one owner too many.
    doubled: u64,
}

impl Contents {
    /// Imports an exported piece: an entry is recorded here, replicas and whole values are merged
    /// into `app`'s.
    fn take_in<A: App>(
        &mut self,
        app: &mut A,
        state: u16,
        piece: &[u8],
        now: u64,
    ) -> Result<(), ProtocolError> {
        let entries = self.states.entry(state.into()).or_default();
        let doubled = &mut self.doubled;
        import(app, state, piece, now, &mut |key, describe| {
            let before = entries.insert(key.to_vec(), to_json(describe));
            *doubled += u64::from(before.is_some());
        })?;
        Ok(())
    }

    /// Adds the states that are merged in `app`, and a place for each table.
    fn add_values<A: App>(&mut self, app: &mut A, now: u64) {
        for number in 0..A::STATES {
            let entries = self.states.entry(number).or_default();
            app.described(number).describe(now, &mut |key, describe| {
                entries.insert(key.to_vec(), to_json(describe));
            });
        }
    }

    /// The whole as JSON: `{"schema", "program", "states": {name: [entry…] | value}}`.
    fn into_json<A: App>(self, app: &mut A) -> Value {
        let mut states = Map::new();
        for (number, entries) in self.states {
            let Some((name, _)) = A::PLACES.get(number) else { continue };
            let mut values: Vec<Value> = entries.into_values().collect();
            let value = match app.state(number).kind() {
                Kind::Keyed | Kind::Region => Value::Array(values),
                _ => values.pop().unwrap_or(Value::Null),
            };
            states.insert((*name).into(), value);
        }
        serde_json::json!({ "schema": "cora-state/2", "program": A::NAME, "states": states })
    }
}

/// The final state of these shards as JSON, and its faults. `app` is empty; `now` decides which
/// entries have expired.
pub(crate) fn final_state<A: App>(
    app: &mut A,
    version: &Version,
    (shards, deal): (&[Vec<Piece>], &Deal),
    now: u64,
) -> Result<(Value, Option<String>), RunError> {
    version.put_in_force(app)?;
    let mut contents = Contents::default();
    for (shard, pieces) in shards.iter().enumerate() {
        for (state, piece) in pieces {
            if is_of(app, *state, piece, shard, deal) {
                contents.take_in(app, *state, piece, now)?;
            }
        }
    }
    contents.add_values(app, now);
    let doubled = contents.doubled;
    let fault = (doubled > 0).then(|| format!("{doubled} keys have two owners"));
    Ok((contents.into_json(app), fault))
}

/// Imports an exported piece of a state into `app`: replicas and whole values are merged, an entry
/// is only passed to `item`. Returns the kind of the state.
pub(crate) fn import<A: App>(
    app: &mut A,
    state: u16,
    piece: &[u8],
    now: u64,
    item: &mut DescribeItem<'_>,
) -> Result<Kind, ProtocolError> {
    let number = usize::from(state);
    if number >= A::STATES {
        return Err(ProtocolError::BadPiece(state));
    }
    let home = app.described(number);
    home.import(piece, now, item).map_err(|_| ProtocolError::BadPiece(state))?;
    Ok(home.kind())
}

/// Whether a piece that this shard exported is of the final state: of a state that is shared out,
/// each shard has its own part; of a value per bucket, the shard that has the bucket.
fn is_of<A: App>(app: &mut A, state: u16, piece: &[u8], shard: usize, deal: &Deal) -> bool {
    if usize::from(state) >= A::STATES {
        return shard == 0;
    }
    let home = app.state(state.into());
    match home.kind() {
        Kind::Keyed | Kind::Commutative => true,
        Kind::PerBucket => {
            home.bucket_of(piece).map_or(shard == 0, |bucket| deal.shard_of(bucket) == shard)
        }
        Kind::Singleton | Kind::Region | Kind::ReadMostly => shard == 0,
    }
}

pub(crate) fn to_json(describe: &mut dyn FnMut(&mut dyn Describe)) -> Value {
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
