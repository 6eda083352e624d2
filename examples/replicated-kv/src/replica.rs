//! A node's part in a Paxos group: datagrams and ticks come in, and go to acceptor, leader and
//! learner.

use core::time::Duration;

use cora::prelude::*;

use crate::acceptor::{self, Log, Slot};
use crate::leader::{self, Part, Proposal, Replica, Stage, To};
use crate::learner::Learn;
use crate::nodes::{Here, Nodes};
use crate::wire::{Answer, CHOSEN, Datagram, Held, Said};

/// From one tick of a group to the next.
const TICK: Duration = Duration::from_millis(10);
/// A call that is so late (ns) was lost, with the half where it waited.
const LATE: u64 = 300_000_000;
/// From one question for chosen commands to the next (ns).
const ASK_AGAIN: u64 = 20_000_000;
/// Slots that are learned in one run.
const AT_ONCE: u64 = 64;

/// The node does not know yet whether it has promised anything.
pub const NOT_READY: Reason = Reason::new("not-ready");
/// The node lacks commands that the others no longer have.
pub const TOO_FAR_BEHIND: Reason = Reason::new("too-far-behind");

/// A group's next tick.
#[message]
#[derive(PartialEq, Eq, Debug)]
pub struct Wake {
    #[key]
    pub group: u32,
    /// Only the last one that was set counts.
    pub number: u64,
}

/// Takes a datagram of a client or a node.
#[flow_handler]
#[expect(clippy::too_many_arguments, reason = "states and outboxes")]
pub fn replica(
    datagram: Datagram,
    envelope: &Envelope,
    logs: &mut Table<Log>,
    slots: &mut Table<Slot>,
    replicas: &mut Table<Replica>,
    proposals: &mut Table<Proposal>,
    nodes: &Nodes,
    out: &mut Outbox<Datagram>,
    answers: &mut Outbox<Answer>,
    wakes: &mut Outbox<Wake>,
    learns: &mut Outbox<Learn>,
) -> Verdict {
    let Datagram { group, said } = datagram;
    let here = Here { group, now: envelope.now(), nodes };
    let Some(log) = logs.get_mut(&group).filter(|log| log.votes) else {
        learns.send(Learn { group })?;
        return Drop(NOT_READY);
    };
    let replica = replicas.get_or_insert(group, Replica::new(&here))?;
    if replica.wake == 0 || here.now > replica.due + LATE {
        replica.wake = here.now.max(1);
        replica.due = here.now + TICK.as_nanos() as u64;
        wakes.after(TICK, Wake { group, number: replica.wake })?;
    }
    let before = log.chosen;
    match said {
        Said::Request { command } => {
            let asked = (command, To::Asker(envelope.asker()));
            if let Some(said) = leader::request(&here, log, replica, slots, proposals, asked, out)?
            {
                answers.reply(Answer { group, number: command.number, said })?;
            }
        }
        Said::Prepare { from, ballot, first } => {
            let said = acceptor::prepare(here.me(), log, slots, ballot, first);
            if matches!(said, Said::Promised { .. }) {
                replica.heard_of(ballot);
                replica.deadline = here.now + here.patience();
            }
            here.send(from, said, out)?;
        }
        Said::Promised { from, ballot, first, until, end, held } => {
            let part = Part { from, ballot, first, until, end, held };
            leader::promised(&here, replica, proposals, &part, out)?;
        }
        Said::Accept { from, ballot, slot, chosen, command } => {
            let said = acceptor::accept(here.me(), log, slots, ballot, slot, command)?;
            if matches!(said, Said::Accepted { .. }) {
                replica.heard_of(ballot);
                replica.follow(&here, from);
                learn(&here, log, replica, slots, (from, ballot, chosen), out)?;
            }
            here.send(from, said, out)?;
        }
        Said::Accepted { from, ballot, slot } => {
            leader::accepted(log, replica, slots, proposals, (from, ballot, slot));
        }
        Said::Behind { promised, .. } => replica.heard_of(promised),
        Said::Heartbeat { from, ballot, chosen } => {
            follow(&here, log, replica, slots, (from, ballot, chosen), out)?;
        }
        Said::Missing { from, first } => {
            here.send(from, acceptor::tell_chosen(here.me(), log, slots, first), out)?;
        }
        // A leader learns by votes. A slot unknown to it may be of a higher ballot than its own.
        Said::Chosen { .. } if replica.stage == Stage::Leader => {}
        Said::Chosen { from, end, held } => keep(&here, log, slots, (from, end, &held), out)?,
        Said::Gone { .. } => return Drop(TOO_FAR_BEHIND),
    }
    if replica.stage == Stage::Leader {
        leader::recover(&here, log, replica, slots, proposals, out)?;
    }
    if log.chosen > before {
        learns.send(Learn { group })?;
    }
    Done
}

