//! Creates halves, each in its own memory, and lets the host take messages from a queue.

use cora_runtime::channel::PeerOutbox;
use cora_runtime::durability::ReplicaStore;
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::Message;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::{Inbox, NodeError, serve_punts};

use crate::apps::SimApp;
use crate::link::Ring;
use crate::memory::Supply;
use crate::replicas::Replicas;

/// Creates a host half that owns every flow; without a NIC it handles all packets itself. It must
/// not outlive the supply.
pub(crate) fn host<A: SimApp>(supply: &mut Supply, seed: u64, nic: bool) -> HostHalf<A> {
    let mut app = A::new(&mut supply.lend(A::MEMORY, seed)).expect("memory");
    let mut memory = supply.lend(HostHalf::bytes(&mut app), seed);
    let mut half = HostHalf::create(app, &mut memory, nic).expect("memory");
    half.watch();
    half
}

/// Creates a NIC half that owns no flow, with `hold` bytes for waiting packets. With `refuses`, its
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

/// The host's output, and its replicas.
pub(crate) struct HostEnds<'a> {
    pub(crate) back: &'a mut Ring,
    pub(crate) copies: &'a mut Replicas,
}

impl PeerOutbox for HostEnds<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.back.send(message);
    }
}

impl HostOutbox for HostEnds<'_> {
    fn replicas(&mut self) -> Option<&mut dyn ReplicaStore> {
        Some(self.copies)
    }
}

/// Lets the host take at most `most` messages.
pub(crate) fn serve_host<A: SimApp>(
    host: &mut HostHalf<A>,
    punt: &mut Ring,
    ends: &mut impl HostOutbox,
    most: usize,
) -> Result<(), String> {
    serve(host, punt, ends, (&mut vec![0; BURST_BYTES], most))
}

/// The same, from any inbox, with a buffer of [`BURST_BYTES`].
pub(crate) fn serve<A: SimApp>(
    host: &mut HostHalf<A>,
    punt: &mut impl Inbox,
    ends: &mut impl HostOutbox,
    (buffer, most): (&mut [u8], usize),
) -> Result<(), String> {
    let served = serve_punts(host, punt, ends, (buffer, most), |host, ends, message| {
        // An operator hears them.
        if let Message::Questions(_) = message {
            return Ok(());
        }
        host.message(message, ends).map_err(NodeError::from)
    });
    served.map_err(|error| match error {
        NodeError::Ring(error) => format!("host's ring: {error}"),
        NodeError::Protocol(error) => format!("the host refuses: {error}"),
        NodeError::Broken => "the ring to the NIC is broken".to_owned(),
    })
}
