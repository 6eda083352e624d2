//! TATP: subscribers of a mobile network, and seven kinds of transactions.
//!
//! After "Telecommunication Application Transaction Processing (TATP) Benchmark Description",
//! version 1.0, IBM Software Group, March 2009: the tables and their content, the mix, and the
//! choice of subscribers, in which some come more often. A subscriber's number as a text is not
//! kept, so its look-up is left out.

use transactions::wire::{Seen, Value};

use crate::random::Random;
use crate::workload::{Job, Round, Workload, check, put, read, rows};

/// The kinds, and how many of 100 jobs are of each.
const KINDS: [&str; 7] = [
    "get-subscriber-data",
    "get-new-destination",
    "get-access-data",
    "update-subscriber-data",
    "update-location",
    "insert-call-forwarding",
    "delete-call-forwarding",
];
const SHARES: [u64; 7] = [35, 10, 35, 2, 14, 2, 2];

/// Rows of a subscriber: itself, four of access info, four special facilities, and three call
/// forwardings of each of these.
const SLOTS: u64 = 1 + 4 + 4 + 12;
const ACCESS: u64 = 1;
const FACILITY: u64 = 5;
const FORWARDING: u64 = 9;

/// Places in a value: its own row, content, and whether the row is there.
const CONTENT: usize = 8;
const IS_ACTIVE: usize = 16;
const IS_THERE: usize = 39;

/// A network with so many subscribers.
pub(crate) struct Tatp {
    pub(crate) subscribers: u64,
}

const fn row(subscriber: u64, slot: u64) -> u64 {
    subscriber * SLOTS + slot
}

/// The row of a facility's call forwarding that begins at 0, 8 or 16 o'clock.
const fn forwarding(subscriber: u64, facility: u64, eighth: u64) -> u64 {
    row(subscriber, FORWARDING + 3 * facility + eighth)
}

/// The value of a row with this content.
fn value(row: u64, content: u64, is_active: bool, is_there: bool) -> Value {
    let mut value = [0; 40];
    value[..CONTENT].copy_from_slice(&row.to_le_bytes());
    value[CONTENT..CONTENT + 8].copy_from_slice(&content.to_le_bytes());
    value[IS_ACTIVE] = is_active.into();
    value[IS_THERE] = is_there.into();
    value
}

/// The same value with another content.
fn with_content(mut value: Value, content: u64) -> Value {
    value[CONTENT..CONTENT + 8].copy_from_slice(&content.to_le_bytes());
    value
}

const fn is_there(seen: &Seen) -> bool {
    seen.value[IS_THERE] == 1
}

impl Tatp {
    /// A subscriber, by the non-uniform choice of the benchmark.
    fn subscriber(&self, random: &mut Random) -> u64 {
        let often = match self.subscribers {
            ..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        (random.below(often + 1) | (1 + random.below(self.subscribers))) % self.subscribers
    }
}

impl Workload for Tatp {
    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn rows(&self, random: &mut Random) -> Vec<(u64, Value)> {
        let mut all = Vec::new();
        for subscriber in 0..self.subscribers {
            let mut add = |slot, content, is_active| {
                let row = row(subscriber, slot);
                all.push((row, value(row, content, is_active, true)));
            };
            add(0, random.next(), true);
            for first in [ACCESS, FACILITY] {
                // One to four of them, each number as often.
                let (number, begin) = (1 + random.below(4), random.below(4));
                for kind in (begin..begin + number).map(|kind| kind % 4) {
                    add(first + kind, random.next(), random.below(100) < 85);
                    if first == FACILITY {
                        let (number, begin) = (random.below(4), random.below(3));
                        for eighth in (begin..begin + number).map(|eighth| eighth % 3) {
                            add(FORWARDING + 3 * kind + eighth, random.next(), true);
                        }
                    }
                }
            }
        }
        all
    }

    fn job(&self, random: &mut Random) -> Job {
        let kind = random.one_of(&SHARES);
        let subscriber = self.subscriber(random);
        let (own, which, content) = (row(subscriber, 0), random.below(4), random.next());
        let eighth = random.below(3);
        let facility = row(subscriber, FACILITY + which);
        let target = forwarding(subscriber, which, eighth);
        match kind {
            0 => Job::once(kind, &[read(own)], 0),
            1 => {
                let begun = (0..=eighth).map(|it| read(forwarding(subscriber, which, it)));
                let wants: Vec<_> = std::iter::once(read(facility)).chain(begun).collect();
                Job::once(kind, &wants, 0)
            }
            2 => Job::once(kind, &[read(row(subscriber, ACCESS + which))], 0),
            3 => Job::after_reading(kind, &[own, facility], move |seen| {
                let [subscriber, service, ..] = seen;
                let wants = [
                    put(own, subscriber, with_content(subscriber.value, content)),
                    put(facility, service, with_content(service.value, content)),
                ];
                is_there(service).then(|| Round { wants: rows(&wants), money: 0 })
            }),
            4 => Job::after_reading(kind, &[own], move |seen| {
                let wants = [put(own, &seen[0], with_content(seen[0].value, content))];
                Some(Round { wants: rows(&wants), money: 0 })
            }),
            5 => Job::after_reading(kind, &[own, facility, target], move |seen| {
                let [subscriber, service, old, ..] = seen;
                let new = value(target, content, true, true);
                let wants =
                    [check(own, subscriber), check(facility, service), put(target, old, new)];
                let may = is_there(service) && !is_there(old);
                may.then(|| Round { wants: rows(&wants), money: 0 })
            }),
            _ => Job::after_reading(kind, &[target], move |seen| {
                let gone = value(target, 0, false, false);
                let wants = [put(target, &seen[0], gone)];
                is_there(&seen[0]).then(|| Round { wants: rows(&wants), money: 0 })
            }),
        }
    }

    /// A value says its own row.
    fn odd(&self, row: u64, value: &Value) -> Option<String> {
        let of = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let is_odd = of != row && *value != [0; 40];
        is_odd.then(|| format!("row {row} has the value of row {of}"))
    }

    /// A call forwarding is inserted where there is none, and removed where there is one; no other
    /// row comes or goes.
    fn odd_change(&self, row: u64, before: &Value, after: &Value) -> Option<String> {
        let [was, is] = [before, after].map(|value| value[IS_THERE] == 1);
        let is_forwarding = row % SLOTS >= FORWARDING;
        let is_odd = (was == is) == is_forwarding;
        is_odd.then(|| format!("row {row}: there before: {was}, there now: {is}"))
    }

    fn has_money(&self) -> bool {
        false
    }
}
