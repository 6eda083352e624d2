//! Shared by the tests of the halves: memory, and packets of flows that differ in a port.

use cora_core::key::FiveTuple;
use cora_core::packet::{Meta, Packet, checksum};
use cora_core::state::{Line, Memory};

/// Memory of at least `bytes` bytes, never given back.
pub(crate) fn memory(bytes: usize) -> Memory {
    Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 32].leak())
}

/// A UDP packet; its source port determines the flow.
pub(crate) fn frame(port: u16) -> Vec<u8> {
    let mut frame = vec![0_u8; 14 + 20 + 8];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[17] = 28;
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 198, 51, 100, 1]);
    let sum = checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[39] = 8;
    frame
}

/// The flow of that packet.
pub(crate) fn flow(port: u16) -> FiveTuple {
    Packet::new(&mut frame(port), Meta::default()).five_tuple().expect("it has one")
}
