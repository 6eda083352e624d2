//! # meters: timers of buckets, and timers of the program
//!
//! To test, not to copy. Each bucket has a budget of packets that a timer fills again, with a share
//! that depends on merged counts. Another timer keeps the count of its ticks, and tells it. Both
//! must do the same with any number of shards, whatever packets these have.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

const SPENT: Reason = Reason::new("spent");
/// Packets of a bucket at a time.
const MOST: u64 = 2;
/// Ticks between two that fill a meter: packets of a capture are few in each bucket.
const SELDOM: u64 = 128;
/// How the program tells its ticks: no protocol of IP.
const KIND: [u8; 2] = [0x88, 0xb5];

/// A flow's packets.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "1m")]
struct Flow {
    packets: u64,
}

/// A bucket's packets that may pass until the next tick.
#[state(per = Bucket, durable)]
struct Meter {
    left: u64,
    /// Ticks of this bucket, and all of their times so far.
    ticks: u64,
    order: u64,
}

impl From<Bucket> for Meter {
    fn from(_: Bucket) -> Self {
        Self { left: MOST, ticks: 0, order: 0 }
    }
}

/// Packets and ticks of all buckets and shards.
#[state(commutative, merged)]
struct Counts {
    packets: Sum,
    filled: Sum,
    ticks: Sum,
    last: Max,
}

#[flow_handler]
fn meter(
    packet: &mut Headers,
    flows: &mut Table<Flow>,
    meter: &mut Meter,
    counts: &mut Merged<Counts>,
) -> Verdict {
    let key = packet.flow()?;
    counts.update().packets.add(1);
    if let Some(flow) = flows.get_mut(&key) {
        flow.packets += 1;
        // The packets in between need no meter, so the NIC may own the flow.
        if !flow.packets.is_multiple_of(2) {
            return Transmit;
        }
    } else {
        flows.insert(key, Flow { packets: 1 })?;
    }
    meter.left = meter.left.checked_sub(1).ok_or(SPENT)?;
    Transmit
}

/// Fills the meter of a bucket.
#[every("350ms")]
fn fill(tick: &Tick, meter: &mut Meter, counts: &mut Merged<Counts>) {
    let crowd = counts.merged().packets.value().saturating_sub(counts.earlier().packets.value());
    if meter.ticks.is_multiple_of(SELDOM) {
        meter.left = (meter.left + 1 + crowd % 3).min(MOST);
    }
    meter.ticks += 1;
    meter.order = meter.order.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(tick.at ^ crowd);
    counts.update().filled.add(1);
}

/// Tells the ticks so far.
#[every("1s")]
fn tell(tick: &Tick, counts: &mut Merged<Counts>, out: &mut Outbox) {
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&KIND);
    frame[14..22].copy_from_slice(&tick.at.to_be_bytes());
    frame[22..30].copy_from_slice(&counts.merged().filled.value().to_be_bytes());
    // There is room for it, in an outbox of its own.
    let _is_sent = out.send_frame(&frame, Port::OUTSIDE);
    counts.update().ticks.add(1);
    counts.update().last.raise(tick.at);
}

cora::app!(meter);
