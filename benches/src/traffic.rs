//! Frames of 64 bytes, in memory and as a capture: one from each flow, then draws of all.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use cora_traffic::pcap::Writer;

use crate::keys::{Skew, mix};

/// Bytes of a frame as a capture holds it: the checksum of Ethernet, which makes 64, is left out.
pub(crate) const FRAME: usize = 60;

/// Frames, one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) bytes: Vec<u8>,
    /// The first so many come one from each flow.
    pub(crate) warm: usize,
}

impl Traffic {
    /// `draws` frames of `flows` flows, all from inside: segments of TCP connections in use, IPv4.
    pub(crate) fn of(flows: u64, skew: Skew, draws: usize) -> Self {
        let all = (0..flows).chain(skew.draws(flows, draws, 11));
        let mut bytes = Vec::with_capacity((flows as usize + draws) * FRAME);
        for flow in all {
            bytes.extend_from_slice(&frame(flow));
        }
        Self { bytes, warm: flows as usize }
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8; FRAME]> {
        self.bytes.as_chunks().0.iter()
    }

    /// Writes a capture: a frame per microsecond.
    pub(crate) fn save(&self, path: &Path) -> std::io::Result<PathBuf> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
        for (number, frame) in (0..).zip(self.frames()) {
            writer.write(number * 1_000, frame)?;
        }
        writer.finish()?;
        Ok(path.to_owned())
    }
}

/// A segment with ACK alone, from 10.0.0.0/8 to 198.18.0.0/15.
fn frame(flow: u64) -> [u8; FRAME] {
    let mixed = mix(flow);
    let mut frame = [0; FRAME];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[14..34];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&46_u16.to_be_bytes());
    (ip[6], ip[8], ip[9]) = (0x40, 64, 6);
    // The flow's number stands in the source, so no two are the same.
    ip[12..16].copy_from_slice(&[10, (flow >> 16) as u8, (flow >> 8) as u8, flow as u8]);
    ip[16..20].copy_from_slice(&[198, 18, mixed as u8, (mixed >> 8) as u8]);
    let sum = checksum(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let port = 1_024 + (mixed >> 16) as u16 % 60_000;
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[36..38].copy_from_slice(&443_u16.to_be_bytes());
    (frame[46], frame[47]) = (0x50, 0x10);
    frame[48..50].copy_from_slice(&[0x20, 0]);
    let mut pseudo = Vec::from(&frame[26..34]);
    pseudo.extend_from_slice(&[0, 6, 0, 26]);
    pseudo.extend_from_slice(&frame[34..FRAME]);
    frame[50..52].copy_from_slice(&checksum(&pseudo).to_be_bytes());
    frame
}

/// The internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}
