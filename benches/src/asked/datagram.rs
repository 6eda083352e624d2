//! Frames of questions and answers.

use std::net::SocketAddrV4;

/// Bytes of the headers in front of a datagram.
const HEADERS: usize = 42;

/// A datagram without a UDP checksum, as a frame.
pub(crate) fn frame(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut frame = vec![0; (HEADERS + payload.len()).max(60)];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame[26..30].copy_from_slice(&from.ip().octets());
    frame[30..34].copy_from_slice(&to.ip().octets());
    frame[16..18].copy_from_slice(&(length + 28).to_be_bytes());
    let sum = cora_core::packet::checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&from.port().to_be_bytes());
    frame[36..38].copy_from_slice(&to.port().to_be_bytes());
    frame[38..40].copy_from_slice(&(length + 8).to_be_bytes());
    frame[HEADERS..HEADERS + payload.len()].copy_from_slice(payload);
    frame
}