/// A sign of life of the leader of this ballot, unless a higher one is promised.
fn follow(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    slots: &mut Table<Slot>,
    (from, ballot, chosen): (u8, u64, u64),
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    if ballot < log.promised {
        let said = Said::Behind { from: here.me(), promised: log.promised };
        return here.send(from, said, out);
    }
    log.promised = ballot;
    replica.heard_of(ballot);
    replica.follow(here, from);
    learn(here, log, replica, slots, (from, ballot, chosen), out)
}

/// The leader of this ballot says that all slots before `chosen` are. Where it is its command that
/// was accepted here, that is the one; others are asked for.
fn learn(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    slots: &mut Table<Slot>,
    (from, ballot, chosen): (u8, u64, u64),
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    for _ in 0..AT_ONCE {
        if log.chosen >= chosen {
            return Ok(());
        }
        match slots.get_mut(&log.chosen) {
            Some(slot) if slot.ballot == ballot || slot.ballot == CHOSEN => {
                slot.ballot = CHOSEN;
                log.chosen += 1;
            }
            _ if here.now < replica.missing => return Ok(()),
            _ => {
                replica.missing = here.now + ASK_AGAIN;
                let said = Said::Missing { from: here.me(), first: log.chosen };
                return here.send(from, said, out);
            }
        }
    }
    Ok(())
}

/// Keeps commands that are chosen, and asks for the next ones if there are more.
fn keep(
    here: &Here<'_>,
    log: &mut Log,
    slots: &mut Table<Slot>,
    (from, end, held): (u8, u64, &[Held]),
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    let before = log.chosen;
    for held in held.iter().filter(|held| held.slot != 0) {
        acceptor::keep_chosen(log, slots, held.slot, held.command)?;
    }
    if log.chosen > before && log.chosen < end {
        here.send(from, Said::Missing { from: here.me(), first: log.chosen }, out)?;
    }
    Ok(())
}

/// Takes a tick.
#[flow_handler]
#[expect(clippy::too_many_arguments, reason = "states and outboxes")]
pub fn wake(
    wake: Wake,
    envelope: &Envelope,
    logs: &mut Table<Log>,
    slots: &mut Table<Slot>,
    replicas: &mut Table<Replica>,
    proposals: &mut Table<Proposal>,
    nodes: &Nodes,
    out: &mut Outbox<Datagram>,
    wakes: &mut Outbox<Wake>,
    learns: &mut Outbox<Learn>,
) -> Verdict {
    let Wake { group, number } = wake;
    let here = Here { group, now: envelope.now(), nodes };
    let (Some(log), Some(replica)) = (logs.get_mut(&group), replicas.get_mut(&group)) else {
        return Done;
    };
    if number != replica.wake {
        return Done;
    }
    replica.due = here.now + TICK.as_nanos() as u64;
    wakes.after(TICK, Wake { group, number })?;
    leader::tick(&here, log, replica, slots, proposals, out)?;
    if replica.stage == Stage::Leader {
        leader::recover(&here, log, replica, slots, proposals, out)?;
    }
    learns.send(Learn { group })?;
    Done
}
