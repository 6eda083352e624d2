//! A half that lies: it changes, repeats, omits or invents records.
//!
//! Each half must handle any record from the other one. A half that detects a lie reports the other
//! half, which is then ended and replaced. It never panics, and the run goes on.

use std::collections::{BTreeMap, BTreeSet};

use cora_core::key::{FiveTuple, HeaderKey as _};
use cora_core::packet::{Meta, Packet};

use super::{Faults, Planted, Ran, Runtime, Turn};
use crate::apps::marks::Marking;
use crate::apps::{SimApp, Variant};
use crate::frames::{flow_of, is_intact, number_of};
use crate::memory::Supply;
use crate::random::Random;
use crate::story;
use crate::traffic::Case;

/// Earlier records that a liar may repeat.
const KEPT: usize = 16;
/// Kinds of invented records: all existing kinds, and some that don't exist.
const KINDS: u64 = 40;
/// Maximum bytes of an invented record.
const MADE_UP: u64 = 96;
/// Steps after which an undetected liar is ended.
const PATIENCE: u64 = 400;

/// A record of a ring: its kind and bytes.
pub(super) type Record = (u16, Vec<u8>);

/// The lies of one half.
#[derive(Debug)]
pub(super) struct Lies {
    random: Random,
    /// One in this many records is a lie.
    one_in: u64,
    earlier: Vec<Record>,
    /// Number of lies told.
    pub(super) told: u64,
}

impl Lies {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x006c_6965_7300);
        let one_in = random.pick(&[1, 3, 10, 40]);
        Self { random, one_in, earlier: Vec::new(), told: 0 }
    }

    /// Returns the records that are sent in place of this one.
    pub(super) fn instead(&mut self, kind: u16, bytes: Vec<u8>) -> Vec<Record> {
        let record = (kind, bytes);
        if !self.random.once_in(self.one_in) {
            self.keep(&record);
            return vec![record];
        }
        self.told += 1;
        let records = match self.random.below(7) {
            0 => Vec::new(),
            1 => vec![record.clone(), record.clone()],
            2 => vec![self.made_up(), record.clone()],
            3 => self.repeated().into_iter().chain([record.clone()]).collect(),
            4 => vec![self.of_another_kind(&record)],
            5 => vec![self.cut(&record)],
            _ => vec![self.with_other_bytes(&record)],
        };
        self.keep(&record);
        records
    }

    fn keep(&mut self, record: &Record) {
        if self.earlier.len() < KEPT {
            self.earlier.push(record.clone());
        } else {
            let at = self.random.below(KEPT as u64) as usize;
            self.earlier[at].clone_from(record);
        }
    }

    fn repeated(&mut self) -> Option<Record> {
        let count = self.earlier.len() as u64;
        (count > 0).then(|| self.earlier[self.random.below(count) as usize].clone())
    }

    fn made_up(&mut self) -> Record {
        let kind = self.random.below(KINDS) as u16;
        let length = self.random.below(MADE_UP);
        let sparse = self.random.once_in(2);
        let mut byte =
            || if sparse && !self.random.once_in(4) { 0 } else { self.random.next() as u8 };
        (kind, (0..length).map(|_| byte()).collect())
    }

    fn of_another_kind(&mut self, (_, bytes): &Record) -> Record {
        (self.random.below(KINDS) as u16, bytes.clone())
    }

    fn cut(&mut self, (kind, bytes): &Record) -> Record {
        let length = self.random.below(bytes.len() as u64 + 1) as usize;
        (*kind, bytes[..length].to_vec())
    }

    fn with_other_bytes(&mut self, (kind, bytes): &Record) -> Record {
        let mut bytes = bytes.clone();
        for _ in 0..=self.random.below(4) {
            if !bytes.is_empty() {
                let at = self.random.below(bytes.len() as u64) as usize;
                bytes[at] =
                    self.random.pick(&[0, 1, 0x7f, 0x80, 0xff, self.random.clone().next() as u8]);
            }
        }
        (*kind, bytes)
    }
}

/// The half that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liar {
    /// The NIC half.
    Nic,
    /// The host half.
    Host,
}

/// The lying halves of a run, one after another.
#[derive(Debug)]
pub(super) struct Liars {
    liar: Liar,
    seed: u64,
    /// Liars still to come.
    left: u64,
    /// Whether the current half lies.
    lies: bool,
    /// Remaining steps of an undetected liar.
    patience: u64,
    /// Packets fed in when the last liar ended.
    honest_from: usize,
}

/// Runs a case in which `liars` halves of one side lie, one after another. An error describes the
/// violation: an honest half was ended, or a flow was damaged that began after the last liar.
pub fn run_lied_to<V: Variant>(
    case: &Case,
    seed: u64,
    liar: Liar,
    liars: u64,
) -> Result<Ran, String> {
    lied_to::<V>(case, seed, (liar, liars), None)
}

/// Runs a case with liars, and with a mistake if one is planted.
pub(super) fn lied_to<V: Variant>(
    case: &Case,
    seed: u64,
    (liar, liars): (Liar, u64),
    planted: Option<Planted>,
) -> Result<Ran, String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<Marking<V>>::new(case, seed, &mut supply);
    let none = Liars { liar, seed, left: liars, lies: false, patience: 0, honest_from: 0 };
    runtime.liars = Some(none);
    runtime.planted = planted;
    runtime.next_liar();
    runtime.run()?;
    runtime.wire.drain();
    runtime.check()?;
    let honest = runtime.check_honest_flows()?;
    runtime.check_who_ended(liar)?;
    Ok(Ran { honest, ..runtime.ran() })
}

