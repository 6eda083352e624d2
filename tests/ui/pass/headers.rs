//! A handler that takes a packet's headers alone; what it calls may take them, too, and so may a test that has the whole.
#![deny(warnings, unused_qualifications, elided_lifetimes_in_paths)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 16, idle = "10s")]
#[derive(Clone, Copy, Default)]
struct Seen {
    bytes: u64,
}

fn length(packet: &Headers<'_>) -> u64 {
    packet.len() as u64
}

#[flow_handler]
fn count(packet: &mut Headers, seen: &mut Table<Seen>) -> Verdict {
    let flow = packet.five_tuple()?;
    if let Some(seen) = seen.get_mut(&flow) {
        seen.bytes += length(packet);
    } else {
        seen.insert(flow, Seen { bytes: length(packet) })?;
    }
    packet.decrement_ttl()?;
    Transmit
}

#[flow_handler]
fn whole(packet: &mut Packet) -> Verdict {
    let carries = length(packet) > 0 && packet.payload().is_empty();
    if carries { Drop(NotAllowed) } else { Transmit }
}

fn main() {
    let mut frame = [0; 60];
    let mut packet = Packet::new(&mut frame, Meta::default());
    assert!(whole(&mut packet).is_err());
}
