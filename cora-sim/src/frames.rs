//! Frames: Ethernet, IPv4, and UDP, TCP or a protocol without ports. The payload begins with a mark
//! that identifies the packet's flow, even if the handlers rewrite its addresses.

use cora_core::key::{Address, FiveTuple, protocol};
use cora_core::packet::{Meta, Packet, checksum};

/// Requests of a packet to the handlers.
pub mod op {
    pub const NOTHING: u8 = 0;
    /// End the connection.
    pub const CLOSE: u8 = 1;
    /// Reach for host-only state, after a write.
    pub const ASK: u8 = 2;
    /// Give the connection another reply key.
    pub const MOVE: u8 = 3;
    /// Insert entries and remove them again within the packet.
    pub const CHURN: u8 = 4;
}

const HEADERS: usize = 14 + 20;
const MARK: usize = 9;

/// Returns the bytes of a transport's header.
const fn header_of(protocol: u8) -> usize {
    match protocol {
        protocol::TCP => 20,
        protocol::UDP => 8,
        _ => 0,
    }
}

pub fn frame(tuple: &FiveTuple, flow: u32, number: u32, op: u8, filling: usize) -> Vec<u8> {
    let transport = header_of(tuple.protocol);
    let length = 20 + transport + MARK + filling;
    let mut bytes = vec![0_u8; 14 + length];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14] = 0x45;
    bytes[16..18].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[22] = 64;
    bytes[23] = tuple.protocol;
    bytes[26..30].copy_from_slice(&tuple.source.as_v4().expect("IPv4"));
    bytes[30..34].copy_from_slice(&tuple.destination.as_v4().expect("IPv4"));
    let sum = checksum::internet(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    if transport > 0 {
        bytes[34..36].copy_from_slice(&tuple.source_port.to_be_bytes());
        bytes[36..38].copy_from_slice(&tuple.destination_port.to_be_bytes());
    }
    match tuple.protocol {
        protocol::TCP => {
            bytes[46..48].copy_from_slice(&[0x50, if op == op::CLOSE { 0x11 } else { 0x10 }]);
        }
        protocol::UDP => {
            bytes[38..40].copy_from_slice(&((8 + MARK + filling) as u16).to_be_bytes());
        }
        _ => {}
    }
    let mark = HEADERS + transport;
    bytes[mark..mark + 4].copy_from_slice(&flow.to_be_bytes());
    bytes[mark + 4..mark + 8].copy_from_slice(&number.to_be_bytes());
    bytes[mark + 8] = op;
    // No two frames have the same filling.
    for (place, byte) in bytes[mark + MARK..].iter_mut().zip(number.to_be_bytes().iter().cycle()) {
        *place = *byte;
    }
    bytes
}

/// Returns the frame of a UDP datagram from an inside host to a port.
pub fn datagram(host: u8, port: u16, contents: &[u8]) -> Vec<u8> {
    let length = 28 + contents.len();
    let mut bytes = vec![0_u8; 14 + length];
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14] = 0x45;
    bytes[16..18].copy_from_slice(&(length as u16).to_be_bytes());
    bytes[22] = 64;
    bytes[23] = protocol::UDP;
    bytes[26..30].copy_from_slice(&[10, 0, 0, host]);
    bytes[30..34].copy_from_slice(&[198, 51, 100, 1]);
    let sum = checksum::internet(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes[34..36].copy_from_slice(&(4000 + u16::from(host)).to_be_bytes());
    bytes[36..38].copy_from_slice(&port.to_be_bytes());
    bytes[38..40].copy_from_slice(&((8 + contents.len()) as u16).to_be_bytes());
    bytes[42..].copy_from_slice(contents);
    bytes
}

/// Returns the flow of a frame; `u32::MAX` if its payload is too short for a mark.
pub fn flow_of(frame: &[u8]) -> u32 {
    let mut frame = frame.to_vec();
    let packet = Packet::new(&mut frame, Meta::default());
    packet.payload().first_chunk().map_or(u32::MAX, |mark| u32::from_be_bytes(*mark))
}

/// Returns the number of the frame's packet.
pub fn number_in(frame: &[u8]) -> u32 {
    let mut frame = frame.to_vec();
    number_of(&Packet::new(&mut frame, Meta::default()))
}

/// Returns whether the filling behind the mark is the frame's own, not that of another frame.
pub fn is_intact(frame: &[u8]) -> bool {
    let mut frame = frame.to_vec();
    let packet = Packet::new(&mut frame, Meta::default());
    let filling = packet.payload().get(MARK..).unwrap_or_default();
    let number = number_of(&packet).to_be_bytes();
    filling.iter().zip(number.iter().cycle()).all(|(byte, of_number)| byte == of_number)
}

/// Returns the tuple of a frame, if it has one.
pub fn tuple_of(frame: &[u8]) -> Option<FiveTuple> {
    let mut frame = frame.to_vec();
    Packet::new(&mut frame, Meta::default()).five_tuple().ok()
}

/// Returns the mark. It is in the head: handlers read it, and may have only the head.
fn mark_of<'p>(packet: &'p Packet<'_>) -> &'p [u8] {
    let at = HEADERS + packet.protocol().map_or(0, header_of);
    packet.frame().get(at..at + MARK).unwrap_or_default()
}

/// Returns the packet's number from its mark.
pub fn number_of(packet: &Packet<'_>) -> u32 {
    let number = mark_of(packet).get(4..).and_then(|rest| rest.first_chunk());
    number.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Returns the packet's request to the handlers.
pub fn op_of(packet: &Packet<'_>) -> u8 {
    mark_of(packet).get(8).copied().unwrap_or(op::NOTHING)
}

pub const fn address(last: [u8; 2], inside: bool) -> Address {
    if inside {
        Address::v4([10, 0, last[0], last[1]])
    } else {
        Address::v4([198, 51, last[0], last[1]])
    }
}
