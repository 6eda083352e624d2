//! Contestants in one process, with their client: a pass per line, as the example's instrument
//! `nodes` has it.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::measured::Measured;
use super::nodes::{NODES, Room, configurations, free_ports, program};
use super::wire::{STORED_FRAME, capture};
use crate::program::Program;

/// Questions that make the nodes ready, 10 ms apart: their leader is elected in the first 300 ms.
const WARM: usize = 150;
/// How often nodes are started until the first one leads.
const TRIES: usize = 5;

/// The result of a pass. Times are in nanoseconds, processor time is that of the whole process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pass {
    pub(super) answers: u64,
    pub(super) ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    /// Answers by the length of their frames, where they are frames.
    #[serde(default)]
    pub(super) lengths: BTreeMap<usize, u64>,
}

impl Pass {
    fn measured(&self) -> Measured {
        Measured {
            writes: self.answers,
            cpu: Duration::from_nanos(self.cpu_ns),
            wall: Duration::from_nanos(self.ns),
            p50: Duration::from_nanos(self.p50_ns),
            p99: Duration::from_nanos(self.p99_ns),
        }
    }
}

/// Runs a pass.
pub(super) fn pass(of: &mut Program, window: usize, count: usize) -> Result<Measured> {
    Ok(ask(of, window, count)?.measured())
}

fn ask(of: &mut Program, window: usize, count: usize) -> Result<Pass> {
    of.ask_for(&format!("{window} {count}"))
}

/// The example's nodes in one process.
#[derive(Debug)]
pub(super) struct Nodes {
    program: Program,
    // Behind the program: it is removed when that has ended.
    _room: Room,
}

impl Nodes {
    /// Starts them, until the first node leads. There will be these passes, each a window and a
    /// number of puts.
    pub(super) fn start(programs: &Path, passes: &[(usize, usize)]) -> Result<Self> {
        let program = program(programs)?;
        for attempt in 0..TRIES {
            let room = Room::new(&format!("nodes-{attempt}"))?;
            // Only those that lead store something.
            let passes = [&[(1, 100)], passes].concat();
            let mut started = Self::once(&program, room, &passes)?;
            let first = ask(&mut started.program, 1, 100)?;
            if is_stored(&first) {
                return Ok(started);
            }
        }
        Err(Error::other("the first node did not become the leader"))
    }

    fn once(program: &Path, room: Room, passes: &[(usize, usize)]) -> Result<Self> {
        let (questions, nodes) = (room.path("questions.pcap"), free_ports::<NODES>()?);
        capture(&questions, &nodes, WARM, passes)?;
        let mut command = Command::new(program);
        command.arg("nodes").arg("--in").arg(&questions).args(["--warm", &WARM.to_string()]);
        for (node, file) in nodes.iter().zip(configurations(&room, &nodes)?) {
            command.args(["--node", &node.to_string()]);
            command.arg("--config").arg(format!("Nodes={}", file.display()));
        }
        // Each node has a directory for its tables there.
        command.env_remove("REPLICATED_KV_TABLES").env("TMPDIR", room.path(""));
        Ok(Self { program: Program::of(&mut command)?, _room: room })
    }

    /// The next pass.
    pub(super) fn pass(&mut self, window: usize, count: usize) -> Result<Measured> {
        let pass = ask(&mut self.program, window, count)?;
        if !is_stored(&pass) {
            let lengths = &pass.lengths;
            return Err(Error::other(format!("not all is stored: answers by length {lengths:?}")));
        }
        Ok(pass.measured())
    }
}

/// All answers say that something is stored.
fn is_stored(pass: &Pass) -> bool {
    pass.lengths == BTreeMap::from([(STORED_FRAME, pass.answers)])
}
