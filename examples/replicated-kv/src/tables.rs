//! The sorted tables, at the host: `fjall` writes them, and merges them in its own threads.
//!
//! They are in the directory that `REPLICATED_KV_TABLES` names, which the node alone may use;
//! without it in one of this run in the system's directory for temporary files.

use cora::prelude::*;

use crate::learner::Sessions;
use crate::nodes::Nodes;
#[host_only]
use crate::shelf::{self, answer};
#[host_only]
use crate::wire::Answer;
use crate::wire::{Name, Value};

/// Lines in a piece.
pub const PIECE: usize = 6;

/// The tables failed. The log of the run says why.
#[host_only]
pub const NO_TABLES: Reason = Reason::new("no-tables");

/// The tables of a group. They are at the host, wherever the group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
pub struct Shelf {
    pub group: u32,
}

/// A line of the memtable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Item {
    pub name: Name,
    pub is_gone: bool,
    pub value: Value,
}

impl Item {
    /// None.
    pub const NONE: Self = Self { name: Name::EMPTY, is_gone: true, value: Value::EMPTY };
}

/// A group asks its tables.
#[message]
#[derive(PartialEq, Eq, Debug)]
pub struct Disk {
    #[key]
    pub shelf: Shelf,
    pub ask: Ask,
}

/// The kinds of questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
#[expect(clippy::large_enum_variant, reason = "plain data has one size")]
pub enum Ask {
    /// Up to which slot are you sealed?
    Recall,
    /// I am about to vote.
    Begin,
    /// Tell this client the name's value.
    Find { name: Name, number: u64, to: Peer },
    /// Lines as of this slot.
    Piece { upto: u64, count: u8, items: [Item; PIECE] },
    /// That was all, so many pieces.
    Seal { upto: u64, pieces: u32, sessions: Sessions },
}

/// Tables answer their group.
#[message]
#[derive(PartialEq, Eq, Debug)]
pub struct Back {
    #[key]
    pub group: u32,
    pub said: Said,
}

/// The kinds of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
#[expect(clippy::large_enum_variant, reason = "plain data has one size")]
pub enum Said {
    /// The lines from `first` to `last` are kept as of this slot.
    Kept { upto: u64, first: Name, last: Name },
    /// All up to this slot is kept.
    Sealed { upto: u64 },
    /// It is known that the group may have voted.
    Began,
    /// All up to this slot is kept, and these were the last writes of clients. `began`: the group
    /// may have voted.
    Recalled { began: bool, upto: u64, sessions: Sessions },
}

/// Reads and writes the sorted tables.
#[flow_handler(at = host)]
pub fn tables(
    disk: Disk,
    nodes: &Nodes,
    answers: &mut Outbox<Answer>,
    backs: &mut Outbox<Back>,
) -> Verdict {
    let (group, ask) = (disk.shelf.group, disk.ask);
    let said =
        shelf::of_this_run(nodes.me(), |tables, counted| answer(tables, counted, group, &ask));
    let Ok(said) = said else { return Drop(NO_TABLES) };
    match said {
        shelf::Answered::Client { to, number, said } => {
            answers.send_to(to, Answer { group, number, said })?;
        }
        shelf::Answered::Group(said) => backs.send(Back { group, said })?,
        shelf::Answered::Nobody => {}
    }
    Done
}
