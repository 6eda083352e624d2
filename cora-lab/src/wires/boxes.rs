//! The measured boxes: a program of Cora's, DPDK's testpmd, and the kernel.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::network::Network;
use super::processors::Others;
use crate::Result;
use crate::function::Function;
use crate::program::{Service, run_well};

/// A box ends well before this.
const PATIENCE: Duration = Duration::from_secs(30);

/// The box in the middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Middle {
    /// A program of Cora's, by AF_XDP.
    Cora(PathBuf),
    /// DPDK's own program, which exchanges the addresses of each frame's cards, by this driver.
    Testpmd(Driver),
    /// The kernel forwards, by the rules of a network function if one is given.
    Kernel(Option<Function>, Place),
}

/// The processors on which the kernel handles received frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the sender's processor, in the sender's system call: nothing is handed from one processor
    /// to another.
    WithSender,
    /// On all others, by receive packet steering.
    Others,
}

/// DPDK's drivers for interfaces of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    Xdp,
    Packet,
}

impl fmt::Display for Middle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cora(_) => f.write_str("Cora, AF_XDP"),
            Self::Testpmd(Driver::Xdp) => f.write_str("dpdk-testpmd macswap, net_af_xdp"),
            Self::Testpmd(Driver::Packet) => f.write_str("dpdk-testpmd macswap, net_af_packet"),
            Self::Kernel(function, place) => {
                match function {
                    None => f.write_str("kernel, ip_forward")?,
                    Some(function) => write!(f, "kernel, nftables as {}", function.name())?,
                }
                f.write_str(match place {
                    Place::WithSender => ", on the sender's processor",
                    Place::Others => ", on others than the sender's",
                })
            }
        }
    }
}

/// A box that runs. Ended when dropped.
#[derive(Debug)]
pub(super) struct Running {
    service: Option<Service>,
}

impl Running {
    /// Starts it between the middle's interfaces.
    pub(super) fn start(middle: &Middle, network: &Network, others: Others) -> Result<Self> {
        let service = match middle {
            Middle::Cora(program) => Some(Service::start(&mut cora(network, program, others))?),
            Middle::Testpmd(driver) => {
                Some(Service::start_listening(&mut testpmd(network, *driver, others))?)
            }
            Middle::Kernel(function, place) => {
                network.route((*place == Place::Others).then(|| others.mask()))?;
                if let Some(function) = function {
                    run_well(network.middle.command("nft").arg(function.rules()), PATIENCE)?;
                }
                None
            }
        };
        Ok(Self { service })
    }

    /// Returns an error with its last words when it has ended.
    pub(super) fn lives(&mut self) -> Result<()> {
        let Some(service) = &mut self.service else { return Ok(()) };
        if service.has_ended() { Err(service.last_words()) } else { Ok(()) }
    }

    /// Ends it, and checks that it ends in good order.
    pub(super) fn end(self) -> Result<()> {
        let Some(service) = self.service else { return Ok(()) };
        service.interrupt_well("it", PATIENCE).map(drop)
    }
}

fn on(processors: &str, network: &Network) -> Command {
    let mut command = network.middle.command("taskset");
    command.args(["-c", processors]);
    command
}

fn cora(network: &Network, program: &Path, others: Others) -> Command {
    let mut command = on(&others.list(), network);
    command.arg(program).args(["run", "--json", "--nic", "native", "--live"]);
    command.arg("inside=xdp:inside,outside=xdp:outside");
    command
}

/// Returns testpmd's command: one core forwards, and one does nothing meanwhile.
fn testpmd(network: &Network, driver: Driver, others: Others) -> Command {
    let driver = match driver {
        Driver::Xdp => "net_af_xdp",
        Driver::Packet => "net_af_packet",
    };
    let [first, last] = network.interfaces();
    // The files in /var/run/dpdk are named after this process: several may run at once.
    let prefix = format!("--file-prefix=cora-{}", std::process::id());
    let cores = format!("0@0,1@{}", others.one());
    // testpmd places its threads itself, but only on processors that `taskset` permits.
    let mut command = on(&others.and_the_first(), network);
    command.args(["dpdk-testpmd", "--lcores", &cores, "--no-huge", "-m", "256", "--no-pci"]);
    command.arg("--no-telemetry");
    command.args(["--iova-mode=va", "--log-level=4", &prefix]);
    for (number, interface) in [first, last].into_iter().enumerate() {
        command.arg(format!("--vdev={driver}{number},iface={interface}"));
    }
    command.args(["--", "--forward-mode=macswap", "--auto-start", "--nb-cores=1"]);
    command.arg("--total-num-mbufs=32768");
    command
}
