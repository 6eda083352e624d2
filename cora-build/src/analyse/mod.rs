//! The paths of a handler: its accesses to states in order, and its exit.
//!
//! The body is read in execution order, on all ways at once. A branch splits a way in two, and `?`
//! and `return` end one. Ways with equal accesses and equal knowledge are merged. Facts from
//! conditions are kept (after `if kept.is_err()`, it is known whether `kept?` ends the path), so
//! most reported paths are feasible.
//!
//! 1. A loop is read once for the accesses of a round. Its paths contain them as accesses that
//!    happen any number of times, in any order. Then it is read again for the rounds that leave it.
//! 2. A closure is any number of runs of its body if it is passed on, and one run if it is called
//!    by name.
//! 3. A function of the program is followed at its call, as if it were inlined. So is a method that
//!    the program defines on its tables. A method that it defines on a state without key is a
//!    single access that reads or writes like its body.
//! 4. An opaque access is [`Does::Anything`], and is reported with its place and a reason.
//!
//! 5. A message put into an outbox is noted as an access is. A send may be refused, which is a way
//!    of its own.
//!
//! Ways that panic are not paths: they end the run, not the packet.

mod bound;
mod call;
mod condition;
mod control;
mod expression;
mod gather;
mod loops;
mod macros;
mod method;
mod outbox;
mod pattern;
mod reader;
mod surroundings;
mod value;
mod way;
mod written;

use std::collections::BTreeSet;

use cora_plan::graph::Exit;

use self::reader::Reader;
use self::value::{Lent, Value};
use self::way::Way;
use crate::syntax::{HandlerDecl, Parameter, ParameterAccess};

#[cfg(doc)]
use cora_plan::graph::Does;

pub use bound::MOST_PATHS;
pub use surroundings::{Import, Routine, Surroundings, library, library_of};
pub use way::{Act, At, Touch};

/// The result for a handler.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its paths, in the order of their ends in the source; at least one.
    pub paths: Vec<Path>,
    /// Its total effect on each of its states, in the order of its parameters.
    pub effects: Vec<Effect>,
    /// Its opaque accesses.
    pub opaque: Vec<Unseen>,
    /// The states, by index, of which it reads the replica that it updates.
    pub own_reads: BTreeSet<usize>,
    /// Whether paths were merged because there were too many.
    pub merged: bool,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Its accesses and the messages that it sends, in order.
    pub touches: Vec<Touch>,
    /// Its exit.
    pub exit: Exit,
}

/// The effect of a handler on a state over all paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// It reads.
    pub reads: bool,
    /// It writes.
    pub writes: bool,
    /// It may insert an entry.
    pub inserts: bool,
    /// It may remove an entry.
    pub removes: bool,
}

/// An opaque access.
#[derive(Clone, Debug)]
pub struct Unseen {
    /// Its place.
    pub at: At,
    /// The index of the state among the handler's parameters.
    pub state: usize,
    /// The reason.
    pub why: String,
}

/// The location of the handler: the number of its file, and its modules.
#[derive(Clone, Copy, Debug)]
pub struct Home<'a> {
    /// Number of its file.
    pub file: usize,
    /// Modules around it, from the root.
    pub module: &'a [String],
}

/// Reads a handler.
pub fn run(handler: &HandlerDecl, home: Home<'_>, surroundings: &Surroundings) -> Found {
    let mut reader = Reader::new(handler, home, surroundings);
    let mut start = Way::new(way::Names::default());
    start.enter();
    for (state, parameter) in handler.parameters.iter().enumerate() {
        let lent = Lent { state, mutable: is_mutable(parameter) };
        start.bind(&written::name(&parameter.ident), Value::State(lent), false);
    }
    for (outbox, name) in handler.message_outboxes().enumerate() {
        start.bind(&written::name(name), Value::Outbox(outbox), false);
    }
    let ways = reader.body(&handler.item.block, vec![start]);
    let ended = ways.into_iter().map(|way| (way.trace, way.value.exit())).collect();
    let (paths, merged) = bound::paths(ended);
    let mut paths: Vec<Path> = paths
        .into_iter()
        .map(|(trace, exit)| Path { touches: trace.touches().to_vec(), exit })
        .collect();
    if reader.exhausted() {
        paths = vec![Path { touches: reader.worst(home.file), exit: Exit::Unseen }];
    } else if paths.is_empty() {
        // It always panics, or never ends.
        paths.push(Path { touches: Vec::new(), exit: Exit::Unseen });
    }
    let merged = merged || reader.merged || reader.exhausted();
    let Reader { effects, opaque, own_reads, .. } = reader;
    Found { paths, effects, opaque, own_reads, merged }
}

/// Whether a parameter borrows its state mutably.
fn is_mutable(parameter: &Parameter) -> bool {
    matches!(
        parameter.access,
        ParameterAccess::Table { mutable: true }
            | ParameterAccess::Merged { mutable: true }
            | ParameterAccess::Objects { mutable: true }
            | ParameterAccess::Region { mutable: true }
            | ParameterAccess::Unique
    )
}
