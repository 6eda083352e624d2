//! The acceptor: the promises and the accepted commands of a node. Both are durable, so no
//! promise leaves a node before a copy of it is kept.

use cora::prelude::*;

use crate::wire::{BATCH, CHOSEN, Command, Held, Said};

/// Slots that a node keeps behind those that are chosen, for nodes that were away.
pub const KEEP: u64 = if cfg!(test) { 512 } else { 4_096 };
/// Slots that a node accepts ahead of those that it knows as chosen.
const AHEAD: u64 = 4_096;
/// Slots that one answer to `Prepare` is about.
const LOOKED_AT: u64 = 64;

/// Two commands are chosen for one slot: the protocol is broken.
pub const TWO_VALUES: Reason = Reason::new("two-values");
/// The slot is far ahead of those known as chosen.
pub const FAR_AHEAD: Reason = Reason::new("far-ahead");

/// The log of a group. Slots from `begin` to before `end` may be there; all before `chosen` are
/// known as chosen.
#[state(key = u32, capacity = 1_024, idle = "never", durable)]
#[derive(PartialEq, Eq, Debug)]
pub struct Log {
    /// The tables know that it may have promised something.
    pub votes: bool,
    pub promised: u64,
    pub begin: u64,
    pub chosen: u64,
    pub end: u64,
}

impl Log {
    /// Without any slot.
    pub const EMPTY: Self = Self { votes: false, promised: 0, begin: 1, chosen: 1, end: 1 };
}

/// A slot, and the ballot in which its command was accepted, or [`CHOSEN`].
#[state(key = u64, within = u32, capacity = 131_072, idle = "never", durable)]
#[derive(PartialEq, Eq, Debug)]
pub struct Slot {
    pub ballot: u64,
    pub command: Command,
}

/// Promises a ballot and lists the held slots, a part at a time.
///
/// Where slots before `begin` are asked for, the answer is no promise: they were chosen, and are
/// no longer there, so "nothing is held" would be wrong.
pub fn prepare(me: u8, log: &mut Log, slots: &Table<Slot>, ballot: u64, first: u64) -> Said {
    if ballot < log.promised {
        return Said::Behind { from: me, promised: log.promised };
    }
    if first < log.begin {
        return Said::Gone { from: me, begin: log.begin };
    }
    log.promised = ballot;
    let (mut held, mut count, mut until) = ([Held::NONE; BATCH], 0, first);
    while until < log.end && until < first.saturating_add(LOOKED_AT) {
        if let Some(&Slot { ballot, command }) = slots.get(&until) {
            let Some(place) = held.get_mut(count) else { break };
            *place = Held { slot: until, ballot, command };
            count += 1;
        }
        until += 1;
    }
    Said::Promised { from: me, ballot, first, until, end: log.end, held }
}

/// Accepts a command for a slot, unless a higher ballot is promised.
///
/// # Errors
/// The reason that nothing can be said about the slot; nothing is accepted then.
pub fn accept(
    me: u8,
    log: &mut Log,
    slots: &mut Table<Slot>,
    ballot: u64,
    slot: u64,
    command: Command,
) -> Result<Said, Reason> {
    if ballot < log.promised {
        return Ok(Said::Behind { from: me, promised: log.promised });
    }
    if slot >= log.chosen.saturating_add(AHEAD) {
        return Err(FAR_AHEAD);
    }
    match slots.get(&slot) {
        // A chosen command stays, and a higher ballot can only ask for the same.
        Some(there) if there.ballot == CHOSEN && there.command != command => {
            return Err(TWO_VALUES);
        }
        Some(there) if there.ballot == CHOSEN => {}
        None if slot < log.chosen => {}
        _ => slots.insert(slot, Slot { ballot, command })?,
    }
    log.promised = ballot;
    log.end = log.end.max(slot.saturating_add(1));
    Ok(Said::Accepted { from: me, ballot, slot })
}

/// Keeps a command that is chosen.
pub fn keep_chosen(
    log: &mut Log,
    slots: &mut Table<Slot>,
    slot: u64,
    command: Command,
) -> Result<(), Reason> {
    if slot < log.chosen {
        return Ok(());
    }
    if slot >= log.chosen.saturating_add(AHEAD) {
        return Err(FAR_AHEAD);
    }
    if slots.get(&slot).is_some_and(|it| it.ballot == CHOSEN && it.command != command) {
        return Err(TWO_VALUES);
    }
    slots.insert(slot, Slot { ballot: CHOSEN, command })?;
    log.end = log.end.max(slot + 1);
    advance(log, slots);
    Ok(())
}

/// Goes on to the first slot that is not known as chosen.
pub fn advance(log: &mut Log, slots: &Table<Slot>) {
    while log.chosen < log.end && slots.get(&log.chosen).is_some_and(|it| it.ballot == CHOSEN) {
        log.chosen += 1;
    }
}

/// Chosen commands from a slot on, for a node that lacks them.
pub fn tell_chosen(me: u8, log: &Log, slots: &Table<Slot>, first: u64) -> Said {
    if first < log.begin {
        return Said::Gone { from: me, begin: log.begin };
    }
    let mut held = [Held::NONE; BATCH];
    for (place, slot) in held.iter_mut().zip(first..log.chosen) {
        if let Some(&Slot { ballot, command }) = slots.get(&slot) {
            *place = Held { slot, ballot, command };
        }
    }
    Said::Chosen { from: me, end: log.chosen, held }
}

/// Slots that are taken out of the log at a time.
const AT_ONCE: u64 = 64;

/// Takes slots out of the log: those up to `flushed`, which the sorted tables have, but for the
/// last [`KEEP`].
pub fn truncate(log: &mut Log, slots: &mut Table<Slot>, flushed: u64) {
    let until = (flushed + 1).min(log.chosen.saturating_sub(KEEP));
    for _ in 0..AT_ONCE {
        if log.begin >= until {
            return;
        }
        slots.remove(&log.begin);
        log.begin += 1;
    }
}
