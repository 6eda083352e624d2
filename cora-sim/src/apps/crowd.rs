//! Flows that are judged by the merged counts of both sides. Each entry mixes what its packets read
//! into a number, so that the final state shows whether each read the same as on the host alone.

use cora_core::key::{FiveTuple, HeaderKey as _, SourceAddress};
use cora_core::packet::Packet;
use cora_core::plain::Describe;
use cora_core::state::commutative::{CountMin, EPOCH, Max, Merged, ReadMerged, Sum};
use cora_core::state::{Commutative, Malformed, Pinned, Reach, Replica, Singleton, Table};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict};

use super::wrapped::Wrapped;
use super::{SimApp, Variant, keyed, plain, program, reach, stored};
use crate::frames::{op, op_of};
use crate::traffic::Wishes;

const CROWDED: Reason = Reason::new("crowded");

#[derive(Debug)]
pub struct Load {
    packets: Sum,
    latest: Max,
    sources: CountMin<2, 16>,
}

impl Replica for Load {
    const EMPTY: Self = Self { packets: Sum::EMPTY, latest: Max::EMPTY, sources: CountMin::EMPTY };
    const UNITS: u32 = 2 + CountMin::<2, 16>::UNITS;
    fn clear(&mut self) {}
    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        match unit {
            0 => self.packets.put_unit(0, out),
            1 => self.latest.put_unit(0, out),
            _ => self.sources.put_unit(unit - 2, out),
        }
    }
    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        match unit {
            0 => self.packets.merge_unit(0, bytes),
            1 => self.latest.merge_unit(0, bytes),
            _ => self.sources.merge_unit(unit - 2, bytes),
        }
    }
    fn key(&mut self, seed: u64) {
        self.sources.key(seed);
    }
    fn begin(&mut self, undo: bool) {
        self.packets.begin(undo);
        self.latest.begin(undo);
        self.sources.begin(undo);
    }
    fn rollback(&mut self) {
        self.packets.rollback();
        self.latest.rollback();
        self.sources.rollback();
    }
    fn settle(&mut self) {
        self.sources.settle();
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.open_list();
        self.packets.describe(to);
        self.latest.describe(to);
        self.sources.describe(to);
        to.close_list();
    }
}

impl Commutative for Load {
    const NAME: &'static str = "Load";
}

impl ReadMerged for Load {
    fn set(&mut self, to: &Self) {
        self.packets = to.packets;
        self.latest = to.latest;
        self.sources = to.sources;
    }
}

plain! {
    durable struct Heard {
        packets: u64,
        read: u64,
    }
}
keyed!(Heard, FiveTuple, 64, true, idle 60_000_000_000);

plain! {
    struct Desk {
        asked: u64,
        read: u64,
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self { asked: 0, read: 1 }
    }
}

impl Singleton for Desk {
    const NAME: &'static str = "Desk";
}
stored!(Desk, Singleton, Pinned);

fn handle<R: Reach>(
    packet: &Packet<'_>,
    load: &mut Merged<Load>,
    heard: &mut Table<Heard>,
    desk: &mut Pinned<Desk>,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let source = SourceAddress::of(packet)?;
    let now = load.update();
    now.packets.add(1);
    now.latest.raise(packet.now());
    now.sources.add(&source, 1);
    let (merged, earlier) = (load.merged(), load.earlier());
    let counts = [
        merged.packets.value(),
        merged.latest.value(),
        merged.sources.estimate(&source),
        earlier.packets.value(),
    ];
    let mix = |before: u64| {
        counts.iter().fold(before, |mixed, count| mixed.wrapping_mul(0x9e37_79b9) ^ count)
    };
    match heard.get_mut(&flow) {
        Some(heard) => {
            heard.packets += 1;
            heard.read = mix(heard.read);
        }
        None => heard.insert(flow, Heard { packets: 1, read: mix(0) })?,
    }
    if op_of(packet) == op::ASK {
        reach!(R, Desk);
        let desk = desk.value();
        desk.asked += 1;
        desk.read = mix(desk.read);
    }
    if counts[2] > 2 && counts[2].is_multiple_of(3) { Drop(CROWDED) } else { Transmit }
}

program! {
    struct Crowd named "crowd" by FiveTuple {
        merged load: Merged<Load>,
        travels heard: Wrapped<Heard>,
        host desk: Pinned<Desk>,
    }
    ordered V::ORDERED;
    stateless false;
    fn chain<R>(self, packet) {
        handle::<R>(packet, &mut self.load, self.heard.table(), &mut self.desk)
    }
}

impl<V: Variant> SimApp for Crowd<V> {
    const WISHES: Wishes =
        Wishes { flows: 7, hosts: 3, ops: &[op::ASK], expires: false, crosses: false };
    // Many packets to an epoch, a few, and pauses.
    const STEPS: &'static [u64] = &[
        0,
        0,
        1,
        1_000_000,
        20_000_000,
        30_000_000,
        EPOCH / 2,
        EPOCH - 1,
        EPOCH,
        EPOCH + 1,
        2 * EPOCH,
        7 * EPOCH,
    ];

    fn refuse(&mut self, seed: u64) {
        self.heard.refuse(seed);
    }
}
