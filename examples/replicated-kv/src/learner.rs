//! The learner: chosen commands are applied in the order of their slots.
//!
//! Writes go to the memtable, and a read that finds nothing there asks the sorted tables. When the
//! memtable is large, all of its lines go to the host in pieces, and a seal behind them: the slot
//! up to which all is there, and the clients' last numbers as of that slot. A line leaves the
//! memtable when its piece is known to be kept, so a read finds it in one or the other.
//!
//! **When a half dies**, the memtable may be lost, and messages under way to the tables. The log is
//! durable, and goes back to the last seal. So the learner asks the tables for that, and applies
//! the log from there on. That is right, because
//! - a write has the new value of a name, not the change, so it may be done over a later one, if
//!   all that follow are done again, too;
//! - whether a command is a repeat is decided by clients' numbers of the same slot as the seal;
//! - nobody is answered while commands are done again: who waited for an answer was lost, too, and
//!   asks again, which is a slot behind.
//!
//! So lines of an unsealed flush that are in the tables already do no harm.
//!
//! **When the log is lost, too**, with the run or under a plan without copies of it, the node must
//! not vote: it does not know its promises. So the tables know which groups may have voted. A node
//! makes its empty log, which is durable, then tells the tables, and votes when these know. A node
//! without a log is mute for good if its tables know of one.

use core::time::Duration;

use cora::prelude::*;

use crate::acceptor::{self, Log, Slot};
use crate::leader::{Proposal, To};
use crate::memtable::{self, Line, List};
use crate::tables::{Ask, Back, Disk, Item, PIECE, Said, Shelf};
use crate::wire::{Answer, Command, Name, Operation, Told, Value};

/// Clients of a group with known last numbers.
pub const CLIENTS: usize = 64;
/// Names in the memtable from which on it is flushed, and up to which commands are applied.
const FLUSHED_FROM: u32 = if cfg!(test) { 12 } else { 256 };
const FULL: u32 = 2 * FLUSHED_FROM;
/// Slots behind the last seal from which on it is flushed however few names there are: otherwise
/// the log of a group with few names, or with reads alone, would fill up.
const UNSEALED: u64 = acceptor::KEEP;
/// Commands that are applied in one run.
const AT_ONCE: usize = 24;
/// After how long (ns) the tables are asked again.
const PATIENCE: u64 = 500_000_000;

/// This node has made promises that it no longer knows: it must not vote.
pub const LOST_PROMISES: Reason = Reason::new("lost-promises");
/// The sorted tables lack slots that left the log.
pub const LOST_TABLES: Reason = Reason::new("lost-tables");

/// Commands may have been chosen.
#[message]
#[derive(PartialEq, Eq, Debug)]
pub struct Learn {
    #[key]
    pub group: u32,
}

/// A client's session: its last write, and the slot of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Session {
    pub client: u64,
    pub number: u64,
    pub slot: u64,
}

/// The last writes of clients.
pub type Sessions = [Session; CLIENTS];

/// Nobody has written.
pub const NO_SESSIONS: Sessions = [Session { client: 0, number: 0, slot: 0 }; CLIENTS];

/// The stage of a learner.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Stage {
    /// It asks the tables up to where they are.
    Recalls,
    /// It tells the tables that it will vote.
    Begins,
    Works,
    /// It must not take part.
    Mute,
}

/// A group's state machine, but for the lines of the memtable.
#[state(key = u32, capacity = 1_024, idle = "never")]
#[derive(PartialEq, Eq, Debug)]
pub struct Memory {
    pub stage: Stage,
    /// When the tables were asked or a flush began (ns); 0 if no flush is under way.
    asked: u64,
    pub applied: u64,
    pub flushed: u64,
    pub list: List,
    /// An object that is there as long as those of the memtable are.
    anchor: Id<Line>,
    pub sessions: Sessions,
}

impl Memory {
    const NEW: Self = Self {
        stage: Stage::Recalls,
        asked: 0,
        applied: 0,
        flushed: 0,
        list: List::EMPTY,
        anchor: Id::NONE,
        sessions: NO_SESSIONS,
    };
}

