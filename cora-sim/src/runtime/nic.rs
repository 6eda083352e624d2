//! The NIC's process: its half, on its ends of the rings, as in production. When a ring is full it
//! waits, and the other side goes on meanwhile.

use cora_runtime::channel::Outbox;
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Frames, Load, Message, Stamp};
use cora_runtime::link::payload::Parking;
use cora_runtime::link::ring::{Consumer, Producer, PushError};
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::Egress;

use super::host::HostSide;
use super::lies::Lies;
use super::wire::WireEnd;
use crate::apps::SimApp;
use crate::nic_core::NicCore;
use crate::shelf::{self, Shelf};
use crate::story;
use crate::traffic::Record;
use crate::words::{Life, Words};

/// Where its messages and packets leave.
#[derive(Debug)]
struct Outgoing {
    punt: Producer<Words>,
    wire: Producer<Words>,
    shelf: Shelf,
    life: Life,
    /// How often it waited for room.
    waits: u64,
    /// What the ring to a dead host had no room for: the NIC would wait with it until a new one has
    /// emptied the ring.
    spilled: Vec<(u16, Vec<u8>)>,
    broken: bool,
    /// Bytes that the packets of one feed send at most.
    burst_bytes: usize,
    /// Of a NIC that lies.
    lies: Option<Lies>,
}

/// The process.
pub(super) struct NicSide<A: SimApp> {
    pub(super) core: NicCore<A>,
    back: Consumer<Words>,
    out: Outgoing,
    pub(super) life: Life,
    /// What went wrong.
    pub(super) error: Option<String>,
}

/// The rings between the processes, and the one to the wire.
#[derive(Debug)]
pub(super) struct Rings {
    pub(super) punt: Words,
    pub(super) back: Words,
    pub(super) wire: Words,
    /// Where the NIC keeps the rests of frames.
    pub(super) payloads: Words,
}

impl Rings {
    pub(super) fn new([punt, back, wire]: [usize; 3]) -> Self {
        let [punt, back, wire, payloads] = [punt, back, wire, shelf::BYTES].map(Words::new);
        Self { punt, back, wire, payloads }
    }
}

/// Whom the NIC waits for when a ring is full.
pub(super) struct Others<'a, A: SimApp> {
    pub(super) host: &'a mut HostSide<A>,
    pub(super) wire: &'a mut WireEnd,
}

/// Where messages and packets go, while the others go on.
struct Out<'a, 'b, A: SimApp> {
    side: &'a mut Outgoing,
    others: &'a mut Others<'b, A>,
    /// Entries of a flow that leaves which may go now.
    entries: u32,
}

impl<A: SimApp> NicSide<A> {
    /// A process that has handled nothing. The packets of one feed send at most `burst_bytes`.
    pub(super) fn new(half: NicHalf<A>, rings: &Rings, life: Life, burst_bytes: usize) -> Self {
        let out = Outgoing {
            punt: rings.punt.producer(&life),
            wire: rings.wire.producer(&life),
            shelf: Shelf::new(rings.payloads.in_life(&life)),
            life: life.clone(),
            waits: 0,
            spilled: Vec::new(),
            broken: false,
            burst_bytes,
            lies: None,
        };
        let back = rings.back.consumer(&life);
        Self { core: NicCore::new(half), back, out, life, error: None }
    }

    /// From now on it lies.
    pub(super) fn lie(&mut self, lies: Lies) {
        self.out.lies = Some(lies);
    }

    /// Lies that it told.
    pub(super) fn lies(&self) -> u64 {
        self.out.lies.as_ref().map_or(0, |lies| lies.told)
    }

    /// From now on there is room for so many flows.
    pub(super) const fn tighten(&mut self, room: u32) {
        self.core.half.limit_flows(room);
    }

    /// Whether the host has sent anything, or a flow leaves bit by bit.
    pub(super) fn has_mail(&mut self) -> bool {
        if self.core.half.is_handing_over() {
            return true;
        }
        match self.back.is_empty_indeed() {
            Ok(empty) => !empty,
            Err(error) => {
                self.error = Some(format!("NIC's ring: {error}"));
                false
            }
        }
    }

    /// Packets whose heads went to the host alone.
    pub(super) const fn heads(&self) -> u64 {
        self.out.shelf.parked
    }

    /// How often it waited for room on a ring.
    pub(super) const fn waits(&self) -> u64 {
        self.out.waits
    }

    /// Whether packets may come in.
    pub(super) fn takes_packets(&mut self, others: &mut Others<'_, A>) -> bool {
        self.core.takes_packets(&mut Out { side: &mut self.out, others, entries: 0 })
    }

    /// Packets come in. Returns how many of them.
    pub(super) fn feed(
        &mut self,
        packets: &mut [(Stamp, Vec<u8>)],
        others: &mut Others<'_, A>,
    ) -> usize {
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        let fed = self.core.feed(packets, &mut out);
        fed.unwrap_or_else(|error| {
            self.error = Some(error);
            packets.len()
        })
    }

