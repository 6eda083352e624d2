//! To test: tables of extreme sizes and times. The first is large and forgets nothing. The second
//! is small and forgets at once. The third has room for three entries, and entries that are not
//! assured make room. The last has room for a single entry. Packets at the NIC put entries in, too.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Each flow, for good.
#[state(key = FiveTuple, reply, capacity = 1 << 20, idle = "365d")]
struct Known {
    packets: u64,
}

/// Each flow, for a moment.
#[state(key = FiveTuple, reply, capacity = 1_000, idle = "1ns")]
struct Brief {
    packets: u64,
}

/// Three flows.
#[state(key = FiveTuple, capacity = 3, idle = "1h", assured_by = Self::is_assured)]
struct Few {
    packets: u64,
}

/// One flow.
#[state(key = FiveTuple, capacity = 1, idle = "1s")]
struct Single {
    packets: u64,
}

impl Few {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "`assured_by` takes a reference")]
    const fn is_assured(&self) -> bool {
        self.packets > 3
    }
}

/// Puts into each table as many flows as it has room for.
#[flow_handler]
fn edges(
    packet: &mut Headers,
    known: &mut Table<Known>,
    brief: &mut Table<Brief>,
    few: &mut Table<Few>,
    single: &mut Table<Single>,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let packets = known.get(&flow).map_or(0, |it| it.packets) + 1;
    known.insert(flow, Known { packets })?;
    brief.insert(flow, Brief { packets })?;
    let kept = few.insert(flow, Few { packets }).is_ok();
    let alone = packets.is_multiple_of(2) && single.insert(flow, Single { packets }).is_ok();
    // The plan decides which packets find room here, so the verdict must not depend on room.
    let _ = kept | alone;
    Transmit
}

cora::app!(edges);
