//! The encoding of durable entries and singletons, so that another build of the program can carry
//! them over.
//!
//! States and fields are matched by name. A field in both builds is copied, one missing in the new
//! build is dropped, and a new one is zero. If the old build's fields are those of the type in the
//! new one's `from`, its `From` makes the value instead. Any other change of a width is refused,
//! with a remedy. Entries are also refused without a singleton that the new build keeps, since they
//! may depend on it.

use std::collections::BTreeMap;

use cora_core::app::{App, Sides};
use cora_core::plain::Plain;
use cora_runtime::durability;
use serde::{Deserialize, Serialize};

/// Bytes of a time in an entry.
const TIME: usize = size_of::<u64>();

/// The durable states of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Bytes of the key that flows move by.
    group: usize,
    states: Vec<StateLayout>,
    #[serde(default)]
    singletons: Vec<StateLayout>,
    /// Whether replicas take effect by committed numbers; in older builds each takes effect by
    /// itself.
    #[serde(default)]
    pub(crate) commits: bool,
    /// Whether entries are kept by their bucket, and not by the key that flows move by.
    #[serde(default)]
    by_bucket: bool,
}

/// The layout of one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StateLayout {
    name: String,
    number: u16,
    key: usize,
    /// Bytes of an entry, which ends with the value.
    entry: usize,
    value: usize,
    fields: Vec<(String, usize)>,
    /// Fields of the type that `From` makes values from.
    #[serde(default)]
    before: Vec<(String, usize)>,
}

/// The conversion of entries from one build to another, by the state's number in the former.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversion {
    states: BTreeMap<u16, StateConversion>,
}

#[derive(Clone, Debug)]
struct StateConversion {
    number: u16,
    /// Bytes before the value, in the former build and in this one.
    heads: [usize; 2],
    from: usize,
    to: usize,
    value: ValueConversion,
}

#[derive(Clone, Debug)]
enum ValueConversion {
    /// Source offset in the value, destination offset, and length of each field.
    Copied(Vec<(usize, usize, usize)>),
    /// By the state's `From`.
    Made,
}

impl Layout {
    pub(crate) fn of<A: App>(app: &mut A) -> Self {
        let mut states = Vec::new();
        for (number, (name, _)) in A::PLACES.iter().enumerate() {
            if durability::sizes(app, number as u16).is_none() {
                continue;
            }
            states.extend(StateLayout::of(app, number, name));
        }
        let names = A::KEPT.iter().filter_map(|number| Some((*number, A::PLACES.get(*number)?.0)));
        let singletons = names.filter_map(|(number, name)| StateLayout::of(app, number, name));
        let singletons = singletons.collect();
        let by_bucket = A::PLAN.sides == Sides::Dealt;
        Self { group: <A::Group as Plain>::SIZE, states, singletons, commits: true, by_bucket }
    }

    /// Whether no table is durable.
    pub(crate) const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The numbers of the durable tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = u16> {
        self.states.iter().map(|state| state.number)
    }

    /// Bytes of the longest entry.
    pub(crate) fn longest(&self) -> usize {
        self.states.iter().map(|state| state.entry).max().unwrap_or(0)
    }

    /// Bytes of the key that flows move by.
    pub(crate) const fn group(&self) -> usize {
        self.group
    }

    /// The singletons' numbers and bytes.
    pub(crate) fn singletons(&self) -> Vec<(u16, usize)> {
        self.singletons.iter().map(|state| (state.number, state.value)).collect()
    }

    /// The name of the singleton with this number.
    pub(crate) fn singleton(&self, number: u16) -> &str {
        let found = self.singletons.iter().find(|state| state.number == number);
        found.map_or("?", |state| &state.name)
    }

