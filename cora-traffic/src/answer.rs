//! The outside's replies to the output of a NAT.

use std::io::{Read, Write};

use crate::pcap::{Reader, Writer};
use crate::random::mix;
use crate::view::{View, word};
use crate::wire::{self, ACK, End, FIN, ICMP, ICMPV6, PSH, Path, RST, SYN, Segment, TCP, UDP};
use crate::{TrafficError, is_inside};

/// Delay of the outside (ns).
const DELAY: u64 = 3_000_000;

/// Writes a server's reply to each packet of a capture that went out under an address which isn't
/// an inside one. TCP: SYN and ACK to a SYN; ACK to data, now and then with data; FIN and ACK to a
/// FIN. UDP and ICMP echo: an answer; one UDP flow in eight gets "port unreachable". Returns the
/// number of replies.
///
/// To be [merged](crate::merge) with the input capture of the NAT.
pub fn answer(outbound: impl Read, out: impl Write) -> Result<u64, TrafficError> {
    let mut writer = Writer::new(out)?;
    let mut written = 0;
    for frame in Reader::new(outbound)? {
        let frame = frame?;
        let Some(view) = View::of(&frame.bytes) else { continue };
        if view.fragment
            || is_inside(view.from)
            || is_inside(view.to)
            || view.end > frame.bytes.len()
        {
            continue;
        }
        if let Some(reply) = reply(&view, &frame.bytes) {
            writer.write(frame.time + DELAY, &reply)?;
            written += 1;
        }
    }
    writer.finish()?;
    Ok(written)
}

fn reply(view: &View, frame: &[u8]) -> Option<Vec<u8>> {
    let (_, from, from_port, to, to_port) = view.tuple(frame)?;
    let path = Path {
        from: End { mac: *frame[6..].first_chunk()?, address: to, port: to_port },
        to: End { mac: *frame.first_chunk()?, address: from, port: from_port },
        tags: view.tags,
        hops: 55,
        id: word(frame, view.transport)? ^ 0x3c3c,
        options: false,
    };
    let transport = frame.get(view.transport..view.end)?;
    let message = match view.protocol {
        TCP => segment(&path, transport)?,
        UDP if refuses(from_port, to_port) => {
            let quoted = frame.get(view.ip..view.end.min(view.ip + 500))?;
            let kind = if path.is_v6() { [1, 4] } else { [3, 3] };
            let message = wire::icmp(&path, kind, [0; 4], quoted);
            return Some(wire::frame(&path, wire::icmp_protocol(&path), &message));
        }
        UDP => wire::udp(&path, transport.get(8..)?, true),
        ICMP | ICMPV6 => echo(&path, transport)?,
        _ => return None,
    };
    Some(wire::frame(&path, view.protocol, &message))
}

/// Returns whether the server's port is closed, as for one flow in eight.
fn refuses(from_port: u16, to_port: u16) -> bool {
    mix(u64::from(from_port) << 16 | u64::from(to_port)).is_multiple_of(8)
}

fn segment(path: &Path, request: &[u8]) -> Option<Vec<u8>> {
    let long = |at: usize| Some(u32::from_be_bytes(*request.get(at..)?.first_chunk()?));
    let (sequence, acknowledgement) = (long(4)?, long(8)?);
    let header = usize::from(request.get(12)? >> 4) * 4;
    let flags = *request.get(13)?;
    let data = request.len().checked_sub(header)? as u32;
    let length = data + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    if flags & RST != 0 || length == 0 {
        return None;
    }
    let (flags, payload): (u8, &[u8]) = match flags {
        _ if flags & SYN != 0 => (SYN | ACK, b""),
        _ if flags & FIN != 0 => (FIN | ACK, b""),
        _ if data.is_multiple_of(3) => (PSH | ACK, b"so it is said"),
        _ => (ACK, b""),
    };
    let opening = mix(u64::from(path.from.port) << 16 | u64::from(path.to.port)) as u32;
    let sequence_back = if flags & SYN != 0 { opening } else { acknowledgement };
    Some(wire::tcp(
        path,
        &Segment {
            flags,
            sequence: sequence_back,
            acknowledgement: sequence.wrapping_add(length),
            options: &[],
            payload,
        },
    ))
}

fn echo(path: &Path, request: &[u8]) -> Option<Vec<u8>> {
    let kind = match request.first()? {
        8 => 0,
        128 => 129,
        _ => return None,
    };
    let word = *request.get(4..)?.first_chunk()?;
    Some(wire::icmp(path, [kind, 0], word, request.get(8..)?))
}
