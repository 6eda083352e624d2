//! Where messages come from.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ArgMatches;
use cora_port::PortName;

use super::is_given;
use crate::ingress::port_names::Ports;

/// Messages come from one place.
pub(super) fn check(given: &ArgMatches) -> Result<(), String> {
    let others = [("input", "--in"), ("live", "--live")];
    match others.iter().find(|(id, _)| is_given(given, id)) {
        Some((_, other)) if is_given(given, "messages") => {
            Err(format!("--messages and {other}: say one of them"))
        }
        _ => Ok(()),
    }
}

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
