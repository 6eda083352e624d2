//! A program of Cora's as the box in the middle: its supervisor, which starts NIC process and host
//! process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Ended, Middle};
use crate::Result;
use crate::connections::of_states;
use crate::program::Service;
use crate::site::{Site, WIRE, join};

const SOON: Duration = Duration::from_secs(10);
/// Longer tables take longer to write at the end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kind of a live run's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// TAP interfaces, which the run makes: a system call for each frame.
    Tap,
    /// One end each of a veth pair, by packet sockets.
    Packet,
    /// One end each of a veth pair, by AF_XDP.
    Xdp,
}

impl Ports {
    /// Returns AF_XDP, or TAP and the reason where AF_XDP is not available.
    pub fn usual() -> (Self, Option<String>) {
        match cora_port::probe::xdp() {
            Ok(()) => (Self::Xdp, None),
            Err(why) => {
                (Self::Tap, Some(format!("no AF_XDP here ({why}): TAP interfaces instead")))
            }
        }
    }

    /// Returns the name for `--live`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tap => "tap",
            Self::Packet => "packet",
            Self::Xdp => "xdp",
        }
    }
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Tap, Self::Packet, Self::Xdp];
        let found = all.into_iter().find(|ports| ports.name() == text);
        found.ok_or_else(|| format!("`{text}` is not a kind of port: say tap, packet or xdp"))
    }
}

/// A live run in the middle namespace.
#[derive(Debug)]
pub struct Cora {
    service: Service,
    states: PathBuf,
}

impl Cora {
    /// Starts the program there; `moves` is the policy of flow moves. Its final state is written to
    /// `directory`.
    ///
    /// # Errors
    /// When it doesn't start, or lets nothing pass.
    pub fn start(
        site: &Site,
        program: &Path,
        ports: Ports,
        moves: &str,
        directory: &Path,
    ) -> Result<Self> {
        if ports == Ports::Tap && !Path::new("/dev/net/tun").exists() {
            return Err("no /dev/net/tun".to_owned());
        }
        if ports != Ports::Tap {
            join(&site.clients, WIRE, &site.middle, "inside")?;
            join(&site.router, WIRE, &site.middle, "outside")?;
            for interface in ["inside", "outside"] {
                site.middle.ip(&format!("link set {interface} up"))?;
            }
        }
        let states = directory.join(format!("{}.states.json", site.function.name()));
        let live = format!("inside={0}:inside,outside={0}:outside", ports.name());
        let mut command = site.middle.command(&program.display().to_string());
        command.args(["run", "--json", "--live", &live, "--moves", moves]);
        if site.function.is_hop() {
            configure(&mut command, directory)?;
        }
        let mut service = Service::start(command.arg("--state-out").arg(&states))?;
        if ports == Ports::Tap {
            for (tap, space) in [("inside", &site.clients), ("outside", &site.router)] {
                wait_for(site, tap, &mut service)?;
                let space = space.name();
                // Longer than the crowd's burst: the comparison is about Cora, not about losses of
                // a short queue.
                let queue = format!("link set {tap} txqueuelen 10000");
                site.middle.ip(&queue)?;
                site.middle.ip(&format!("link set {tap} netns {space} name {WIRE}"))?;
            }
        }
        site.address_clients()?;
        if site.function.is_hop() {
            site.route_to_middle()?;
        } else {
            site.address_router_as_gateway()?;
        }
        let passes = site.wait_until_it_passes();
        if service.has_ended() {
            let said = service.interrupt(SOON)?.stderr;
            return Err(format!("{} ended: {}", program.display(), said.trim()));
        }
        passes?;
        Ok(Self { service, states })
    }
}

/// The files that the gateway's page shows are those of this site.
const INTERFACES: &str = include_str!("../../../examples/gateway/interfaces.toml");
const ROUTES: &str = include_str!("../../../examples/gateway/routes.csv");

/// Gives the gateway its addresses and routes.
fn configure(command: &mut Command, directory: &Path) -> Result<()> {
    for (state, name, text) in
        [("Interface", "interfaces.toml", INTERFACES), ("Route", "routes.csv", ROUTES)]
    {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        command.arg("--config").arg(format!("{state}={}", path.display()));
    }
    Ok(())
}

/// Waits until the run has made an interface.
fn wait_for(site: &Site, interface: &str, service: &mut Service) -> Result<()> {
    let deadline = Instant::now() + SOON;
    while let Err(why) = site.middle.ip(&format!("link show {interface}")) {
        if Instant::now() > deadline || service.has_ended() {
            return Err(why.into());
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

impl Middle for Cora {
    fn name(&self) -> &'static str {
        "cora"
    }

    fn end(self: Box<Self>) -> Result<Ended> {
        let output = self.service.interrupt_well("the run", PATIENCE)?;
        let said = output.stderr.trim();
        let report: Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("the run's report: {error}"))?;
        // The supervisor restarts a half that died, and no check kills one here.
        let restarts = report["restarts"].as_object().into_iter().flat_map(|each| each.values());
        if restarts.filter_map(Value::as_u64).sum::<u64>() > 0 {
            return Err(format!("a half died by itself: {said}"));
        }
        let text = fs::read_to_string(&self.states)
            .map_err(|error| format!("{}: {error}", self.states.display()))?;
        let states: Value =
            serde_json::from_str(&text).map_err(|error| format!("the run's states: {error}"))?;
        Ok(Ended { connections: of_states(&states), report: Some(report) })
    }
}