impl<A: SimApp> Runtime<'_, A> {
    /// Makes the half of the liars' side lie from now on, if liars remain.
    fn next_liar(&mut self) {
        let Some(liars) = &mut self.liars else { return };
        liars.lies = liars.left > 0;
        liars.patience = PATIENCE;
        liars.honest_from = self.fed;
        if !liars.lies {
            return;
        }
        liars.left -= 1;
        let lies = Lies::new(liars.seed.wrapping_add(liars.left));
        match liars.liar {
            Liar::Nic => self.nic.lie(lies),
            Liar::Host => self.host.lie(lies),
        }
    }

    /// Returns whether a half lies now.
    pub(super) fn is_lied_to(&self) -> bool {
        self.liars.as_ref().is_some_and(|liars| liars.lies)
    }

    /// Ends the liar after an error, after too long a time undetected, or if the run is `stuck`.
    /// While a half lies, errors are its fault and void. Returns whether a half was ended.
    pub(super) fn judge(&mut self, stuck: bool) -> bool {
        let Some(liars) = self.liars.as_mut().filter(|liars| liars.lies) else { return false };
        liars.patience = liars.patience.saturating_sub(1);
        let errors = [self.nic.error.take(), self.host.error.take(), self.wire.error.take()];
        let noticed = errors.into_iter().flatten().next();
        if noticed.is_none() && liars.patience > 0 && !stuck {
            return false;
        }
        story::tell(|| format!("the liar is ended: {noticed:?}"));
        self.faults.lies_noticed += u64::from(noticed.is_some());
        let is_liar = self.planted != Some(Planted::EndsTheOther);
        match (liars.liar, is_liar) {
            (Liar::Nic, true) | (Liar::Host, false) => self.nic.life.ends_after(0),
            (Liar::Host, true) | (Liar::Nic, false) => self.host.life.ends_after(0),
        }
        true
    }

    /// Checks that only liars were ended.
    fn check_who_ended(&self, liar: Liar) -> Result<(), String> {
        let Faults { nic_kills, host_kills, .. } = self.faults;
        let others = if liar == Liar::Nic { host_kills } else { nic_kills };
        if others > 0 { Err("a half was ended that did not lie".to_owned()) } else { Ok(()) }
    }

    /// Discards errors while a liar is replaced: they are its fault too.
    pub(super) fn void_errors(&mut self) {
        if self.is_lied_to() {
            self.nic.error = None;
            self.host.error = None;
            self.wire.error = None;
        }
    }

    /// Starts the next liar, if the replaced half is of the liars' side.
    pub(super) fn is_replaced(&mut self, side: Turn) {
        let of_liars = self.liars.as_ref().map(|liars| match liars.liar {
            Liar::Nic => Turn::Nic,
            Liar::Host => Turn::Host,
        });
        if of_liars == Some(side) {
            self.next_liar();
        }
    }
}

impl<V: Variant> Runtime<'_, Marking<V>> {
    /// Checks that flows that began after the last liar lost no packet and kept their order.
    /// Returns the number of their packets.
    fn check_honest_flows(&mut self) -> Result<u64, String> {
        let mut honest = 0;
        let from = self.liars.as_ref().map_or(0, |liars| liars.honest_from);
        let mut fed: BTreeMap<u32, (bool, Vec<u32>)> = BTreeMap::new();
        // A liar may give packets that it saw to any flow, also to later ones.
        let mut lied_about = BTreeSet::new();
        for (at, (_, frame)) in self.case.packets.iter().take(self.fed).enumerate() {
            let mut bytes = frame.clone();
            let packet = Packet::new(&mut bytes, Meta::default());
            let flow = flow_of(frame);
            if at < from {
                lied_about.insert(number_of(&packet));
            }
            if FiveTuple::of(&packet).is_ok() {
                let (honest, numbers) = fed.entry(flow).or_insert((at >= from, Vec::new()));
                *honest &= at >= from;
                numbers.push(number_of(&packet));
            }
        }
        for (flow, (_, numbers)) in fed.iter().filter(|(_, (honest, _))| *honest) {
            let left = self.wire.results.frames.get(flow).map(Vec::as_slice).unwrap_or_default();
            let mut left_numbers = Vec::new();
            for (_, frame) in left {
                if !is_intact(frame) {
                    return Err(format!("flow {flow}: a packet has another's rest"));
                }
                let mut bytes = frame.clone();
                let number = number_of(&Packet::new(&mut bytes, Meta::default()));
                if !lied_about.contains(&number) {
                    left_numbers.push(number);
                }
            }
            if left_numbers != *numbers {
                return Err(format!("flow {flow}: {numbers:?} came, {left_numbers:?} left"));
            }
            honest += numbers.len() as u64;
        }
        Ok(honest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_liar_leaves_out_repeats_cuts_changes_and_makes_up() {
        let mut lies = Lies::new(7);
        let record = (5, (0..40).collect::<Vec<u8>>());
        let (mut left_out, mut repeated, mut changed, mut honest) = (0, 0, 0, 0);
        for _ in 0..2_000 {
            let before = lies.told;
            match lies.instead(record.0, record.1.clone()).as_slice() {
                [] => left_out += 1,
                [one] if lies.told == before => honest += u32::from(*one == record),
                [one] => changed += u32::from(*one != record),
                several => repeated += u32::from(several.len() == 2),
            }
        }
        for count in [left_out, repeated, changed] {
            assert!(count > 5, "{left_out}, {repeated}, {changed}, {honest}");
        }
        assert!(lies.told > 20);
    }
}
