//! The paths of a handler: which states it touches on its way, in which order, and how it ends.
//!
//! The body is read as it would run, all ways at once: a branch makes two ways of one, `?` and
//! `return` end one, and ways that did the same and know the same are one again. What a condition
//! teaches is kept (after `if kept.is_err()`, `kept?` ends the path or does not), so that most
//! paths told are paths that packets can take.
//!
//! 1. A loop is read once to see what a round can do; that stands in its paths as accesses that
//!    happen none, one or more times, in any order. Then it is read again for the rounds that leave
//!    it.
//! 2. A closure is none, one or more runs of its body where it is handed on, and its body where it
//!    is called by name.
//! 3. A function of the program is followed where it is called, as if it stood there. So is a
//!    method that the program gives its tables; one that it gives a state without key is one
//!    access, that reads or writes as its body does.
//! 4. What can't be seen is [`Does::Anything`], and told with its place and a reason.
//!
//! Ways that panic are no paths: they end the run, not the packet.

mod bound;
mod call;
mod condition;
mod control;
mod expression;
mod gather;
mod loops;
mod macros;
mod method;
mod pattern;
mod reader;
mod surroundings;
mod value;
mod way;
mod written;

use cora_plan::graph::Exit;

use self::reader::Reader;
use self::value::{Lent, Value};
use self::way::Way;
use crate::syntax::{HandlerDecl, Parameter, ParameterAccess};

#[cfg(doc)]
use cora_plan::graph::Does;

pub use bound::MOST_PATHS;
pub use surroundings::{Import, Routine, Surroundings};
pub use way::{At, Touch};

/// What is found of a handler.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its paths, in the order in which the source ends them; at least one.
    pub paths: Vec<Path>,
    /// What it does to each of its states in all, in the order of its parameters.
    pub effects: Vec<Effect>,
    /// What could not be seen.
    pub opaque: Vec<Unseen>,
    /// Whether paths were taken together, because there are too many.
    pub merged: bool,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// What it does, in order.
    pub touches: Vec<Touch>,
    /// How it ends.
    pub exit: Exit,
}

/// What a handler does to a state, on whatever path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// It looks.
    pub reads: bool,
    /// It changes something.
    pub writes: bool,
    /// It may put an entry in.
    pub inserts: bool,
    /// It may take an entry out.
    pub removes: bool,
}

/// An access that could not be seen.
#[derive(Clone, Debug)]
pub struct Unseen {
    /// Where.
    pub at: At,
    /// The state, by the handler's parameters.
    pub state: usize,
    /// Why not.
    pub why: String,
}

/// The handler itself, where it is: number of its file, modules around it.
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
        // It panics, or runs for ever.
        paths.push(Path { touches: Vec::new(), exit: Exit::Unseen });
    }
    let merged = merged || reader.merged || reader.exhausted();
    Found { paths, effects: reader.effects, opaque: reader.opaque, merged }
}

/// Whether a parameter lends its state to be changed.
fn is_mutable(parameter: &Parameter) -> bool {
    matches!(parameter.access, ParameterAccess::Table { mutable: true } | ParameterAccess::Unique)
}
