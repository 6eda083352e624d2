//! The leader: how a node becomes it, and how commands get their slots.
//!
//! A candidate takes a ballot that nobody had, asks the others for a promise for all slots that it
//! does not know as chosen, and gets their held slots in parts. With a majority it leads: each slot
//! that anybody holds gets the command of the highest ballot in which it was accepted, and each gap
//! the command that does nothing. Then requests get the slots behind.
//!
//! All of this is lost with the half that has it. The acceptor's state is not, and a
//! node without this state begins as a follower, so a ballot is never used twice.

use cora::prelude::*;

use crate::acceptor::{self, Log, Slot};
use crate::nodes::{Here, MAJORITY, NOBODY, NODES};
use crate::wire::{BATCH, CHOSEN, Command, Datagram, Held, Said, Told};

/// Slots that are proposed and not chosen.
const WINDOW: u64 = 128;
/// Slots that are proposed again in one run, and sent again.
const AT_ONCE: u64 = 24;
/// From one sign of life to the next (ns), and from one repeat to the next.
const HEARTBEAT: u64 = 30_000_000;

/// A node's role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Stage {
    Follower,
    Candidate,
    Leader,
}

/// A node's part in a group, without its promises.
#[state(key = u32, capacity = 1_024, idle = "never")]
#[derive(PartialEq, Eq, Debug)]
pub struct Replica {
    pub stage: Stage,
    /// Who leads, as far as known.
    pub leader: u8,
    /// As a candidate and a leader: its own.
    pub ballot: u64,
    /// The highest that it heard of.
    pub seen: u64,
    /// When it tries to lead (ns).
    pub deadline: u64,
    /// When something is said again (ns).
    again: u64,
    /// When a node is asked for commands at the earliest (ns).
    pub missing: u64,
    /// The wake-up call that it waits for, and when that is due (ns).
    pub wake: u64,
    pub due: u64,
    /// As a candidate: the next slot that each acceptor is asked for, and those that told all.
    asked: [u64; NODES],
    complete: u8,
    /// The next slot to propose, and the end of the held ones.
    pub next: u64,
    end: u64,
}

impl Replica {
    /// As it begins.
    pub const fn new(here: &Here<'_>) -> Self {
        Self {
            stage: Stage::Follower,
            leader: NOBODY,
            ballot: 0,
            seen: 0,
            deadline: here.now + here.patience(),
            again: 0,
            missing: 0,
            wake: 0,
            due: 0,
            asked: [0; NODES],
            complete: 0,
            next: 0,
            end: 0,
        }
    }

    /// Another node has this ballot: a leader or candidate with a lower one gives up.
    pub fn heard_of(&mut self, ballot: u64) {
        self.seen = self.seen.max(ballot);
        if ballot > self.ballot && self.stage != Stage::Follower {
            self.stage = Stage::Follower;
            self.leader = NOBODY;
        }
    }

    /// Another node leads.
    pub const fn follow(&mut self, here: &Here<'_>, leader: u8) {
        self.leader = leader;
        self.deadline = here.now + here.patience();
    }
}

/// Who gets the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum To {
    Nobody,
    Asker(Peer),
}

/// A candidate's knowledge of a slot, and a leader's proposal for it.
#[state(key = u64, within = u32, capacity = 65_536, idle = "10m")]
#[derive(PartialEq, Eq, Debug)]
pub struct Proposal {
    /// The ballot of the candidate or leader. That of an earlier one counts no more.
    ballot: u64,
    /// The highest ballot in which an acceptor holds the command; 0 for none.
    held: u64,
    pub command: Command,
    /// The acceptors that accepted it.
    votes: u8,
    pub to: To,
}

/// Tries to lead, with a ballot of its own above all that it heard of.
pub fn campaign(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    let highest = log.promised.max(replica.seen).max(replica.ballot);
    let ballot = ((highest >> 8) + 1) << 8 | u64::from(here.me());
    log.promised = ballot;
    replica.stage = Stage::Candidate;
    replica.leader = NOBODY;
    (replica.ballot, replica.seen) = (ballot, ballot);
    replica.deadline = here.now + here.patience();
    replica.again = here.now + HEARTBEAT;
    replica.asked = [log.chosen; NODES];
    replica.complete = Here::bit(here.me());
    (replica.next, replica.end) = (log.chosen, log.end);
    here.send_to_others(Said::Prepare { from: here.me(), ballot, first: log.chosen }, out)
}

/// A part of an acceptor's slots.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub from: u8,
    pub ballot: u64,
    pub first: u64,
    pub until: u64,
    pub end: u64,
    pub held: [Held; BATCH],
}

/// An acceptor has promised, and lists a part of its slots. With a majority the node leads.
pub fn promised(
    here: &Here<'_>,
    replica: &mut Replica,
    proposals: &mut Table<Proposal>,
    part: &Part,
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    let Part { from, ballot, first, until, end, .. } = *part;
    let Some(asked) = replica.asked.get_mut(usize::from(from)) else { return Ok(()) };
    let is_asked = replica.stage == Stage::Candidate && ballot == replica.ballot;
    if !is_asked || *asked != first || until < first {
        return Ok(());
    }
    for held in part.held.iter().filter(|held| (first..until).contains(&held.slot)) {
        adopt(proposals, ballot, held)?;
    }
    *asked = until;
    replica.end = replica.end.max(end);
    if until < end {
        return here.send(from, Said::Prepare { from: here.me(), ballot, first: until }, out);
    }
    replica.complete |= Here::bit(from);
    if replica.complete.count_ones() >= MAJORITY {
        replica.stage = Stage::Leader;
        replica.leader = here.me();
        // A sign of life at the next tick.
        replica.again = 0;
    }
    Ok(())
}

