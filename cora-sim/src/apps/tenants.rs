//! Tenants of the program's own key: their connections are within them, under keys that collide
//! with those of other tenants. Handlers also look up other tenants, try to insert some, and send
//! copies of packets.

use cora_core::key::{FiveTuple, HeaderKey, Key};
use cora_core::outbox::Outbox;
use cora_core::packet::{Headers, Packet};
use cora_core::state::{Pinned, Reach, Singleton, Table};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

const LIMIT: u32 = 7;
const TOO_MANY: Reason = Reason::new("too-many-connections");
const SEEN: Reason = Reason::new("another-tenant-was-seen");

plain! {
    /// Every second inside host is of one tenant.
    #[derive(PartialEq, Eq)]
    struct Tenant {
        number: u8,
    }
}

impl Key for Tenant {
    type Packed = Self;
    fn pack(&self) -> Self {
        *self
    }
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    fn reply(&self) -> Option<Self> {
        Some(*self)
    }
}

impl HeaderKey for Tenant {
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        Ok(Self { number: packet.inside_address()?.bits() as u8 % TENANTS })
    }
}

const TENANTS: u8 = 5;

plain! {
    struct Talk {
        here: u64,
        there: u64,
    }
}
// The reply key of an entry may be chosen: it is within the tenant in any case.
keyed!(Talk, FiveTuple, within Tenant, 96, true);

plain! {
    struct Account {
        open: u32,
        asked: u32,
    }
}
keyed!(Account, Tenant, 8, false);

plain! {
    #[derive(Default)]
    struct Closed {
        talks: u64,
        order: u64,
    }
}

impl Singleton for Closed {
    const NAME: &'static str = "Closed";
}
stored!(Closed, Singleton, Pinned);

fn handle<R: Reach>(
    packet: &Packet<'_>,
    talks: &mut Table<Talk>,
    accounts: &mut Table<Account>,
    closed: &mut Closed,
    out: &mut Outbox,
) -> Verdict {
    let (flow, tenant) = (packet.five_tuple()?, Tenant::of(packet)?);
    let other = Tenant { number: (tenant.number + 1) % TENANTS };
    if accounts.contains(&other) {
        return Drop(SEEN);
    }
    if let Some((_, talk)) = talks.find_mut(&flow) {
        talk.here += 1;
        if op_of(packet) == op::CLOSE {
            // Taken back if the packet punts.
            out.send(packet, packet.port())?;
            talks.remove(&flow);
            if let Some(account) = accounts.get_mut(&tenant) {
                account.open = account.open.saturating_sub(1);
            }
            reach!(R, Closed);
            closed.talks += 1;
            closed.order = closed.order.wrapping_mul(31).wrapping_add(tenant.number.into());
        }
        return Transmit;
    }
    match accounts.get_mut(&tenant) {
        Some(account) if account.open >= LIMIT => {
            account.asked += 1;
            return Drop(TOO_MANY);
        }
        Some(account) => account.open += 1,
        None => accounts.insert(tenant, Account { open: 1, asked: 0 })?,
    }
    match op_of(packet) {
        op::MOVE => accounts.insert(other, Account { open: 1, asked: 1 })?,
        // Another port of the same end: a translation.
        op::ASK => {
            out.send(packet, packet.port().opposite())?;
            let reply = FiveTuple { destination_port: 7, ..flow.reversed() };
            talks.insert_with_reply(flow, reply, Talk { here: 1, there: 0 })?;
        }
        // The reversed tuple.
        op::CHURN => talks.insert(flow.reversed(), Talk { here: 0, there: 1 })?,
        _ => talks.insert(flow, Talk { here: 1, there: 0 })?,
    }
    Transmit
}

program! {
    struct Tenants named "tenants" by Tenant, within true {
        travels talks: Wrapped<Talk>,
        travels accounts: Wrapped<Account>,
        host closed: Pinned<Closed>,
    }
    ordered V::ORDERED;
    stateless false;
    sends true;
    fn chain<R>(self, packet, out) {
        let (talks, accounts) = (self.talks.table(), self.accounts.table());
        handle::<R>(packet, talks, accounts, self.closed.value(), out)
    }
}

impl<V: Variant> SimApp for Tenants<V> {
    const WISHES: Wishes = Wishes {
        flows: 24,
        hosts: 8,
        ops: &[op::CLOSE, op::ASK, op::MOVE, op::CHURN],
        expires: true,
        crosses: true,
    };

    fn refuse(&mut self, seed: u64) {
        self.talks.refuse(seed);
        self.accounts.refuse(!seed);
    }
}
