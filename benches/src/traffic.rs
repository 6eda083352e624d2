//! Frames of 64 bytes, in memory and as a capture: one from each flow, then draws of all.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use cora_core::bucket::Bucket;
use cora_traffic::pcap::Writer;

use crate::by_hand::Side;
use crate::keys::{Skew, mix};

/// Bytes of a frame in a capture: the Ethernet checksum, which makes 64, is left out.
pub(crate) const FRAME: usize = 60;

/// Contiguous frames.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) bytes: Vec<u8>,
    /// The length of each frame: a loop must not be made for one length.
    pub(crate) lengths: Vec<u16>,
    /// The first frames: one from each flow, or its handshake.
    pub(crate) warm: usize,
    /// The port at which all of them come in,
    pub(crate) side: Side,
    /// except these, which are answers.
    answers: Range<usize>,
}

/// An address and a port.
pub(crate) type End = ([u8; 4], u16);

/// The service of the balancer's example.
const SERVICE: End = ([192, 0, 2, 80], 443);
const SYN: u8 = 2;
const ACK: u8 = 0x10;

impl Traffic {
    /// Makes traffic of these frames; the first `warm` are one from each flow.
    pub(crate) fn new(bytes: Vec<u8>, warm: usize, side: Side) -> Self {
        let lengths = vec![FRAME as u16; bytes.len() / FRAME];
        Self { bytes, lengths, warm, side, answers: 0..0 }
    }

    /// Makes the traffic of [`Self::from_inside`] with a handshake for each connection: for a
    /// firewall, which refuses all others.
    pub(crate) fn opened_from_inside(flows: u64, skew: Skew, draws: usize) -> Self {
        let (all, each) = (flows as usize, 0..flows);
        let mut bytes = Vec::with_capacity((3 * all + draws) * FRAME);
        let (there, back) = (
            |flow| ends_outward(flow),
            |flow| {
                let (inside, outside) = ends_outward(flow);
                (outside, inside)
            },
        );
        let mut say = |(from, to): (End, End), flags| {
            bytes.extend_from_slice(&segment(from, to, flags));
        };
        each.clone().for_each(|flow| say(there(flow), SYN));
        each.clone().for_each(|flow| say(back(flow), SYN | ACK));
        each.for_each(|flow| say(there(flow), ACK));
        skew.draws(flows, draws, 11).into_iter().for_each(|flow| say(there(flow), ACK));
        let traffic = Self::new(bytes, 3 * all, Side::Inside);
        Self { answers: all..2 * all, ..traffic }
    }

    /// Returns the lengths of the frames from number `from` on, in bursts of at most `most` that
    /// come in at one port.
    pub(crate) fn bursts(&self, from: usize, most: usize) -> impl Iterator<Item = (&[u16], Side)> {
        let Range { start, end } = self.answers;
        let stretches = [
            (0..start, self.side),
            (start..end, self.side.opposite()),
            (end..self.lengths.len(), self.side),
        ];
        stretches.into_iter().flat_map(move |(stretch, side)| {
            let begin = stretch.start.max(from).min(stretch.end);
            self.lengths[begin..stretch.end].chunks(most).map(move |burst| (burst, side))
        })
    }

    /// Draws `draws` frames of `flows` flows, all from inside: segments of open TCP connections,
    /// IPv4.
    pub(crate) fn from_inside(flows: u64, skew: Skew, draws: usize) -> Self {
        Self::of(Side::Inside, outward, flows, skew, draws)
    }

    /// Draws frames from outside, to the balancer's service.
    pub(crate) fn to_service(flows: u64, skew: Skew, draws: usize) -> Self {
        Self::of(Side::Outside, inward, flows, skew, draws)
    }

    fn of(side: Side, frame: fn(u64) -> [u8; FRAME], flows: u64, skew: Skew, draws: usize) -> Self {
        let all = (0..flows).chain(skew.draws(flows, draws, 11));
        let mut bytes = Vec::with_capacity((flows as usize + draws) * FRAME);
        for flow in all {
            bytes.extend_from_slice(&frame(flow));
        }
        Self::new(bytes, flows as usize, side)
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8; FRAME]> {
        self.bytes.as_chunks().0.iter()
    }

