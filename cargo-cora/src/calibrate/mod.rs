//! `calibrate`: measures this machine as both sides of a NIC profile.
//!
//! The terms add up to the cost of a packet: each is the rest without those before it.
//!
//! | module | content |
//! | --- | --- |
//! | `memory` | dependent loads by working set; the caches there are |
//! | `program` | the small network function that is measured |
//! | `counts` | how many instructions it takes |
//! | `traffic` | captures that it runs on |
//! | `child` | it, in a process of its own |
//! | `branches` | branches foretold wrongly |
//! | `handling` | frames, instructions, look-ups, entries, at one side |
//! | `entries` | insertions against removals |
//! | `crossing` | both sides, and the rings between them |
//! | `rounds` | everything by turns; medians and spreads |
//! | `machine` | the name of this machine |
//! | `profile` | all of it as a NIC profile |
#![expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]

mod branches;
mod child;
mod counts;
mod crossing;
mod entries;
mod handling;
mod machine;
mod memory;
mod profile;
mod program;
mod rounds;
mod traffic;

use std::io::Result;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub(crate) use child::PROGRAM;
pub(crate) use program::main as program;

use self::branches::Branches;
use self::crossing::{Alone, Crossings, Pairs};
use self::entries::Entries;
use self::handling::{CHURNED, Fit, FrameTimes, Frames, Side, SideTimes};
pub(crate) use self::machine::Machine;
use self::memory::{Latencies, Walks};
use self::program::Plan;
use self::rounds::Times;
use self::traffic::{Capture, SHORT};
use crate::arguments::Calibrate;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::tell::tell;

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Measured {
    machine: Machine,
    latencies: Latencies,
    frames: FrameTimes,
    mispredict: Times,
    nic: SideTimes,
    host: SideTimes,
    nic_fit: Fit,
    host_fit: Fit,
    insert: Times,
    remove: Times,
    crossings: Crossings,
}

