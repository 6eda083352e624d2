//! A NAT with a few public ports per bucket, its seats. A hook gives a seat back when its session's
//! entry expires. The free seats of a bucket are a stack: the order in which they come back decides
//! which session gets which one. In some variants a timer turns each bucket's stack over.

use std::time::Duration;

use cora_core::app::next_due;
use cora_core::bucket::{Bucket, BucketPort, BucketSet, Mark};
use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::table::hooked::{SHORTEST, hook_time};
use cora_core::state::table::{Direction, Ended};
use cora_core::state::{Divided, Home as _, PerBucket, Table};
use cora_core::timer::Tick;
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::leases::PUBLIC;
use super::wrapped::{AROUND_HOOKS, Wrapped};
use super::{SimApp, Variant, keyed, plain, program, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

/// Fewer than the sessions of a bucket now and then.
const SEATS: usize = 3;
const FIRST_PORT: u16 = 40_000;
const NO_SEAT: Reason = Reason::new("no-seat");
/// The longest idle time (ns).
const IDLE: u64 = 2 * SHORTEST;

plain! {
    hooked struct Guest by Guest::idle {
        seat: u16,
        inside_port: u16,
        packets: u32,
    }
}
// The busiest has to take a seat again.
keyed!(Guest, FiveTuple, 64, true, idle IDLE, life IDLE + SHORTEST / 2);

plain! {
    struct Seats {
        bucket: u8,
        free: [u16; SEATS],
        left: u32,
        ended: u64,
        ticks: u64,
        order: u64,
    }
}

impl From<Bucket> for Seats {
    fn from(bucket: Bucket) -> Self {
        let free = std::array::from_fn(|seat| seat as u16);
        let bucket = bucket.number() as u8;
        Self { bucket, free, left: SEATS as u32, ended: 0, ticks: 0, order: 0 }
    }
}

impl PerBucket for Seats {
    const NAME: &'static str = "Seats";
}
stored!(Seats, PerBucket, Divided);

impl Guest {
    /// One in three is soon over.
    fn idle(self) -> Duration {
        Duration::from_nanos(if self.seat == 0 { SHORTEST } else { IDLE })
    }
}

impl Seats {
    fn take(&mut self) -> Result<u16, Reason> {
        let last = self.left.checked_sub(1).ok_or(NO_SEAT)?;
        let seat = *self.free.get(last as usize).ok_or(NO_SEAT)?;
        self.left = last;
        Ok(seat)
    }

    fn give_back(&mut self, seat: u16) {
        // More than there are would be a violation, which the contents at the end tell.
        if let Some(place) = self.free.get_mut(self.left as usize) {
            *place = seat;
        }
        self.left += 1;
    }

    /// The order of all that happened but packets.
    fn note(&mut self, what: u64) {
        self.order = self.order.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(what);
    }

    /// A tick turns the stack of free seats over, so its place among packets and hooks shows.
    fn tick(&mut self, tick: Tick) {
        self.ticks += 1;
        self.note(tick.at);
        if let Some(free) = self.free.get_mut(..self.left as usize) {
            free.reverse();
        }
    }

    fn port(&self, seat: u16) -> Result<u16, Reason> {
        let port = Bucket::new(self.bucket).port(FIRST_PORT, seat);
        port.map(BucketPort::number).ok_or(NO_SEAT)
    }
}

fn leave(guest: &Ended<Guest>, seats: &mut Seats) {
    seats.give_back(guest.entry.seat);
    seats.ended += 1;
    seats.note(guest.at ^ u64::from(guest.entry.packets) ^ u64::from(guest.key.source_port));
}

fn handle(packet: &mut Packet<'_>, guests: &mut Table<Guest>, seats: &mut Seats) -> Verdict {
    let flow = packet.five_tuple()?;
    let found = guests.find_mut(&flow).map(|(direction, guest)| {
        guest.packets += 1;
        (direction, *guest)
    });
    let Some((direction, guest)) = found else {
        if !packet.from_inside() {
            return Drop(reasons::NotAllowed);
        }
        let seat = seats.take()?;
        let port = seats.port(seat)?;
        let answer = FiveTuple { destination: PUBLIC, destination_port: port, ..flow.reversed() };
        let guest = Guest { seat, inside_port: flow.source_port, packets: 1 };
        if guests.insert_with_reply(flow, answer, guest).is_err() {
            seats.give_back(seat);
            return Drop(reasons::TableFull);
        }
        packet.set_source(PUBLIC)?;
        packet.set_source_port(port)?;
        return Transmit;
    };
    if matches!(direction, Direction::Reply) {
        packet.set_destination_port(guest.inside_port)?;
        return Transmit;
    }
    if op_of(packet) == op::CLOSE {
        seats.give_back(guest.seat);
        guests.remove(&flow);
    }
    packet.set_source(PUBLIC)?;
    packet.set_source_port(seats.port(guest.seat)?)?;
    Transmit
}

program! {
    struct Seating named "seats" by FiveTuple {
        divided seats: Divided<Seats>,
        travels guests: Wrapped<Guest>,
    }
    ordered V::ORDERED;
    stateless false;
    buckets by InsidePort;
    hooked [1 guests] ticking timer of own fn run_due(self, now) {
        let period = V::PERIODS.first().copied();
        if let Some(period) = period {
            self.timer.pass(period, now);
        }
        while let Some(due) = next_due(
            now,
            [
                (1, hook_time(self.guests.next_end())),
                (2, if period.is_some() { self.timer.next() } else { u64::MAX }),
            ],
        ) {
            if due == 2 {
                let tick = self.timer.take(period.unwrap_or(u64::MAX));
                for bucket in self.own.iter() {
                    self.seats.enter_marked(Mark { bucket, ..Mark::UNMARKED });
                    self.seats.value().tick(tick);
                }
                continue;
            }
            self.seats.enter_marked(self.guests.ended_mark());
            let Some(guest) = self.guests.take_ended() else { break };
            leave(&guest, self.seats.value());
        }
    }
    fn chain<R>(self, packet) {
        handle(packet, self.guests.table(), self.seats.value())
    }
}

impl<V: Variant> SimApp for Seating<V> {
    const WISHES: Wishes =
        Wishes { flows: 9, hosts: 2, ops: &[op::CLOSE], expires: true, crosses: false };
    const STEPS: &'static [u64] = AROUND_HOOKS;

    fn refuse(&mut self, seed: u64) {
        self.guests.refuse(seed);
    }

    /// Each seat is free, or held by one entry that lives or waits for its hook.
    fn keeps_all(&mut self, own: BucketSet) -> Result<(), String> {
        let held = self.guests.held();
        for bucket in own.iter() {
            self.seats.enter_marked(Mark { bucket, ..Mark::UNMARKED });
            let Seats { free, left, .. } = *self.seats.value();
            let free = free.get(..left as usize).ok_or("seats came back twice")?;
            let held = held.iter().filter(|guest| Bucket::of_port(guest.inside_port) == bucket);
            let mut all: Vec<u16> =
                held.map(|guest| guest.seat).chain(free.iter().copied()).collect();
            all.sort_unstable();
            if !all.iter().copied().eq(0..SEATS as u16) {
                return Err(format!("not every seat of bucket {bucket} is in one place: {all:?}"));
            }
        }
        Ok(())
    }
}
