//! The program in memory: its speed when frames cost nothing but a copy.
//!
//! One pass over the whole capture fills the tables. Then each line on standard input asks for
//! another pass over the packets after the first `--warm`, and is answered by a line of JSON. So a
//! caller can let several programs take turns. (With both halves, one pass gives times of single
//! packets: see `punt`; or of moves: see `migration`; as a pair at work, see `throughput`; under
//! changing traffic, see `adaptation`.)

use std::io::{BufRead as _, Write as _};
use std::path::Path;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_host::parts::{Direct, Pages, Supply, configure};
use cora_host::{Inside, RunError};
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::nic_half::NicHalf;

use crate::in_memory::states_of_nic;
use crate::migration::{self, Which};
use crate::traffic::{Traffic, reading};
use crate::{ThreadTime, adaptation, dealt, punt, throughput};

/// The half that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Half {
    /// The host's, without a NIC.
    Host,
    /// The NIC's, in a process of this machine; for plans that run all of it there.
    Nic,
    /// Both, on a core each: the round trip of a punt.
    Both,
    /// Both, on a core each and always busy: the packets a second that they handle together.
    Pair,
    /// Each by itself, and both at once with the buckets dealt between them.
    Dealt,
    /// Both, on a core each and always busy: the cost of moving flows.
    Moves,
    /// Both, on a core each and always busy: the cost of moving the flow of the first frame, which
    /// has many entries.
    Group,
    /// Both, taking turns, under several controllers: whether moving flows pays. Each line asks for
    /// trials, in JSON.
    Adapt,
    /// Neither: frames are only received and sent.
    None,
}

/// Loads, warms up, and runs a pass per line of standard input.
pub(crate) fn replay<A: App + Send>(
    input: &Path,
    inside: Inside,
    configurations: &[(String, std::path::PathBuf)],
    half: Half,
    warm: usize,
    pages: Pages,
) -> Result<(), RunError> {
    // Always the same seed: the same work in every run.
    let supply = Supply { seed: 1, pages, resident: true };
    let traffic = Traffic::load(input, reading::<A>(inside))?;
    let traffic = traffic.marked::<A>(supply.seed, configurations)?;
    let mut out = 0_u64;
    let mut out = Direct::new(|_: &Stamp, _: Port, _: &[u8]| out += 1);
    let mut passes = Passes { traffic: &traffic, warm, pages, buffer: vec![0; BURST_BYTES] };
    match half {
        Half::Host => {
            let mut app = supply.app::<A>(HostHalf::bytes)?;
            configure(&mut app, configurations)?;
            let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
            let mut host = HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)?;
            passes.run(|traffic, from, buffer| {
                traffic.replay(from, buffer, |burst| Ok(host.burst(burst, &mut out)?))
            })
        }
        Half::Nic => {
            let mut app = states_of_nic::<A>(supply)?;
            configure(&mut app, configurations)?;
            let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
            let mut nic = NicHalf::create(app, &mut memory).map_err(RunError::Memory)?;
            passes.run(|traffic, from, buffer| {
                traffic.replay(from, buffer, |burst| {
                    nic.burst(burst, &mut out);
                    Ok(())
                })
            })
        }
        Half::Both => say(&punt::run::<A>(&traffic, supply, configurations, warm)?),
        Half::Moves | Half::Group => {
            let which = if half == Half::Group { Which::First } else { Which::Flows };
            say(&migration::run::<A>(&traffic, supply, configurations, warm, which)?)
        }
        Half::Dealt => dealt::run::<A>(&traffic, supply, configurations, warm),
        Half::Pair => throughput::run::<A>(&traffic, supply, configurations, warm),
        Half::Adapt => adaptation::run::<A>(&traffic, supply, configurations),
        Half::None => passes.run(|traffic, from, buffer| {
            traffic.carry(from, buffer, &mut out);
            Ok(())
        }),
    }
}

/// Passes over the frames, on request.
struct Passes<'a> {
    traffic: &'a Traffic,
    warm: usize,
    pages: Pages,
    buffer: Vec<u8>,
}

impl Passes<'_> {
    fn run(
        &mut self,
        mut pass: impl FnMut(&Traffic, usize, &mut [u8]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let Self { traffic, warm, pages, buffer } = self;
        pass(traffic, 0, buffer)?;
        say(&format!("ready, states on {}", pages.in_force().word()))?;
        for line in std::io::stdin().lock().lines() {
            line.map_err(not_said)?;
            let start = ThreadTime::now();
            pass(traffic, *warm, buffer)?;
            let ns = start.elapsed().as_nanos();
            let packets = traffic.len().saturating_sub(*warm);
            say(&format!("{{\"packets\":{packets},\"ns\":{ns}}}"))?;
        }
        Ok(())
    }
}

fn say(line: &str) -> Result<(), RunError> {
    writeln!(std::io::stdout(), "{line}").map_err(not_said)
}

fn not_said(cause: std::io::Error) -> RunError {
    RunError::System { what: "standard input and output", cause }
}
