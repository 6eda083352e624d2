//! The parts of a packet that a translation leaves alone, and those that it may change.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;

use cora_traffic::view::{Tuple, View, word};

use crate::site::{CLIENT_V4, CLIENT_V6, PUBLIC};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// The side of the middle on which a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Clients,
    Router,
}

/// A packet, as far as it is compared.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    /// When it was seen, in nanoseconds since 1970.
    pub(super) time: u64,
    /// It goes to the servers.
    pub(super) outward: bool,
    /// Its ends. An ICMP error has those of the packet that it quotes, reversed to its own
    /// direction.
    pub(super) tuple: Tuple,
    /// It is an ICMP error.
    pub(super) is_error: bool,
    pub(super) hops: u8,
    /// All its checksums are right.
    pub(super) sound: bool,
    /// A hash of it without addresses, the client's port, TTL and checksums.
    pub(super) mark: u64,
    /// TCP's sequence number, flags and data.
    pub(super) segment: Option<(u32, u8, Vec<u8>)>,
}

impl Packet {
    /// Returns `None` for a packet that no program of the lab sent.
    pub(super) fn of(time: u64, frame: &[u8], place: Place) -> Option<Self> {
        let view = View::of(frame)?;
        let to_clients = view.to == IpAddr::from(CLIENT_V4)
            || view.to == IpAddr::from(CLIENT_V6)
            || place == Place::Router && view.to == IpAddr::from(PUBLIC);
        let outward = !to_clients;
        let quoted = view.quoted(frame);
        let (tuple, is_error) = match quoted {
            Some(quoted) => {
                let (protocol, from, source, to, destination) = quoted.tuple(frame)?;
                ((protocol, to, destination, from, source), true)
            }
            None => (view.tuple(frame)?, false),
        };
        let server_port = if outward { tuple.4 } else { tuple.2 };
        let mut mark = DefaultHasher::new();
        (view.protocol, outward, frame[view.ip] >> 4).hash(&mut mark);
        if !matches!(tuple.0, ICMP | ICMPV6) {
            server_port.hash(&mut mark);
        }
        if frame[view.ip] >> 4 == 4 {
            // Length, identification and fragmentation.
            frame.get(view.ip + 2..view.ip + 8)?.hash(&mut mark);
        }
        match quoted {
            Some(quoted) => {
                frame.get(view.transport..view.transport + 2)?.hash(&mut mark);
                unchanged(&quoted, frame, quoted.transport + 8)?.hash(&mut mark);
            }
            None => unchanged(&view, frame, view.end)?.hash(&mut mark),
        }
        Some(Self {
            time,
            outward,
            tuple,
            is_error,
            hops: frame[view.ip + if view.from.is_ipv4() { 8 } else { 7 }],
            sound: sound(&view, frame),
            mark: mark.finish(),
            segment: segment(&view, frame).filter(|_| !is_error),
        })
    }
}

/// Returns the transport without ports and checksum; of an ICMP query without its identifier.
fn unchanged<'a>(view: &View, frame: &'a [u8], end: usize) -> Option<Vec<&'a [u8]>> {
    let part = |from: usize, to: usize| frame.get(view.transport + from..view.transport + to);
    let rest = |from: usize| frame.get((view.transport + from).min(end)..end);
    Some(match view.protocol {
        TCP if end >= view.transport + 18 => vec![part(4, 16)?, rest(18)?],
        // The part of a segment that an error quotes.
        TCP => vec![part(4, 8)?],
        UDP => vec![part(4, 6)?, rest(8)?],
        ICMP | ICMPV6 => vec![part(0, 2)?, part(6, 8)?, rest(8)?],
        _ => return None,
    })
}

/// Returns the sum of 16-bit words with end-around carry, by RFC 1071.
fn sum(bytes: &[u8], start: u32) -> u32 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])));
    let mut sum = words.fold(start, u32::wrapping_add);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

fn sound(view: &View, frame: &[u8]) -> bool {
    let is_v4 = frame[view.ip] >> 4 == 4;
    if is_v4 {
        let header = usize::from(frame[view.ip] & 15) * 4;
        if frame.get(view.ip..view.ip + header).is_none_or(|header| sum(header, 0) != 0xffff) {
            return false;
        }
    }
    let addresses = if is_v4 { view.ip + 12..view.ip + 20 } else { view.ip + 8..view.ip + 40 };
    let (Some(addresses), Some(transport)) =
        (frame.get(addresses), frame.get(view.transport..view.end))
    else {
        return false;
    };
    // An ICMPv4 sum covers no addresses; a UDP sum of 0 over IPv4 is none.
    if view.protocol == UDP && is_v4 && word(transport, 6) == Some(0) {
        return true;
    }
    let pseudo = match view.protocol {
        ICMP => 0,
        protocol => sum(addresses, u32::from(protocol) + transport.len() as u32),
    };
    sum(transport, pseudo) == 0xffff
}

fn segment(view: &View, frame: &[u8]) -> Option<(u32, u8, Vec<u8>)> {
    if view.protocol != TCP {
        return None;
    }
    let header = frame.get(view.transport..view.end)?;
    let sequence = u32::from_be_bytes(*header.get(4..)?.first_chunk()?);
    let data = usize::from(*header.get(12)? >> 4) * 4;
    Some((sequence, *header.get(13)?, header.get(data..)?.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram of "hi" from a client, with right checksums.
    fn datagram(source: [u8; 4], port: u16) -> Vec<u8> {
        let mut frame = vec![0; 14 + 20 + 8 + 2];
        frame[12] = 8;
        frame[14] = 0x45;
        frame[17] = 30;
        frame[22] = 64;
        frame[23] = UDP;
        frame[26..30].copy_from_slice(&source);
        frame[30..34].copy_from_slice(&[203, 0, 113, 1]);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame[37] = 53;
        frame[39] = 10;
        frame[42..].copy_from_slice(b"hi");
        let header = !(sum(&frame[14..34], 0) as u16);
        frame[24..26].copy_from_slice(&header.to_be_bytes());
        let pseudo = sum(&frame[26..34], u32::from(UDP) + 10);
        let transport = !(sum(&frame[34..], pseudo) as u16);
        frame[40..42].copy_from_slice(&transport.to_be_bytes());
        frame
    }

    #[test]
    fn a_translation_leaves_the_mark_and_nothing_else_does() {
        let inside = Packet::of(0, &datagram([10, 77, 0, 1], 5000), Place::Clients).unwrap();
        let outside = Packet::of(0, &datagram([192, 0, 2, 1], 33000), Place::Router).unwrap();
        assert!(inside.sound && outside.sound && inside.outward && outside.outward);
        assert_eq!(inside.mark, outside.mark);
        assert_ne!(inside.tuple, outside.tuple);
        let mut changed = datagram([192, 0, 2, 1], 33000);
        changed[43] ^= 1;
        let changed = Packet::of(0, &changed, Place::Router).unwrap();
        assert!(!changed.sound && changed.mark != inside.mark);
    }
}
