//! Two machines that are joined by Ethernet alone: a host, and its card. Each is a namespace.

use std::path::Path;
use std::process::Command;

use crate::namespace::Namespace;

/// The address of the host's interface.
pub const HOST: &str = "02:00:00:00:01:01";
/// The address of the card's interface.
pub const CARD: &str = "02:00:00:00:01:02";

/// Two machines: a host with the interface `w0`, and a card with `w1`.
#[derive(Debug)]
pub struct Machines {
    /// The host.
    pub host: Namespace,
    /// The card.
    pub card: Namespace,
    /// The way of frames to the processes at both ends: `packet` or `xdp`.
    pub way: &'static str,
}

impl Machines {
    /// Builds them.
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn build(label: &str) -> Result<Self, String> {
        let host = Namespace::create(&format!("{label}-host"))?;
        let card = Namespace::create(&format!("{label}-card"))?;
        host.join("w0", &card, "w1")?;
        for (machine, interface, address) in [(&host, "w0", HOST), (&card, "w1", CARD)] {
            machine.send_plain_frames(interface)?;
            machine.ip(&format!("link set dev {interface} address {address} up"))?;
        }
        Ok(Self { host, card, way: "packet" })
    }

    /// A run at the host with its NIC half on the card.
    pub fn run(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = self.host.command(&program.display().to_string());
        command.args(["run", "--json", "--nic", "card:ethernet"]);
        command.args(["--card", &format!("{}:w0,{CARD}", self.way)]).args(words);
        command
    }
}
