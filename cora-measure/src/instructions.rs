//! The program in memory, with a mark between bursts: `<program> count`.
//!
//! A mark is a system call that does nothing and that the program makes nowhere else here. An
//! emulator of the program sees it, and knows the number of instructions between two: see
//! `benches/counter`. The first two marks have nothing between them, and give the cost of a mark
//! itself. From then on there is one behind every burst of one pass, which begins with empty
//! tables. At the end it prints the number of packets in each burst, a line each.

use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use cora_core::app::App;
use cora_core::packet::Port;
use cora_host::parts::{Direct, Pages, Supply, configure};
use cora_host::{Inside, RunError};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST, BURST_BYTES, BurstBuffer};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::nic_half::NicHalf;

use crate::in_memory::states_of_nic;
use crate::traffic::{Traffic, reading};

/// The half that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Counted {
    /// The host's, without a NIC.
    Host,
    /// The NIC's; for plans that run all of it there.
    Nic,
}

/// A request to count.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) input: &'a Path,
    pub(crate) inside: Inside,
    pub(crate) configurations: &'a [(String, PathBuf)],
    pub(crate) half: Counted,
    /// Packets between two marks, at most.
    pub(crate) burst: usize,
    /// Packets in all, at most.
    pub(crate) packets: usize,
}

/// Runs one pass with marks.
pub(crate) fn count<A: App>(request: &Request<'_>) -> Result<(), RunError> {
    // Always the same seed: the same work in every run.
    let supply = Supply { seed: 1, pages: Pages::default(), resident: false };
    let reading = reading::<A>(request.inside.clone());
    let traffic = Traffic::load_first(request.input, reading, request.packets)?;
    let traffic = traffic.marked::<A>(supply.seed, request.configurations)?;
    let mut left = 0_u64;
    let mut out = Direct::new(|_: &Stamp, _: Port, _: &[u8]| left += 1);
    match request.half {
        Counted::Host => {
            let mut app = supply.app::<A>(HostHalf::bytes)?;
            configure(&mut app, request.configurations)?;
            let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
            let mut host = HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)?;
            pass(&traffic, request.burst, |burst| Ok(host.burst(burst, &mut out)?))
        }
        Counted::Nic => {
            let mut app = states_of_nic::<A>(supply)?;
            configure(&mut app, request.configurations)?;
            let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
            let mut nic = NicHalf::create(app, &mut memory).map_err(RunError::Memory)?;
            pass(&traffic, request.burst, |burst| {
                nic.burst(burst, &mut out);
                Ok(())
            })
        }
    }
}

fn pass(
    traffic: &Traffic,
    most: usize,
    mut run: impl FnMut(&mut Burst<'_>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let most = most.clamp(1, BURST);
    let mut sizes = Vec::with_capacity(traffic.len());
    let mut buffer = vec![0; BURST_BYTES];
    let mut pass = traffic.pass(0);
    mark();
    mark();
    while !pass.is_over() {
        let mut frames = BurstBuffer::new(&mut buffer);
        let mut burst = Burst::new();
        while burst.len() < most {
            let received = pass.receive(&mut frames, |stamp, frame| {
                // The loop's condition ensures room.
                burst.push_roomy(stamp, frame);
            });
            if !received {
                break;
            }
        }
        run(&mut burst)?;
        sizes.push(burst.len());
        mark();
    }
    tell(&sizes)
}

/// Prints the number of packets in each burst, a line each.
fn tell(sizes: &[usize]) -> Result<(), RunError> {
    let lines: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let text = lines.join("\n") + "\n";
    let failed = |cause| RunError::System { what: "standard output", cause };
    std::io::stdout().write_all(text.as_bytes()).map_err(failed)
}

/// Reads the parent's number: no other code here does, and it has no effect.
#[inline(never)]
fn mark() {
    black_box(rustix::process::getppid());
}
