//! Where client and server are: on the loopback, or in two namespaces with a veth pair.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::process::Command;

use cora_traffic::namespace::Namespace;

use super::SERVER;
use super::steps::PARTICIPANT;
use crate::asked::Client;
use crate::link::set_up;

/// Client and server on a veth pair.
const CLIENT: [u8; 4] = [10, 0, 0, 1];
/// The interface at each end.
const WIRE: &str = "wire";
/// The cards' addresses: the client's, and the server's.
const CARDS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

/// A way from a client to a server.
#[derive(Debug)]
pub(super) struct Way {
    server: SocketAddrV4,
    own: [u8; 4],
    /// The client's network, and the server's.
    ends: Option<[Namespace; 2]>,
}

impl Way {
    /// Within this machine's network.
    pub(super) const fn loopback() -> Self {
        Self {
            server: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7_907),
            own: [127, 0, 0, 1],
            ends: None,
        }
    }

    /// Builds two namespaces; the error names a facility that this machine lacks.
    pub(super) fn veth() -> Result<Self> {
        let made = |label| Namespace::create(label).map_err(Error::other);
        let (client, server) = (made("ask")?, made("answer")?);
        client.join(WIRE, &server, WIRE).map_err(Error::other)?;
        let addresses = [Ipv4Addr::from(CLIENT), *PARTICIPANT.ip()];
        for (end, space) in [&client, &server].into_iter().enumerate() {
            set_up(space, WIRE, CARDS[end])?;
            let words = [
                format!("address add {}/24 dev {WIRE}", addresses[end]),
                // Cora answers no ARP.
                format!(
                    "neighbour add {} lladdr {} dev {WIRE}",
                    addresses[1 - end],
                    CARDS[1 - end]
                ),
            ];
            words.iter().try_for_each(|it| space.ip(it)).map_err(Error::other)?;
        }
        Ok(Self { server: PARTICIPANT, own: CLIENT, ends: Some([client, server]) })
    }

    fn command(&self, program: &Path) -> Command {
        match &self.ends {
            Some([_, server]) => server.command(&program.display().to_string()),
            None => Command::new(program),
        }
    }

    /// The example there.
    pub(super) fn cora(&self, program: &Path) -> Command {
        let mut command = self.command(program);
        command.args(["run", "--nic", "native"]);
        match self.ends {
            Some(_) => command.args(["--live", &format!("messages=xdp:{WIRE}")]),
            None => command.args(["--messages", &format!("udp:{}", self.server)]),
        };
        command
    }

    /// The server by hand there.
    pub(super) fn by_hand(&self) -> Result<Command> {
        let mut command = self.command(&std::env::current_exe()?);
        command.args([SERVER, &self.server.to_string()]);
        Ok(command)
    }

    /// A client there.
    pub(super) fn client(&self) -> Result<Client> {
        match &self.ends {
            Some([client, _]) => {
                client.visit(|| Client::of(self.server, self.own)).map_err(Error::other)?
            }
            None => Client::of(self.server, self.own),
        }
    }
}
