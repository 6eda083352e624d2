//! Errors of ports: why one can't be opened or is gone, and the remedy.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::capture::CaptureError;

/// The reason why a port can't be opened or is gone.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no interface of this name.
    #[error("there is no interface `{name}` here: `ip link` lists those there are")]
    NoInterface {
        /// The name.
        name: String,
    },
    /// The interface carries no Ethernet.
    #[error("the interface `{name}` carries no Ethernet frames (its hardware type is {kind})")]
    NotEthernet {
        /// Its name.
        name: String,
        /// `ARPHRD_…`.
        kind: u16,
    },
    /// This process lacks the capabilities.
    #[error(
        "{what} on `{name}` is not allowed: run it as root, or type `setcap {rights}+ep PROGRAM`"
    )]
    NotAllowed {
        /// The refused operation.
        what: &'static str,
        /// The interface.
        name: String,
        /// The capabilities that it needs.
        rights: &'static str,
    },
    /// Another program uses the interface.
    #[error(
        "the interface `{name}` is in use: {what}. `ip -details link show {name}` tells who; \
         `ip link set dev {name} xdp off` takes away a program that was left behind"
    )]
    InUse {
        /// Its name.
        name: String,
        /// The present use.
        what: &'static str,
    },
    /// The interface lacks a requested feature.
    #[error("the interface `{name}` has no {what}: {instead}")]
    NotThere {
        /// Its name.
        name: String,
        /// The feature.
        what: &'static str,
        /// The remedy.
        instead: String,
    },
    /// Frames would not fit into the port's memory.
    #[error(
        "the interface `{name}` has an MTU of {mtu}, and {kind} takes {most} at most: \
         `ip link set dev {name} mtu {most}`, or `packet:{name}`"
    )]
    MtuTooLarge {
        /// Its name.
        name: String,
        /// Bytes.
        mtu: usize,
        /// Bytes.
        most: usize,
        /// The kind of port.
        kind: &'static str,
    },
    /// The interface is gone.
    #[error("the interface `{name}` is gone: it was removed, or moved to another namespace")]
    Gone {
        /// The name it had.
        name: String,
    },
    /// The TAP interface can't be opened.
    #[error(
        "the interface {name}: {cause}. A TAP interface needs /dev/net/tun, and the right to make one (root, or \
         CAP_NET_ADMIN in a network namespace of one's own)"
    )]
    Tap {
        /// Its name.
        name: String,
        /// The system's error.
        cause: io::Error,
    },
    /// The address of a socket is another program's.
    #[error("udp:{address} is in use: another program has this address. `ss -lunp` tells which")]
    AddressInUse {
        /// The address.
        address: SocketAddr,
    },
    /// The address of a socket is none of this machine's.
    #[error(
        "udp:{address}: no interface here has this address. `ip address` lists those there are"
    )]
    NoAddress {
        /// The address.
        address: SocketAddr,
    },
    /// The port of a socket is reserved.
    #[error(
        "udp:{address}: ports below 1024 are for privileged programs: name another one, run it as root, or type \
         `setcap cap_net_bind_service+ep PROGRAM`"
    )]
    Privileged {
        /// The address.
        address: SocketAddr,
    },
    /// A capture can't be read.
    #[error("{}: {cause}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        cause: CaptureError,
    },
    /// A capture can't be written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// Another failure of a system call.
    #[error("{what} on `{name}`: {cause}")]
    System {
        /// The operation.
        what: &'static str,
        /// The interface.
        name: String,
        /// The kernel's error.
        cause: io::Error,
    },
}

impl PortError {
    /// Returns the error for a socket that can't be opened.
    pub(crate) fn of_socket(address: SocketAddr, errno: Errno) -> Self {
        match errno {
            Errno::ADDRINUSE => Self::AddressInUse { address },
            Errno::ADDRNOTAVAIL => Self::NoAddress { address },
            Errno::ACCESS | Errno::PERM => Self::Privileged { address },
            other => {
                Self::System { what: "a socket", name: address.to_string(), cause: other.into() }
            }
        }
    }

    /// Returns the error for the kernel's refusal.
    pub(crate) fn of(what: &'static str, name: &str, rights: &'static str, errno: Errno) -> Self {
        let name = name.to_owned();
        match errno {
            Errno::PERM | Errno::ACCESS => Self::NotAllowed { what, name, rights },
            Errno::NODEV | Errno::NXIO => Self::NoInterface { name },
            other => Self::System { what, name, cause: other.into() },
        }
    }
}
