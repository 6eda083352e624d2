//! One state of the system: the coordinator, the flow table, the shards and their queues, and what
//! is known of each packet. A choice takes it a step further; every step is judged.

use std::collections::BTreeMap;

use cora_core::bucket::{Bucket, BucketSet};
use cora_switch::{Coordinator, Epoch, Limits, Relay, Said, Shard, Told};

use crate::shard::{Frame, Handled, In, Out, Shard as Model, State};
use crate::table::{Step, Switch};

/// Length of each frame.
pub(crate) const FRAME: usize = 100;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) enum Sabotage {
    #[default]
    None,
    /// The coordinator takes insertions for answered as soon as they are asked for.
    EarlyMarker,
    /// The table removes the old rule, and puts the new one in its place later.
    ReplaceInPlace,
    /// The coordinator asks to remove the old rule first.
    OldRuleFirst,
    /// All rules have one epoch.
    EqualEpochs,
    /// The new owner learns of the move only when the insertions were answered.
    LateComing,
    /// The new owner gets the entries after it was told that all are there.
    LateEntries,
    /// A frame that a shard returned is dropped. There are some, since rules are replaced in place.
    StrayDropped,
    /// Entries go to another shard than the new owner.
    WrongShard,
    /// The new owner isn't told that the old one died.
    NoVoid,
    /// The new owner drops the frames that it held.
    HeldForgotten,
    /// A shard that runs again gets all frames that it left unread, also those of others' buckets.
    AllFedAgain,
}

/// A scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scenario {
    pub(crate) shards: u16,
    /// Packets of each bucket.
    pub(crate) packets: Vec<u8>,
    /// Buckets and their new shards, in the order of the wishes.
    pub(crate) wishes: Vec<(Vec<u8>, u16)>,
    /// The first wishes, which are fulfilled before the first packet.
    pub(crate) settled: usize,
    /// Deaths, of any shard at any time.
    pub(crate) deaths: u8,
    /// Operations that are asked for again although they were only late.
    pub(crate) hasty: u8,
    pub(crate) limits: Limits,
    pub(crate) sabotage: Sabotage,
    /// The table breaks its contract, so frames may come to wrong shards.
    pub(crate) strays: bool,
    /// And so they may be handled out of order.
    pub(crate) disorder: bool,
    /// Frames for a shard that is down, and those that it left unread, wait for it.
    pub(crate) fed_again: bool,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The bucket's next packet reaches the switch.
    Packet(u8),
    /// The shard takes the next record of its in-queue.
    Shard(u16),
    /// The supervisor takes the next record of the shard's out-queue.
    Supervisor(u16),
    Table(Step),
    /// The next wish.
    Wish,
    /// Operations without an answer are asked for again.
    Again,
    /// The shard dies, and what it said is not read.
    Die(u16),
    Restart(u16),
}

/// A packet's whereabouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fate {
    UnderWay,
    Output,
    /// With a shard that died.
    Lost,
}

/// What is known of a bucket.
#[derive(Clone, Debug, Hash)]
struct Known {
    packets: u8,
    fates: Vec<Fate>,
    /// The state after all packets that were handled.
    state: State,
    /// The state was lost with a shard, so the next packet begins afresh.
    is_lost: bool,
    last_handled: u8,
    last_output: u8,
}

/// A state of the system.
#[derive(Clone, Debug, Hash)]
pub(crate) struct World<T> {
    pub(crate) coordinator: Coordinator,
    pub(crate) table: T,
    shards: Vec<Model>,
    known: Vec<Known>,
    moves: BTreeMap<Epoch, BucketSet>,
    wished: usize,
    deaths: u8,
    hasty: u8,
    pub(crate) now_ns: u64,
    /// Records and entries that a sabotage keeps back.
    kept: Vec<(Shard, In)>,
    /// Frames that wait for a shard that is down.
    unread: Vec<(u16, Frame)>,
}