/// Applies chosen commands.
#[flow_handler]
#[expect(clippy::too_many_arguments, reason = "states and outboxes")]
pub fn learner(
    learn: Learn,
    envelope: &Envelope,
    logs: &mut Table<Log>,
    slots: &mut Table<Slot>,
    proposals: &mut Table<Proposal>,
    memories: &mut Table<Memory>,
    lines: &mut Objects<Line>,
    answers: &mut Outbox<Answer>,
    learns: &mut Outbox<Learn>,
    disks: &mut Outbox<Disk>,
) -> Verdict {
    let (group, now) = (learn.group, envelope.now());
    let shelf = Shelf { group };
    let memory = memories.get_or_insert(group, Memory::NEW)?;
    if memory.stage == Stage::Works && lines.get(memory.anchor).is_none() {
        // The memtable is lost, with all writes in it.
        *memory = Memory::NEW;
    }
    let ask = match memory.stage {
        Stage::Works => None,
        Stage::Mute => return Drop(LOST_PROMISES),
        Stage::Recalls => Some(Ask::Recall),
        Stage::Begins => Some(Ask::Begin),
    };
    if let Some(ask) = ask {
        if memory.asked == 0 || now > memory.asked + PATIENCE {
            memory.asked = now.max(1);
            disks.send(Disk { shelf, ask })?;
        }
        return Done;
    }
    let Some(log) = logs.get_mut(&group) else { return Done };
    if memory.applied + 1 < log.begin {
        return Drop(LOST_TABLES);
    }
    for _ in 0..AT_ONCE {
        let slot = memory.applied + 1;
        if slot >= log.chosen || memory.list.names >= FULL {
            break;
        }
        let Some(&Slot { command, .. }) = slots.get(&slot) else { return Drop(LOST_TABLES) };
        let to = proposals.get(&slot).filter(|it| it.command == command).map(|it| it.to);
        let to = to.unwrap_or(To::Nobody);
        apply(memory, lines, (group, slot), &command, to, answers, disks)?;
        memory.applied = slot;
        proposals.remove(&slot);
    }
    let is_long = memory.applied.saturating_sub(memory.flushed) >= UNSEALED;
    if (memory.list.names >= FLUSHED_FROM || is_long)
        && (memory.asked == 0 || now > memory.asked + PATIENCE)
    {
        memory.asked = now.max(1);
        flush(memory, lines, shelf, disks)?;
    }
    acceptor::truncate(log, slots, memory.flushed);
    if memory.applied + 1 < log.chosen && memory.list.names < FULL {
        learns.after(Duration::from_micros(1), Learn { group })?;
    }
    Done
}

/// Applies a command, and answers the one who asked.
fn apply(
    memory: &mut Memory,
    lines: &mut Objects<Line>,
    (group, slot): (u32, u64),
    command: &Command,
    to: To,
    answers: &mut Outbox<Answer>,
    disks: &mut Outbox<Disk>,
) -> Result<(), Reason> {
    let Command { number, operation, .. } = *command;
    let said = match operation {
        Operation::Nothing => return Ok(()),
        Operation::Get { name } => match memtable::find(&memory.list, lines, &name) {
            Some(line) if line.head.is_gone => Told::Nothing,
            Some(line) => Told::Is { value: Value::of(memtable::value_of(line))? },
            None => {
                if let To::Asker(to) = to {
                    let ask = Ask::Find { name, number, to };
                    disks.send(Disk { shelf: Shelf { group }, ask })?;
                }
                return Ok(());
            }
        },
        Operation::Put { .. } | Operation::Delete { .. } => {
            let Some(slot) = write(memory, lines, slot, command)? else { return Ok(()) };
            Told::Stored { slot }
        }
    };
    if let To::Asker(to) = to {
        answers.send_to(to, Answer { group, number, said })?;
    }
    Ok(())
}

