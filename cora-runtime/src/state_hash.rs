//! The state of a half as bytes, for an explorer of all schedules. It has everything that decides
//! the handling of later packets and messages, and no counters. Two halves with the same bytes
//! behave the same from then on, so the explorer follows only one of them.
//!
//! Record numbers are part of it, and so is the next free one. The order of later free numbers is
//! not, and neither are the positions of the tables' wheels: expiry is compared exactly, whenever a
//! wheel turns.

use cora_core::app::App;
use cora_core::packet::MAX_FRAME;
use cora_core::plain::Plain;

use crate::host_half::HostHalf;
use crate::nic_half::NicHalf;
use crate::ownership::handover::Leaving;
use crate::ownership::records::{Flows, Record, Stage};

type Say<'a> = dyn FnMut(&[u8]) + 'a;

fn word(say: &mut Say<'_>, word: u64) {
    say(&word.to_le_bytes());
}

fn number(say: &mut Say<'_>, number: Option<u32>) {
    word(say, number.map_or(u64::MAX, u64::from));
}

/// The handover under way.
fn left_of(leaving: Option<Leaving>, say: &mut Say<'_>) {
    number(say, leaving.map(|leaving| leaving.flow));
    number(say, leaving.map(|leaving| leaving.left));
    word(say, leaving.map_or(0, |leaving| leaving.now));
}

/// The entries of all states, and the records. The number of packets that left the queue does not
/// matter, so places in it count from its beginning.
fn holdings<A: App>(app: &mut A, flows: &mut Flows<A>, left: u64, say: &mut Say<'_>) {
    for state in 0..A::STATES {
        word(say, state as u64);
        app.state(state).export(0, say);
    }
    number(say, flows.next_number());
    for flow in 0..flows.numbers() {
        let (Some(group), Some(used)) = (flows.group(flow), flows.used(flow)) else { continue };
        let Some(record) = flows.record(flow).copied() else { continue };
        let mut bytes = [0; 64];
        group.put(&mut bytes);
        say(&bytes);
        let Record { stage, ticket, scattered, punts, packets, came, queued_until, passed } =
            record;
        let waits = [queued_until, passed].map(|place| place.saturating_sub(left));
        let stage = match stage {
            Stage::Owned => 1,
            Stage::Offered => 0,
            Stage::Leaving => 2,
        };
        let facts = [u64::from(ticket), u64::from(scattered), u64::from(punts), u64::from(packets)];
        let of_time = [came, used, u64::from(flow), stage];
        [facts, of_time, [waits[0], waits[1], 0, 0]]
            .as_flattened()
            .iter()
            .for_each(|it| word(say, *it));
        Flows::each_key(app, flow, &mut |words| words.iter().for_each(|it| word(say, *it)));
    }
}

impl<A: App> NicHalf<A> {
    /// Gives the state of the half to `say`. `frame` has room for the largest frame.
    pub fn digest(&mut self, frame: &mut [u8; MAX_FRAME], say: &mut Say<'_>) {
        let left = self.hold.left();
        holdings(self.engine.app(), &mut self.flows, left, say);
        self.tickets.iter().for_each(|flow| number(say, *flow));
        for (words, flow) in self.announced.all() {
            for it in words {
                word(say, it);
            }
            word(say, u64::from(flow));
        }
        if let Some(incoming) = self.incoming {
            let returned = u64::from(incoming.returned);
            for it in [u64::from(incoming.flow), u64::from(incoming.left), returned] {
                word(say, it);
            }
        }
        left_of(self.leaving, say);
        word(say, self.host_waits_until.saturating_sub(left));
        word(say, self.now);
        word(say, u64::from(self.closed));
        self.hold.each(frame, &mut |stamp, frame| {
            word(say, stamp.number);
            say(frame);
        });
    }
}

impl<A: App> HostHalf<A> {
    /// Gives the state of the half to `say`.
    pub fn digest(&mut self, say: &mut Say<'_>) {
        holdings(self.engine.app(), &mut self.flows, 0, say);
        for offer in self.tickets.iter().map(|offer| offer.as_ref()) {
            number(say, offer.map(|offer| offer.flow));
            word(say, offer.map_or(0, |offer| offer.digest));
        }
        if let Some(incoming) = self.incoming {
            number(say, Some(incoming.flow));
            number(say, Some(incoming.left));
        }
        left_of(self.leaving, say);
        word(say, self.fenced);
        word(say, self.now());
        word(say, u64::from(self.at_nic()));
    }
}
