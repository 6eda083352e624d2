//! The order of turns: deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) over the
//! nanoseconds that turns took.
//!
//! A tenant with packets gets a quantum, times its weight, in each round, and a turn with as many
//! packets as that is for. Time beyond that is a debt, which is kept. The rest of a quantum is
//! not: no tenant saves time up. While a tenant has no packets its debt is paid by its share
//! of the time that passes, as if all others were at work.

use std::collections::VecDeque;
use std::time::Duration;

/// Time that a tenant of weight one gets in a round (ns): some tens of packets, and some times the
/// cost of a hand-over.
const QUANTUM: i64 = 25_000;
/// A debt beyond this (ns) is no matter of rounds: such a tenant is ended.
const MOST_DEBT: i64 = 1_000_000_000;
/// Most packets of a turn: the lightest ones take a quantum.
const MOST_PACKETS: usize = 256;
/// The part of a new mean that the last turn is: one of so many.
const SMOOTHED_BY: u64 = 8;

/// A tenant's account of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account {
    weight: i64,
    /// The rest of its quantum, or its debt (ns).
    left: i64,
    /// Mean cost of a packet (ns); zero before the first one.
    mean: u64,
    /// All of its turns (ns).
    pub(super) spent: u64,
    is_runnable: bool,
}

impl Account {
    pub(super) fn of_weight(weight: u16) -> Self {
        let weight = i64::from(weight.max(1));
        Self { weight, left: 0, mean: 0, spent: 0, is_runnable: false }
    }

    /// Packets that it may handle in a turn now.
    pub(super) fn packets(&self) -> usize {
        let fit = match (u64::try_from(self.left), self.mean) {
            (Ok(left), 1..) => usize::try_from(left / self.mean).unwrap_or(MOST_PACKETS),
            // Their cost is unknown.
            _ => 1,
        };
        fit.clamp(1, MOST_PACKETS)
    }

    /// Its time beyond its quantum (ns); less than zero if something is left.
    pub(super) const fn debt(&self) -> i64 {
        -self.left
    }

    /// Without packets its debt is paid by its share of the time that passes (ns).
    pub(super) fn rests_for(&mut self, share: u64) {
        if !self.is_runnable && self.left < 0 {
            let share = i64::try_from(share).unwrap_or(i64::MAX);
            self.left = self.left.saturating_add(share).min(0);
        }
    }

    /// Its part of a time, among tenants with so much weight.
    pub(super) fn share_of(&self, time: Duration, weights: u64) -> u64 {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        (time / weights.max(1)).saturating_mul(self.weight.unsigned_abs())
    }

    /// Its weight.
    pub(super) const fn weight(&self) -> u64 {
        self.weight.unsigned_abs()
    }

    /// A turn with so many packets took so long (ns). Time outside of turns is one without packets.
    pub(super) fn charge(&mut self, ns: u64, packets: usize) {
        self.spent = self.spent.saturating_add(ns);
        let cost = i64::try_from(ns).unwrap_or(i64::MAX);
        self.left = self.left.saturating_sub(cost).max(-MOST_DEBT);
        if let Some(each) = ns.checked_div(packets as u64) {
            self.mean = match self.mean {
                0 => each.max(1),
                mean => ((mean * (SMOOTHED_BY - 1) + each) / SMOOTHED_BY).max(1),
            };
        }
    }
}

/// The accounts of tenants.
pub(super) trait Accounts {
    /// That of the tenant with this number.
    fn account(&mut self, number: usize) -> Option<&mut Account>;
}

/// The tenants with packets, in the order of their turns.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    runnable: VecDeque<usize>,
    /// The first one has its quantum of this round.
    has_quantum: bool,
}

impl Rounds {
    /// This tenant has packets.
    pub(super) fn wants(&mut self, number: usize, account: &mut Account) {
        if !std::mem::replace(&mut account.is_runnable, true) {
            self.runnable.push_back(number);
        }
    }

    /// The tenant with the next turn, if there is one.
    pub(super) fn next(&mut self, accounts: &mut impl Accounts) -> Option<usize> {
        // A tenant in debt waits for as many rounds as that takes. If all are, time passes for all
        // at once: nobody waits for nothing.
        let rounds = 2 + usize::try_from(MOST_DEBT / QUANTUM).unwrap_or(0);
        for _ in 0..rounds.saturating_mul(self.runnable.len().max(1)) {
            let number = *self.runnable.front()?;
            let Some(account) = accounts.account(number) else {
                self.leave();
                continue;
            };
            if !std::mem::replace(&mut self.has_quantum, true) {
                let quantum = QUANTUM * account.weight;
                account.left = account.left.saturating_add(quantum).min(2 * quantum);
            }
            if account.left > 0 {
                return Some(number);
            }
            self.runnable.rotate_left(1);
            self.has_quantum = false;
        }
        self.runnable.front().copied()
    }

    /// The tenant with the turn passes to the end.
    pub(super) fn passes(&mut self) {
        if !self.runnable.is_empty() {
            self.runnable.rotate_left(1);
        }
        self.has_quantum = false;
    }

    /// This tenant, which had its turn, has no more packets.
    pub(super) fn rests(&mut self, number: usize, account: &mut Account) {
        account.is_runnable = false;
        account.left = account.left.min(0);
        // It is near the end, where it passed to.
        if let Some(at) = self.runnable.iter().rposition(|it| *it == number) {
            self.has_quantum &= at > 0;
            self.runnable.remove(at);
        }
    }