fn set(buckets: &[u8]) -> BucketSet {
    buckets.iter().copied().map(Bucket::new).collect()
}

impl<T: Switch> World<T> {
    pub(crate) fn new(scenario: &Scenario, table: T) -> Self {
        let coordinator = Coordinator::new(scenario.limits, scenario.shards, Shard::new(0));
        let known = |packets: &u8| Known {
            packets: *packets,
            fates: Vec::new(),
            state: State::default(),
            is_lost: false,
            last_handled: 0,
            last_output: 0,
        };
        let mut world = Self {
            coordinator: coordinator.expect("shard 0 is there"),
            table,
            shards: vec![Model::begun(); scenario.shards.into()],
            known: scenario.packets.iter().map(known).collect(),
            moves: BTreeMap::new(),
            wished: 0,
            deaths: scenario.deaths,
            hasty: scenario.hasty,
            now_ns: 0,
            kept: Vec::new(),
            unread: Vec::new(),
        };
        world.settle(scenario);
        world
    }

    /// Returns the possible next steps, and whether one of them is bound to come.
    pub(crate) fn choices(&self, scenario: &Scenario) -> (Vec<Choice>, bool) {
        let mut choices = Vec::new();
        let is_ready = self.wished >= scenario.settled && self.coordinator.is_quiet();
        let may_wish = self.wished >= scenario.settled || self.coordinator.is_quiet();
        if self.wished < scenario.wishes.len() && may_wish {
            choices.push(Choice::Wish);
        }
        let begun = is_ready || self.wished > scenario.settled || self.fed() > 0;
        if begun && !self.coordinator.must_wait(self.fed()) {
            let open = (0..).zip(&self.known);
            let open = open.filter(|(_, it)| it.fates.len() < it.packets.into());
            choices.extend(open.map(|(bucket, _)| Choice::Packet(bucket)));
        }
        for (number, shard) in (0..).zip(&self.shards) {
            if !shard.is_up {
                choices.push(Choice::Restart(number));
            }
            if !shard.inbox.is_empty() {
                choices.push(Choice::Shard(number));
            }
            if !shard.outbox.is_empty() {
                choices.push(Choice::Supervisor(number));
            }
        }
        let steps = self.table.choices();
        let unanswered = self.coordinator.report(self.now_ns).under_way;
        let waits = unanswered.is_some_and(|it| it.unanswered > 0);
        // Nothing will answer: all of it got lost.
        let is_lost = waits && !steps.iter().any(|step| step.is_due());
        if waits && (is_lost || self.hasty > 0) {
            choices.push(Choice::Again);
        }
        let is_due = !choices.is_empty() || steps.iter().any(|step| step.is_due());
        choices.extend(steps.into_iter().map(Choice::Table));
        if self.deaths > 0 && begun {
            let up = (0..).zip(&self.shards).filter(|(_, shard)| shard.is_up);
            choices.extend(up.map(|(number, _)| Choice::Die(number)));
        }
        (choices, is_due)
    }

    /// Takes a step.
    pub(crate) fn go(&mut self, choice: Choice, scenario: &Scenario) -> Result<(), String> {
        match choice {
            Choice::Packet(bucket) => self.packet(bucket, scenario),
            Choice::Shard(number) => self.shard(number, scenario)?,
            Choice::Supervisor(number) => self.supervise(number, scenario)?,
            Choice::Table(step) => self.table.go(step),
            Choice::Wish => {
                let (buckets, to) = &scenario.wishes[self.wished];
                self.wished += 1;
                let wanted = self.coordinator.want(set(buckets), Shard::new(*to));
                wanted.expect("there is such a shard");
            }
            Choice::Again => {
                let steps = self.table.choices();
                if steps.iter().any(|step| step.is_due()) {
                    self.hasty -= 1;
                }
                self.now_ns += scenario.limits.again_ns;
            }
            Choice::Die(number) => self.die(number, scenario),
            Choice::Restart(number) => {
                self.shards[usize::from(number)] = Model::begun();
                let (shard, mut first) = (Shard::new(number), Vec::new());
                let restarted = self.coordinator.restarted(shard, self.now_ns, |to, told| {
                    first.push((to, told));
                });
                restarted.expect("there is such a shard");
                self.tell(first, scenario);
                self.feed_again(number, scenario);
            }
        }
        self.settle(scenario);
        self.check(scenario)
    }

