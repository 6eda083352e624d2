//! Kills: a side ends between any two stores to shared memory, perhaps with a record half written,
//! and another one is started. The rest stays consistent: each packet leaves at most once, in its
//! flow's order; no update is made twice; and no packet that left depends on lost state.

use std::collections::{BTreeMap, BTreeSet};

use cora_core::app::Sides;
use cora_core::key::FiveTuple;
use cora_core::packet::{Meta, Packet, Port};
use cora_runtime::ownership::Order;

use super::nic::{NicSide, Others, Rings};
use super::{Planted, Ran, Runtime, Turn, burst_bytes};
use crate::apps::marks::{self, Marking};
use crate::apps::{SimApp, Variant};
use crate::frames::{flow_of, is_intact, number_of, tuple_of};
use crate::halves;
use crate::history::{self, Event};
use crate::memory::Supply;
use crate::story;
use crate::traffic::Case;
use crate::words::Life;

/// Flow numbers from here on belong to packets without a flow.
const NO_FLOW: u32 = 0x8000_0000;

/// Runs a case with up to `kills` kills of a side. An error describes the violation.
pub fn run_killed<V: Variant>(case: &Case, seed: u64, kills: u64) -> Result<Ran, String> {
    killed::<V>(case, seed, kills, None)
}

/// Runs a case with kills, and with a mistake if one is planted.
pub(super) fn killed<V: Variant>(
    case: &Case,
    seed: u64,
    kills: u64,
    planted: Option<Planted>,
) -> Result<Ran, String> {
    let mut supply = Supply::default();
    let mut runtime = Runtime::<Marking<V>>::new(case, seed, &mut supply);
    runtime.kills = kills;
    runtime.wire.keeps_made_apart = true;
    if planted == Some(Planted::LosesCopies) {
        runtime.host.lose_copies();
    }
    runtime.run()?;
    runtime.wire.drain();
    runtime.check()?;
    let lost = runtime.check_flows()?;
    Ok(Ran { lost, ..runtime.ran() })
}

impl<A: SimApp> Runtime<'_, A> {
    /// Replaces a dead NIC: the host reclaims its flows, and another NIC begins. If the host ends
    /// during that, the next host continues.
    pub(super) fn bury(&mut self) -> Result<(), String> {
        if !self.nic.life.is_over() {
            return Ok(());
        }
        self.faults.nic_kills += 1;
        let died = self.nic.core.half.engine().app().half();
        self.faults.lies += self.nic.lies();
        self.faults.nic_waits += self.nic.waits();
        self.faults.heads += self.nic.heads();
        let rings = Rings::new(self.conditions.rings);
        let mut reclaimed = self.host.replug(&self.rings, &rings)?;
        if self.host.life.is_over() {
            self.faults.host_kills += 1;
            let died = self.host.half.engine().app().half();
            self.note_death(died);
            self.faults.host_waits += self.host.waits();
            self.host.error = None;
            let (half, now) = (halves::host::<A>(self.supply, self.case.seed, true), self.latest());
            self.host.succeed(half, [&self.rings, &rings], &[], now)?;
            reclaimed = self.host.reclaim();
            self.host.follow(&Order::Admit(self.admission()));
        }
        self.wire.replug(rings.wire.consumer(&Life::endless()));
        self.void_errors();
        self.check_host()?;
        story::tell(|| format!("the NIC is dead: {reclaimed:?}"));
        let refuses = self.conditions.refuses.then_some(self.seed ^ self.clock);
        let half = halves::nic::<A>(self.supply, self.case.seed, self.conditions.hold, refuses);
        self.nic = NicSide::new(half, &rings, Life::endless(), burst_bytes(self.longest));
        self.nic.err(self.planted);
        self.nic.serve(1, &mut Others { host: &mut self.host, wire: &mut self.wire });
        self.rings = rings;
        self.limit();
        self.note_death(died);
        let seen = self.wire.left() + self.host.done() as u64;
        self.endangered = self.fed_in_flows().saturating_sub(seen);
        self.is_replaced(Turn::Nic);
        Ok(())
    }

    /// Replaces a dead host: another one begins with its replicas. Packets that the NIC had sent
    /// and the dead host had not handled are lost.
    pub(super) fn bury_host(&mut self) -> Result<(), String> {
        if !self.host.life.is_over() {
            return Ok(());
        }
        self.faults.host_kills += 1;
        let died = self.host.half.engine().app().half();
        self.faults.lies += self.host.lies();
        self.faults.host_waits += self.host.waits();
        let wire = self.rings.wire.clone();
        let rings = Rings { wire, ..Rings::new(self.conditions.rings) };
        let mut others = Others { host: &mut self.host, wire: &mut self.wire };
        let spilled = self.nic.replug(&rings, &mut others);
        // Errors of a host that is already dead don't count.
        self.host.error = None;
        let half = halves::host::<A>(self.supply, self.case.seed, true);
        let now = self.latest();
        let reclaimed = self.host.succeed(half, [&self.rings, &rings], &spilled, now)?;
        self.host.follow(&Order::Admit(self.admission()));
        story::tell(|| format!("the host is dead: {reclaimed:?}"));
        self.wire.drain();
        self.endangered = self.fed_in_flows().saturating_sub(self.wire.left());
        let mut others = Others { host: &mut self.host, wire: &mut self.wire };
        self.nic.greet(&mut others);
        self.rings = rings;
        self.limit();
        // Where the NIC has all flows, the host holds nothing.
        if A::PLAN.sides != Sides::NicOnly {
            self.note_death(died);
        }
        self.void_errors();
        self.is_replaced(Turn::Host);
        self.check()
    }

    /// Notes in the history that a half died.
    fn note_death(&self, half: u32) {
        history::note(|| Event::Died(half, self.latest()));
    }

    /// Returns the time of the latest packet.
    fn latest(&self) -> u64 {
        self.fed.checked_sub(1).map_or(0, |last| self.case.packets[last].0.meta.now)
    }

    /// Returns the number of packets with a flow that were fed in.
    fn fed_in_flows(&self) -> u64 {
        let fed = self.case.packets.iter().take(self.fed);
        fed.filter(|(_, frame)| flow_of(frame) < NO_FLOW).count() as u64
    }
}

