//! The target of messages.

use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::RunError;

/// Length of a UDP message in bytes: fits an Ethernet frame without fragmentation, including
/// tunnels.
const LONGEST_DATAGRAM: usize = 1400;
/// Length of a message in a file, in bytes.
const LONGEST_IN_FILE: usize = 16_384;

/// A target as requested: `udp:HOST:PORT`, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetName {
    /// A file, overwritten.
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
    File { file: File, path: PathBuf },
    /// A socket connected to the collector.
    Udp(UdpSocket),
}

/// The fate of messages, as far as known after a send.
#[derive(Debug, Default)]
pub(super) struct Fate {
    /// Why the previous message was lost.
    pub(super) before: Option<Error>,
    /// Why this message was refused.
    pub(super) this: Option<Error>,
}

/// How long the end waits for a report that the last message was refused.
const LAST_WORD: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

impl Target {
    /// Opens the target; a file is overwritten, unless an earlier process of this run wrote to it.
    pub(super) fn open(name: &TargetName, again: bool) -> Result<Self, RunError> {
        match name {
            TargetName::File(path) => {
                let mut options = File::options();
                // Appends, so that each message is whole, even if this process is killed between
                // others.
                options.create(true).append(true);
                let opened = options.open(path).and_then(|file| {
                    // A device has no length.
                    if !again && file.metadata()?.is_file() {
                        file.set_len(0)?;
                    }
                    Ok(Self::File { file, path: path.clone() })
                });
                opened.map_err(|cause| RunError::File { path: path.clone(), cause })
            }
            TargetName::Udp(collector) => connect(collector).map(Self::Udp),
        }
    }

    /// Maximum length of a message in bytes.
    pub(super) const fn longest(&self) -> usize {
        match self {
            Self::File { .. } => LONGEST_IN_FILE,
            Self::Udp(_) => LONGEST_DATAGRAM,
        }
    }

    /// Whether messages may be lost, so that templates must be repeated.
    pub(super) const fn repeats(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Sends a message. A file gets it whole or not at all.
    pub(super) fn send(&mut self, message: &[u8]) -> Fate {
        match self {
            Self::File { file, .. } => Fate { before: None, this: append(file, message).err() },
            Self::Udp(socket) => send(socket, message),
        }
    }

    /// Why the last message was lost after it was sent, if that is reported soon.
    pub(super) fn last_word(&self) -> Option<Error> {
        let Self::Udp(socket) = self else { return None };
        let mut errors = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::ERR)];
        // Without a read request, `poll` returns early only for an error.
        let _told = poll(&mut errors, Some(&LAST_WORD));
        socket.take_error().ok().flatten()
    }

    /// The file, unless the target is a collector.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Udp(_) => None,
        }
    }
}

/// Appends a message, whole or not at all. The processes of all shards write to one file, in turn.
fn append(file: &mut File, message: &[u8]) -> Result<(), Error> {
    // A file system without locks still appends whole messages, unless its disk is full.
    let _alone = file.lock();
    let length = file.metadata().map(|metadata| metadata.len());
    let written = file.write_all(message);
    if let (Err(_), Ok(length)) = (&written, length) {
        // A device has no length, and nobody reads half a message from it again.
        let _cut = file.set_len(length);
    }
    let _next = file.unlock();
    written
}

/// A refusal by the collector's host is reported with the next datagram at the earliest.
fn send(socket: &UdpSocket, message: &[u8]) -> Fate {
    let mut before = socket.take_error().ok().flatten();
    let mut sent = socket.send(message);
    if let Err(error) = &sent
        && error.kind() == ErrorKind::ConnectionRefused
    {
        // The refusal arrived between the two calls, and this message was not sent.
        before = sent.err();
        sent = socket.send(message);
    }
    Fate { before, this: sent.err() }
}

fn connect(collector: &str) -> Result<UdpSocket, RunError> {
    let failed = |cause| RunError::Collector { collector: collector.into(), cause };
    let mut last = Error::from(ErrorKind::NotFound);
    for address in collector.to_socket_addrs().map_err(failed)? {
        let own: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own).and_then(|socket| {
            socket.connect(address)?;
            // A full queue must not block packets.
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