/// Writes, unless it is a repeat. Returns the slot that the client is told, or `None` if the client
/// has gone on to a later number.
fn write(
    memory: &mut Memory,
    lines: &mut Objects<Line>,
    slot: u64,
    command: &Command,
) -> Result<Option<u64>, Reason> {
    let Command { client, number, operation } = command;
    let known = |it: &Session| it.slot != 0 && it.client == *client;
    // A client that is not known gets the place of the one that has not written for longest.
    let place = memory.sessions.iter().position(known);
    let oldest = memory.sessions.iter().enumerate().min_by_key(|(_, session)| session.slot);
    let place = place.or(oldest.map(|(place, _)| place)).unwrap_or(0);
    let last = memory.sessions[place];
    if known(&last) && *number <= last.number {
        return Ok((*number == last.number).then_some(last.slot));
    }
    match operation {
        Operation::Put { name, value } => {
            memtable::put(&mut memory.list, lines, (name, Some(value)), slot)?;
        }
        Operation::Delete { name } => {
            memtable::put(&mut memory.list, lines, (name, None), slot)?;
        }
        Operation::Nothing | Operation::Get { .. } => {}
    }
    memory.sessions[place] = Session { client: *client, number: *number, slot };
    Ok(Some(slot))
}

/// Sends all lines to the tables, and a seal behind them.
fn flush(
    memory: &Memory,
    lines: &Objects<Line>,
    shelf: Shelf,
    disks: &mut Outbox<Disk>,
) -> Result<(), Reason> {
    let upto = memory.applied;
    let (mut line, mut pieces) = (memtable::from(&memory.list, lines, b""), 0);
    while !line.is_none() {
        let (mut items, mut count) = ([Item::NONE; PIECE], 0);
        while count < PIECE
            && let Some(it) = lines.get(line)
        {
            let (name, value) = (Name::of(memtable::name_of(it))?, memtable::value_of(it));
            items[count] = Item { name, is_gone: it.head.is_gone, value: Value::of(value)? };
            count += 1;
            line = memtable::behind(lines, line);
        }
        if count == 0 {
            break;
        }
        disks.send(Disk { shelf, ask: Ask::Piece { upto, count: count as u8, items } })?;
        pieces += 1;
    }
    disks.send(Disk { shelf, ask: Ask::Seal { upto, pieces, sessions: memory.sessions } })
}

/// Takes the sorted tables' answers.
#[flow_handler]
pub fn kept(
    back: Back,
    logs: &mut Table<Log>,
    memories: &mut Table<Memory>,
    lines: &mut Objects<Line>,
    learns: &mut Outbox<Learn>,
) -> Verdict {
    let group = back.group;
    let Some(memory) = memories.get_mut(&group) else { return Done };
    match back.said {
        Said::Kept { upto, first, last } => {
            let mut line = memtable::from(&memory.list, lines, &first);
            while let Some(it) = lines.get(line)
                && let Ok(name) = Name::of(memtable::name_of(it))
                && *name <= *last
            {
                let is_kept = it.head.slot <= upto;
                line = memtable::behind(lines, line);
                if is_kept {
                    memtable::take(&mut memory.list, lines, &name);
                }
            }
            return Done;
        }
        Said::Sealed { upto } => {
            memory.flushed = memory.flushed.max(upto);
            memory.asked = 0;
        }
        Said::Recalled { began, upto, sessions } => {
            if memory.stage != Stage::Recalls {
                return Done;
            }
            if logs.get(&group).is_none() {
                if began {
                    memory.stage = Stage::Mute;
                    return Drop(LOST_PROMISES);
                }
                logs.insert(group, Log::EMPTY)?;
            }
            lines.clear();
            let anchor = lines.insert(Line::ANCHOR, 0)?;
            let stage = if logs.get(&group).is_some_and(|log| log.votes) {
                Stage::Works
            } else {
                Stage::Begins
            };
            *memory =
                Memory { stage, applied: upto, flushed: upto, anchor, sessions, ..Memory::NEW };
        }
        Said::Began => {
            if let Some(log) = logs.get_mut(&group).filter(|_| memory.stage == Stage::Begins) {
                log.votes = true;
                (memory.stage, memory.asked) = (Stage::Works, 0);
            }
        }
    }
    learns.send(Learn { group })?;
    Done
}