    /// Part of a change of read-mostly states comes in.
    pub(super) fn change(&mut self, record: &Record, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        if let Err(error) = self.core.change(record, &mut out) {
            self.error = Some(error);
        }
    }

    /// Handles up to so many messages, and sends as many entries of a flow that leaves.
    pub(super) fn serve(&mut self, most: usize, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: most as u32 };
        if let Err(error) = self.core.serve(most, &mut self.back, &mut out) {
            self.error = Some(error);
        }
    }

    /// Tells its load.
    pub(super) fn tell(&mut self, time: u64, others: &mut Others<'_, A>) {
        let load = Load { time, ..Load::default() };
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        self.core.half.tell(&load, &mut out);
        out.publish();
    }

    /// The host is no more: takes all that it published, and goes on by new rings with another one.
    /// Gives what it still has for the dead one's successor beside what is on the ring.
    pub(super) fn replug(
        &mut self,
        rings: &Rings,
        others: &mut Others<'_, A>,
    ) -> Vec<(u16, Vec<u8>)> {
        let mut out = Out { side: &mut self.out, others, entries: u32::MAX };
        if let Err(error) = self.core.take_leave(&mut self.back, &mut out) {
            self.error = Some(error);
        }
        self.back = rings.back.consumer(&self.life);
        self.out.punt = rings.punt.producer(&self.life);
        self.out.shelf.move_to(rings.payloads.in_life(&self.life));
        std::mem::take(&mut self.out.spilled)
    }

    /// Another host is there.
    pub(super) fn greet(&mut self, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        self.core.greet(&mut out, !A::RESTS_ON.is_empty());
    }
}

impl Outgoing {
    /// Sends to a host that is dead, for the one behind it.
    fn spill(&mut self, message: &Message<'_>) {
        message.encode(|kind, parts| {
            if !self.spilled.is_empty() || self.punt.push(kind, parts).is_err() {
                self.spilled.push((kind, parts.concat()));
            }
        });
    }

    fn publish(&mut self) {
        self.punt.publish();
        self.wire.publish();
    }
}

/// Pushes, letting `wait` go on while the ring is full, which says whether that is of use; if the
/// ring must be published for that, the first one is before. A dead process waits for nothing.
fn push(
    ring: &mut Producer<Words>,
    mut first: Option<&mut Producer<Words>>,
    message: &Message<'_>,
    lies: Option<&mut Lies>,
    life: &Life,
    mut wait: impl FnMut() -> bool,
) -> bool {
    let mut push = |kind: u16, parts: &[&[u8]]| {
        while !life.is_over() {
            match ring.push(kind, parts) {
                Ok(()) => return true,
                Err(PushError::Full) => {
                    if let Some(first) = &mut first {
                        first.publish();
                    }
                    ring.publish();
                    if !wait() {
                        return false;
                    }
                }
                Err(PushError::TooLong | PushError::Failed(_)) => return false,
            }
        }
        true
    };
    message.encode(|kind, parts| match lies {
        Some(lies) => {
            let records = lies.instead(kind, parts.concat());
            records.iter().all(|(kind, bytes)| push(*kind, &[bytes]))
        }
        None => push(kind, parts),
    })
}

impl<A: SimApp> Outbox for Out<'_, '_, A> {
    fn send(&mut self, message: &Message<'_>) {
        if self.others.host.life.is_over() {
            return self.side.spill(message);
        }
        let Outgoing { punt, life, waits, lies, .. } = &mut *self.side;
        let sent = push(punt, None, message, lies.as_mut(), life, || {
            *waits += 1;
            self.others.host.poll(1);
            self.others.host.error.is_none() && !self.others.host.life.is_over()
        });
        // A host with an error is about to be ended, and takes nothing more.
        if self.others.host.life.is_over() || self.others.host.error.is_some() {
            self.side.spill(message);
        } else {
            self.side.broken |= !sent;
        }
    }

    fn show(&mut self) {
        self.side.punt.publish();
    }
}

impl<A: SimApp> Wire for Out<'_, '_, A> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        story::takes("wire", &Message::Frames(Frames::Frame { stamp: *stamp, frame }));
        let Outgoing { punt, wire, life, waits, broken, lies, .. } = &mut *self.side;
        // A packet that leaves may depend on records that the host was told before.
        let frame = Message::Frames(Frames::Frame { stamp: *stamp, frame });
        let sent = push(wire, Some(punt), &frame, lies.as_mut(), life, || {
            *waits += 1;
            self.others.wire.drain();
            self.others.wire.error.is_none()
        });
        *broken |= !sent;
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.side.shelf)
    }
}

impl<A: SimApp> Egress for Out<'_, '_, A> {
    fn publish(&mut self) {
        self.side.publish();
    }

    fn is_broken(&self) -> bool {
        self.side.broken
    }

    fn host_ended(&self) -> bool {
        self.others.host.life.is_over()
    }

    /// Rings are small here, and bursts too.
    fn wire_has(&mut self, _: usize) -> bool {
        self.side.wire.free_bytes() >= self.side.burst_bytes || self.side.wire.occupancy() == 0
    }

    fn room_for_entries(&mut self, _: u32) -> u32 {
        self.entries
    }
}