    /// Writes a capture: a frame per microsecond.
    pub(crate) fn save(&self, path: &Path) -> std::io::Result<PathBuf> {
        self.save_padded(path, FRAME)
    }

    /// Writes a capture with each frame padded to `length` bytes.
    pub(crate) fn save_padded(&self, path: &Path, length: usize) -> std::io::Result<PathBuf> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
        let mut padded = vec![0; length.max(FRAME)];
        for (number, frame) in (0..).zip(self.frames()) {
            padded[..FRAME].copy_from_slice(frame);
            writer.write(number * 1_000, &padded)?;
        }
        writer.finish()?;
        Ok(path.to_owned())
    }
}

/// Returns a segment from 10.0.0.0/8 to 198.18.0.0/15.
fn outward(flow: u64) -> [u8; FRAME] {
    let (from, to) = ends_outward(flow);
    segment(from, to, ACK)
}

/// The frame that opens a flow from inside, which a firewall lets pass.
pub(crate) fn opening(flow: u64) -> [u8; FRAME] {
    let (from, to) = ends_outward(flow);
    segment(from, to, SYN)
}

fn ends_outward(flow: u64) -> (End, End) {
    let mixed = mix(flow);
    // The flow's number is in the source, so no two are equal.
    let source = [10, (flow >> 16) as u8, (flow >> 8) as u8, flow as u8];
    let destination = [198, 18, mixed as u8, (mixed >> 8) as u8];
    // As many in each bucket: a NAT's ports are divided by it.
    let port = 1_024 + flow as u16 % (2 * Bucket::COUNT as u16);
    ((source, port), (destination, 443))
}

/// Returns a segment from 198.18.0.0/15 to the balancer's service.
fn inward(flow: u64) -> [u8; FRAME] {
    // 17 bits of the flow's number are in the source, and the rest in the port.
    let source = [198, 18 + ((flow >> 16) as u8 & 1), (flow >> 8) as u8, flow as u8];
    let port = 1_024 + (flow >> 17) as u16 * 4_096 + mix(flow) as u16 % 4_096;
    segment((source, port), SERVICE, ACK)
}

/// Returns a TCP segment over IPv4 with these flags and six bytes of zeros, in a frame with right
/// checksums.
pub(crate) fn segment(from: End, to: End, flags: u8) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[14..34];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&46_u16.to_be_bytes());
    (ip[6], ip[8], ip[9]) = (0x40, 64, 6);
    ip[12..16].copy_from_slice(&from.0);
    ip[16..20].copy_from_slice(&to.0);
    frame[34..36].copy_from_slice(&from.1.to_be_bytes());
    frame[36..38].copy_from_slice(&to.1.to_be_bytes());
    (frame[46], frame[47]) = (0x50, flags);
    frame[48..50].copy_from_slice(&[0x20, 0]);
    let (ip, tcp) = checksums(&frame);
    frame[24..26].copy_from_slice(&ip.to_be_bytes());
    frame[50..52].copy_from_slice(&tcp.to_be_bytes());
    frame
}

/// Returns the checksums over a segment's headers, which are 0 if the stored ones are right.
fn checksums(frame: &[u8; FRAME]) -> (u16, u16) {
    let mut pseudo = Vec::from(&frame[26..34]);
    pseudo.extend_from_slice(&[0, 6, 0, 26]);
    pseudo.extend_from_slice(&frame[34..FRAME]);
    (checksum(&frame[14..34]), checksum(&pseudo))
}

/// Returns whether both checksums of a segment are right.
#[cfg(test)]
pub(crate) fn sums_are_right(frame: &[u8; FRAME]) -> bool {
    checksums(frame) == (0, 0)
}

/// Returns the internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}
