//! The example's datagrams, by hand: a put, and the answers to it (its README has the table).

use std::fs::File;
use std::io::{BufWriter, Result};
use std::net::SocketAddrV4;
use std::path::Path;

use cora_traffic::pcap::Writer;

use super::load::{MOST, NAME, VALUE, put};

/// Bytes of a put, and of the headers in front of it.
pub(super) const PUT: usize = 26 + NAME + VALUE;
const HEADERS: usize = 42;
/// Bytes of the answer that something is stored, and of the frame with it.
const STORED: usize = 21;
pub(super) const STORED_FRAME: usize = HEADERS + STORED;
/// The group, and the first of the clients.
const GROUP: u32 = 1;
const CLIENT: u64 = 100;

/// The number of a put by this client. A client's numbers go up, and all of them differ: an
/// answer says the number alone.
pub(super) const fn number(client: usize, turn: u64) -> u64 {
    turn * MOST as u64 + client as u64
}

/// The client of a put with this number.
pub(super) const fn client_of(number: u64) -> usize {
    (number % MOST as u64) as usize
}

/// The datagram of a put.
pub(super) fn request(number: u64) -> [u8; PUT] {
    let (name, value) = put(number);
    let mut out = [0; PUT];
    out[..4].copy_from_slice(&GROUP.to_le_bytes());
    out[5..13].copy_from_slice(&(CLIENT + client_of(number) as u64).to_le_bytes());
    out[13..21].copy_from_slice(&number.to_le_bytes());
    out[21] = 2;
    out[22..24].copy_from_slice(&(NAME as u16).to_le_bytes());
    out[24..24 + NAME].copy_from_slice(&name);
    out[24 + NAME..26 + NAME].copy_from_slice(&(VALUE as u16).to_le_bytes());
    out[26 + NAME..].copy_from_slice(&value);
    out
}

/// What a node answers to a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Stored,
    /// This node leads, as far as the asked one knows.
    Elsewhere(usize),
    Busy,
}

/// The number of an answer, and what it says; `None` if it is none to a put.
pub(super) fn answer(datagram: &[u8]) -> Option<(u64, Said)> {
    let number = u64::from_le_bytes(datagram.get(4..12)?.try_into().ok()?);
    let said = match datagram.get(12..)? {
        [2, slot @ ..] if slot.len() == 8 => Said::Stored,
        [3, leader] => Said::Elsewhere(usize::from(*leader)),
        [4] => Said::Busy,
        _ => return None,
    };
    Some((number, said))
}

/// Writes a capture of puts, all to one node but for the first `warm`, which go to all in turn.
/// Behind those, each of `passes` is a window and a number of puts: the clients of a window take
/// turns.
pub(super) fn capture(
    path: &Path,
    nodes: &[SocketAddrV4],
    warm: usize,
    passes: &[(usize, usize)],
) -> Result<()> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
    let (mut at, mut turn) = (0, 0);
    let mut write = |node: usize, number: u64| {
        at += 1_000;
        writer.write(at, &frame(nodes[node], &request(number)))
    };
    for question in 0..warm {
        turn += 1;
        write(question % nodes.len(), number(0, turn))?;
    }
    for (window, count) in passes {
        for question in 0..*count {
            let client = question % window;
            turn += u64::from(client == 0);
            write(0, number(client, turn))?;
        }
    }
    writer.finish().map(drop)
}

/// A datagram from the client to a node, without a UDP checksum, as a frame.
fn frame(to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut frame = vec![0; HEADERS + payload.len()];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..30].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1]);
    frame[16..18].copy_from_slice(&(length + 28).to_be_bytes());
    frame[30..34].copy_from_slice(&to.ip().octets());
    let sum = cora_core::packet::checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&40_000_u16.to_be_bytes());
    frame[36..38].copy_from_slice(&to.port().to_be_bytes());
    frame[38..40].copy_from_slice(&(length + 8).to_be_bytes());
    frame[HEADERS..].copy_from_slice(payload);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_is_as_the_readme_of_the_example_says() {
        let sent = request(number(3, 5));
        assert_eq!(sent.len(), 186);
        assert_eq!(sent[..5], [1, 0, 0, 0, 0]);
        assert_eq!(sent[5..13], 103_u64.to_le_bytes());
        assert_eq!(sent[13..21], 323_u64.to_le_bytes());
        assert_eq!(sent[21..24], [2, 32, 0]);
        assert_eq!(sent[56..58], [128, 0]);
        assert_eq!((sent[24..56].to_vec(), sent[58..].to_vec()), {
            let (name, value) = put(323);
            (name.to_vec(), value.to_vec())
        });
        assert_eq!((client_of(323), number(3, 6)), (3, 387), "it goes up");
    }

    #[test]
    fn answers_are_told_apart() {
        let told = |rest: &[u8]| answer(&[&[1, 0, 0, 0][..], &9_u64.to_le_bytes(), rest].concat());
        assert_eq!(told(&[2, 1, 0, 0, 0, 0, 0, 0, 0]), Some((9, Said::Stored)));
        assert_eq!(told(&[3, 2]), Some((9, Said::Elsewhere(2))));
        assert_eq!(told(&[4]), Some((9, Said::Busy)));
        for other in [&[][..], &[1], &[2, 1], &[0, 0, 0], &[9, 9]] {
            assert_eq!(told(other), None, "{other:?}");
        }
        assert_eq!(answer(&[1, 2, 3]), None);
    }
}
