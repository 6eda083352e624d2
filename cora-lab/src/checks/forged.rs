//! Segments that no stack would send: by a raw socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use rustix::net::{AddressFamily, SendFlags, SocketType, bind, ipproto, sendto, socket};

/// TCP's number, as the sum of a segment covers it.
const TCP: u32 = 6;
const RST: u8 = 4;

/// Sends a RST of a connection over IPv4 with this sequence number, from this thread's namespace.
pub(super) fn reset(from: SocketAddr, to: SocketAddr, sequence: u32) -> io::Result<()> {
    let (SocketAddr::V4(source), SocketAddr::V4(destination)) = (from, to) else {
        return Err(io::Error::other("IPv4 only"));
    };
    let segment =
        segment((*source.ip(), source.port()), (*destination.ip(), destination.port()), sequence);
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::TCP))?;
    // A host with several addresses would take another one.
    bind(&socket, &SocketAddrV4::new(*source.ip(), 0))?;
    sendto(&socket, &segment, SendFlags::empty(), &destination)?;
    Ok(())
}

/// A header without options: ports, numbers, length and flags, window, checksum, urgent pointer.
fn segment(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), sequence: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[..2].copy_from_slice(&from.1.to_be_bytes());
    bytes[2..4].copy_from_slice(&to.1.to_be_bytes());
    bytes[4..8].copy_from_slice(&sequence.to_be_bytes());
    bytes[12] = 5 << 4;
    bytes[13] = RST;
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
    };
    let ends = words(&from.0.octets()) + words(&to.0.octets());
    let mut sum = ends + TCP + bytes.len() as u32 + words(&bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    bytes
}
