//! # punt-each: asks the host for every packet of a flow but the first
//!
//! To measure, not to copy. Under a split a flow's first packet makes the host hand it to the NIC;
//! the second one is counted there before it reaches for a state of the host, so it is taken back
//! and punted.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A flow.
#[state(key = FiveTuple, reply, capacity = 65_536, idle = "5m")]
struct Flow {
    packets: u64,
    number: u64,
}

/// The host's state.
#[state(singleton)]
#[derive(Default)]
struct Book {
    numbers: u64,
}

/// Counts a packet, and gives it a number unless it is the flow's first.
#[flow_handler]
fn count(packet: &mut Packet, flows: &mut Table<Flow>, book: &mut Book) -> Verdict {
    let key = packet.five_tuple()?;
    match flows.get_mut(&key) {
        Some(flow) => {
            flow.packets += 1;
            book.numbers += 1;
            flow.number = book.numbers;
        }
        None => flows.insert(key, Flow { packets: 1, number: 0 })?,
    }
    Transmit
}

cora::app!(count);
