//! The datagrams between clients and nodes, in Cora's wire form. The client has this file, too.

use cora::prelude::*;

/// A name that has a value.
pub type Name = Bytes<32>;
/// A value.
pub type Value = Bytes<128>;

/// An operation of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Operation {
    /// Fills a gap of the log.
    Nothing,
    Get {
        name: Name,
    },
    Put {
        name: Name,
        value: Value,
    },
    Delete {
        name: Name,
    },
}

/// The command in a slot of the log. A client's numbers go up, so a repeat is known as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Command {
    pub client: u64,
    pub number: u64,
    pub operation: Operation,
}

impl Command {
    /// Fills a gap.
    pub const NOTHING: Self = Self { client: 0, number: 0, operation: Operation::Nothing };
}

/// A slot that an acceptor holds. Slot 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Held {
    pub slot: u64,
    pub ballot: u64,
    pub command: Command,
}

impl Held {
    /// None.
    pub const NONE: Self = Self { slot: 0, ballot: 0, command: Command::NOTHING };
}

/// Slots in a datagram: six of the longest commands fit into 1,472 bytes.
pub const BATCH: usize = 6;

/// The ballot of a slot with a chosen command. It is above all others.
pub const CHOSEN: u64 = u64::MAX;

/// A datagram to a node.
#[message(udp)]
#[derive(PartialEq, Eq, Debug)]
pub struct Datagram {
    /// The Paxos group.
    #[key]
    pub group: u32,
    pub said: Said,
}

/// A message of a client or a node. `from` is the number of the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Said {
    /// A client's.
    Request { command: Command },
    /// Phase 1a: promise me this ballot for all slots from here on, and list those you hold.
    Prepare { from: u8, ballot: u64, first: u64 },
    /// Phase 1b: the acceptor's slots from `first` until before `until`; `end` is behind all
    /// that it holds.
    Promised { from: u8, ballot: u64, first: u64, until: u64, end: u64, held: [Held; BATCH] },
    /// Phase 2a. All slots before `chosen` are.
    Accept { from: u8, ballot: u64, slot: u64, chosen: u64, command: Command },
    /// Phase 2b.
    Accepted { from: u8, ballot: u64, slot: u64 },
    /// The ballot is too low: this one is promised.
    Behind { from: u8, promised: u64 },
    /// The leader lives. All slots before `chosen` are.
    Heartbeat { from: u8, ballot: u64, chosen: u64 },
    /// Which commands are chosen from this slot on?
    Missing { from: u8, first: u64 },
    /// These are, and all before `end`.
    Chosen { from: u8, end: u64, held: [Held; BATCH] },
    /// The slot asked for is no longer in the log, which begins here.
    Gone { from: u8, begin: u64 },
}

/// The answer to a client's request.
#[message(udp)]
#[derive(PartialEq, Eq, Debug)]
pub struct Answer {
    pub group: u32,
    pub number: u64,
    pub said: Told,
}

/// The kinds of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub enum Told {
    Is {
        value: Value,
    },
    Nothing,
    /// Put or deleted, by the command of this slot. A repeat is told the same.
    Stored {
        slot: u64,
    },
    /// Another node leads: this one, or none that is known if it is the one that says so.
    Elsewhere {
        leader: u8,
    },
    /// Too much is under way.
    Busy,
}
