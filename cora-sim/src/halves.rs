//! Makes halves, each in memory of its own, and lets them take what is on a queue.

use cora_runtime::channel::Outbox;
use cora_runtime::durability::ReplicaStore;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::Message;
use cora_runtime::nic_half::NicHalf;

use crate::apps::SimApp;
use crate::link::Ring;
use crate::memory::Supply;
use crate::standby::Copies;

/// A host half that owns every flow; without a NIC it handles all packets itself. It must not
/// outlive the supply.
pub(crate) fn host<A: SimApp>(supply: &mut Supply, seed: u64, nic: bool) -> HostHalf<A> {
    let mut app = A::new(&mut supply.lend(A::MEMORY, seed)).expect("memory");
    let mut memory = supply.lend(HostHalf::bytes(&mut app), seed);
    let mut half = HostHalf::create(app, &mut memory, nic).expect("memory");
    half.watch();
    half
}

/// A NIC half that owns no flow, with so many bytes for packets that wait. With `refuses`, its
/// tables refuse entries at random. It must not outlive the supply.
pub(crate) fn nic<A: SimApp>(
    supply: &mut Supply,
    seed: u64,
    hold: usize,
    refuses: Option<u64>,
) -> NicHalf<A> {
    let mut app = A::new(&mut supply.lend(A::MEMORY, seed)).expect("memory");
    if let Some(refuses) = refuses {
        app.refuse(refuses);
    }
    let mut memory = supply.lend(NicHalf::bytes_to_hold(&mut app, hold), seed);
    let mut half = NicHalf::create_to_hold(app, &mut memory, hold).expect("memory");
    half.watch();
    half
}

/// Where the host sends, and keeps copies.
pub(crate) struct HostEnds<'a> {
    pub(crate) back: &'a mut Ring,
    pub(crate) copies: &'a mut Copies,
}

impl Outbox for HostEnds<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.back.send(message);
    }
}

impl HostOutbox for HostEnds<'_> {
    fn replicas(&mut self) -> Option<&mut dyn ReplicaStore> {
        Some(self.copies)
    }
}

/// The host takes the next message, if there is one.
pub(crate) fn serve_host<A: SimApp>(
    host: &mut HostHalf<A>,
    punt: &mut Ring,
    ends: &mut impl HostOutbox,
) -> Result<(), String> {
    let Some((kind, mut bytes)) = punt.pop() else { return Ok(()) };
    let taken = if let Some((stamp, frame)) = Message::decode_frame(kind, &mut bytes) {
        let mut burst = Burst::new();
        burst.push(stamp, frame);
        host.burst(&mut burst, ends)
    } else {
        let message = Message::decode(kind, &bytes).ok_or("no message")?;
        host.message(&message, ends)
    };
    taken.map_err(|error| format!("the host refuses: {error}"))
}

/// The NIC takes the next message, if there is one.
pub(crate) fn serve_nic<A: SimApp>(
    nic: &mut NicHalf<A>,
    back: &mut Ring,
    ends: &mut (impl Outbox + Wire),
) -> Result<(), String> {
    let Some((kind, bytes)) = back.pop() else { return Ok(()) };
    let message = Message::decode(kind, &bytes).ok_or("no message")?;
    let taken = nic.message(&message, ends);
    taken.map(drop).map_err(|error| format!("the NIC refuses: {error}"))
}
