//! Where client and server are: on the loopback, or in two namespaces with a veth pair.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::process::Command;

use cora_traffic::namespace::Namespace;

use super::SERVER;
use super::steps::PARTICIPANT;
use crate::asked::{CLIENT, Client, WIRE, ends};

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
        let ends = Some(ends(["ask", "answer"], *PARTICIPANT.ip(), None)?);
        Ok(Self { server: PARTICIPANT, own: CLIENT, ends })
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
