//! Clients that do jobs, many at once: the datagrams that are due, and an outcome's effect. It
//! knows neither sockets nor clocks, so that tests have a network and a time of their own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use transactions::wire::{Act, Ended, Outcome, Said, Value, Wants};

use crate::figures::Figures;
use crate::history::{History, after};
use crate::random::Random;
use crate::workload::{Job, Read, Round, Workload};

const MILLISECOND: u64 = 1_000_000;
/// After how long a datagram is sent again; twice as long for each time more, up to the second.
const AGAIN: u64 = 50 * MILLISECOND;
const LONGEST: u64 = 1_000 * MILLISECOND;
/// How long a job waits, at most, before it is done from its start again.
const PAUSE: u64 = MILLISECOND;

/// Where jobs come from, until there are no more.
pub(crate) type Jobs<'a> = dyn FnMut(&mut Random) -> Option<Job> + 'a;

/// A datagram, and the node that gets it.
pub(crate) type Sent = (usize, Said);

/// Clients of so many nodes.
pub(crate) struct Engine<'a> {
    workload: &'a dyn Workload,
    nodes: usize,
    clients: Vec<Client>,
    /// Client by number.
    by_number: BTreeMap<u64, usize>,
    next_number: u64,
    /// When a client has something to do next.
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    random: Random,
    /// After how long a transaction's end counts as unknown (ns).
    give_up: u64,
    pub(crate) history: History,
    pub(crate) figures: Figures,
    /// The sum of all amounts that committed transactions stand for.
    pub(crate) money: i64,
    /// The same of those that may be committed.
    pub(crate) perhaps_money: Vec<i64>,
    /// Amounts and invariants are looked at.
    pub(crate) measures: bool,
    /// Values as the last transaction saw them that read them.
    pub(crate) values: BTreeMap<u64, Value>,
}

/// A client, which has one transaction under way at a time.
struct Client {
    number: u64,
    transaction: u64,
    doing: Doing,
    /// When it has something to do next.
    due: u64,
}

enum Doing {
    Nothing,
    /// Waits until it does the job from its start again.
    Pauses(Box<Job>, u64),
    /// Waits for an outcome.
    Waits(Box<Waiting>),
}

struct Waiting {
    job: Box<Job>,
    round: Round,
    is_second: bool,
    /// When the job began, and the transaction.
    job_began: u64,
    began: u64,
    patience: u64,
}

impl<'a> Engine<'a> {
    /// So many clients. `first` is the number of the first one: nobody else has it, or one behind.
    pub(crate) fn new(
        workload: &'a dyn Workload,
        nodes: usize,
        clients: usize,
        first: u64,
        give_up: u64,
        random: Random,
    ) -> Self {
        let mut new = Self {
            workload,
            nodes,
            clients: Vec::new(),
            by_number: BTreeMap::new(),
            next_number: first,
            timers: BinaryHeap::new(),
            random,
            give_up,
            history: History::default(),
            figures: Figures::default(),
            money: 0,
            perhaps_money: Vec::new(),
            measures: false,
            values: BTreeMap::new(),
        };
        for at in 0..clients {
            let number = new.number(at);
            let doing = Doing::Nothing;
            new.clients.push(Client { number, transaction: 0, doing, due: 0 });
        }
        new
    }

    /// From now on, a transaction's end counts as unknown after this time (ns).
    #[cfg(test)]
    pub(crate) const fn give_up_after(&mut self, time: u64) {
        self.give_up = time;
    }

    /// A new number for the client at this place.
    fn number(&mut self, at: usize) -> u64 {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.by_number.insert(number, at);
        number
    }

    /// Begins jobs wherever there is nothing to do.
    pub(crate) fn begin(&mut self, now: u64, jobs: &mut Jobs<'_>) {
        self.figures = Figures::default();
        for at in 0..self.clients.len() {
            self.next_job(at, now, jobs);
        }
    }

    fn next_job(&mut self, at: usize, now: u64, jobs: &mut Jobs<'_>) {
        self.clients[at].doing = match jobs(&mut self.random) {
            Some(job) => Doing::Pauses(Box::new(job), now),
            None => Doing::Nothing,
        };
        self.wake(at, now);
    }

    fn wake(&mut self, at: usize, due: u64) {
        self.clients[at].due = due;
        if !matches!(self.clients[at].doing, Doing::Nothing) {
            self.timers.push(Reverse((due, at)));
        }
    }

    /// Whether all jobs are done.
    pub(crate) fn is_done(&self) -> bool {
        self.clients.iter().all(|client| matches!(client.doing, Doing::Nothing))
    }

