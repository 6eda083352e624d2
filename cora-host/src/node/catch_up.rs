//! Reads the records that a dead host left unread on the ring from the NIC, before anything else.
//! Nothing is read after an invalid record: the host reports the NIC's fault, and goes on.

use cora_core::app::App;
use cora_runtime::channel::ProtocolError;
use cora_runtime::durability::ReplicaStore;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{Kind, MAX_MESSAGE, Message};
use cora_runtime::link::region::{NicStatus, Region};
use cora_runtime::link::ring::{Consumer, SharedMemory};

use crate::RunError;
use crate::node::host_page::HostPage;
use crate::node::regions::Regions;
use crate::observe::ipfix::Exporter;
use crate::process::log::{self, Part};

/// Reads the NIC's records in the previous region, until the NIC has left that one: until then it
/// may wait for space there. Which of these packets the dead host had already sent is unknown, so
/// they are lost, and counted on the page.
pub(super) fn catch_up<A: App>(
    half: &mut HostHalf<A>,
    regions: &Regions<A>,
    region: &Region,
    replicas: &mut dyn ReplicaStore,
    exporter: Option<&Exporter>,
) -> Result<(), RunError> {
    let page = regions.page;
    let Some(generation) = page.before(region.identity().generation) else { return Ok(()) };
    let mut punt = Consumer::new(regions.region(generation)?.rings().punt);
    let mut buffer = vec![0; MAX_MESSAGE];
    loop {
        page.beat();
        // Checked first: the ring then contains everything that the NIC published.
        let has_left = region.nic_status() != Some(NicStatus::Starting);
        if let Err(error) = read(half, &mut punt, &mut buffer, replicas, exporter, page) {
            if !error.is_nics_fault() {
                return Err(error);
            }
            let follows = "what follows on its ring is not read";
            log::warn(Part::Nic, format_args!("{error}: {follows}"));
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
    replicas: &mut dyn ReplicaStore,
    exporter: Option<&Exporter>,
    page: HostPage,
) -> Result<(), RunError> {
    while let Some(popped) = punt.pop(buffer)? {
        page.beat();
        let bytes = buffer.get(..popped.len).unwrap_or_default();
        let message = Message::decode(popped.kind, bytes);
        let message = message.ok_or(ProtocolError::undecodable(popped.kind))?;
        half.catch_up(&message, replicas);
        if let (Message::Records(message), Some(exporter)) = (message, exporter) {
            let (state, ending) = message.ending();
            exporter.ended(state, ending);
        }
        page.add_lost(u64::from(popped.kind == Kind::Punt));
        // The replicas now include this record, so a later host need not read it.
        punt.release();
    }
    Ok(())
}
