//! What this machine has of what ports need, found by trying it; nothing stays behind.

use rustix::fs::{Mode, OFlags};

use crate::interface::Interface;
use crate::{Link, PortError, packet, xdp};

/// What an interface is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// Its driver; empty when it tells none.
    pub driver: String,
    /// Queues that frames come by.
    pub queues: u32,
    /// Longest payload of a frame, in bytes.
    pub mtu: usize,
    /// Whether frames can pass.
    pub link: Link,
}

/// Whether this process may make TAP interfaces' files, or why not.
///
/// # Errors
/// What the system says.
pub fn tap() -> Result<(), String> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty());
    file.map(drop).map_err(|errno| std::io::Error::from(errno).to_string())
}

/// Whether this process may open packet sockets, or why not.
///
/// # Errors
/// What the system says.
pub fn packet() -> Result<(), String> {
    packet::attempt().map_err(|errno| std::io::Error::from(errno).to_string())
}

/// Whether this process may open AF_XDP sockets and load the program for them, or why not.
///
/// # Errors
/// What was tried, and what the system says.
pub fn xdp() -> Result<(), String> {
    xdp::attempt().map_err(|(what, errno)| format!("{what}: {}", std::io::Error::from(errno)))
}

/// What is known of an interface.
///
/// # Errors
/// When there is none of this name that carries Ethernet.
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
