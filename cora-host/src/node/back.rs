//! The host's channel to the NIC: messages without space in the ring wait in a bounded queue.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use cora_control::Ledger;
use cora_core::message::SENT;
use cora_core::packet::Port;
use cora_core::state::table::Ending;
use cora_runtime::channel::{Mark, PeerOutbox, Sent};
use cora_runtime::durability::ReplicaStore;
use cora_runtime::host_half::HostOutbox;
use cora_runtime::link::message::{Frames, MAX_MESSAGE, Message, Stamp};
use cora_runtime::link::region::{Rings, note_packet};
use cora_runtime::link::ring::{Consumer, Producer, PushError, SharedMemory};

use crate::RunError;
use crate::ingress::clock::monotonic;
use crate::ingress::feed::encoded;
use crate::node::running::{UNSEEN, Word};
use crate::observe::ipfix::Exporter;

/// Sizes in bytes of the rings wire-in, wire-out, punt and back. The last two are as small as the
/// longest message permits: their contents delay every flow that moves.
pub const RING_BYTES: [usize; 4] = [1 << 20, 1 << 20, 1 << 19, 1 << 19];

/// The same at an agent. Between agent and NIC half there is no more than a turn's packets, and the
/// rings of many tenants are to stay in the processor's caches.
pub(crate) const RING_BYTES_AT_AGENT: [usize; 4] = [1 << 16, 1 << 16, 1 << 19, 1 << 19];

/// Limit of bytes that wait for space in the ring to the NIC. A sound NIC can't lag that far: in
/// one round it sends at most its queue of held packets (4 MiB) and the contents of its ring.
const MOST_WAITING: usize = 32 * RING_BYTES[3];
/// How long a NIC with that much waiting may read nothing.
const MOST_STUCK: Duration = Duration::from_secs(1);

/// Memory of a waiting message, in bytes.
pub(crate) const fn taken(bytes: &[u8]) -> usize {
    size_of::<(u16, Vec<u8>)>() + bytes.len()
}

/// Messages in the ring that an ended NIC did not read, as far as they are valid.
pub(crate) fn left_unread(rings: &Rings) -> VecDeque<(u16, Vec<u8>)> {
    let mut rest = Consumer::new(rings.back);
    let mut buffer = vec![0; MAX_MESSAGE];
    let mut unread = VecDeque::new();
    while let Ok(Some(popped)) = rest.pop(&mut buffer) {
        unread.push_back((popped.kind, buffer.get(..popped.len).unwrap_or_default().to_vec()));
    }
    unread
}

/// Whether this is a message for handlers at the NIC.
pub(crate) fn is_message(kind: u16, bytes: &[u8]) -> bool {
    Message::decode_sent(kind, bytes).is_some_and(|(stamp, _)| stamp.leaves_at() == SENT)
}

/// The channel to the NIC (or from it, if both sides take turns on one thread). Messages without
/// space in the ring wait in memory, so the host never waits for the NIC, which may be waiting for
/// the host.
pub struct Back {
    pub(crate) ring: Producer<SharedMemory>,
    pub(crate) waiting: VecDeque<(u16, Vec<u8>)>,
    /// Memory of these messages, in bytes.
    pub(crate) waiting_bytes: usize,
    /// When the queue exceeded its limit, if the NIC has read nothing since then.
    pub(crate) stuck_since: Option<Instant>,
    pub(crate) broken: bool,
    /// Records which flows change sides, if requested.
    pub(crate) ledger: Option<Ledger>,
    /// The replica store of durable entries.
    pub(crate) replicas: Option<Box<dyn ReplicaStore + Send>>,
    /// Packets sent to the wire over this ring. Messages for the NIC are not among them.
    pub(crate) sent: u64,
    /// Receives records of ended entries, if requested.
    pub(crate) exporter: Option<Exporter>,
    /// Stores the number of the packet that the handlers run.
    pub(crate) runs: Word,
    /// Packets that an operator taps.
    pub(crate) tapped: Tapped,
}

/// Copies of packets on their way to an operator.
#[derive(Debug, Default)]
pub(crate) struct Tapped {
    /// Whether any are wanted.
    pub(crate) is_on: bool,
    pub(crate) waiting: VecDeque<(u16, Vec<u8>)>,
    /// Copies that found no room.
    pub(crate) missed: u64,
}

impl Tapped {
    /// Most copies that wait.
    const MOST: usize = 256;

    /// Takes a copy.
    pub(crate) fn push(&mut self, message: &Message<'_>) {
        if !self.is_on {
            return;
        }
        if self.waiting.len() < Self::MOST {
            self.waiting.push_back(encoded(message));
        } else {
            self.missed += 1;
        }
    }
}

impl Back {
    /// A channel over this ring.
    pub fn new(memory: SharedMemory) -> Self {
        Self {
            ring: Producer::new(memory),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            stuck_since: None,
            broken: false,
            ledger: None,
            replicas: None,
            sent: 0,
            exporter: None,
            runs: &UNSEEN,
            tapped: Tapped::default(),
        }
    }

