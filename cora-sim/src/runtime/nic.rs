//! The NIC's process: its half, on its ends of the rings, as in production. When a ring is full it
//! waits, and the other side goes on meanwhile.

use cora_runtime::channel::Outbox;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::link::message::{Frames, Kind, Load, Message, Ownership, Stamp, Telemetry};
use cora_runtime::link::payload::Parking;
use cora_runtime::link::ring::{Consumer, Producer, PushError};
use cora_runtime::nic_half::NicHalf;

use super::host::HostSide;
use super::lies::Lies;
use super::story;
use super::wire::WireEnd;
use super::words::{Life, Words};
use crate::apps::SimApp;
use crate::shelf::{self, Shelf};

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
    /// Flows that it has room for.
    room: u32,
    /// Of a NIC that lies.
    lies: Option<Lies>,
}

/// The process.
pub(super) struct NicSide<A: SimApp> {
    pub(super) half: NicHalf<A>,
    back: Consumer<Words>,
    out: Outgoing,
    buffer: Box<[u8]>,
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
    pub(super) lots: Words,
}

impl Rings {
    pub(super) fn new([punt, back, wire]: [usize; 3]) -> Self {
        let [punt, back, wire, lots] = [punt, back, wire, shelf::BYTES].map(Words::new);
        Self { punt, back, wire, lots }
    }
}

/// Whom the NIC waits for when a ring is full.
pub(super) struct Others<'a, A: SimApp> {
    pub(super) host: &'a mut HostSide<A>,
    pub(super) wire: &'a mut WireEnd,
}

struct Ends<'a, 'b, A: SimApp> {
    out: &'a mut Outgoing,
    others: &'a mut Others<'b, A>,
}

impl<A: SimApp> NicSide<A> {
    pub(super) fn new(half: NicHalf<A>, rings: &Rings, life: Life) -> Self {
        let out = Outgoing {
            punt: rings.punt.producer(&life),
            wire: rings.wire.producer(&life),
            shelf: Shelf::new(rings.lots.in_life(&life)),
            life: life.clone(),
            waits: 0,
            spilled: Vec::new(),
            broken: false,
            room: u32::MAX,
            lies: None,
        };
        let back = rings.back.consumer(&life);
        let buffer = vec![0; back.max_record()].into();
        Self { half, back, out, buffer, life, error: None }
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
        self.out.room = room;
    }

