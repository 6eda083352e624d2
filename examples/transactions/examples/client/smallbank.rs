//! SmallBank: accounts with savings and checking, and six kinds of transactions.
//!
//! After Alomari, Cahill, Fekete, Röhm, "The Cost of Serializability on Platforms That Use Snapshot
//! Isolation", ICDE 2008. The mix is that of H-Store and OLTP-Bench, in which sending a payment is
//! a quarter, and the others are 15 % each. Of all accounts 4 % are hot, and 90 % of the accesses
//! go to these, as in FaSST (OSDI 2016).

use transactions::wire::{Seen, Value, amount, with_amount};

use crate::random::Random;
use crate::workload::{Job, Round, Workload, add, check, put, read, rows};

/// The kinds, and how many of 100 jobs are of each.
const KINDS: [&str; 6] = [
    "amalgamate",
    "balance",
    "deposit-checking",
    "send-payment",
    "transact-savings",
    "write-check",
];
const SHARES: [u64; 6] = [15, 15, 15, 25, 15, 15];

/// The first amounts of a row.
const FIRST: (i64, i64) = (10_000, 50_000);
/// The largest amount that moves.
const MOST: i64 = 5_000;

/// A bank with so many accounts.
pub(crate) struct SmallBank {
    pub(crate) accounts: u64,
}

/// The rows of an account. Of two nodes each has one of them.
const fn savings(account: u64) -> u64 {
    2 * account
}

const fn checking(account: u64) -> u64 {
    2 * account + 1
}

impl SmallBank {
    fn account(&self, random: &mut Random) -> u64 {
        let hot = (self.accounts / 25).max(1);
        if random.below(10) < 9 { random.below(hot) } else { random.below(self.accounts) }
    }

    /// Two accounts that differ.
    fn two(&self, random: &mut Random) -> (u64, u64) {
        let one = self.account(random);
        loop {
            let other = self.account(random);
            if other != one {
                return (one, other);
            }
            if self.accounts < 50 {
                return (one, (one + 1) % self.accounts);
            }
        }
    }
}

impl Workload for SmallBank {
    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn rows(&self, random: &mut Random) -> Vec<(u64, Value)> {
        let first = |row| (row, with_amount([0; 40], random.between(FIRST.0, FIRST.1)));
        (0..2 * self.accounts).map(first).collect()
    }

    fn job(&self, random: &mut Random) -> Job {
        let kind = random.one_of(&SHARES);
        let by = random.between(1, MOST);
        let account = self.account(random);
        match kind {
            0 => {
                let (from, to) = self.two(random);
                let of = [savings(from), checking(from), checking(to)];
                Job::after_reading(kind, &of, move |seen| amalgamate(of, seen))
            }
            1 => Job::once(kind, &[read(savings(account)), read(checking(account))], 0),
            2 => Job::once(kind, &[add(checking(account), by, i64::MIN)], by),
            3 => {
                let (from, to) = self.two(random);
                let wants = [add(checking(from), -by, 0), add(checking(to), by, i64::MIN)];
                Job::once(kind, &wants, 0)
            }
            4 => {
                let by = if random.below(2) == 0 { by } else { -by };
                Job::once(kind, &[add(savings(account), by, 0)], by)
            }
            _ => {
                let of = [savings(account), checking(account)];
                Job::after_reading(kind, &of, move |seen| write_check(of, seen, by))
            }
        }
    }

    fn odd(&self, row: u64, value: &Value) -> Option<String> {
        // A check may be written on nothing, so only savings have a floor.
        let is_below = row.is_multiple_of(2) && amount(value) < 0;
        is_below.then(|| format!("row {row}: savings of {}", amount(value)))
    }

    fn odd_change(&self, _: u64, _: &Value, _: &Value) -> Option<String> {
        None
    }

    fn has_money(&self) -> bool {
        true
    }
}

/// Moves all money of one account to another one's checking.
fn amalgamate(of: [u64; 3], seen: &[Seen]) -> Option<Round> {
    let [from_savings, from_checking, to] = of;
    let [savings, checking, other, ..] = seen else { return None };
    let all = amount(&savings.value) + amount(&checking.value);
    let wants = [
        put(from_savings, savings, with_amount(savings.value, 0)),
        put(from_checking, checking, with_amount(checking.value, 0)),
        put(to, other, with_amount(other.value, amount(&other.value) + all)),
    ];
    Some(Round { wants: rows(&wants), money: 0 })
}

/// Takes an amount from checking, and one more if both rows together have less.
fn write_check(of: [u64; 2], seen: &[Seen], by: i64) -> Option<Round> {
    let [savings, checking, ..] = seen else { return None };
    let has = amount(&savings.value) + amount(&checking.value);
    let by = if has < by { by + 1 } else { by };
    let value = with_amount(checking.value, amount(&checking.value) - by);
    let wants = [check(of[0], savings), put(of[1], checking, value)];
    Some(Round { wants: rows(&wants), money: -by })
}
