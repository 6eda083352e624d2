//! Connections judged by rules that are replaced between packets. Each packet must be judged by the
//! version in force at its arrival, and by one version of both states. Connections that end become
//! records.

use cora_core::key::FiveTuple;
use cora_core::packet::Packet;
use cora_core::record::{End, FlowRecord, Record, element};
use cora_core::state::{Configure, Pinned, Reach, ReadMostly, Singleton, Table, Versioned};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict, reasons};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

/// Rules and rates have different versions: no packet may see that.
const TORN: Reason = Reason::new("torn-version");

plain! {
    recorded struct Judged {
        packets: u64,
        /// Versions that judged its packets, in order.
        versions: u64,
        toll: u64,
    }
}
keyed!(Judged, FiveTuple, 64, true);

impl FlowRecord for Judged {
    fn record(&self, key: &FiveTuple, _: End, record: &mut Record<'_>) {
        record.five_tuple(key);
        record.number(element::PACKETS, self.packets);
    }
}

plain! {
    struct Rules {
        version: u64,
        /// Large enough for a version to go in several pieces.
        rules: [u64; 300],
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self { version: 1, rules: [1; 300] }
    }
}

plain! {
    struct Rates {
        version: u64,
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self { version: 1 }
    }
}

impl Configure for Rules {
    fn configure(_: &str) -> Result<Self, &'static str> {
        Ok(Self::default())
    }
}

impl Configure for Rates {
    fn configure(_: &str) -> Result<Self, &'static str> {
        Ok(Self::default())
    }
}

impl ReadMostly for Rules {
    const NAME: &'static str = "Rules";
}
impl ReadMostly for Rates {
    const NAME: &'static str = "Rates";
}
stored!(Rules, ReadMostly, Versioned);
stored!(Rates, ReadMostly, Versioned);

plain! {
    struct Tolls {
        taken: u64,
    }
}

impl Default for Tolls {
    fn default() -> Self {
        Self { taken: 1 }
    }
}

impl Singleton for Tolls {
    const NAME: &'static str = "Tolls";
}
stored!(Tolls, Singleton, Pinned);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the parameter of a handler")]
fn judge<R: Reach>(
    packet: &Packet<'_>,
    judged: &mut Table<Judged>,
    rules: &Rules,
    rates: &Rates,
    tolls: &mut Tolls,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let version = rules.version;
    if rates.version != version || rules.rules.iter().any(|rule| *rule != version) {
        return Drop(TORN);
    }
    match judged.find_mut(&flow) {
        Some((_, entry)) => {
            entry.packets += 1;
            entry.versions = entry.versions.wrapping_mul(31) + version;
        }
        // Every other version admits no new connections from outside.
        None if !packet.from_inside() && version.is_multiple_of(2) => {
            return Drop(reasons::NotAllowed);
        }
        None => judged.insert(flow, Judged { packets: 1, versions: version, toll: 0 })?,
    }
    match op_of(packet) {
        op::CLOSE => drop(judged.remove(&flow)),
        op::ASK => {
            reach!(R, Tolls);
            tolls.taken = tolls.taken.wrapping_mul(31) + version;
            if let Some(entry) = judged.get_mut(&flow) {
                entry.toll = tolls.taken;
            }
        }
        _ => {}
    }
    Transmit
}

program! {
    struct Judging named "judged" by FiveTuple, recorded [0 judged] {
        travels judged: Wrapped<Judged>,
        replica rules: Versioned<Rules>,
        replica rates: Versioned<Rates>,
        host tolls: Pinned<Tolls>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        judge::<R>(
            packet,
            self.judged.table(),
            self.rules.value(),
            self.rates.value(),
            self.tolls.value(),
        )
    }
}

impl<V: Variant> SimApp for Judging<V> {
    const WISHES: Wishes =
        Wishes { flows: 14, hosts: 3, ops: &[op::CLOSE, op::ASK], expires: true, crosses: false };

    const CHANGES: bool = true;

    fn refuse(&mut self, seed: u64) {
        self.judged.refuse(seed);
    }

    fn put_in_force(&mut self, version: u64) {
        let rules = self.rules.value();
        (rules.version, rules.rules) = (version, [version; 300]);
        self.rates.value().version = version;
    }
}
