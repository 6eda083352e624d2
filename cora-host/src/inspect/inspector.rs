//! The thread that answers questions about entries, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{Answer, GroupKey, NO_PLACE, Questions};
use serde_json::json;

use crate::ingress::clock::Clock;
use crate::inspect::caller::Caller;
use crate::inspect::events;
use crate::inspect::filter::{Conditions, Filter};
use crate::inspect::line::Lines;
use crate::inspect::question::{Listing, Movement, Question, Removal, TapRequest};
use crate::inspect::row::{Answered, Entry, NotDone, Told, side};
use crate::inspect::tapping::{Tapping, Wanted};
use crate::inspect::walk::Cursor;
use crate::memory::pages::Pages;
use crate::memory::supply::Supply;

/// Places of a table that a question is about.
const PLACES: u32 = 4096;
/// Entries of an answer, unless another limit is asked for; and its maximum.
const ENTRIES: usize = 1000;
const MOST_ENTRIES: usize = 100_000;
/// Pause between two looks at tapped packets.
const TAPPED: Duration = Duration::from_millis(2);
/// How often an order is repeated that finds its flow in transit, and the pause.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Inspector {
    asked: Sender<Question>,
    answers: Receiver<(Question, String)>,
    /// Questions without an answer.
    open: usize,
    /// The tap under way should end.
    end_tap: Arc<AtomicBool>,
}

impl Inspector {
    /// Starts the thread, for a run with these rings and so many shards.
    pub(crate) fn begin<A: App>(lines: Arc<Lines>, shards: u16, clock: Clock) -> Self {
        let (asked, asks) = channel();
        let (answered, answers) = channel();
        let ends = Arc::new(AtomicBool::new(false));
        let end_tap = Arc::clone(&ends);
        std::thread::spawn(move || {
            let mut thread = Thread::<A>::new(lines, shards, clock, ends);
            while thread.serve(&asks, &answered) {}
        });
        Self { asked, answers, open: 0, end_tap }
    }

    /// Ends a tap before its time: nobody waits for it any more.
    pub(crate) fn end_tap(&self) {
        self.end_tap.store(true, Ordering::Relaxed);
    }

    /// Asks. The answer comes by [`Self::look`].
    pub(crate) fn ask(&mut self, asked: Question) {
        self.open += usize::from(self.asked.send(asked).is_ok());
    }

    /// The next answer, if there is one.
    pub(crate) fn look(&mut self) -> Option<(Question, String)> {
        let answered = self.answers.try_recv().ok()?;
        self.open = self.open.saturating_sub(1);
        Some(answered)
    }

    /// Whether host halves are to answer, and may sleep.
    pub(crate) const fn is_asking(&self) -> bool {
        self.open > 0
    }
}

struct Thread<A> {
    lines: Arc<Lines>,
    callers: Vec<Caller>,
    /// The program with empty states, which knows their types.
    app: Option<A>,
    clock: Clock,
    /// The tap under way, and its request.
    tapping: Option<(Question, Tapping)>,
    end_tap: Arc<AtomicBool>,
    /// Taps so far.
    taps: u16,
}

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
    fn new(lines: Arc<Lines>, shards: u16, clock: Clock, end_tap: Arc<AtomicBool>) -> Self {
        let callers = (0..shards).map(Caller::new).collect();
        Self { lines, callers, app: None, clock, tapping: None, end_tap, taps: 0 }
    }

    /// Answers the next question, or goes on with a tap. Returns whether anybody may ask more.
    fn serve(&mut self, asks: &Receiver<Question>, answered: &Sender<(Question, String)>) -> bool {
        let asked = match &self.tapping {
            None => asks.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => asks.recv_timeout(TAPPED),
        };
        let answer = match asked {
            Ok(Question::Tap(request)) => {
                let begun = self.begin_tap(&request);
                begun.err().map(|why| (Question::Tap(request), Err(why)))
            }
            Ok(asked) => {
                let answer = self.answer(&asked);
                Some((asked, answer))
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        [answer, self.tap()].into_iter().flatten().all(|(asked, answer)| {
            events::answered(&asked, &answer);
            // A long answer becomes text here, beside the wire.
            let mut line = match answer {
                Ok(answer) => serde_json::to_string(&answer).unwrap_or_default(),
                Err(why) => json!({ "error": why }).to_string(),
            };
            line.push('\n');
            answered.send((asked, line)).is_ok()
        })
    }

    /// Begins a tap at all shards.
    fn begin_tap(&mut self, request: &TapRequest) -> Result<(), String> {
        if self.tapping.is_some() {
            return Err("a tap is under way: wait for its end".into());
        }
        self.taps = self.taps.wrapping_add(1);
        let tapping = Tapping::begin(request, self.taps)?;
        self.end_tap.store(false, Ordering::Relaxed);
        for caller in &mut self.callers {
            // A shard without a host half taps from its next one on.
            let _answered = caller.ask(&self.lines, tapping.wanted.order(), &mut |_| {});
        }
        events::tap_begins(request);
        self.tapping = Some((Question::Tap(request.clone()), tapping));
        Ok(())
    }

    /// Goes on with the tap, if one is under way. Returns its answer, once it is over.
    fn tap(&mut self) -> Option<(Question, Result<Answered, String>)> {
        let (_, tapping) = self.tapping.as_mut()?;
        for caller in &mut self.callers {
            let shard = caller.shard;
            let same = caller.taps(&self.lines, &mut |told| tapping.take(shard, &told));
            if same != Ok(true) {
                let _answered = caller.ask(&self.lines, tapping.wanted.order(), &mut |_| {});
            }
        }
        if !tapping.is_over() && !self.end_tap.load(Ordering::Relaxed) {
            return None;
        }
        for caller in &mut self.callers {
            let _answered = caller.ask(&self.lines, Wanted::end(), &mut |_| {});
        }
        let (asked, tapping) = self.tapping.take()?;
        Some((asked, tapping.end()))
    }

    fn answer(&mut self, asked: &Question) -> Result<Answered, String> {
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
        let (now, mut next, mut failed) = (self.clock.now(), NO_PLACE, None);
        let app = match &mut self.app {
            Some(app) => app,
            none => none.insert(empty()?),
        };
        let question = Questions::List { at_nic: at_nic.into(), state, from, places: PLACES };
        let caller = self.callers.get_mut(usize::from(shard)).ok_or("there is no such shard")?;
        let name = app.described(state.into()).layout().map_or(0, |layout| layout.key);
        caller.ask(&self.lines, question, &mut |answer| match answer {
            Questions::Listed { state, place, stay, group: GroupKey(group), piece, .. } => {
                let told = Told { shard, at_nic, state, stay, group, piece };
                if let Some(entry) = Entry::of(app, &told, now) {
                    let (group, name) = (group.to_vec(), piece[..name.min(piece.len())].to_vec());
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
        let caller = self.callers.get_mut(usize::from(shard)).ok_or("there is no such shard")?;
        for _ in 0..TRIES {
            let mut answer = Answer::NotHere;
            caller.ask(&self.lines, order, &mut |told| {
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

/// The program with empty states, on memory that nobody touches.
fn empty<A: App>() -> Result<A, String> {
    let supply = Supply { seed: 0, pages: Pages::Small, resident: false };
    supply.app::<A>(HostHalf::bytes).map_err(|error| error.to_string())
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
