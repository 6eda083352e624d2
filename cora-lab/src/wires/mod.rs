//! The rate of the shortest frames from one veth to another: through each program of Cora's, DPDK's
//! testpmd and the kernel, in the same run. Also the rate of the programs' handlers in memory.
//!
//! ```text
//! sender ──wire──┤inside        middle        outside├──wire── receiver
//!                └ Cora (AF_XDP) | dpdk-testpmd (AF_XDP) | the kernel
//! ```
//!
//! The sender has the first processor for itself, the measured box all others: on two, one. The
//! sender's veth hands frames over on the sender's processor, for any box behind it. The receiver's
//! interface counts the frames that come.
//!
//! | module | contents |
//! | --- | --- |
//! | `frames` | the generator's frames |
//! | `network` | the namespaces |
//! | `load` | full load, and the highest load with a loss of at most a hundredth |
//! | `boxes` | the measured boxes |
//! | `memory` | handlers without a wire |
//! | `processors` | the assignment of processors |
//! | [`figure`] | the figures |
//! | [`command`] | the command line |

mod boxes;
pub mod command;
pub mod figure;
pub(crate) mod frames;
mod load;
mod memory;
pub(crate) mod network;
mod processors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::boxes::{Driver, Middle, Place, Running};
pub use self::figure::Figure;
use self::frames::Direction;
use self::load::{Effort, Generator, Speed};
use self::network::Network;
use self::processors::Others;
use crate::Result;
use crate::function::Function;

/// Flows of the generator: the smallest tables of examples hold them.
const FLOWS: u32 = 1_000;
/// Frames of a pass in memory.
const PASS: usize = 1 << 18;

/// The programs to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// Programs of Cora's, by the names of the examples.
    pub programs: Vec<(String, PathBuf)>,
    /// Less time for each load, and fewer loads.
    pub quick: bool,
    /// The directory for captures.
    pub directory: PathBuf,
}

/// The results of a run so far.
struct Run<'a> {
    request: &'a Request,
    others: Others,
    effort: Effort,
    /// Boxes that were measured, by name and direction; once each.
    baselines: BTreeMap<String, Option<(Middle, Speed)>>,
}

/// Measures all; each figure is told as it comes. A box that can't be measured is told on standard
/// error, with the reason.
///
/// # Errors
/// When this machine gives no namespaces, or a program of Cora's doesn't run.
pub fn run(request: &Request, tell: &mut dyn FnMut(&Figure)) -> Result<()> {
    std::fs::create_dir_all(&request.directory)
        .map_err(|error| format!("{}: {error}", request.directory.display()))?;
    let others = Others::left_by_this_thread()?;
    let effort = if request.quick {
        Effort { hold: Duration::from_millis(400), steps: 4 }
    } else {
        Effort { hold: Duration::from_millis(1500), steps: 7 }
    };
    let mut run = Run { request, others, effort, baselines: BTreeMap::new() };
    for (name, program) in &request.programs {
        run.measure(name, program, tell)?;
    }
    Ok(())
}

impl Run<'_> {
    fn measure(&mut self, name: &str, program: &Path, tell: &mut dyn FnMut(&Figure)) -> Result<()> {
        let direction = direction(name);
        let cora = self.through(&Middle::Cora(program.to_owned()), direction);
        let (_, cora) = cora.map_err(|why| format!("{name}: {why}"))?;
        let mut figure = |what: &str, mpps: f64, baseline: f64, baseline_name: String| {
            let name = format!("wires/{name}/{what}");
            let sender_limits = what != "memory" && cora.takes_all();
            tell(&Figure { name, cora: mpps, sender_limits, baseline, baseline_name });
        };
        for baseline in baselines(name, direction) {
            if let Some((baseline, speed)) = self.baseline(&baseline, direction) {
                figure("full", cora.full, speed.full, baseline.to_string());
                figure("clean", cora.clean, speed.clean, baseline.to_string());
            }
        }
        let capture = self.request.directory.join("wires.pcap");
        frames::save(&capture, &frames::frames(direction, FLOWS), PASS)?;
        let memory = memory::speed(program, &capture, FLOWS as usize, self.others)?;
        figure("memory", memory, cora.full, "the same program on veth, full load".to_owned());
        Ok(())
    }

    /// Measures a box once for each direction; `None` if it can't be measured.
    fn baseline(&mut self, middle: &Middle, direction: Direction) -> Option<(Middle, Speed)> {
        let key = format!("{middle} {direction:?}");
        if !self.baselines.contains_key(&key) {
            let measured = self.through(middle, direction);
            let measured = measured.map_err(|why| eprintln!("left out: {middle}: {why}")).ok();
            self.baselines.insert(key.clone(), measured);
        }
        self.baselines.get(&key).cloned().flatten()
    }

    /// Measures a box: DPDK by its other driver where AF_XDP fails, and the kernel at the place
    /// where it is the faster.
    fn through(&self, middle: &Middle, direction: Direction) -> Result<(Middle, Speed)> {
        let measured = self.alone(middle, direction).map(|speed| (middle.clone(), speed));
        match (measured, middle) {
            (Err(why), Middle::Testpmd(Driver::Xdp)) => {
                eprintln!("left out: {middle}: {why}");
                let other = Middle::Testpmd(Driver::Packet);
                self.alone(&other, direction).map(|speed| (other, speed))
            }
            (Ok((others, speed)), Middle::Kernel(function, Place::Others)) => {
                let with_sender = Middle::Kernel(*function, Place::WithSender);
                let its = self.alone(&with_sender, direction)?;
                Ok(if its.full > speed.full { (with_sender, its) } else { (others, speed) })
            }
            (measured, _) => measured,
        }
    }

    fn alone(&self, middle: &Middle, direction: Direction) -> Result<Speed> {
        let network = Network::create("wires", direction)?;
        let mut running = Running::start(middle, &network, self.others)?;
        let frames = frames::frames(direction, FLOWS);
        let mut generator = Generator::new(&network, &frames)?;
        let speed = generator.measure(self.effort, &mut || running.lives())?;
        running.end()?;
        Ok(speed)
    }
}

/// Returns the direction of a function's flows.
fn direction(name: &str) -> Direction {
    match name {
        "balancer" => Direction::ToService,
        "carrier-nat" => Direction::OutwardOfFew,
        "nat64" => Direction::OutwardV6,
        _ => Direction::Outward,
    }
}

/// Returns the boxes that a program is compared with.
fn baselines(name: &str, direction: Direction) -> Vec<Middle> {
    let testpmd = Middle::Testpmd(Driver::Xdp);
    let kernel = |function| Middle::Kernel(function, Place::Others);
    let same = Function::ALL.into_iter().find(|function| function.name() == name);
    match (same, direction) {
        // The kernel has no such translation.
        (None, Direction::OutwardV6) => vec![testpmd],
        (None, _) => vec![testpmd, kernel(None)],
        (Some(function), Direction::Outward) => {
            vec![testpmd, kernel(None), kernel(Some(function))]
        }
        (Some(function), _) => vec![testpmd, kernel(Some(function))],
    }
}
