//! What a dead host left unread on the ring from the NIC: its successor reads that before anything
//! else.

use std::sync::atomic::AtomicU64;

use cora_core::app::App;
use cora_core::message::{MAX_MESSAGE, Message};
use cora_core::migration::{HostHalf, ProtocolError, Standby};
use cora_core::region::{NicStatus, Region, succession};
use cora_core::ring::{Consumer, SharedMemory};

use crate::RunError;
use crate::ipfix::Exporter;

/// Reads what the NIC sent by the region before this one, until it has left that: until then it may
/// wait for room there. Gives how many packets were among it; nobody knows which of them the dead
/// host had sent already, so they are lost.
pub(super) fn catch_up<A: App>(
    half: &mut HostHalf<A>,
    regions: &'static [AtomicU64],
    region: &Region,
    standby: &mut dyn Standby,
    exporter: Option<&Exporter>,
) -> Result<u64, RunError> {
    let Some(before) = before(regions, region) else { return Ok(0) };
    let mut punt = Consumer::new(before.rings().punt);
    let mut buffer = vec![0; MAX_MESSAGE];
    let mut lost = 0;
    loop {
        // Asked first: what the NIC published until then is on the ring.
        let has_left = region.nic_status() != Some(NicStatus::Starting);
        lost += read(half, &mut punt, &mut buffer, standby, exporter)?;
        if has_left {
            return Ok(lost);
        }
        std::thread::yield_now();
    }
}

/// The region before, if it was in this file: a program that takes another one's place begins with
/// a new one.
fn before(regions: &'static [AtomicU64], region: &Region) -> Option<Region> {
    let generation = region.identity().generation.checked_sub(1).filter(|number| *number > 0)?;
    let before = Region::attach(succession::place(regions, generation), region.identity().plan);
    before.ok().filter(|before| before.identity().generation == generation)
}

fn read<A: App>(
    half: &mut HostHalf<A>,
    punt: &mut Consumer<SharedMemory>,
    buffer: &mut [u8],
    standby: &mut dyn Standby,
    exporter: Option<&Exporter>,
) -> Result<u64, RunError> {
    let mut lost = 0;
    while let Some(popped) = punt.pop(buffer)? {
        let bytes = buffer.get(..popped.len).unwrap_or_default();
        let message = Message::decode(popped.kind, bytes);
        let message = message.ok_or(ProtocolError::Undecodable(popped.kind))?;
        lost += u64::from(popped.kind == Message::PUNT);
        half.catch_up(&message, standby);
        if let (Some((state, ending)), Some(exporter)) = (message.ending(), exporter) {
            exporter.ended(state, ending);
        }
        // What it says is in the copies now: whoever comes after this host need not read it.
        punt.release();
    }
    Ok(lost)
}