    /// The conversion from a build with the layout `from`, or why it is impossible.
    pub(crate) fn conversion(&self, from: &Self) -> Result<Conversion, String> {
        let mut states = BTreeMap::new();
        for (olds, news, lost) in [
            (&from.states, &self.states, "its entries"),
            (&from.singletons, &self.singletons, "what rests on it"),
        ] {
            for old in olds {
                let new = news.iter().find(|new| new.name == old.name).ok_or_else(|| {
                    format!(
                        "`{}` is not a durable state of the new program, and {lost} would be lost: keep it, or start \
                         the new program afresh",
                        old.name
                    )
                })?;
                states.insert(old.number, new.conversion(old)?);
            }
        }
        let knows = |new: &&StateLayout| from.singletons.iter().any(|old| old.name == new.name);
        if let Some(new) = self.singletons.iter().find(|new| !knows(new))
            && !from.states.is_empty()
        {
            return Err(format!(
                "the running program has no copy of `{}`, and its entries may rest on that in the new one: start the \
                 new program afresh",
                new.name
            ));
        }
        if !from.states.is_empty() && self.by_bucket != from.by_bucket {
            let of = |by_bucket| if by_bucket { "by bucket" } else { "by flow" };
            return Err(format!(
                "entries are kept {} under the plan of the running program, and {} under that of the new one: build \
                 both under `dealt` or both under another plan, or start the new program afresh",
                of(from.by_bucket),
                of(self.by_bucket)
            ));
        }
        if !from.states.is_empty() && self.group != from.group {
            return Err(format!(
                "flows move by a key of {} bytes, and of {} in the new program: keep the key, or start the new \
                 program afresh",
                from.group, self.group
            ));
        }
        Ok(Conversion { states })
    }
}

fn owned(fields: &[(&str, usize)]) -> Vec<(String, usize)> {
    fields.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect()
}

impl StateLayout {
    /// The layout of the state with this number, if it has one.
    fn of(app: &mut impl App, number: usize, name: &str) -> Option<Self> {
        let layout = app.described(number).layout()?;
        Some(Self {
            name: name.to_owned(),
            number: number as u16,
            key: layout.key,
            entry: layout.entry,
            value: layout.value,
            fields: owned(layout.fields),
            before: owned(layout.before),
        })
    }

    fn conversion(&self, from: &Self) -> Result<StateConversion, String> {
        let name = &self.name;
        let advice = "keep its width and add another under a new name, or say `from` with the type that it was";
        if self.key != from.key {
            return Err(format!(
                "`{name}` has a key of {} bytes, and of {} in the new program: keep the key, or give the state \
                 another name",
                from.key, self.key
            ));
        }
        let heads = [from, self].map(|layout| layout.entry.saturating_sub(layout.value));
        let (number, sizes) = (self.number, (from.entry, self.entry));
        let conversion =
            |value| StateConversion { number, heads, from: sizes.0, to: sizes.1, value };
        if self.fields != from.fields && !self.before.is_empty() && self.before == from.fields {
            return Ok(conversion(ValueConversion::Made));
        }
        let mut copied = Vec::new();
        if self.fields.is_empty() || from.fields.is_empty() {
            if self.value != from.value {
                return Err(format!(
                    "`{name}` has no fields by name, {} bytes, and {} in the new program: {advice}",
                    from.value, self.value
                ));
            }
            copied.push((0, 0, self.value));
        }
        let mut to_at = 0;
        for (field, bytes) in &self.fields {
            let mut from_at = 0;
            for (old, old_bytes) in &from.fields {
                if old == field && old_bytes != bytes {
                    return Err(format!(
                        "`{name}.{field}` has {old_bytes} bytes, and {bytes} in the new program: {advice}"
                    ));
                }
                if old == field {
                    copied.push((from_at, to_at, *bytes));
                }
                from_at += old_bytes;
            }
            to_at += bytes;
        }
        Ok(conversion(ValueConversion::Copied(copied)))
    }
}

/// The bytes before the value as a build has them in which entries have a `life`, if they did not,
/// or the other way round. They end with the time of the last use, and with a life that of the
/// insertion is behind it. When an entry without a life was inserted, nobody knows: it counts as
/// inserted at its last use.
fn with_life(head: &[u8], to: usize) -> Vec<u8> {
    let mut head = head.to_vec();
    if to == head.len() + TIME
        && let Some(used) = head.last_chunk::<TIME>().copied()
    {
        head.extend(used);
    }
    head.truncate(to);
    head
}