    fn leave(&mut self) {
        self.runnable.pop_front();
        self.has_quantum = false;
    }

    /// This tenant is gone.
    pub(super) fn forget(&mut self, number: usize) {
        if self.runnable.front() == Some(&number) {
            self.has_quantum = false;
        }
        self.runnable.retain(|it| *it != number);
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.runnable.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<const N: usize> Accounts for [Account; N] {
        fn account(&mut self, number: usize) -> Option<&mut Account> {
            self.get_mut(number)
        }
    }

    impl Accounts for Vec<Account> {
        fn account(&mut self, number: usize) -> Option<&mut Account> {
            self.get_mut(number)
        }
    }

    /// Tenants that never run out of packets, with these weights and costs of a packet (ns), share
    /// a second; returns the part of each.
    #[expect(clippy::cast_precision_loss, reason = "parts of a second")]
    fn parts(tenants: &[(u16, u64)]) -> Vec<f64> {
        let mut accounts: Vec<_> =
            tenants.iter().map(|(weight, _)| Account::of_weight(*weight)).collect();
        let (mut rounds, mut random) = (Rounds::default(), 1_u64);
        for (number, account) in accounts.iter_mut().enumerate() {
            rounds.wants(number, account);
        }
        let mut now = 0;
        while now < 1_000_000_000 {
            let next = rounds.next(&mut accounts).expect("all are runnable");
            let packets = accounts[next].packets();
            let mut took = 2_000;
            for _ in 0..packets {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                took += tenants[next].1 * (50 + (random >> 33) % 100) / 100;
            }
            accounts[next].charge(took, packets);
            rounds.passes();
            now += took;
        }
        let all: u64 = accounts.iter().map(|account| account.spent).sum();
        accounts.iter().map(|account| account.spent as f64 / all as f64).collect()
    }

    #[test]
    fn each_has_its_share_whatever_its_packets_cost() {
        let six: Vec<_> = [200, 500, 1_000, 3_000, 20_000, 200_000].map(|cost| (1, cost)).into();
        for part in parts(&six) {
            assert!((part * 6.0 - 1.0).abs() < 0.01, "{part}");
        }
        for (part, weight) in parts(&[(1, 900), (2, 900), (5, 30_000)]).iter().zip([1.0, 2.0, 5.0])
        {
            assert!((part * 8.0 / weight - 1.0).abs() < 0.02, "{part} for {weight}");
        }
    }

    #[test]
    fn nobody_saves_time_up_and_debts_stay() {
        let mut accounts = [Account::of_weight(1), Account::of_weight(1)];
        let mut rounds = Rounds::default();
        rounds.wants(0, &mut accounts[0]);
        assert_eq!(rounds.next(&mut accounts), Some(0));
        accounts[0].charge(100, 1);
        rounds.rests(0, &mut accounts[0]);
        assert_eq!((accounts[0].left, rounds.is_empty()), (0, true));
        // A share of the time pays debts, and nothing beyond.
        accounts[0].charge(1_000, 0);
        let share = accounts[0].share_of(Duration::from_nanos(1_200), 3);
        accounts[0].rests_for(share);
        assert_eq!((share, accounts[0].debt()), (400, 600));
        accounts[0].rests_for(10_000);
        assert_eq!(accounts[0].debt(), 0);
        // A long turn is paid for in the rounds that follow.
        rounds.wants(0, &mut accounts[0]);
        assert_eq!(rounds.next(&mut accounts), Some(0));
        accounts[0].charge(5 * QUANTUM as u64, 1);
        rounds.rests(0, &mut accounts[0]);
        rounds.wants(0, &mut accounts[0]);
        rounds.wants(1, &mut accounts[1]);
        let mut turns = [0; 2];
        for _ in 0..10 {
            let next = rounds.next(&mut accounts).expect("both are runnable");
            accounts[next].charge(QUANTUM as u64, 1);
            rounds.passes();
            turns[next] += 1;
        }
        assert_eq!(turns, [3, 7]);
    }

    #[test]
    fn a_tenant_alone_waits_for_nobody_and_one_that_is_gone_holds_nobody_up() {
        let mut accounts = [Account::of_weight(1), Account::of_weight(1)];
        let mut rounds = Rounds::default();
        rounds.wants(0, &mut accounts[0]);
        accounts[0].charge(u64::MAX, 1);
        assert_eq!(rounds.next(&mut accounts), Some(0), "after its debt");
        rounds.wants(1, &mut accounts[1]);
        rounds.forget(0);
        assert_eq!(rounds.next(&mut accounts), Some(1));
        assert_eq!(rounds.next(&mut []), None);
        assert!(rounds.is_empty());
    }

    #[test]
    fn a_turn_has_as_many_packets_as_its_time_is_for() {
        let mut account = Account::of_weight(1);
        assert_eq!(account.packets(), 1);
        account.charge(1_000, 1);
        account.left = 10_000;
        assert_eq!(account.packets(), 10);
        account.left = 1_000_000;
        assert_eq!(account.packets(), MOST_PACKETS);
        account.left = -5;
        assert_eq!(account.packets(), 1);
        account.charge(0, 5);
        assert!(account.mean > 0);
    }
}