pub(crate) fn run(arguments: &Calibrate) -> Outcome {
    if cfg!(debug_assertions) {
        return Err(Failure::Failed(
            "this cargo-cora is not optimised: its times would say nothing of programs that are. Type \
             `cargo run --release --package cargo-cora -- calibrate`, or install it with `cargo install`"
                .to_owned(),
        ));
    }
    let failed =
        |error: std::io::Error| Failure::Failed(format!("nothing was calibrated: {error}"));
    let start = Instant::now();
    let measured = measure(arguments.quick).map_err(failed)?;
    let text = page(&measured);
    match &arguments.out {
        None => tell(&text)?,
        Some(path) => std::fs::write(path, &text)
            .map_err(|error| Failure::Failed(format!("`{}`: {error}", path.display())))?,
    }
    let robbed = measured.crossings.robbed;
    if robbed > DISTURBED {
        eprintln!(
            "warning: while packets crossed, other processes took {:.0} % of the time: `[link]` is too dear; calibrate again when this machine has nothing else to do",
            100.0 * robbed
        );
    }
    eprintln!("calibrated in {:.0} s", start.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// The file.
fn page(measured: &Measured) -> String {
    format!(
        "# Measured by `cargo cora calibrate`; nics/README.md in Cora's sources explains each key.\n\
         # The NIC's side is the native NIC half, on a core of this machine.\n{}",
        profile::of(measured).to_toml()
    )
}

/// Of the time of crossings, how much may be taken away before that is told.
const DISTURBED: f64 = 0.05;

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    packets: u64,
    flows: &'static [u64],
    rounds: usize,
    pair_rounds: usize,
}

const FULL: Effort = Effort {
    packets: 1 << 19,
    flows: &[1_000, 8_000, 32_000, 200_000, 1_000_000],
    rounds: 21,
    pair_rounds: 9,
};
const QUICK: Effort =
    Effort { packets: 1 << 17, flows: &[1_000, 32_000, 400_000], rounds: 7, pair_rounds: 3 };

fn measure(quick: bool) -> Result<Measured> {
    let effort = if quick { QUICK } else { FULL };
    let room = tempfile::tempdir()?;
    let mut progress = Progress::after(Duration::ZERO);
    progress.step("walking through memory");
    let mut walks = Walks::new(quick)?;
    let walked: Vec<Vec<f64>> = (0..5).map(|_| walks.round()).collect();
    let latencies = walks.latencies(&walked);
    progress.step("making tables and traffic");
    let mut stage = Stage::new(room.path(), effort)?;
    let mut taken = Vec::new();
    for round in 0..effort.rounds {
        progress.step(&format!("handling packets, round {} of {}", round + 1, effort.rounds));
        taken.push(stage.round()?);
    }
    let handled = stage.times(&taken);
    // Each pair wants both cores to itself.
    drop(stage);
    progress.step("starting both halves");
    let mut pairs = Pairs::new(room.path(), effort.packets)?;
    let mut crossed = Vec::new();
    for round in 0..effort.pair_rounds {
        progress.step(&format!("crossing, round {} of {}", round + 1, effort.pair_rounds));
        crossed.push(pairs.round()?);
    }
    progress.clear();
    let Handled { frames, mispredict, nic, host, insert, remove } = handled;
    let fit = |side: &SideTimes| side.fit(&frames, mispredict.median(), &latencies);
    let (nic_fit, host_fit) = (fit(&nic), fit(&host));
    let packet_ns = frames.packet_ns(nic_fit.instruction_ns);
    let alone = Alone { frames: &frames, nic: &nic, host: &host, packet_ns };
    let crossings = Crossings::of(&crossed, alone);
    let machine = Machine::this();
    Ok(Measured {
        machine,
        latencies,
        frames,
        mispredict,
        nic,
        host,
        nic_fit,
        host_fit,
        insert,
        remove,
        crossings,
    })
}

/// Everything that runs on one core at a time.
struct Stage {
    frames: Frames,
    branches: Branches,
    nic: Side,
    host: Side,
    entries: Entries,
}

/// The time of one round.
struct Taken {
    frames: (f64, f64),
    mispredict: f64,
    nic: Vec<f64>,
    host: Vec<f64>,
    entries: (f64, f64),
}

/// The sum of all rounds.
struct Handled {
    frames: FrameTimes,
    mispredict: Times,
    nic: SideTimes,
    host: SideTimes,
    insert: Times,
    remove: Times,
}

impl Stage {
    fn new(room: &Path, effort: Effort) -> Result<Self> {
        let steady =
            |flows: &u64| Ok((*flows, Capture::steady(room, *flows, effort.packets, SHORT)?));
        let steady = effort.flows.iter().map(steady).collect::<Result<Vec<_>>>()?;
        let churn = Capture::churn(room, CHURNED)?;
        Ok(Self {
            frames: Frames::new(room, effort.packets)?,
            branches: Branches::new(room, effort.packets)?,
            nic: Side::new((Plan::NicOnly, "nic"), counts::NIC, &steady, &churn)?,
            host: Side::new((Plan::HostOnly, "host"), counts::HOST, &steady, &churn)?,
            entries: Entries::new(CHURNED)?,
        })
    }

    fn round(&mut self) -> Result<Taken> {
        Ok(Taken {
            frames: self.frames.round()?,
            mispredict: self.branches.round()?,
            nic: self.nic.round()?,
            host: self.host.round()?,
            entries: self.entries.round(),
        })
    }

    fn times(&self, taken: &[Taken]) -> Handled {
        let each = |of: &dyn Fn(&Taken) -> f64| Times::new(taken.iter().map(of).collect());
        let side = |side: &Side, of: &dyn Fn(&Taken) -> &Vec<f64>| {
            side.times(&taken.iter().map(|round| of(round).clone()).collect::<Vec<_>>())
        };
        let (short, long) = (each(&|round| round.frames.0), each(&|round| round.frames.1));
        Handled {
            frames: FrameTimes { short, long },
            mispredict: each(&|round| round.mispredict),
            nic: side(&self.nic, &|round| &round.nic),
            host: side(&self.host, &|round| &round.host),
            insert: each(&|round| round.entries.0),
            remove: each(&|round| round.entries.1),
        }
    }
}
