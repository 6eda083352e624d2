//! # leases: tickets of a pool, given back when their flows expire
//!
//! To test, not to copy. Each flow holds a ticket, which is seen in its packets. There are fewer
//! tickets than flows, so the time at which each comes back decides which flow gets one. The pool
//! is a stack, so the order in which they come back decides the rest. A timer tells the number
//! left.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

const TICKETS: usize = 64;
const NO_TICKET: Reason = Reason::new("no-ticket");

/// A flow with its ticket. One in four is soon over.
#[state(key = FiveTuple, capacity = 4_096, idle = "5s", idle_by = Self::idle, durable, on_expire)]
struct Holder {
    ticket: u16,
    packets: u32,
}

/// A source with its packets.
#[state(key = SourceAddress, capacity = 4_096, idle = "2500ms", durable, on_expire)]
struct Source {
    packets: u32,
}

#[state(singleton, durable)]
struct Pool {
    free: [u16; TICKETS],
    left: u32,
    /// Holders and sources that ended.
    ended: [u64; 2],
    /// All ends and ticks so far, in their order.
    order: u64,
    ticks: u64,
}

/// Counts in replicas.
#[state(commutative)]
struct Seen {
    packets: Sum,
    last_end: Max,
}

impl Holder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "`idle_by` takes a function of `&Self`")]
    fn idle(&self) -> Duration {
        Duration::from_secs(if self.ticket.is_multiple_of(4) { 1 } else { 5 })
    }
}

impl Default for Pool {
    fn default() -> Self {
        let mut free = [0; TICKETS];
        for (ticket, place) in (0..).zip(&mut free) {
            *place = ticket;
        }
        Self { free, left: TICKETS as u32, ended: [0; 2], order: 0, ticks: 0 }
    }
}

impl Pool {
    fn take(&mut self) -> Result<u16, Reason> {
        let last = self.left.checked_sub(1).ok_or(NO_TICKET)?;
        let ticket = self.free.get(last as usize).ok_or(NO_TICKET)?;
        self.left = last;
        Ok(*ticket)
    }

    fn give_back(&mut self, ticket: u16) {
        if let Some(place) = self.free.get_mut(self.left as usize) {
            *place = ticket;
            self.left += 1;
        }
    }

    fn note(&mut self, which: usize, what: u64) {
        self.ended[which] += 1;
        self.order = self.order.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(what);
    }
}

#[flow_handler]
fn lease(
    packet: &mut Headers,
    holders: &mut Table<Holder>,
    sources: &mut Table<Source>,
    pool: &mut Pool,
    seen: &mut Seen,
) -> Verdict {
    let flow = packet.five_tuple()?;
    seen.packets.add(1);
    let source = SourceAddress(flow.source);
    match sources.get_mut(&source) {
        Some(source) => source.packets += 1,
        None => sources.insert(source, Source { packets: 1 })?,
    }
    let ticket = if let Some(holder) = holders.get_mut(&flow) {
        holder.packets += 1;
        holder.ticket
    } else {
        let ticket = pool.take()?;
        if holders.insert(flow, Holder { ticket, packets: 1 }).is_err() {
            pool.give_back(ticket);
            return Drop(TableFull);
        }
        ticket
    };
    packet.set_source_endpoint(flow.source, 40_000 + ticket)?;
    Transmit
}

#[on_expire]
fn return_ticket(holder: &Ended<Holder>, pool: &mut Pool, seen: &mut Seen) {
    pool.give_back(holder.entry.ticket);
    pool.note(0, holder.at ^ u64::from(holder.entry.packets));
    seen.last_end.raise(holder.at);
}

#[on_expire]
fn fall_silent(source: &Ended<Source>, pool: &mut Pool) {
    pool.note(1, source.at ^ u64::from(source.entry.packets));
}

/// Tells the number of tickets that are left, inside.
#[every("700ms")]
fn tell(tick: &Tick, pool: &mut Pool, out: &mut Outbox) {
    pool.ticks += 1;
    pool.order = pool.order.wrapping_mul(3).wrapping_add(tick.at);
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&[0xff; 6]);
    frame[12..14].copy_from_slice(&0x88b5_u16.to_be_bytes());
    frame[14..22].copy_from_slice(&tick.at.to_be_bytes());
    frame[22..26].copy_from_slice(&pool.left.to_be_bytes());
    // Eight packets fit, and this is one.
    let _ = out.send_frame(&frame, Port::INSIDE);
}

cora::app!(lease);