    /// The coordinator's part after each event.
    pub(crate) fn settle(&mut self, scenario: &Scenario) {
        let mut said = Vec::new();
        let Self { coordinator, table, .. } = self;
        coordinator.step(self.now_ns, table, |to, told| said.push((to, told)));
        self.tell(said, scenario);
    }

    /// Pushes records of the coordinator.
    fn tell(&mut self, records: Vec<(Shard, Told)>, scenario: &Scenario) {
        let Self { shards, moves, kept, .. } = self;
        let sabotage = scenario.sabotage;
        let mut late = Vec::new();
        for (to, told) in records {
            let inbox = &mut shards[to.number()].inbox;
            match told {
                Told::Leaving { epoch, buckets } | Told::Coming { epoch, buckets } => {
                    moves.insert(epoch, buckets);
                }
                _ => {}
            }
            if sabotage == Sabotage::LateComing && matches!(told, Told::Going { .. }) {
                late.append(kept);
            }
            match (sabotage, told) {
                (Sabotage::LateComing, Told::Coming { .. }) => kept.push((to, In::Told(told))),
                (Sabotage::NoVoid, Told::Void { .. }) => {}
                _ => inbox.push_back(In::Told(told)),
            }
            if sabotage == Sabotage::LateEntries && matches!(told, Told::Arrived { .. }) {
                inbox.extend(kept.drain(..).map(|(_, entry)| entry));
            }
        }
        for (to, coming) in late {
            shards[to.number()].inbox.push_back(coming);
        }
    }

    fn fed(&self) -> u64 {
        self.known.iter().map(|known| known.fates.len() as u64).sum()
    }

    /// A shard that runs again gets the frames that wait for it, behind its first records. Those
    /// that it doesn't take are lost.
    fn feed_again(&mut self, number: u16, scenario: &Scenario) {
        let waiting = self.unread.extract_if(.., |(for_it, _)| *for_it == number);
        let waiting: Vec<Frame> = waiting.map(|(_, frame)| frame).collect();
        let (packet_ns, shard) = (self.fed(), Shard::new(number));
        let mut again = Vec::new();
        for frame in waiting {
            let takes = self.coordinator.takes(frame.bucket, shard);
            if takes || scenario.sabotage == Sabotage::AllFedAgain {
                self.coordinator.passed(frame.bucket, shard, FRAME, packet_ns);
                again.push(In::Frame(frame));
            } else {
                self.lose(&Out::Stray(frame));
            }
        }
        self.shards[usize::from(number)].inbox.extend(again);
    }

    fn packet(&mut self, bucket: u8, scenario: &Scenario) {
        let packet_ns = self.fed();
        let known = &mut self.known[usize::from(bucket)];
        let bucket = Bucket::new(bucket);
        let to = self.table.queue_of(bucket);
        let shard = &mut self.shards[to.number()];
        let number = known.fates.len() as u8 + 1;
        if !shard.is_up {
            if scenario.fed_again {
                self.unread.push((to.number() as u16, Frame { bucket, number }));
                self.coordinator.passed(bucket, to, FRAME, packet_ns);
            }
            known.fates.push(if scenario.fed_again { Fate::UnderWay } else { Fate::Lost });
            return;
        }
        known.fates.push(Fate::UnderWay);
        shard.inbox.push_back(In::Frame(Frame { bucket, number }));
        self.coordinator.passed(bucket, to, FRAME, packet_ns);
    }

