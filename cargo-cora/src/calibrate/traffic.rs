//! Captures that the calibration runs on: TCP over IPv4 from inside, all flows once, then draws of
//! them, uniform. One has UDP beside it.

use std::fs::File;
use std::io::{BufWriter, Result};
use std::path::{Path, PathBuf};

use cora_core::key::protocol::{TCP, UDP};
use cora_core::packet::checksum;
use cora_host::ingress::pcap::Writer;

/// Bytes of the short frames: as a capture holds the shortest there is, without its check sequence.
pub(crate) const SHORT: usize = 60;
/// Bytes of the long ones.
pub(crate) const LONG: usize = 1_500;

const ACK: u8 = 0x10;
const RESET: u8 = 0x04;
/// Flows that are closed and opened again together: two bursts.
const BLOCK: u64 = 64;
/// Packets of which [`MOVING`] close a flow and as many open it again: so few that moves don't wait
/// for each other.
pub(crate) const MOVING_BLOCK: u64 = 256;
/// Flows that are closed and opened again in such a block.
pub(crate) const MOVING: u64 = 16;
/// Flows that stay, beside those that move.
const STAYING: u64 = 1_000;

/// How packets of two protocols follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Drawn,
    ByTurns,
}

/// A capture in a file.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) path: PathBuf,
    /// The first so many frames fill tables only.
    pub(crate) warm: u64,
}

impl Capture {
    /// `packets` frames of `bytes` bytes, of `flows` flows that are all there.
    pub(crate) fn steady(room: &Path, flows: u64, packets: u64, bytes: usize) -> Result<Self> {
        let mut seed = 1;
        let drawn = (0..packets).map(|_| (draw(&mut seed) % flows, ACK));
        Self::write(room, &format!("steady-{flows}-{bytes}"), flows, drawn, bytes)
    }

    /// Short frames of flows that are all there, every other one of which is UDP.
    pub(crate) fn mixed(room: &Path, flows: u64, packets: u64, order: Order) -> Result<Self> {
        let mut seed = 9;
        let drawn = (0..packets).map(|number| {
            let flow = draw(&mut seed) % flows;
            if order == Order::Drawn { flow } else { flow / 2 * 2 + number % 2 }
        });
        let frames = (0..flows).chain(drawn);
        let frames = frames.map(|flow| (flow, [TCP, UDP][(flow % 2) as usize], ACK));
        Self::write_frames(room, &format!("mixed-{order:?}"), flows, frames, SHORT)
    }

    /// Every flow is closed and opened again, in blocks.
    pub(crate) fn churn(room: &Path, flows: u64) -> Result<Self> {
        let blocks = (0..flows).step_by(BLOCK as usize).flat_map(|from| {
            let block = from..flows.min(from + BLOCK);
            block.clone().map(|flow| (flow, RESET)).chain(block.map(|flow| (flow, ACK)))
        });
        Self::write(room, &format!("churn-{flows}"), flows, blocks, SHORT)
    }

    /// Among packets of flows that stay, in every [`MOVING_BLOCK`] so many as [`MOVING`] are closed
    /// and opened again.
    pub(crate) fn moving(room: &Path, flows: u64) -> Result<Self> {
        let mut seed = 5;
        let half = MOVING_BLOCK / 2 - MOVING;
        let blocks = (0..flows / MOVING).flat_map(|block| {
            let moving = block * MOVING..(block + 1) * MOVING;
            let mut staying = || -> Vec<(u64, u8)> {
                (0..half).map(|_| (flows + draw(&mut seed) % STAYING, ACK)).collect()
            };
            let closed = moving.clone().map(|flow| (flow, RESET)).chain(staying());
            closed.chain(moving.map(|flow| (flow, ACK))).chain(staying()).collect::<Vec<_>>()
        });
        Self::write(room, "moving", flows + STAYING, blocks, SHORT)
    }

    fn write(
        room: &Path,
        name: &str,
        flows: u64,
        rest: impl Iterator<Item = (u64, u8)>,
        bytes: usize,
    ) -> Result<Self> {
        let opening = (0..flows).map(|flow| (flow, ACK));
        let segments = opening.chain(rest).map(|(flow, flags)| (flow, TCP, flags));
        Self::write_frames(room, name, flows, segments, bytes)
    }

    fn write_frames(
        room: &Path,
        name: &str,
        warm: u64,
        frames: impl Iterator<Item = (u64, u8, u8)>,
        bytes: usize,
    ) -> Result<Self> {
        let path = room.join(name).with_extension("pcap");
        let mut writer = Writer::new(BufWriter::new(File::create(&path)?))?;
        let mut frame = vec![0; bytes];
        for (number, (flow, protocol, flags)) in (0_u64..).zip(frames) {
            fill(&mut frame, flow, protocol, flags);
            writer.write(number * 1_000, &frame)?;
        }
        writer.finish()?;
        Ok(Self { path, warm })
    }
}

/// A number that looks drawn: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A segment or datagram of a flow, from 10.0.0.0/8 to 198.18.0.0/15. The transport's checksum is
/// left 0: nothing here reads it.
fn fill(frame: &mut [u8], flow: u64, protocol: u8, flags: u8) {
    let mixed = draw(&mut { flow });
    let length = u16::try_from(frame.len() - 14).unwrap_or(u16::MAX);
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    let ip = &mut frame[14..34];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    (ip[6], ip[8], ip[9]) = (0x40, 64, protocol);
    // The flow's number stands in the source, so that no two are the same.
    let number = flow.to_le_bytes();
    ip[12..16].copy_from_slice(&[10, number[2], number[1], number[0]]);
    ip[16..20].copy_from_slice(&[198, 18, mixed.to_le_bytes()[0], mixed.to_le_bytes()[1]]);
    ip[10..12].fill(0);
    let sum = checksum::internet(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let port = 1_024 + u16::try_from((mixed >> 16) % 60_000).unwrap_or_default();
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[36..38].copy_from_slice(&443_u16.to_be_bytes());
    if protocol == UDP {
        frame[38..40].copy_from_slice(&(length - 20).to_be_bytes());
        frame[40..48].fill(0);
        return;
    }
    frame[38..46].fill(0);
    (frame[46], frame[47]) = (0x50, flags);
}