    /// Whether the host has sent anything, or a flow leaves bit by bit.
    pub(super) fn has_mail(&mut self) -> bool {
        if self.half.is_handing_over() {
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

    /// Whether what so many packets send has room, and need not be seen before what they changed.
    pub(super) fn wire_has_room(&mut self, bytes: usize) -> bool {
        self.out.wire.free_bytes() >= bytes || self.out.wire.occupancy() == 0
    }

    /// Whether what one packet sends has room: where the ring begins anew, that is twice as much.
    fn has_room_for_one(&mut self) -> bool {
        self.wire_has_room(2 * self.out.wire.max_record())
    }

    /// Packets come in.
    pub(super) fn feed(&mut self, packets: &mut [(Stamp, Vec<u8>)], others: &mut Others<'_, A>) {
        let mut burst = Burst::new();
        for (stamp, frame) in packets {
            story::takes("NIC", &Message::Frames(Frames::Frame { stamp: *stamp, frame }));
            burst.push(*stamp, frame);
        }
        let mut ends = Ends { out: &mut self.out, others };
        self.half.burst(&mut burst, &mut ends);
        self.end_of_step();
    }

    /// Handles up to so many messages.
    pub(super) fn serve(&mut self, most: usize, others: &mut Others<'_, A>) {
        for _ in 0..most {
            match self.serve_one(others) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.back.release();
        self.out.shelf.recycle();
        self.half.hand_over(most as u32, &mut Ends { out: &mut self.out, others });
        self.end_of_step();
    }

    fn serve_one(&mut self, others: &mut Others<'_, A>) -> Result<bool, String> {
        let popped = self.back.pop(&mut self.buffer);
        let Some(popped) = popped.map_err(|error| format!("NIC's ring: {error}"))? else {
            return Ok(false);
        };
        // Where the wire's ring may be published amid this, nothing of it is to be read a second
        // time.
        if A::DURABLE && !(popped.kind == Kind::Send && self.has_room_for_one()) {
            self.back.release();
        }
        let message = Message::decode(popped.kind, &self.buffer[..popped.len]);
        let message = message.ok_or("no message on the back ring")?;
        if !matches!(message, Message::Frames(Frames::Send { .. })) {
            story::takes("NIC", &message);
        }
        // What flows were to do is void; packets that are done still leave.
        if others.host.life.is_over() && !matches!(message, Message::Frames(Frames::Send { .. })) {
            return Ok(true);
        }
        let mut ends = Ends { out: &mut self.out, others };
        if let Message::Ownership(Ownership::Offer { ticket, .. }) = message
            && self.half.flows() >= ends.out.room
        {
            self.half.report.declined += 1;
            ends.send(&Ownership::Decline { ticket }.into());
            return Ok(true);
        }
        let taken = self.half.message(&message, &mut ends);
        taken.map(|_| true).map_err(|error| format!("NIC: {error}"))
    }

    /// Tells its load.
    pub(super) fn tell(&mut self, time: u64, others: &mut Others<'_, A>) {
        let load = Load { time, ..Load::default() };
        self.half.tell(&load, &mut Ends { out: &mut self.out, others });
        self.end_of_step();
    }

    /// The host is no more: takes all that it published, and goes on by new rings with another one.
    /// Gives what it still has for the dead one's successor beside what is on the ring.
    pub(super) fn replug(
        &mut self,
        rings: &Rings,
        others: &mut Others<'_, A>,
    ) -> Vec<(u16, Vec<u8>)> {
        self.serve(usize::MAX, others);
        self.back = rings.back.consumer(&self.life);
        self.out.punt = rings.punt.producer(&self.life);
        self.out.shelf.move_to(rings.lots.in_life(&self.life));
        std::mem::take(&mut self.out.spilled)
    }

    /// Another host is there.
    pub(super) fn greet(&mut self, others: &mut Others<'_, A>) {
        self.half.host_lost(&mut Ends { out: &mut self.out, others }, !A::RESTS_ON.is_empty());
        self.end_of_step();
    }

    fn end_of_step(&mut self) {
        self.out.publish();
        if self.out.broken {
            self.error = Some("a ring from the NIC is broken".to_owned());
        }
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

impl<A: SimApp> Outbox for Ends<'_, '_, A> {
    fn send(&mut self, message: &Message<'_>) {
        if self.others.host.life.is_over() {
            return self.out.spill(message);
        }
        let left = |load: &Load| u64::from(self.out.room).saturating_sub(load.counts.flows);
        let tight = match message {
            Message::Telemetry(Telemetry::Load { load }) => {
                Some(Load { room: load.room.min(left(load)), ..*load })
            }
            _ => None,
        };
        let tight = tight.map(|load| Telemetry::Load { load }.into());
        let message = tight.as_ref().unwrap_or(message);
        let Outgoing { punt, life, waits, lies, .. } = &mut *self.out;
        let sent = push(punt, None, message, lies.as_mut(), life, || {
            *waits += 1;
            self.others.host.poll(1);
            self.others.host.error.is_none() && !self.others.host.life.is_over()
        });
        // A host with an error is about to be ended, and takes nothing more.
        if self.others.host.life.is_over() || self.others.host.error.is_some() {
            self.out.spill(message);
        } else {
            self.out.broken |= !sent;
        }
    }

    fn show(&mut self) {
        self.out.punt.publish();
    }
}

impl<A: SimApp> Wire for Ends<'_, '_, A> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        story::takes("wire", &Message::Frames(Frames::Frame { stamp: *stamp, frame }));
        let Outgoing { punt, wire, life, waits, broken, lies, .. } = &mut *self.out;
        // A packet that leaves may depend on records that the host was told before.
        let frame = Message::Frames(Frames::Frame { stamp: *stamp, frame });
        let sent = push(wire, Some(punt), &frame, lies.as_mut(), life, || {
            *waits += 1;
            self.others.wire.drain();
            self.others.wire.error.is_none()
        });
        *broken |= !sent;
    }

    fn lots(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.out.shelf)
    }
}
