//! The two rings, as queues of encoded messages, and ways to sabotage them.

use std::collections::VecDeque;

use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Wire;
use cora_runtime::host_half::HostOutbox;
use cora_runtime::link::message::{Frames, Keys, Kind, Message, Ownership, Stamp};
use cora_runtime::link::payload::Parking;
use cora_runtime::link::ring::{Popped, RingError};
use cora_runtime::node::{Egress, Inbox};

use crate::result::Results;
use crate::shelf::Shelf;

/// A planted fault of the messages, or of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    None,
    /// A fence overtakes the packets before it.
    FenceFirst,
    /// A transfer overtakes the host's packets before it.
    TransferFirst,
    /// A transfer loses its first entry.
    DropEntry,
    /// A release has its first entry twice.
    DoubleEntry,
    /// Offers announce no keys.
    NoKeys,
    /// The packets behind a release overtake it.
    PacketFirst,
    /// All packets to the host behind a flow's first are lost.
    DropPacket,
    /// The NIC owns a flow when it is offered, and the host learns that it declined.
    OwnedAtOnce,
    /// Messages to a dead NIC reach the next one.
    KeepOrders,
    /// The host does not reclaim the flows of a dead NIC.
    NotReclaimed,
    /// The next host ignores the messages that the dead one did not take.
    NotCaughtUp,
    /// The NIC does not learn of a new host.
    NotGreeted,
}

/// Returns whether a record is one of the entries behind a release or a transfer.
fn is_entry(kind: u16) -> bool {
    kind == Kind::Entry || kind == Kind::Vanished || kind == Kind::Same
}

/// A ring, as a queue of encoded messages.
#[derive(Debug)]
pub struct Ring {
    records: VecDeque<(u16, Vec<u8>)>,
    sabotage: Sabotage,
    /// Position of the next entry of a transfer that overtook packets.
    entry_at: Option<usize>,
    /// Whether the first entry is still to come.
    fresh: bool,
    pub sent: u64,
}

impl Ring {
    pub const fn new(sabotage: Sabotage) -> Self {
        Self { records: VecDeque::new(), sabotage, entry_at: None, fresh: false, sent: 0 }
    }

    pub fn pop(&mut self) -> Option<(u16, Vec<u8>)> {
        self.entry_at = None;
        self.records.pop_front()
    }

    /// Returns all records, in order.
    pub fn records(&self) -> impl Iterator<Item = &(u16, Vec<u8>)> {
        self.records.iter()
    }

    /// Drops all records of other kinds.
    pub fn keep_only(&mut self, kind: u16) {
        self.records.retain(|(of, _)| *of == kind);
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    fn encode(message: &Message<'_>) -> (u16, Vec<u8>) {
        message.encode(|kind, parts| (kind, parts.concat()))
    }

    /// Inserts a record before the last ones of this kind. Returns the position behind it.
    fn overtake(&mut self, record: (u16, Vec<u8>), kind: u16) -> usize {
        let passed = self.records.iter().rev().take_while(|(of, _)| *of == kind).count();
        let at = self.records.len() - passed;
        self.records.insert(at, record);
        at + 1
    }

    fn push_entry(&mut self, record: (u16, Vec<u8>)) {
        let first = std::mem::take(&mut self.fresh);
        match (self.sabotage, &mut self.entry_at) {
            (Sabotage::DropEntry, _) if first => {}
            (Sabotage::DoubleEntry, _) if first => {
                self.records.push_back(record.clone());
                self.records.push_back(record);
            }
            (_, Some(at)) => {
                self.records.insert(*at, record);
                *at += 1;
            }
            _ => self.records.push_back(record),
        }
    }
}

impl HostOutbox for Ring {}

impl Inbox for Ring {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        Ok(Self::is_empty(self))
    }

    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        Ok(Self::pop(self).map(|(kind, bytes)| {
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Popped { kind, len: bytes.len() }
        }))
    }

    fn release(&mut self) {}
}

impl PeerOutbox for Ring {
    fn send(&mut self, message: &Message<'_>) {
        self.sent += 1;
        let record = Self::encode(message);
        if is_entry(record.0) {
            return self.push_entry(record);
        }
        self.entry_at = None;
        match (self.sabotage, *message) {
            (Sabotage::FenceFirst, Message::Ownership(Ownership::Fence { .. })) => {
                let _at = self.overtake(record, Kind::Punt.number());
            }
            (Sabotage::TransferFirst, Message::Ownership(Ownership::Transfer { .. })) => {
                self.entry_at = Some(self.overtake(record, Kind::Send.number()));
            }
            (
                Sabotage::DropEntry,
                Message::Ownership(Ownership::Transfer { ticket, entries: entries @ 1.. }),
            ) => {
                self.fresh = true;
                self.records.push_back(Self::encode(&Message::Ownership(Ownership::Transfer {
                    ticket,
                    entries: entries - 1,
                })));
            }
            (
                Sabotage::DoubleEntry,
                Message::Ownership(Ownership::Release { punts, entries: entries @ 1.., group }),
            ) => {
                self.fresh = true;
                let message =
                    Message::Ownership(Ownership::Release { punts, entries: entries + 1, group });
                self.records.push_back(Self::encode(&message));
            }
            (
                Sabotage::NoKeys,
                Message::Ownership(Ownership::Offer { ticket, punts, group, .. }),
            ) => {
                let message =
                    Message::Ownership(Ownership::Offer { ticket, punts, group, keys: Keys(&[]) });
                self.records.push_back(Self::encode(&message));
            }
            (Sabotage::DropPacket, Message::Frames(Frames::Punt { stamp, .. }))
                if stamp.number % 16 > 0 => {}
            (Sabotage::OwnedAtOnce, Message::Ownership(Ownership::Offer { ticket, .. })) => {
                self.records.push_back(record);
                let message = Message::Ownership(Ownership::Transfer { ticket, entries: 0 });
                self.records.push_back(Self::encode(&message));
            }
            (Sabotage::OwnedAtOnce, Message::Ownership(Ownership::Fence { ticket })) => {
                self.records
                    .push_back(Self::encode(&Message::Ownership(Ownership::Decline { ticket })));
            }
            (Sabotage::PacketFirst, Message::Frames(Frames::Punt { .. })) => {
                let is_entry = |(kind, _): &&(u16, Vec<u8>)| is_entry(*kind);
                let entries = self.records.iter().rev().take_while(is_entry).count();
                let behind = self.records.len() - entries;
                let release =
                    behind.checked_sub(1).filter(|at| self.records[*at].0 == Kind::Release);
                self.records.insert(release.unwrap_or(self.records.len()), record);
            }
            _ => self.records.push_back(record),
        }
    }
}

/// The NIC's output: to the host, and to the wire.
#[derive(Debug)]
pub struct NicEnds<'a> {
    pub punt: &'a mut Ring,
    pub wire: &'a mut Results,
    pub shelf: &'a mut Shelf,
    /// Entries of a leaving flow that may be sent now.
    pub entries: u32,
}

impl Egress for NicEnds<'_> {
    fn publish(&mut self) {}

    fn room_for_entries(&mut self, _: u32) -> u32 {
        self.entries
    }
}

impl PeerOutbox for NicEnds<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.punt.send(message);
    }
}

impl Wire for NicEnds<'_> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.wire.left(stamp.leaves_at().0, frame);
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(self.shelf)
    }
}
