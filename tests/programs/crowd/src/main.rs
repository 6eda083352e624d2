//! Holds back sources with more than their share of all packets. The counts are merged from both
//! sides, and of all shards. Each entry mixes the counts that its packets read into a number, so
//! the final state shows whether each packet read the same under another plan. Hooks count, and
//! mix their counts in, too.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Flows at a time.
const FLOWS: u32 = 1 << 14;
/// One packet in so many may be one source's.
const SHARE: u64 = 4;
/// Packets of a source before its share is asked for.
const FREE: u64 = 64;

const CROWDED: Reason = Reason::new("crowded");

/// The packets of all sources.
#[state(commutative, merged)]
struct Load {
    packets: Sum,
    by_source: CountMin<2, 256>,
    longest: Max,
    by_port: Sums<2>,
    /// Flows that ended, their packets, and the counts that their hooks read.
    ended: Sums<3>,
}

/// A flow.
#[state(key = FiveTuple, reply, capacity = FLOWS, idle = "10s", on_expire)]
struct Flow {
    packets: u64,
    /// The merged counts, mixed.
    read: u64,
}

/// Flows that were opened, so that the host opens them. Each shard has those of its buckets.
#[state(per = Bucket)]
struct Opened {
    flows: u64,
    read: u64,
}

impl From<Bucket> for Opened {
    fn from(_: Bucket) -> Self {
        Self { flows: 0, read: 0 }
    }
}

/// Mixes the merged counts into a number.
fn mixed(load: &Merged<Load>, source: SourceAddress, before: u64) -> u64 {
    let (merged, earlier) = (load.merged(), load.earlier());
    let counts = [
        merged.packets.value(),
        merged.by_source.estimate(&source),
        merged.longest.value(),
        merged.by_port.value(0),
        merged.by_port.value(1),
        merged.ended.value(0),
        merged.ended.value(1),
        merged.ended.value(2),
        earlier.packets.value(),
        earlier.by_source.estimate(&source),
    ];
    counts.iter().fold(before, |mixed, count| mixed.wrapping_mul(0x9e37_79b9) ^ count)
}

/// Counts a flow that ended, by the merge as of its hook.
#[on_expire]
fn count(ended: &Ended<Flow>, load: &mut Merged<Load>) {
    let (merged, earlier) = (load.merged(), load.earlier());
    let read = merged.packets.value() ^ earlier.ended.value(2) ^ merged.ended.value(0);
    let now = load.update();
    now.ended.add(0, 1);
    now.ended.add(1, ended.entry.packets);
    now.ended.add(2, read.wrapping_mul(ended.at));
}

#[flow_handler]
fn hold_back(
    packet: &mut Headers,
    load: &mut Merged<Load>,
    flows: &mut Table<Flow>,
    opened: &mut Opened,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let source = SourceAddress(flow.source);
    let now = load.update();
    now.packets.add(1);
    now.by_source.add(&source, 1);
    now.longest.raise(packet.len() as u64);
    now.by_port.add(usize::from(packet.from_inside()), packet.len() as u64);
    let merged = load.merged();
    let sent = merged.by_source.estimate(&source);
    if sent > FREE && sent > merged.packets.value() / SHARE {
        return Drop(CROWDED);
    }
    if let Some(known) = flows.get_mut(&flow) {
        known.packets += 1;
        known.read = mixed(load, source, known.read);
    } else {
        opened.flows += 1;
        opened.read = mixed(load, source, opened.read);
        flows.insert(flow, Flow { packets: 1, read: 0 })?;
    }
    Transmit
}

cora::app!(hold_back);