/// Notes an acceptor's slot, if no other one holds something of a higher ballot.
fn adopt(proposals: &mut Table<Proposal>, ballot: u64, held: &Held) -> Result<(), Reason> {
    let higher =
        Proposal { ballot, held: held.ballot, command: held.command, votes: 0, to: To::Nobody };
    match proposals.get_mut(&held.slot) {
        Some(known) if known.ballot == ballot && known.held >= held.ballot => {}
        Some(known) => *known = higher,
        None => proposals.insert(held.slot, higher)?,
    }
    Ok(())
}

/// Proposes the held commands, and fills the gaps between.
pub fn recover(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    slots: &mut Table<Slot>,
    proposals: &mut Table<Proposal>,
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    for _ in 0..AT_ONCE {
        // The acceptor itself may know chosen slots behind the proposed ones.
        replica.next = replica.next.max(log.chosen);
        if replica.next >= replica.end || replica.next - log.chosen >= WINDOW {
            break;
        }
        let slot = replica.next;
        let own = slots.get(&slot).map_or((0, Command::NOTHING), |it| (it.ballot, it.command));
        let (held, command) = match proposals.get(&slot) {
            Some(known) if known.ballot == replica.ballot && known.held > own.0 => {
                (known.held, known.command)
            }
            _ => own,
        };
        if held == CHOSEN {
            acceptor::keep_chosen(log, slots, slot, command)?;
            replica.next += 1;
        } else {
            propose(here, log, replica, slots, proposals, (command, To::Nobody), out)?;
        }
    }
    Ok(())
}

/// A client's request: it gets a slot, or the client an answer at once.
pub fn request(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    slots: &mut Table<Slot>,
    proposals: &mut Table<Proposal>,
    asked: (Command, To),
    out: &mut Outbox<Datagram>,
) -> Result<Option<Told>, Reason> {
    if replica.stage != Stage::Leader {
        let leader = if replica.leader == NOBODY { here.me() } else { replica.leader };
        return Ok(Some(Told::Elsewhere { leader }));
    }
    if replica.next < replica.end || replica.next.saturating_sub(log.chosen) >= WINDOW {
        return Ok(Some(Told::Busy));
    }
    replica.next = replica.next.max(log.chosen);
    propose(here, log, replica, slots, proposals, asked, out)?;
    Ok(None)
}

/// Proposes a command for the next slot. The node's own acceptor accepts it in the same run.
fn propose(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    slots: &mut Table<Slot>,
    proposals: &mut Table<Proposal>,
    (command, to): (Command, To),
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    let (me, ballot, slot) = (here.me(), replica.ballot, replica.next);
    let votes = Here::bit(me);
    proposals.insert(slot, Proposal { ballot, held: 0, command, votes, to })?;
    if let Said::Behind { promised, .. } = acceptor::accept(me, log, slots, ballot, slot, command)?
    {
        replica.heard_of(promised);
        return Ok(());
    }
    replica.next += 1;
    let chosen = log.chosen;
    here.send_to_others(Said::Accept { from: me, ballot, slot, chosen, command }, out)
}

/// An acceptor has accepted the command of a slot. With a majority it is chosen.
pub fn accepted(
    log: &mut Log,
    replica: &Replica,
    slots: &mut Table<Slot>,
    proposals: &mut Table<Proposal>,
    (from, ballot, slot): (u8, u64, u64),
) {
    if replica.stage != Stage::Leader || ballot != replica.ballot {
        return;
    }
    let Some(proposal) = proposals.get_mut(&slot).filter(|it| it.ballot == ballot) else { return };
    proposal.votes |= Here::bit(from);
    if proposal.votes.count_ones() < MAJORITY {
        return;
    }
    if let Some(own) = slots.get_mut(&slot).filter(|own| own.ballot == ballot) {
        own.ballot = CHOSEN;
        acceptor::advance(log, slots);
    }
}

/// The work of a tick: signs of life, and repeats of messages that may be lost.
pub fn tick(
    here: &Here<'_>,
    log: &mut Log,
    replica: &mut Replica,
    slots: &Table<Slot>,
    proposals: &Table<Proposal>,
    out: &mut Outbox<Datagram>,
) -> Result<(), Reason> {
    let (from, ballot) = (here.me(), replica.ballot);
    if replica.stage != Stage::Leader && here.now >= replica.deadline {
        return campaign(here, log, replica, out);
    }
    if replica.stage == Stage::Follower || here.now < replica.again {
        return Ok(());
    }
    replica.again = here.now + HEARTBEAT;
    if replica.stage == Stage::Candidate {
        for node in here.others().filter(|node| replica.complete & Here::bit(*node) == 0) {
            let first = replica.asked.get(usize::from(node)).copied().unwrap_or(log.chosen);
            here.send(node, Said::Prepare { from, ballot, first }, out)?;
        }
        return Ok(());
    }
    let chosen = log.chosen;
    here.send_to_others(Said::Heartbeat { from, ballot, chosen }, out)?;
    for slot in chosen..replica.next.min(chosen + AT_ONCE) {
        let Some(proposal) = proposals.get(&slot).filter(|it| it.ballot == ballot) else {
            continue;
        };
        if slots.get(&slot).is_some_and(|own| own.ballot == CHOSEN) {
            continue;
        }
        let command = proposal.command;
        for node in here.others().filter(|node| proposal.votes & Here::bit(*node) == 0) {
            here.send(node, Said::Accept { from, ballot, slot, chosen, command }, out)?;
        }
    }
    Ok(())
}
