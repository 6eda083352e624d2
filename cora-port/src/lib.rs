//! Ports: sources and sinks of frames in bursts, behind one trait and chosen by name.
//!
//! | name | port |
//! | --- | --- |
//! | `tap:NAME` | a TAP interface, made for the run ([`tap`]) |
//! | `packet:IFACE` | an interface, by AF_PACKET with mapped rings ([`packet`]) |
//! | `xdp:IFACE` | an interface, by AF_XDP ([`xdp`]) |
//! | `udp:ADDRESS:PORT` | a UDP socket: datagrams as frames ([`udp`]) |
//! | `pcap:IN+OUT` | a capture that is read, and one that is written ([`pcap`]) |
//! | `mem:flows=N;size=BYTES` | frames made in memory, for measuring ([`memory`]) |
//!
//! ```
//! use cora_port::{Port as _, PortName};
//!
//! let name: PortName = "mem:flows=4;size=64;count=100".parse()?;
//! let mut port = cora_port::open(&name)?;
//! let mut bytes = 0;
//! let frames = port.receive(32, &mut |frame| bytes += frame.len())?;
//! assert_eq!((frames, bytes), (32, 32 * 64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`port`] | the trait, its counters and properties |
//! | [`name`] | names of ports |
//! | [`capture`] | pcap and pcapng files: read, written |
//! | [`probe`] | checks of this machine for the needs of ports |
//! | `checksum` | transport checksums that a local sender left to its card |
//! | `interface` | state of an interface in the kernel: MTU, link, offloads |
//! | `mapping` | memory that is shared with the kernel |
//! | `option` | socket options, and files of a previous program |

pub mod capture;
mod checksum;
mod error;
mod interface;
mod mapping;
pub mod memory;
pub mod name;
mod option;
pub mod packet;
pub mod pcap;
pub mod port;
pub mod probe;
pub mod tap;
pub mod udp;
pub mod xdp;

pub use error::PortError;
pub use interface::address;
pub use name::PortName;
use option::inherited;
pub use port::{Checksums, Counters, Link, OnReceive, OnTransmit, Port, Upgrade};

/// Opens the port of this name.
///
/// # Errors
/// When the port is missing, in use or not allowed: the error tells the remedy.
pub fn open(name: &PortName) -> Result<Box<dyn Port>, PortError> {
    Ok(match name {
        PortName::Tap { interface } => Box::new(tap::Tap::open(interface)?),
        PortName::Packet { interface } => Box::new(packet::PacketPort::open(interface)?),
        PortName::Xdp(settings) => Box::new(xdp::XdpPort::open(settings)?),
        PortName::Udp { address } => Box::new(udp::UdpPort::open(*address)?),
        PortName::Pcap { input, output } => {
            Box::new(pcap::PcapPort::open(input, output.as_deref())?)
        }
        PortName::Memory(settings) => Box::new(memory::MemoryPort::new(*settings)),
    })
}
