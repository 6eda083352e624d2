//! The bursts of a host worker.

use cora_core::app::App;

use crate::channel::ProtocolError;
use crate::exec::Burst;
use crate::exec::burst::{BURST, BurstBuffer};
use crate::host_half::{HostHalf, HostOutbox};
use crate::link::message::{Kind, Message};
use crate::link::ring::Popped;
use crate::node::{Inbox, NodeError};

/// Handles what the NIC sent: at most `most` records, as far as they fit `buffer`. Packets run in
/// bursts. Any other message is a barrier: earlier packets run first, and then `message` handles
/// it.
///
/// # Errors
/// If the ring is broken, a record makes no sense, or `message` fails. Packets before such a record
/// are handled.
pub fn serve_punts<A: App, B: Inbox, O: HostOutbox, E: From<NodeError>>(
    half: &mut HostHalf<A>,
    punt: &mut B,
    out: &mut O,
    (buffer, most): (&mut [u8], usize),
    message: impl FnMut(&mut HostHalf<A>, &mut O, &Message<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut frames = BurstBuffer::new(buffer);
    let mut burst = Burst::new();
    let read = read(half, punt, out, &mut frames, &mut burst, most, message);
    half.take(&mut burst, out).map_err(NodeError::from)?;
    punt.release();
    read
}

/// Messages behind which the NIC has no entry any more: it is here, over or gone. Packets and hooks
/// that follow may end it for good, with an effect on singletons that outlives this host. So
/// another host must not read such a message again, which would bring the entry back.
const ENDS_AT_NIC: [Kind; 4] = [Kind::Entry, Kind::Same, Kind::Erase, Kind::Over];

#[inline(always)]
fn read<'b, A: App, B: Inbox, O: HostOutbox, E: From<NodeError>>(
    half: &mut HostHalf<A>,
    punt: &mut B,
    out: &mut O,
    frames: &mut BurstBuffer<'b>,
    burst: &mut Burst<'b>,
    most: usize,
    mut message: impl FnMut(&mut HostHalf<A>, &mut O, &Message<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let most = if half.must_wait() { 0 } else { most.min(BURST) };
    for _ in 0..most {
        let Some(room) = frames.room() else { break };
        let popped = punt.pop(room).map_err(NodeError::from)?;
        let Some(Popped { kind, len }) = popped else { break };
        let bytes = frames.keep(len);
        let undecodable = NodeError::Protocol(ProtocolError::undecodable(kind));
        if kind == Kind::Punt {
            let frame = Message::decode_roomy(kind, bytes);
            // Only programs that read just headers accept heads.
            let frame = frame.filter(|(stamp, _)| A::HEADS || !stamp.parked.is_some());
            let (stamp, frame) = frame.ok_or(undecodable)?;
            // There is room: at most a burst of records is popped.
            burst.push_passed_on(stamp, frame);
            continue;
        }
        half.take(burst, out).map_err(NodeError::from)?;
        burst.clear();
        message(half, out, &Message::decode(kind, bytes.frame()).ok_or(undecodable)?)?;
        if const { A::MERGED } && half.must_wait() {
            break;
        }
        if const { A::DURABLE } && ENDS_AT_NIC.iter().any(|it| kind == *it) {
            punt.release();
        }
    }
    Ok(())
}
