//! The NIC's process: its half, on its ends of the rings, as in production. When a ring is full it
//! waits, and meanwhile the other side advances.

use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Frames, Hooks, Load, Merges, Message, Ownership, Stamp};
use cora_runtime::link::payload::Parking;
use cora_runtime::link::ring::{Consumer, Producer, PushError};
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::Egress;

use super::host::HostSide;
use super::lies::Lies;
use super::mistaken::{self, Mistake, Mistakes};
use super::planted::Planted;
use super::wire::WireEnd;
use crate::apps::SimApp;
use crate::history::{self, Event};
use crate::nic_core::NicCore;
use crate::shelf::{self, Shelf};
use crate::story;
use crate::traffic::Record;
use crate::words::{Life, Words};

/// The NIC's output: the rings and the payload buffers.
#[derive(Debug)]
struct Outgoing {
    punt: Producer<Words>,
    wire: Producer<Words>,
    shelf: Shelf,
    life: Life,
    /// Number of waits for room.
    waits: u64,
    /// Messages for a dead host that found no room on the ring: the NIC would wait with them until
    /// a new host has emptied the ring.
    spilled: Vec<(u16, Vec<u8>)>,
    broken: bool,
    /// Maximum bytes that the packets of one feed send.
    burst_bytes: usize,
    /// The lies, if the NIC lies.
    lies: Option<Lies>,
    /// A planted mistake, and messages that it delays.
    planted: Option<Planted>,
    delayed: Vec<(u16, Vec<u8>)>,
    mistakes: Mistakes,
}

/// The NIC's process.
pub(super) struct NicSide<A: SimApp> {
    pub(super) core: NicCore<A>,
    back: Consumer<Words>,
    out: Outgoing,
    pub(super) life: Life,
    /// The error, if one occurred.
    pub(super) error: Option<String>,
}

/// The rings between the processes, and the one to the wire.
#[derive(Debug)]
pub(super) struct Rings {
    pub(super) punt: Words,
    pub(super) back: Words,
    pub(super) wire: Words,
    /// The NIC's payload buffers.
    pub(super) payloads: Words,
}

impl Rings {
    pub(super) fn new([punt, back, wire]: [usize; 3]) -> Self {
        let [punt, back, wire, payloads] = [punt, back, wire, shelf::BYTES].map(Words::new);
        Self { punt, back, wire, payloads }
    }
}

/// The processes that the NIC waits for when a ring is full.
pub(super) struct Others<'a, A: SimApp> {
    pub(super) host: &'a mut HostSide<A>,
    pub(super) wire: &'a mut WireEnd,
}

/// The NIC's output, and the processes that advance while it waits.
struct Out<'a, 'b, A: SimApp> {
    side: &'a mut Outgoing,
    others: &'a mut Others<'b, A>,
    /// Entries of a leaving flow that may be sent now.
    entries: u32,
}

impl<A: SimApp> NicSide<A> {
    /// Creates an idle process. The packets of one feed send at most `burst_bytes`.
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
            planted: None,
            delayed: Vec::new(),
            mistakes: Mistakes::default(),
        };
        let back = rings.back.consumer(&life);
        Self { core: NicCore::new(half), back, out, life, error: None }
    }

    /// Plants this mistake from now on.
    pub(super) const fn err(&mut self, planted: Option<Planted>) {
        self.out.planted = planted;
    }

    /// Makes the NIC lie from now on.
    pub(super) fn lie(&mut self, lies: Lies) {
        self.out.lies = Some(lies);
    }

    /// Returns the number of lies told.
    pub(super) fn lies(&self) -> u64 {
        self.out.lies.as_ref().map_or(0, |lies| lies.told)
    }

    /// Limits the number of flows to `room` from now on.
    pub(super) const fn tighten(&mut self, room: u32) {
        self.core.half.limit_flows(room);
    }

    /// Returns whether the host has sent a message, or a flow is leaving in steps.
    pub(super) fn has_mail(&mut self) -> bool {
        if self.core.half.is_handing_over() || self.core.half.has_mail() {
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

    /// Returns the number of packets that sent only their heads to the host.
    pub(super) const fn heads(&self) -> u64 {
        self.out.shelf.parked
    }

    /// Returns the number of waits for room on a ring.
    pub(super) const fn waits(&self) -> u64 {
        self.out.waits
    }

    /// Returns whether packets may come in.
    pub(super) fn takes_packets(&mut self, others: &mut Others<'_, A>) -> bool {
        self.core.takes_packets(&mut Out { side: &mut self.out, others, entries: 0 })
    }

    /// Feeds packets. Returns the number that came in.
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

    /// Feeds part of a change of read-mostly states.
    pub(super) fn change(&mut self, record: &Record, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        if let Err(error) = self.core.change(record, &mut out) {
            self.error = Some(error);
        }
    }

    /// Handles at most `most` messages, and sends at most as many entries of a leaving flow.
    pub(super) fn serve(&mut self, most: usize, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: most as u32 };
        if let Err(error) = self.core.serve(most, &mut self.back, &mut out) {
            self.error = Some(error);
        }
        if self.out.planted == Some(Planted::NeverWaits) {
            self.core.half.forget_fences();
        }
    }

    /// Reports its load.
    pub(super) fn tell(&mut self, time: u64, others: &mut Others<'_, A>) {
        let load = Load { time, ..Load::default() };
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        self.core.half.tell(&load, &mut out);
        out.publish();
    }

    /// The time of the run ends: entries that ended by `now` are known where hooks run.
    pub(super) fn end_hooks(&mut self, now: u64, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        self.core.half.end_hooks(now, &mut out);
        out.publish();
    }

    /// Handles the end of the host: takes all messages that it published, and goes on with new
    /// rings and another host. Returns the messages for the successor that are not on the old ring.
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

    /// Reports its flows to another host.
    pub(super) fn greet(&mut self, others: &mut Others<'_, A>) {
        let mut out = Out { side: &mut self.out, others, entries: 0 };
        self.core.greet(&mut out, !A::RESTS_ON.is_empty());
    }
}

