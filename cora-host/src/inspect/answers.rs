//! Answers about entries, and orders for them and their flows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cora_core::app::App;
use cora_runtime::link::message::{Answer, GroupKey, NO_PLACE, Questions};

use crate::ingress::versions::Version;
use crate::inspect::entries::name_of;
use crate::inspect::filter::{Conditions, Filter};
use crate::inspect::inspector::Thread;
use crate::inspect::question::{Listing, Movement, Question, Removal};
use crate::inspect::row::{Answered, Entry, NotDone, Told, side};
use crate::inspect::walk::Cursor;

/// Places of a table that a question is about.
const PLACES: u32 = 4096;

/// Entries of an answer, unless another limit is asked for; and its maximum.
const ENTRIES: usize = 1000;
const MOST_ENTRIES: usize = 100_000;

/// How often an order is repeated that finds its flow in transit, and the pause.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);

/// An entry that an order is about.
struct Found {
    shard: u16,
    at_nic: bool,
    state: u16,
    group: Vec<u8>,
    name: Vec<u8>,
    entry: Entry,
}

impl Found {
    /// Identifies its flow; an entry of no flow is by itself.
    fn identity(&self) -> (u16, bool, u16, &[u8]) {
        if self.group.is_empty() {
            (self.shard, self.at_nic, self.state, &self.name)
        } else {
            (self.shard, self.at_nic, u16::MAX, &self.group)
        }
    }
}

impl<A: App> Thread<A> {
    /// The answer to a question, except to one that watches packets.
    pub(super) fn answer(
        &mut self,
        asked: &Question,
        version: Option<&Version>,
    ) -> Result<Answered, String> {
        match asked {
            Question::Flows(Listing { filter, limit, after }) => {
                let limit = limit.unwrap_or(ENTRIES);
                if !(1..=MOST_ENTRIES).contains(&limit) {
                    return Err(format!("`limit` is a number from 1 to {MOST_ENTRIES}"));
                }
                let from: Option<Cursor> = after.as_deref().map(str::parse).transpose()?;
                if from.is_some_and(|from| usize::from(from.state) >= A::STATES) {
                    return Err("`after` is the `next` of an answer of this program".into());
                }
                let from = from.unwrap_or_default();
                let (mut rows, mut scanned) = (Vec::new(), 0_u64);
                let conditions = Self::conditions(filter)?;
                let next = self.walk(&conditions, from, limit, &mut scanned, |found| {
                    rows.push(found.entry);
                })?;
                let next = next.map(|next| next.to_string());
                Ok(Answered::Flows { schema: "cora-flows/1", entries: rows, scanned, next })
            }
            Question::Delete(Removal { filter, all }) => {
                let found = self.meant(filter, *all)?;
                self.delete(&found)
            }
            Question::Move(Movement { to, filter, all }) => {
                let to_nic = match to.as_str() {
                    "nic" => true,
                    "host" => false,
                    other => return Err(format!("`to` is `nic` or `host`, not `{other}`")),
                };
                let found = self.meant(filter, *all)?;
                self.move_flows(to_nic, &found)
            }
            Question::Trace(request) => self.made(request, version),
            Question::Values { most } => self.told_values(*most),
            Question::Tap(_) => Err("a tap is no question about entries".into()),
        }
    }

    fn conditions(filter: &Filter) -> Result<Conditions, String> {
        let states: Vec<&str> = A::PLACES.iter().map(|(name, _)| *name).collect();
        filter.read(&states)
    }

    /// Visits the entries that are meant, at most `limit`. Returns where a listing goes on.
    fn walk(
        &mut self,
        conditions: &Conditions,
        from: Cursor,
        limit: usize,
        scanned: &mut u64,
        mut visit: impl FnMut(Found),
    ) -> Result<Option<Cursor>, String> {
        let (shards, states) = (self.callers.len() as u16, A::STATES as u16);
        let is_there = |from: &Cursor| from.shard < shards && from.state < states;
        let (mut at, mut left) = (Some(from).filter(is_there), limit);
        while let Some(cursor) = at {
            let name = A::PLACES.get(usize::from(cursor.state)).map_or("", |(name, _)| *name);
            if !conditions.may_be_in(cursor.shard, side(cursor.at_nic), name) {
                at = cursor.next_table(shards, states);
                continue;
            }
            let mut full = None;
            let next = self.list(cursor, &mut |place, found| {
                *scanned += u64::from(full.is_none());
                if full.is_some() || !conditions.hold(&found.entry) {
                    return;
                }
                visit(found);
                left -= 1;
                if left == 0 {
                    full = Some(Cursor { place: place.saturating_add(1), ..cursor });
                }
            })?;
            if full.is_some() {
                return Ok(full);
            }
            at = match next {
                NO_PLACE => cursor.next_table(shards, states),
                place => Some(Cursor { place, ..cursor }),
            };
        }
        Ok(None)
    }

