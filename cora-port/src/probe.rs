//! Checks of this machine for the needs of ports, by trying them; nothing stays behind.

use rustix::fs::{Mode, OFlags};

use crate::interface::Interface;
use crate::{Link, PortError, packet, xdp};

/// Properties of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// Its driver; empty when it has no name.
    pub driver: String,
    /// The number of receive queues.
    pub queues: u32,
    /// Longest payload of a frame, in bytes.
    pub mtu: usize,
    /// Whether frames can pass.
    pub link: Link,
}

/// Checks that this process may open `/dev/net/tun`, which makes TAP interfaces.
///
/// # Errors
/// The system's error message.
pub fn tap() -> Result<(), String> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty());
    file.map(drop).map_err(|errno| std::io::Error::from(errno).to_string())
}

/// Checks that this process may open packet sockets.
///
/// # Errors
/// The system's error message.
pub fn packet() -> Result<(), String> {
    packet::attempt().map_err(|errno| std::io::Error::from(errno).to_string())
}

/// Checks that this process may open AF_XDP sockets and load the program for them.
///
/// # Errors
/// The failed step, and the system's error message.
pub fn xdp() -> Result<(), String> {
    xdp::attempt().map_err(|(what, errno)| format!("{what}: {}", std::io::Error::from(errno)))
}

/// Returns the properties of an interface.
///
/// # Errors
/// When there is no interface of this name that carries Ethernet.
pub fn interface(name: &str) -> Result<InterfaceFacts, PortError> {
    let found = Interface::find(name)?;
    Ok(InterfaceFacts {
        driver: found.driver().unwrap_or_default(),
        queues: found.queues(),
        mtu: found.mtu,
        link: found.link,
        name: found.name.clone(),
    })
}