impl Outgoing {
    /// Sends a message to a dead host, for its successor.
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

/// Pushes a message, and calls `wait` while the ring is full; `wait` returns whether another try is
/// of use. Each wait first publishes the ring `first`, then this one. A dead process does not wait.
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

impl<A: SimApp> Out<'_, '_, A> {
    /// Sends the messages that a planted mistake delayed.
    fn send_delayed(&mut self) {
        for record in std::mem::take(&mut self.side.delayed) {
            self.pass_record(&record);
        }
    }

    fn pass_record(&mut self, (kind, bytes): &(u16, Vec<u8>)) {
        self.pass(&Message::decode(*kind, bytes).expect("it was encoded here"));
    }

    /// Transmits the answers of runs that were taken back, if that mistake is planted.
    fn answer_early(&mut self) {
        for frame in history::early_answers() {
            self.transmit(&mistaken::STAMP, &frame);
        }
    }

    /// Sends a message of a NIC with a planted mistake: `true` if it is not to be sent now.
    fn errs(&mut self, message: &Message<'_>) -> bool {
        if let Some(mistake) = self.side.planted.and_then(Mistake::of) {
            let mut mistakes = std::mem::take(&mut self.side.mistakes);
            mistakes.make(mistake, message, &mut |record| self.pass_record(record));
            self.side.mistakes = mistakes;
            self.answer_early();
            return true;
        }
        let delays = match (self.side.planted, message) {
            // Behind the packet that it was meant to precede.
            (Some(Planted::TellsEndsLate), Message::Hooks(Hooks::Over { .. }))
            | (Some(Planted::TurnsLate), Message::Merges(_)) => true,
            (Some(Planted::TellsEndsLate | Planted::TurnsLate), _) => {
                let is_packet = matches!(message, Message::Frames(_));
                if is_packet {
                    self.pass(message);
                }
                self.send_delayed();
                return is_packet;
            }
            (Some(Planted::TellsNoTime), Message::Hooks(Hooks::Reached { .. }))
            | (Some(Planted::LosesParts), Message::Merges(Merges::Part { .. })) => return true,
            (Some(Planted::NoTicks), Message::Ownership(Ownership::Fence { .. })) => {
                self.send_delayed();
                false
            }
            (Some(Planted::NoTicks), _) => {
                self.side.delayed.clear();
                matches!(message, Message::Hooks(Hooks::Reached { .. }))
            }
            _ => false,
        };
        if delays {
            self.side.delayed.push(message.encode(|kind, parts| (kind, parts.concat())));
        }
        delays
    }
}

impl<A: SimApp> PeerOutbox for Out<'_, '_, A> {
    fn now_ns(&self) -> u64 {
        history::worked()
    }

    fn send(&mut self, message: &Message<'_>) {
        if !self.errs(message) {
            self.pass(message);
        }
    }

    fn show(&mut self) {
        self.side.punt.publish();
    }
}

impl<A: SimApp> Out<'_, '_, A> {
    fn pass(&mut self, message: &Message<'_>) {
        if self.others.host.life.is_over() {
            return self.side.spill(message);
        }
        let Outgoing { punt, life, waits, lies, .. } = &mut *self.side;
        let sent = push(punt, None, message, lies.as_mut(), life, || {
            *waits += 1;
            self.others.host.poll(1);
            self.others.host.error.is_none() && !self.others.host.life.is_over()
        });
        // A host with an error is about to be ended, and takes no more messages.
        if self.others.host.life.is_over() || self.others.host.error.is_some() {
            self.side.spill(message);
        } else {
            self.side.broken |= !sent;
        }
    }
}

impl<A: SimApp> Wire for Out<'_, '_, A> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        story::takes("wire", &Message::Frames(Frames::Frame { stamp: *stamp, frame }));
        let Outgoing { punt, wire, life, waits, broken, lies, .. } = &mut *self.side;
        // A packet that leaves may depend on records that were sent to the host before.
        let bytes = frame;
        let frame = Message::Frames(Frames::Frame { stamp: *stamp, frame });
        let sent = push(wire, Some(punt), &frame, lies.as_mut(), life, || {
            *waits += 1;
            self.others.wire.drain();
            self.others.wire.error.is_none()
        });
        *broken |= !sent;
        if sent && !life.is_over() {
            history::note(|| Event::Left(bytes.to_vec()));
        }
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.side.shelf)
    }
}

impl<A: SimApp> Egress for Out<'_, '_, A> {
    fn publish(&mut self) {
        if let Some(record) = self.side.mistakes.rest() {
            self.pass_record(&record);
        }
        if self.side.planted == Some(Planted::TellsEndsLate) {
            self.send_delayed();
        }
        self.side.publish();
    }

    fn is_broken(&self) -> bool {
        self.side.broken
    }

    fn host_ended(&self) -> bool {
        self.others.host.life.is_over()
    }

    /// Ignores the number of bytes: rings and bursts are small here.
    fn wire_has(&mut self, _: usize) -> bool {
        self.side.wire.free_bytes() >= self.side.burst_bytes || self.side.wire.occupancy() == 0
    }

    fn room_for_entries(&mut self, _: u32) -> u32 {
        self.entries
    }
}
