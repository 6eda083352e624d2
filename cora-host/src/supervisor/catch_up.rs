//! What a dead host left unread on the ring from the NIC: its successor reads that before anything
//! else. Behind a record that makes no sense nothing is read any more: the host says whose fault it
//! is, and goes on.

use cora_core::app::App;
use cora_runtime::channel::ProtocolError;
use cora_runtime::durability::Standby;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{MAX_MESSAGE, Message};
use cora_runtime::link::region::{NicStatus, Region};
use cora_runtime::link::ring::{Consumer, SharedMemory};

use super::host_half::Regions;
use super::host_page::HostPage;
use crate::ipfix::Exporter;
use crate::{RunError, log};

/// Reads what the NIC sent by the region before this one, until it has left that: until then it may
/// wait for room there. Nobody knows which of the packets among it the dead host had sent already,
/// so they are lost, and counted in the page.
pub(super) fn catch_up<A: App>(
    half: &mut HostHalf<A>,
    regions: &Regions<'_, A>,
    region: &Region,
    standby: &mut dyn Standby,
    exporter: Option<&Exporter>,
) -> Result<(), RunError> {
    let page = regions.page;
    let Some(generation) = page.before(region.identity().generation) else { return Ok(()) };
    let mut punt = Consumer::new(regions.region(generation)?.rings().punt);
    let mut buffer = vec![0; MAX_MESSAGE];
    loop {
        page.beat();
        // Asked first: what the NIC published until then is on the ring.
        let has_left = region.nic_status() != Some(NicStatus::Starting);
        if let Err(error) = read(half, &mut punt, &mut buffer, standby, exporter, page) {
            if !error.is_nics_fault() {
                return Err(error);
            }
            log::say(format_args!("{error}: what follows on its ring is not read"));
            page.accuse(generation);
            return Ok(());
        }
        if has_left || page.must_finish() {
            return Ok(());
        }
        std::thread::yield_now();
    }
}

fn read<A: App>(
    half: &mut HostHalf<A>,
    punt: &mut Consumer<SharedMemory>,
    buffer: &mut [u8],
    standby: &mut dyn Standby,
    exporter: Option<&Exporter>,
    page: HostPage,
) -> Result<(), RunError> {
    while let Some(popped) = punt.pop(buffer)? {
        page.beat();
        let bytes = buffer.get(..popped.len).unwrap_or_default();
        let message = Message::decode(popped.kind, bytes);
        let message = message.ok_or(ProtocolError::Undecodable(popped.kind))?;
        half.catch_up(&message, standby);
        if let (Some((state, ending)), Some(exporter)) = (message.ending(), exporter) {
            exporter.ended(state, ending);
        }
        page.add_lost(u64::from(popped.kind == Message::PUNT));
        // What it says is in the copies now: whoever comes after this host need not read it.
        punt.release();
    }
    Ok(())
}