impl Conversion {
    /// The entry in the new program's encoding, and its state's number there. `None` if it is
    /// invalid, or its state refuses it. Calls `convert` for the state's `From`, with the state's
    /// number, the old value, and the buffer for the new one.
    pub(crate) fn entry(
        &self,
        state: u16,
        piece: &[u8],
        convert: impl FnOnce(u16, &[u8], &mut [u8]) -> bool,
    ) -> Option<(u16, Vec<u8>)> {
        let StateConversion { number, heads, from, to, value: how } = self.states.get(&state)?;
        let (shared, value) = piece.split_at_checked(heads[0])?;
        if piece.len() != *from {
            return None;
        }
        let head = &heads[1];
        let mut entry = with_life(shared, *head);
        entry.resize(*to, 0);
        match how {
            ValueConversion::Copied(copied) => {
                for (from, to, bytes) in copied {
                    entry
                        .get_mut(head + to..head + to + bytes)?
                        .copy_from_slice(value.get(*from..from + bytes)?);
                }
            }
            ValueConversion::Made => {
                if !convert(*number, value, entry.get_mut(*head..)?) {
                    return None;
                }
            }
        }
        Some((*number, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(number: u16, fields: &[(&str, usize)]) -> Layout {
        let value = fields.iter().map(|(_, bytes)| bytes).sum::<usize>();
        let fields = fields.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        let name = "Connection".to_owned();
        Layout {
            group: 4,
            states: vec![StateLayout {
                name,
                number,
                key: 4,
                entry: 16 + value,
                value,
                fields,
                before: Vec::new(),
            }],
            singletons: Vec::new(),
            commits: true,
            by_bucket: false,
        }
    }

    #[test]
    fn fields_are_carried_over_by_name() {
        let old = layout(0, &[("tcp", 1), ("gone", 2), ("packets", 4)]);
        let new = layout(3, &[("packets", 4), ("born", 8), ("tcp", 1)]);
        let conversion = new.conversion(&old).expect("it fits");
        let entry = [&[7; 16][..], &[1], &[2, 2], &[3, 4, 5, 6]].concat();
        let expected = [&[7; 16][..], &[3, 4, 5, 6], &[0; 8], &[1]].concat();
        let never = |_: u16, _: &[u8], _: &mut [u8]| unreachable!("fields are copied");
        assert_eq!(conversion.entry(0, &entry, never), Some((3, expected)));
        assert_eq!(conversion.entry(1, &entry, never), None, "no such state");
        assert_eq!(conversion.entry(0, &entry[1..], never), None, "no entry of it");
        let text = serde_json::to_string(&old).expect("JSON");
        assert_eq!(serde_json::from_str::<Layout>(&text).expect("JSON"), old);
    }

    #[test]
    fn an_entry_gets_a_life_and_loses_it() {
        let old = layout(0, &[("tcp", 1)]);
        let mut new = layout(0, &[("packets", 2), ("tcp", 1)]);
        new.states[0].entry += TIME;
        let never = |_: u16, _: &[u8], _: &mut [u8]| unreachable!("fields are copied");
        let (name, used, inserted) = ([7; 8], [1, 2, 3, 4, 5, 6, 7, 8], [9; 8]);
        let entry = [&name[..], &used, &[5]].concat();
        let with = [&name[..], &used, &used, &[0, 0, 5]].concat();
        let conversion = new.conversion(&old).expect("it fits");
        assert_eq!(conversion.entry(0, &entry, never), Some((0, with)));
        let with = [&name[..], &used, &inserted, &[4, 4, 5]].concat();
        let conversion = old.conversion(&new).expect("it fits");
        assert_eq!(conversion.entry(0, &with, never), Some((0, entry)));
        // In both builds, the time is kept.
        let same = new.conversion(&new).expect("the same").entry(0, &with, never);
        assert_eq!(same, Some((0, with)));
    }

    #[test]
    fn values_are_made_of_those_of_the_type_before() {
        let old = layout(0, &[("tcp", 1), ("packets", 4)]);
        let mut new = layout(3, &[("packets", 8)]);
        assert!(new.conversion(&old).is_err(), "another width");
        new.states[0].before = old.states[0].fields.clone();
        let conversion = new.conversion(&old).expect("it says how");
        let entry = [&[7; 16][..], &[1, 3, 4, 5, 6]].concat();
        let widened = |number: u16, before: &[u8], value: &mut [u8]| {
            assert_eq!((number, before), (3, &[1, 3, 4, 5, 6][..]));
            value[..4].copy_from_slice(&before[1..]);
            true
        };
        let expected = [&[7; 16][..], &[3, 4, 5, 6, 0, 0, 0, 0]].concat();
        assert_eq!(conversion.entry(0, &entry, widened), Some((3, expected)));
        assert_eq!(conversion.entry(0, &entry, |_, _, _| false), None, "it makes nothing of it");
        // An equal layout is carried over unchanged.
        new.states[0].fields = old.states[0].fields.clone();
        new.states[0].entry = old.states[0].entry;
        new.states[0].value = old.states[0].value;
        let never = |_: u16, _: &[u8], _: &mut [u8]| unreachable!("fields are copied");
        let same = new.conversion(&old).expect("the same").entry(0, &entry, never);
        assert_eq!(same, Some((3, entry)));
    }

    #[test]
    fn what_cannot_be_carried_over_is_refused_in_a_sentence() {
        let old = layout(0, &[("tcp", 1), ("packets", 8)]);
        let error =
            layout(0, &[("tcp", 1), ("packets", 4)]).conversion(&old).expect_err("narrower");
        assert!(
            error.contains("`Connection.packets` has 8 bytes, and 4 in the new program"),
            "{error}"
        );
        let dealt = Layout { by_bucket: true, ..old.clone() };
        let error = dealt.conversion(&old).expect_err("kept in another way");
        assert!(error.contains("by flow under the plan of the running program"), "{error}");
        let error = old.conversion(&dealt).expect_err("kept in another way");
        assert!(error.contains("by bucket under the plan of the running program"), "{error}");
        assert!(dealt.conversion(&dealt).is_ok());
        let none = Layout { group: 4, ..Layout::default() };
        let error = none.conversion(&old).expect_err("gone");
        assert!(
            error.contains("`Connection` is not a durable state of the new program"),
            "{error}"
        );
        let mut wider = layout(0, &[("tcp", 1), ("packets", 8)]);
        wider.states[0].key = 5;
        assert!(wider.conversion(&old).expect_err("another key").contains("has a key of 4 bytes"));
        let mut coarser = layout(0, &[("tcp", 1), ("packets", 8)]);
        coarser.group = 2;
        assert!(coarser.conversion(&old).expect_err("another group").contains("flows move by"));
        assert!(old.conversion(&none).is_ok(), "there is nothing to carry over");
    }

    /// A program with entries, and a pool of this many bytes.
    fn with_pool(bytes: usize) -> Layout {
        let mut with = layout(0, &[("tcp", 1)]);
        let pool = layout(7, &[("next", 2), ("leased", bytes)]).states.remove(0);
        let value = pool.value;
        with.singletons =
            vec![StateLayout { name: "Pool".to_owned(), key: 0, entry: value, ..pool }];
        with
    }

    #[test]
    fn singletons_are_carried_over_with_entries_or_none_are() {
        let never = |_: u16, _: &[u8], _: &mut [u8]| unreachable!("fields are copied");
        let (old, new) = (with_pool(4), with_pool(4));
        let same = new.conversion(&old).expect("the same");
        assert_eq!(same.entry(7, &[1, 2, 3, 4, 5, 6], never), Some((7, vec![1, 2, 3, 4, 5, 6])));
        let text = serde_json::to_string(&old).expect("JSON");
        assert_eq!(serde_json::from_str::<Layout>(&text).expect("JSON"), old);
        let error = with_pool(8).conversion(&old).expect_err("another width");
        assert!(error.contains("`Pool.leased` has 4 bytes, and 8 in the new program"), "{error}");
        let without = layout(0, &[("tcp", 1)]);
        let error = without.conversion(&old).expect_err("the pool is gone");
        assert!(error.contains("`Pool` is not a durable state of the new program"), "{error}");
        let error = old.conversion(&without).expect_err("nothing knows of the ports");
        assert!(error.contains("the running program has no copy of `Pool`"), "{error}");
        let empty = Layout { group: 4, ..Layout::default() };
        assert!(old.conversion(&empty).is_ok(), "nothing rests on it");
    }
}
