//! Where messages come from.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use cora_port::PortName;

use crate::ingress::port_names::Ports;

/// A capture, or a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MessageSource {
    /// A capture of datagrams.
    Capture(PathBuf),
    /// A socket at this address.
    Socket(SocketAddr),
}

impl MessageSource {
    /// The option that says the same of packets.
    pub(super) fn words(&self) -> [OsString; 2] {
        match self {
            Self::Capture(path) => ["--in".into(), path.into()],
            Self::Socket(address) => ["--live".into(), Ports::of_messages(*address).into()],
        }
    }
}

impl FromStr for MessageSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.starts_with("udp:") {
            return Ok(Self::Capture(text.into()));
        }
        match text.parse()? {
            PortName::Udp { address } => Ok(Self::Socket(address)),
            other => Err(format!("`{other}` is no socket: write udp:ADDRESS:PORT")),
        }
    }
}
