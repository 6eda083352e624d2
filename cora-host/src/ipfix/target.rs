//! Where messages go.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr;

use crate::RunError;

/// Bytes of a message by UDP: what goes through an Ethernet in one piece, with room for tunnels.
const LONGEST_DATAGRAM: usize = 1400;
/// Bytes of a message in a file.
const LONGEST_IN_FILE: usize = 16_384;

/// A target, as it is asked for: `udp:HOST:PORT`, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetName {
    /// A file, which is begun anew.
    File(PathBuf),
    /// A collector, as host and port.
    Udp(String),
}

impl FromStr for TargetName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(collector) = text.strip_prefix("udp:") else {
            return Ok(Self::File(text.into()));
        };
        let (host, port) = collector
            .rsplit_once(':')
            .ok_or("write it as udp:HOST:PORT, for example udp:192.0.2.1:4739")?;
        if host.is_empty() || port.parse::<u16>().is_err() {
            return Err("write it as udp:HOST:PORT, for example udp:[2001:db8::1]:4739".into());
        }
        Ok(Self::Udp(collector.into()))
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Udp(collector) => write!(f, "udp:{collector}"),
        }
    }
}

/// The target, opened.
pub(super) enum Target {
    /// A file.
    File(File, PathBuf),
    /// A socket that is connected to the collector.
    Udp(UdpSocket),
}

impl Target {
    /// Opens it; a file is begun anew unless a process before this one wrote to it.
    pub(super) fn open(name: &TargetName, again: bool) -> Result<Self, RunError> {
        match name {
            TargetName::File(path) => {
                let mut options = File::options();
                // Appended, so that each message is whole even if this process is killed amid
                // others.
                options.create(true).append(true);
                let opened = options.open(path).and_then(|file| {
                    if !again {
                        file.set_len(0)?;
                    }
                    Ok(file)
                });
                let failed = |cause| RunError::File { path: path.clone(), cause };
                Ok(Self::File(opened.map_err(failed)?, path.clone()))
            }
            TargetName::Udp(collector) => connect(collector).map(Self::Udp),
        }
    }

    /// Bytes of a message, at most.
    pub(super) const fn longest(&self) -> usize {
        match self {
            Self::File(..) => LONGEST_IN_FILE,
            Self::Udp(_) => LONGEST_DATAGRAM,
        }
    }

    /// Whether messages may be lost on the way, so that templates have to be repeated.
    pub(super) const fn repeats(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Sends a message; `false`: the network did not take it, and may take the next one.
    pub(super) fn send(&mut self, message: &[u8]) -> Result<bool, RunError> {
        match self {
            Self::File(file, path) => file
                .write_all(message)
                .map(|()| true)
                .map_err(|cause| RunError::File { path: path.clone(), cause }),
            Self::Udp(socket) => Ok(send(socket, message)),
        }
    }
}

/// A datagram that the collector's host refused is told with the next one, which is then sent by
/// the second attempt.
fn send(socket: &UdpSocket, message: &[u8]) -> bool {
    socket.send(message).or_else(|_refused| socket.send(message)).is_ok()
}

fn connect(collector: &str) -> Result<UdpSocket, RunError> {
    let failed = |cause| RunError::Collector { collector: collector.into(), cause };
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in collector.to_socket_addrs().map_err(failed)? {
        let own: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own).and_then(|socket| {
            socket.connect(address)?;
            // A full queue must not hold packets up.
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => return Ok(socket),
            Err(cause) => last = cause,
        }
    }
    Err(failed(last))
}