/// The packets and tuples of one flow.
#[derive(Default)]
struct Fate {
    fed: BTreeSet<u32>,
    left: BTreeSet<u32>,
    /// Packets whose copies left.
    copied: BTreeSet<u32>,
    tuples: BTreeSet<FiveTuple>,
}

impl<V: Variant> Runtime<'_, Marking<V>> {
    /// Checks the invariants at the end. Returns the number of lost packets.
    fn check_flows(&mut self) -> Result<u64, String> {
        let mut fates: BTreeMap<u32, Fate> = BTreeMap::new();
        for (stamp, frame) in self.case.packets.iter().take(self.fed) {
            let flow = flow_of(frame);
            if flow < NO_FLOW {
                let fate = fates.entry(flow).or_default();
                fate.fed.insert(numbered(frame));
                let tuple = tuple_of(frame);
                let is_answer = stamp.meta.port == Port::OUTSIDE;
                let tuple = tuple.map(|it| if is_answer { it.reversed() } else { it });
                fate.tuples.extend(tuple);
            }
        }
        let mut lost = 0;
        for (flow, fate) in &mut fates {
            let left = self.wire.results.frames.get(flow);
            if let Some((_, frame)) =
                left.into_iter().flatten().find(|(_, frame)| !is_intact(frame))
            {
                return Err(format!("flow {flow}: packet {} has another's rest", numbered(frame)));
            }
            let left = left.into_iter().flatten().map(|(_, frame)| numbered(frame));
            let left: Vec<u32> = left.collect();
            if !left.is_sorted_by(|one, next| one < next) {
                return Err(format!("flow {flow}: left twice or out of order: {left:?}"));
            }
            fate.left = left.into_iter().collect();
            let made = self.wire.made.frames.get(flow);
            let made: Vec<u32> =
                made.into_iter().flatten().map(|(_, frame)| numbered(frame)).collect();
            let copies = made.chunk_by(|one, next| one == next);
            if !made.is_sorted() || copies.into_iter().any(|same| same.len() > marks::COPIES) {
                return Err(format!("flow {flow}: copies left twice or out of order: {made:?}"));
            }
            fate.copied = made.into_iter().collect();
            lost += (fate.fed.len() - fate.left.len()) as u64;
            self.check_marks(fate).map_err(|what| format!("flow {flow}: {what}"))?;
        }
        if lost > self.endangered {
            return Err(format!("{lost} packets lost, of {} that may", self.endangered));
        }
        Ok(lost)
    }

    fn check_marks(&mut self, fate: &Fate) -> Result<(), String> {
        let (mut owners, mut seen) = (0, 0);
        for tuple in &fate.tuples {
            let nic = self.nic.core.half.engine().app().marks_of(tuple);
            let host = self.host.half.engine().app().marks_of(tuple);
            for marks in [nic, host].into_iter().flatten() {
                story::tell(|| format!("{tuple}: {marks:?}, at the NIC: {}", nic.is_some()));
                owners += 1;
                seen |= marks.seen;
                if marks.doubled > 0 {
                    return Err(format!("an update was made twice: {marks:?}"));
                }
                if marks.disordered > 0 {
                    return Err(format!("handled out of order: {marks:?}"));
                }
            }
        }
        if owners > 1 {
            return Err("two owners: both sides hold its entry".to_owned());
        }
        let bits = |numbers: &BTreeSet<u32>| numbers.iter().fold(0, |bits, it| bits | 1_u64 << it);
        let (fed, left) = (bits(&fate.fed), bits(&fate.left) | bits(&fate.copied));
        if left & !seen != 0 {
            return Err(format!("packets left whose updates are lost: {:#b}", left & !seen));
        }
        if seen & !fed != 0 {
            return Err(format!("updates of packets that never came: {:#b}", seen & !fed));
        }
        Ok(())
    }
}

fn numbered(frame: &[u8]) -> u32 {
    let mut frame = frame.to_vec();
    number_of(&Packet::new(&mut frame, Meta::default()))
}