    fn shard(&mut self, number: u16, scenario: &Scenario) -> Result<(), String> {
        let forgets = scenario.sabotage == Sabotage::HeldForgotten;
        for Handled { frame, before } in self.shards[usize::from(number)].take(forgets)? {
            let known = &mut self.known[frame.bucket.number()];
            if frame.number <= known.last_handled && !scenario.disorder {
                return Err(format!("{frame:?} was handled after number {}", known.last_handled));
            }
            let is_afresh = known.is_lost && before == State::default();
            if before != known.state && !is_afresh {
                let State { count, last } = before;
                return Err(format!(
                    "an update was lost: {frame:?} was handled on {count} packets up to {last}, \
                     not on {:?}",
                    known.state
                ));
            }
            known.is_lost = false;
            known.state = State { count: before.count + 1, last: frame.number };
            known.last_handled = frame.number;
        }
        Ok(())
    }

    /// The supervisor takes the next record of an out-queue.
    fn supervise(&mut self, number: u16, scenario: &Scenario) -> Result<(), String> {
        let sabotage = scenario.sabotage;
        let Some(said) = self.shards[usize::from(number)].outbox.pop_front() else { return Ok(()) };
        let by = Shard::new(number);
        let (record, to_push) = match &said {
            Out::Output(frame) => return self.output(*frame, scenario),
            Out::Gone(epoch) => (Said::Gone { epoch: *epoch }, None),
            Out::Entry(epoch, entry) => {
                (Said::Entry { epoch: *epoch, entry }, Some(In::Entry(*epoch, *entry)))
            }
            Out::Stray(frame) => {
                (Said::Stray { bucket: frame.bucket, bytes: FRAME }, Some(In::Frame(*frame)))
            }
        };
        let relay = self.coordinator.said(by, &record, self.now_ns);
        let relay = relay.map_err(|fault| format!("an honest shard is blamed: {fault}"))?;
        match (relay, to_push) {
            (Relay::Done, None) => {}
            (Relay::Lost, Some(_)) => self.lose(&said),
            (Relay::To(to), Some(entry @ In::Entry(..))) if sabotage == Sabotage::WrongShard => {
                let wrong = (0..self.shards.len()).find(|it| *it != to.number()).unwrap_or(0);
                self.shards[wrong].inbox.push_back(entry);
            }
            (Relay::To(to), Some(entry @ In::Entry(..))) if sabotage == Sabotage::LateEntries => {
                self.kept.push((to, entry));
            }
            (Relay::To(_), Some(In::Frame(_))) if sabotage == Sabotage::StrayDropped => {}
            (Relay::To(to), Some(record)) => self.shards[to.number()].inbox.push_back(record),
            (relay, _) => return Err(format!("{said:?} is passed on to {relay:?}")),
        }
        Ok(())
    }

    fn output(&mut self, frame: Frame, scenario: &Scenario) -> Result<(), String> {
        let known = &mut self.known[frame.bucket.number()];
        let fate = &mut known.fates[usize::from(frame.number) - 1];
        if *fate != Fate::UnderWay {
            return Err(format!("{frame:?} left, but was {fate:?}"));
        }
        *fate = Fate::Output;
        if frame.number <= known.last_output && !scenario.disorder {
            return Err(format!("{frame:?} left after number {}", known.last_output));
        }
        known.last_output = frame.number;
        Ok(())
    }

    fn die(&mut self, number: u16, scenario: &Scenario) {
        self.deaths -= 1;
        let dead = std::mem::take(&mut self.shards[usize::from(number)]);
        dead.outbox.iter().for_each(|said| self.lose(said));
        for record in dead.inbox {
            match record {
                In::Frame(frame) if scenario.fed_again => self.unread.push((number, frame)),
                In::Frame(frame) => self.lose(&Out::Stray(frame)),
                In::Entry(epoch, entry) => self.lose(&Out::Entry(epoch, entry)),
                In::Told(_) => {}
            }
        }
        dead.held.iter().for_each(|frame| self.lose(&Out::Stray(*frame)));
        let entries = dead.arriving.iter().map(|[bucket, ..]| Bucket::new(*bucket));
        for bucket in dead.states.keys().copied().chain(entries) {
            self.known[bucket.number()].is_lost = true;
        }
        let died = self.coordinator.died(Shard::new(number), self.now_ns);
        died.expect("there is such a shard");
    }