    /// Whether no message waits for space.
    pub fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the ring is unusable.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Bytes in the ring.
    pub fn occupancy(&self) -> usize {
        self.ring.occupancy()
    }

    /// Pushes a message, if there is space.
    #[inline(always)]
    fn push(&mut self, message: &Message<'_>) -> bool {
        match message.push(&mut self.ring) {
            Ok(()) => true,
            Err(PushError::Full) => false,
            Err(PushError::TooLong | PushError::Failed(_)) => {
                self.broken = true;
                false
            }
        }
    }

    /// Sends a message that must be recorded, or may have to wait behind others.
    #[inline(never)]
    fn note_and_send(&mut self, message: &Message<'_>) {
        if let Some(ledger) = &mut self.ledger {
            ledger.sent(message);
        }
        if self.waiting.is_empty() && self.push(message) {
            return;
        }
        let (kind, bytes) = message.encode(|kind, parts| (kind, parts.concat()));
        self.waiting_bytes += taken(&bytes);
        self.waiting.push_back((kind, bytes));
    }

    /// Whether too many messages wait to read any more from the NIC. An error if the NIC has read
    /// nothing for too long.
    pub(crate) fn is_over_full(&mut self) -> Result<bool, RunError> {
        if self.waiting_bytes <= MOST_WAITING {
            self.stuck_since = None;
            return Ok(false);
        }
        if self.stuck_since.get_or_insert_with(Instant::now).elapsed() > MOST_STUCK {
            let (seconds, mib) = (MOST_STUCK.as_secs(), self.waiting_bytes >> 20);
            return Err(RunError::NicTakesNothing { seconds, mib });
        }
        Ok(true)
    }

    /// Sends waiting messages as far as there is space, and publishes all.
    pub fn flush(&mut self) {
        while let Some((kind, bytes)) = self.waiting.front() {
            match self.ring.push(*kind, &[bytes]) {
                Ok(()) => {
                    self.waiting_bytes -= taken(bytes);
                    self.stuck_since = None;
                    drop(self.waiting.pop_front());
                }
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => {
                    self.broken = true;
                    break;
                }
            }
        }
        self.ring.publish();
    }
}

impl fmt::Debug for Back {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.len();
        f.debug_struct("Back")
            .field("waiting", &waiting)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl PeerOutbox for Back {
    #[inline(always)]
    fn runs(&mut self, number: Option<u64>) {
        note_packet(self.runs, number);
    }

    #[inline(always)]
    fn send(&mut self, message: &Message<'_>) {
        if self.ledger.is_some() || !self.waiting.is_empty() || !self.push(message) {
            self.note_and_send(message);
        }
    }

    fn now_ns(&self) -> u64 {
        monotonic()
    }

    #[inline]
    fn show(&mut self) {
        self.ring.publish();
    }

    fn mark(&mut self) -> Mark {
        Mark { peer: self.ring.position(), wire: 0 }
    }

    fn sent_since(&mut self, mark: Mark) -> Sent {
        Sent::on(mark, Some(&mut self.ring), None)
    }

    fn has_room(&mut self) -> bool {
        self.tapped.waiting.len() < Tapped::MOST
    }

    fn tapped(&mut self, message: &Message<'_>) {
        self.tapped.push(message);
    }
}

impl HostOutbox for Back {
    /// The kind of message distinguishes it from packets that the NIC handled.
    #[inline(always)]
    fn leave(&mut self, stamp: &Stamp, egress: Port, frame: &[u8]) {
        self.sent += u64::from(egress != SENT);
        self.send(&Frames::Send { stamp: Stamp { egress, ..*stamp }, frame }.into());
    }

    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        if let Some(exporter) = &self.exporter {
            exporter.ended(state, ending);
        }
    }

    fn replicas(&mut self) -> Option<&mut dyn ReplicaStore> {
        self.replicas.as_mut().map(|replicas| replicas.as_mut() as &mut dyn ReplicaStore)
    }
}

#[cfg(test)]
mod tests {
    use cora_core::packet::Meta;
    use cora_runtime::link::payload::Parked;

    use super::*;

    /// Such a message must not reach the NIC half that follows a dead one: it would count it.
    #[test]
    fn a_message_for_the_nic_is_told_from_a_packet_that_leaves() {
        for (egress, expected) in [(SENT, true), (Port(0x80 | SENT.0), true), (Port(1), false)] {
            let (meta, parked) = (Meta::default(), Parked::NONE);
            let stamp = Stamp { meta, number: 0, horizon: 0, egress, parked, missing: 0 };
            let sent = Frames::Send { stamp, frame: &[7; 60] };
            let (kind, bytes) = Message::from(sent).encode(|kind, parts| (kind, parts.concat()));
            assert_eq!(is_message(kind, &bytes), expected, "{egress:?}");
        }
        assert!(!is_message(0, &[]));
    }
}