    /// Visits the entries of the next places. Returns the place behind them.
    fn list(&mut self, at: Cursor, visit: &mut dyn FnMut(u32, Found)) -> Result<u32, String> {
        let Cursor { shard, at_nic, state, place: from } = at;
        let (now, mut next, mut failed) = (self.run.clock.now(), NO_PLACE, None);
        self.rehearsal()?;
        let Self { rehearsal: Some(rehearsal), callers, run, .. } = self else {
            return Err(String::new());
        };
        let app = rehearsal.app();
        let question = Questions::List { at_nic: at_nic.into(), state, from, places: PLACES };
        let caller = callers.get_mut(usize::from(shard)).ok_or("there is no such shard")?;
        caller.ask(&run.lines, question, &mut |answer| match answer {
            Questions::Listed { state, place, stay, group: GroupKey(group), piece, .. } => {
                let told = Told { shard, at_nic, state, stay, group, piece };
                if let Some(entry) = Entry::of(app, &told, now) {
                    let (group, name) = (group.to_vec(), name_of(app, state, piece));
                    visit(place, Found { shard, at_nic, state, group, name, entry });
                }
            }
            Questions::ListEnd { next: place } => next = place,
            Questions::Answered { answer } => failed = Some(answer),
            _ => {}
        })?;
        failed.map_or(Ok(next), |answer| Err(sentence(answer).into()))
    }

    /// The entries that an order is about: one, or any number with `all`.
    fn meant(&mut self, filter: &Filter, all: bool) -> Result<Vec<Found>, String> {
        let conditions = Self::conditions(filter)?;
        let (mut found, mut scanned) = (Vec::new(), 0);
        let next = self.walk(&conditions, Cursor::default(), MOST_ENTRIES, &mut scanned, |it| {
            found.push(it);
        })?;
        if next.is_some() {
            return Err(format!("more than {MOST_ENTRIES} entries are meant: say fewer"));
        }
        let flows: BTreeSet<_> = found.iter().map(Found::identity).collect();
        match flows.len() {
            0 => Err(format!("none of {scanned} entries is meant")),
            1 => Ok(found),
            _ if all => Ok(found),
            many => Err(format!(
                "{} entries of {many} flows are meant: say which one, or `\"all\":true` (`--all`)",
                found.len()
            )),
        }
    }

    fn delete(&mut self, found: &[Found]) -> Result<Answered, String> {
        let (mut removed, mut rows) = (0, Vec::new());
        for entry in found {
            // It may have moved since it was listed.
            let sides = [entry.at_nic, !entry.at_nic];
            let mut answer = Answer::NotHere;
            for at_nic in sides {
                let name = &entry.name[..];
                let order = Questions::Remove { at_nic: at_nic.into(), state: entry.state, name };
                answer = self.order(entry.shard, order)?;
                if answer != Answer::NotHere {
                    break;
                }
            }
            removed += u64::from(answer == Answer::Done);
            if answer != Answer::Done {
                rows.push(NotDone { key: entry.entry.key.clone(), why: sentence(answer) });
            }
        }
        Ok(Answered::Deleted { schema: "cora-delete/1", removed, not_removed: rows })
    }

    fn move_flows(&mut self, to_nic: bool, found: &[Found]) -> Result<Answered, String> {
        let mut flows: BTreeMap<(u16, &[u8]), &Found> = BTreeMap::new();
        for entry in found.iter().filter(|entry| !entry.group.is_empty()) {
            flows.insert((entry.shard, &entry.group), entry);
        }
        let (mut moves, mut there, mut rows) = (0_u64, 0_u64, Vec::new());
        for ((shard, group), found) in flows {
            if found.at_nic == to_nic {
                there += 1;
                continue;
            }
            let order = Questions::Move { to_nic: to_nic.into(), group };
            match self.order(shard, order)? {
                Answer::Done => moves += 1,
                answer => {
                    let key = found.entry.flow.clone().unwrap_or_default();
                    rows.push(NotDone { key, why: sentence(answer) });
                }
            }
        }
        if moves + there == 0 && rows.is_empty() {
            return Err(format!(
                "no entry that is meant belongs to a flow: {}",
                sentence(Answer::MovesNone)
            ));
        }
        Ok(Answered::Moved { schema: "cora-move/1", moves, there, not_moved: rows })
    }

    /// Gives an order, again while its flow is in transit.
    fn order(&mut self, shard: u16, order: Questions<'_>) -> Result<Answer, String> {
        for _ in 0..TRIES {
            let mut answer = Answer::NotHere;
            self.ask(shard, order, &mut |told| {
                if let Questions::Answered { answer: told } = told {
                    answer = told;
                }
            })?;
            if answer != Answer::InTransit {
                return Ok(answer);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(Answer::InTransit)
    }
}

const fn sentence(answer: Answer) -> &'static str {
    match answer {
        Answer::Done => "it was done",
        Answer::NotHere => "it is not there any more",
        Answer::InTransit => "its flow is on its way between the sides: try again",
        Answer::MovesNone => "no flow moves under this plan, or at this stage of the run",
        Answer::NicGone => "the NIC half was lost meanwhile: try again",
    }
}