    /// When something is due next.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.timers.peek().map(|Reverse((due, _))| *due)
    }

    /// The datagrams that are due.
    pub(crate) fn due(&mut self, now: u64, jobs: &mut Jobs<'_>, sent: &mut Vec<Sent>) {
        while let Some(Reverse((due, at))) = self.timers.peek().copied()
            && due <= now
        {
            self.timers.pop();
            if self.clients[at].due != due {
                continue;
            }
            match std::mem::replace(&mut self.clients[at].doing, Doing::Nothing) {
                Doing::Nothing => {}
                Doing::Pauses(job, began) => {
                    let round = job.first;
                    self.send(at, now, Waiting::new(job, round, false, began, now), sent);
                }
                Doing::Waits(waiting) if now - waiting.began > self.give_up => {
                    self.give_up(at, &waiting);
                    self.next_job(at, now, jobs);
                }
                Doing::Waits(waiting) => self.again(at, now, waiting, sent),
            }
        }
    }

    /// Begins a transaction.
    fn send(&mut self, at: usize, now: u64, waiting: Waiting, sent: &mut Vec<Sent>) {
        self.clients[at].transaction += 1;
        self.say(at, &waiting.round.wants, sent);
        let due = now + waiting.patience;
        self.clients[at].doing = Doing::Waits(Box::new(waiting));
        self.wake(at, due);
    }

    /// Nobody answers: says it again.
    fn again(&mut self, at: usize, now: u64, mut waiting: Box<Waiting>, sent: &mut Vec<Sent>) {
        self.figures.again += 1;
        self.say(at, &waiting.round.wants, sent);
        waiting.patience = (2 * waiting.patience).min(LONGEST);
        let due = now + waiting.patience;
        self.clients[at].doing = Doing::Waits(waiting);
        self.wake(at, due);
    }

    fn say(&self, at: usize, wants: &Wants, sent: &mut Vec<Sent>) {
        let Client { number: client, transaction: number, .. } = self.clients[at];
        sent.push((at % self.nodes, Said::Begin { client, number, wants: *wants }));
    }

    /// Nobody will know the end. Its client gets another number, since its coordinator may be busy.
    fn give_up(&mut self, at: usize, waiting: &Waiting) {
        self.figures.unknown += 1;
        self.history.perhaps.push(waiting.round.wants);
        self.perhaps_money.push(waiting.round.money);
        self.by_number.remove(&self.clients[at].number);
        self.clients[at].number = self.number(at);
        self.clients[at].transaction = 0;
    }

    /// Takes an outcome.
    pub(crate) fn hear(
        &mut self,
        now: u64,
        outcome: &Outcome,
        jobs: &mut Jobs<'_>,
        sent: &mut Vec<Sent>,
    ) {
        let Some(at) = self.by_number.get(&outcome.of.client).copied() else {
            self.figures.strange += 1;
            return;
        };
        let client = &mut self.clients[at];
        let is_waited_for = matches!(client.doing, Doing::Waits(_));
        if client.transaction != outcome.of.number || !is_waited_for {
            // It was told already.
            return;
        }
        let Doing::Waits(waiting) = std::mem::replace(&mut client.doing, Doing::Nothing) else {
            return;
        };
        *self.figures.ended.entry(outcome.ended).or_default() += 1;
        match outcome.ended {
            Ended::Committed => {
                self.committed(&waiting, &outcome.seen, now);
                let second = match (&waiting.job.then, waiting.is_second) {
                    (Some(then), false) => then(&outcome.seen),
                    _ => None,
                };
                match second {
                    Some(round) => {
                        let began = waiting.job_began;
                        let next = Waiting::new(waiting.job, round, true, began, now);
                        self.send(at, now, next, sent);
                    }
                    None => {
                        let is_in_vain = waiting.job.then.is_some() && !waiting.is_second;
                        self.end(at, now, &waiting, is_in_vain, jobs);
                    }
                }
            }
            Ended::TooLow => self.end(at, now, &waiting, true, jobs),
            Ended::Changed | Ended::Locked | Ended::Unanswered => {
                let due = now + self.random.below(PAUSE);
                self.clients[at].doing = Doing::Pauses(waiting.job, waiting.job_began);
                self.wake(at, due);
            }
        }
    }

    /// A job is over.
    fn end(
        &mut self,
        at: usize,
        now: u64,
        waiting: &Waiting,
        is_in_vain: bool,
        jobs: &mut Jobs<'_>,
    ) {
        let kind = self.figures.kinds.entry(waiting.job.kind).or_default();
        *if is_in_vain { &mut kind.in_vain } else { &mut kind.done } += 1;
        let took = (now - waiting.job_began) / 1000;
        kind.times.push(u32::try_from(took).unwrap_or(u32::MAX));
        self.next_job(at, now, jobs);
    }

    fn committed(&mut self, waiting: &Waiting, seen: &Read, now: u64) {
        let wants = &waiting.round.wants;
        self.history.commit(wants, seen, waiting.began, now);
        for (want, seen) in wants.iter().zip(seen) {
            if matches!(want.act, Act::Nothing | Act::Check { .. }) {
                continue;
            }
            let after = after(&want.act, seen);
            self.values.insert(want.row, after.unwrap_or(seen.value));
            if self.measures {
                let odd = self.workload.odd(want.row, &seen.value);
                let odd_change =
                    after.and_then(|after| self.workload.odd_change(want.row, &seen.value, &after));
                self.history.wrong.extend(odd.into_iter().chain(odd_change));
            }
        }
        self.money += waiting.round.money;
    }
}

impl Waiting {
    fn new(job: Box<Job>, round: Round, is_second: bool, job_began: u64, began: u64) -> Self {
        Self { job, round, is_second, job_began, began, patience: AGAIN }
    }
}
