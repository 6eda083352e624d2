//! Why a port can't be had, or is no more, and what to do about it.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::capture::CaptureError;

/// Why a port can't be had, or is no more.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Nothing is known under the name.
    #[error("there is no interface `{name}` here: `ip link` lists those there are")]
    NoInterface {
        /// The name.
        name: String,
    },
    /// It is no Ethernet.
    #[error("the interface `{name}` carries no Ethernet frames (its hardware type is {kind})")]
    NotEthernet {
        /// Its name.
        name: String,
        /// `ARPHRD_…`.
        kind: u16,
    },
    /// This process may not.
    #[error(
        "{what} on `{name}` is not allowed: run it as root, or type `setcap {rights}+ep PROGRAM`"
    )]
    NotAllowed {
        /// What was asked for.
        what: &'static str,
        /// The interface.
        name: String,
        /// Capabilities that it takes.
        rights: &'static str,
    },
    /// Another program has it.
    #[error(
        "the interface `{name}` is in use: {what}. `ip -details link show {name}` tells who; \
         `ip link set dev {name} xdp off` takes away a program that was left behind"
    )]
    InUse {
        /// Its name.
        name: String,
        /// What is in use.
        what: &'static str,
    },
    /// The interface can't do what was asked for.
    #[error("the interface `{name}` has no {what}: {instead}")]
    NotThere {
        /// Its name.
        name: String,
        /// What it lacks.
        what: &'static str,
        /// What to type.
        instead: String,
    },
    /// Frames would not fit.
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
    /// The interface is no more.
    #[error("the interface `{name}` is gone: it was removed, or moved to another namespace")]
    Gone {
        /// The name it had.
        name: String,
    },
    /// No TAP interface can be had.
    #[error(
        "the interface {name}: {cause}. A TAP interface needs /dev/net/tun, and the right to make one (root, or \
         CAP_NET_ADMIN in a network namespace of one's own)"
    )]
    Tap {
        /// Its name.
        name: String,
        /// What the system says.
        cause: io::Error,
    },
    /// A capture can't be read.
    #[error("{}: {cause}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: CaptureError,
    },
    /// A capture can't be written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The kernel says no otherwise.
    #[error("{what} on `{name}`: {cause}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// The interface.
        name: String,
        /// What it says.
        cause: io::Error,
    },
}

impl PortError {
    /// What the kernel's refusal means.
    pub(crate) fn of(what: &'static str, name: &str, rights: &'static str, errno: Errno) -> Self {
        let name = name.to_owned();
        match errno {
            Errno::PERM | Errno::ACCESS => Self::NotAllowed { what, name, rights },
            Errno::NODEV | Errno::NXIO => Self::NoInterface { name },
            other => Self::System { what, name, cause: other.into() },
        }
    }
}
