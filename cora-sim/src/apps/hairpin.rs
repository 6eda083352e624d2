//! Inside hosts that talk to each other, each the inside host of its own packets: keys of groups
//! collide. Handlers also look up keys of other groups in either table, and try to insert some.

use cora_core::key::{FiveTuple, HeaderKey as _, InsideAddress};
use cora_core::packet::Packet;
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

const LIMIT: u32 = 6;
const TOO_MANY: Reason = Reason::new("too-many-connections");
const SEEN: Reason = Reason::new("another-group-was-seen");

plain! {
    struct Talk {
        here: u64,
        there: u64,
    }
}
keyed!(Talk, FiveTuple, 96, true);

plain! {
    struct Host {
        open: u32,
        asked: u32,
    }
}
keyed!(Host, InsideAddress, 24, false);

plain! {
    #[derive(Default)]
    struct Closed {
        talks: u64,
    }
}

impl Singleton for Closed {
    const NAME: &'static str = "Closed";
}
stored!(Closed, Singleton, Pinned);

fn handle<R: Reach>(
    packet: &Packet<'_>,
    talks: &mut Table<Talk>,
    hosts: &mut Table<Host>,
    closed: &mut Closed,
) -> Verdict {
    let (flow, inside) = (packet.five_tuple()?, InsideAddress::of(packet)?);
    let other = if flow.source == inside.0 { flow.destination } else { flow.source };
    if other != inside.0 && hosts.contains(&InsideAddress(other)) {
        return Drop(SEEN);
    }
    if let Some((_, talk)) = talks.find_mut(&flow) {
        talk.here += 1;
        if op_of(packet) == op::CLOSE {
            talks.remove(&flow);
            if let Some(host) = hosts.get_mut(&inside) {
                host.open = host.open.saturating_sub(1);
            }
            reach!(R, Closed);
            closed.talks += 1;
        }
        return Transmit;
    }
    match hosts.get_mut(&inside) {
        Some(host) if host.open >= LIMIT => {
            host.asked += 1;
            return Drop(TOO_MANY);
        }
        Some(host) => host.open += 1,
        None => hosts.insert(inside, Host { open: 1, asked: 0 })?,
    }
    match op_of(packet) {
        // Both ends are the other host.
        op::ASK => talks.insert(
            FiveTuple { source: other, destination: other, ..flow },
            Talk { here: 1, there: 0 },
        )?,
        op::MOVE => hosts.insert(InsideAddress(other), Host { open: 1, asked: 1 })?,
        // The reversed tuple.
        op::CHURN => talks.insert(flow.reversed(), Talk { here: 0, there: 1 })?,
        _ => talks.insert(flow, Talk { here: 1, there: 0 })?,
    }
    Transmit
}

program! {
    struct Hairpin named "hairpin" by InsideAddress, grouped true {
        travels talks: Wrapped<Talk>,
        travels hosts: Wrapped<Host>,
        host closed: Pinned<Closed>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R>(packet, self.talks.table(), self.hosts.table(), self.closed.value())
    }
}

impl<V: Variant> SimApp for Hairpin<V> {
    const WISHES: Wishes = Wishes {
        flows: 24,
        hosts: 4,
        ops: &[op::CLOSE, op::ASK, op::MOVE, op::CHURN],
        expires: true,
        crosses: true,
    };

    fn refuse(&mut self, seed: u64) {
        self.talks.refuse(seed);
        self.hosts.refuse(!seed);
    }
}