    /// A record was lost.
    fn lose(&mut self, said: &Out) {
        match said {
            Out::Output(frame) | Out::Stray(frame) => {
                let fates = &mut self.known[frame.bucket.number()].fates;
                fates[usize::from(frame.number) - 1] = Fate::Lost;
            }
            Out::Entry(_, [bucket, ..]) => self.known[usize::from(*bucket)].is_lost = true,
            Out::Gone(epoch) => {
                // The new owner drops all entries that came.
                for bucket in self.moves.get(epoch).copied().unwrap_or_default().iter() {
                    self.known[bucket.number()].is_lost = true;
                }
            }
        }
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        for number in 0..self.known.len() {
            let bucket = Bucket::new(number as u8);
            let owners = self.shards.iter().filter(|shard| shard.owns.has(bucket)).count();
            if owners > 1 {
                return Err(format!("bucket {bucket} has {owners} owners"));
            }
        }
        let most = self.shards.iter().map(|shard| shard.held.len()).max().unwrap_or(0);
        let held = (most * FRAME) as u64;
        // What waits for a dead shard is counted when it runs again.
        let deaths = if scenario.fed_again { scenario.deaths.into() } else { 0 };
        let bytes = scenario.limits.held_bytes * (1 + deaths);
        if held >= bytes + FRAME as u64 && !scenario.disorder {
            return Err(format!("{held} bytes are held"));
        }
        if self.coordinator.report(self.now_ns).totals.strays > 0 && !scenario.strays {
            return Err("a frame came to a shard that is not its owner".to_owned());
        }
        Ok(())
    }

    /// Judges a state that no step is bound to lead on from.
    pub(crate) fn judge_end(&self, scenario: &Scenario) -> Result<(), String> {
        let report = self.coordinator.report(self.now_ns);
        if !self.coordinator.is_quiet() {
            return Err(format!("deadlock: {report}"));
        }
        for (number, known) in (0..).zip(&self.known) {
            if known.fates.len() < known.packets.into() {
                return Err(format!("deadlock: packets of bucket {number} wait for ever"));
            }
            if let Some(lost) = known.fates.iter().position(|fate| *fate == Fate::UnderWay) {
                return Err(format!("packet {} of bucket {number} is lost", lost + 1));
            }
            if scenario.deaths == 0 && known.fates.contains(&Fate::Lost) {
                return Err(format!("a packet of bucket {number} is lost, but no shard died"));
            }
            self.judge_owner(number, scenario)?;
        }
        let is_idle = |shard: &Model| shard.expects.is_none() && shard.held.is_empty();
        if !self.shards.iter().all(is_idle) {
            return Err("a shard expects a move that is over".to_owned());
        }
        Ok(())
    }

    fn judge_owner(&self, number: u8, scenario: &Scenario) -> Result<(), String> {
        let bucket = Bucket::new(number);
        let owner = self.coordinator.owner_of(bucket);
        let wish = scenario.wishes.iter().rfind(|(buckets, _)| buckets.contains(&number));
        let wanted = wish.map_or(Shard::new(0), |(_, to)| Shard::new(*to));
        let stayed = self.coordinator.report(self.now_ns).totals.stayed;
        if owner != wanted && stayed == 0 {
            return Err(format!("bucket {number} is at {owner}, but was to be at {wanted}"));
        }
        let to = self.table.queue_of(bucket);
        if to != owner {
            return Err(format!("packets of bucket {number} go to {to}, but {owner} has it"));
        }
        if !self.shards[owner.number()].owns.has(bucket) {
            return Err(format!("{owner} doesn't know that it has bucket {number}"));
        }
        Ok(())
    }
}
