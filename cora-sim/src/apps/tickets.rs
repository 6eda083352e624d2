//! Each flow holds a ticket of a small pool, which a hook gives back when the flow's entry expires.
//! The pool is a stack: the order in which tickets come back decides who gets which. A second entry
//! of each flow, which the NIC may make, only leaves a trace of its end.

use std::time::Duration;

use cora_core::app::next_due;
use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::state::table::hooked::hook_time;
use cora_core::state::table::{Direction, Ended};
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::leases::PUBLIC;
use super::wrapped::{AROUND_HOOKS, Wrapped};
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

/// Fewer than the flows, so that it matters when each comes back.
pub const TICKETS: usize = 5;
const FIRST_PORT: u16 = 40_000;
const NO_TICKET: Reason = Reason::new("no-ticket");
/// The longest idle time (ns).
const IDLE: u64 = 4_000_000_000;

plain! {
    durable hooked struct Holder by Holder::idle {
        ticket: u16,
        port: u16,
        packets: u32,
    }
}
keyed!(Holder, FiveTuple, 64, true, idle IDLE);

plain! {
    durable hooked struct Visit by idle_of_visit {
        packets: u32,
    }
}
// It ends soon, used or not, so its copies and its hook go by the time of its insertion, too.
keyed!(Visit, FiveTuple, 64, false, idle IDLE, life 3_300_000_000);

plain! {
    durable struct Pool {
        free: [u16; TICKETS],
        left: u32,
        ended: u64,
        order: u64,
    }
}

impl Default for Pool {
    fn default() -> Self {
        let free = std::array::from_fn(|ticket| ticket as u16);
        Self { free, left: TICKETS as u32, ended: 0, order: 0 }
    }
}

impl Singleton for Pool {
    const NAME: &'static str = "Pool";
}
stored!(Pool, Singleton, Pinned);

/// The pool outlives the host, and the entries with it.
#[derive(Debug)]
pub struct Kept;

impl Variant for Kept {
    const KEPT: &'static [usize] = &[0];
}

impl Holder {
    /// One in three is soon over.
    fn idle(self) -> Duration {
        Duration::from_secs(if self.ticket.is_multiple_of(3) { 1 } else { 4 })
    }
}

const fn idle_of_visit(_: Visit) -> Duration {
    Duration::from_millis(2_500)
}

impl Pool {
    fn take(&mut self) -> Result<u16, Reason> {
        let last = self.left.checked_sub(1).ok_or(NO_TICKET)?;
        let ticket = *self.free.get(last as usize).ok_or(NO_TICKET)?;
        self.left = last;
        Ok(ticket)
    }

    fn give_back(&mut self, ticket: u16) {
        // More than there are would be a violation, which the run's end tells.
        if let Some(place) = self.free.get_mut(self.left as usize) {
            *place = ticket;
        }
        self.left += 1;
    }

    fn note(&mut self, what: u64) {
        self.ended += 1;
        self.order = self.order.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(what);
    }
}

fn return_ticket(holder: &Ended<Holder>, pool: &mut Pool) {
    pool.give_back(holder.entry.ticket);
    pool.note(holder.at ^ u64::from(holder.entry.packets));
}

fn handle<R: Reach>(
    packet: &mut Packet<'_>,
    holders: &mut Table<Holder>,
    visits: &mut Table<Visit>,
    pool: &mut Pinned<Pool>,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let found = holders.find_mut(&flow).map(|(direction, holder)| {
        holder.packets += 1;
        (direction, *holder)
    });
    let Some((direction, holder)) = found else {
        if !packet.from_inside() {
            return Drop(reasons::NotAllowed);
        }
        reach!(R, Pool);
        let ticket = pool.value().take()?;
        let answer = FiveTuple {
            destination: PUBLIC,
            destination_port: FIRST_PORT + ticket,
            ..flow.reversed()
        };
        let holder = Holder { ticket, port: flow.source_port, packets: 1 };
        if holders.insert_with_reply(flow, answer, holder).is_err() {
            pool.value().give_back(ticket);
            return Drop(reasons::TableFull);
        }
        packet.set_source(PUBLIC)?;
        packet.set_source_port(FIRST_PORT + ticket)?;
        return Transmit;
    };
    if matches!(direction, Direction::Reply) {
        packet.set_destination_port(holder.port)?;
        return Transmit;
    }
    match visits.get_mut(&flow) {
        Some(visit) => visit.packets += 1,
        None => visits.insert(flow, Visit { packets: 1 })?,
    }
    if op_of(packet) == op::CLOSE {
        reach!(R, Pool);
        pool.value().give_back(holder.ticket);
        holders.remove(&flow);
    }
    packet.set_source(PUBLIC)?;
    packet.set_source_port(FIRST_PORT + holder.ticket)?;
    Transmit
}

program! {
    struct Ticketing named "tickets" by FiveTuple {
        host pool: Pinned<Pool>,
        travels holders: Wrapped<Holder>,
        travels visits: Wrapped<Visit>,
    }
    ordered V::ORDERED;
    stateless false;
    hooked [1 holders, 2 visits] fn run_due(self, now) {
        let pool = self.pool.value();
        while let Some(due) = next_due(
            now,
            [
                (1, hook_time(self.holders.next_end())),
                (2, hook_time(self.visits.next_end())),
            ],
        ) {
            match due {
                1 => self.holders.take_ended().iter().for_each(|it| return_ticket(it, pool)),
                _ => self.visits.take_ended().iter().for_each(|it| pool.note(it.at)),
            }
        }
    }
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.holders.table(), self.visits.table(), &mut self.pool)
    }
}

impl<V: Variant> Ticketing<V> {
    /// The tickets of the entries here, and of those that wait for their hooks.
    fn held(&mut self) -> Vec<u16> {
        self.holders.held().iter().map(|holder| holder.ticket).collect()
    }

    /// Checks that each ticket is free, or held by one entry that lives or waits for its hook.
    pub fn keeps_all(nic: &mut Self, host: &mut Self) -> Result<(), String> {
        let pool = host.pool.value();
        let free = pool.free.get(..pool.left as usize).ok_or("tickets came back twice")?.to_vec();
        let held = [nic.held(), host.held()].concat();
        let mut all = [&free[..], &held].concat();
        all.sort_unstable();
        if all.iter().copied().eq(0..TICKETS as u16) {
            return Ok(());
        }
        Err(format!("not every ticket is in one place: {free:?} are free, {held:?} are held"))
    }
}

impl<V: Variant> SimApp for Ticketing<V> {
    const WISHES: Wishes =
        Wishes { flows: 7, hosts: 3, ops: &[op::CLOSE], expires: true, crosses: false };
    const STEPS: &'static [u64] = AROUND_HOOKS;

    fn refuse(&mut self, seed: u64) {
        self.holders.refuse(seed);
        self.visits.refuse(seed ^ 1);
    }
}
