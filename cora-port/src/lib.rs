//! Ports: where frames come from and go to, a burst at a time, behind one trait and chosen by name.
//!
//! | name | what |
//! | --- | --- |
//! | `tap:NAME` | a TAP interface, made for the run ([`tap`]) |
//! | `packet:IFACE` | an interface, by AF_PACKET with mapped rings ([`packet`]) |
//! | `xdp:IFACE` | an interface, by AF_XDP ([`xdp`]) |
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
//! | module | what |
//! | --- | --- |
//! | [`port`] | the trait, and what a port counts and says of itself |
//! | [`name`] | names of ports |
//! | [`capture`] | pcap and pcapng files: read, written |
//! | [`probe`] | what this machine has of what ports need |
//! | `checksum` | transport checksums that a local sender left to its card |
//! | `interface` | what the kernel knows of an interface: MTU, link, offloads |
//! | `mapping` | memory that is shared with the kernel |
//! | `option` | options of sockets |

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
pub mod xdp;

pub use error::PortError;
pub use name::PortName;
pub use port::{Checksums, Counters, Link, OnReceive, OnTransmit, Port, Upgrade};

/// Opens what a name says.
///
/// # Errors
/// When it is not there, is in use, or may not be had: the error says what to type.
pub fn open(name: &PortName) -> Result<Box<dyn Port>, PortError> {
    Ok(match name {
        PortName::Tap { interface } => Box::new(tap::Tap::open(interface)?),
        PortName::Packet { interface } => Box::new(packet::PacketPort::open(interface)?),
        PortName::Xdp(settings) => Box::new(xdp::XdpPort::open(settings)?),
        PortName::Pcap { input, output } => {
            Box::new(pcap::PcapPort::open(input, output.as_deref())?)
        }
        PortName::Memory(settings) => Box::new(memory::MemoryPort::new(*settings)),
    })
}
