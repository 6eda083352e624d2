//! # panics: a handler with a fault
//!
//! To test, not to copy. A packet to port 13 makes the handler panic, and one to port 14 keeps it
//! for ever.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]
#![allow(
    clippy::panic_in_result_fn,
    clippy::while_immutable_condition,
    reason = "the faults that this program is for"
)]

use cora::prelude::*;

/// A connection, so that flows move to the NIC.
#[state(key = FiveTuple, reply, capacity = 1024, idle = "30s")]
struct Connection {
    packets: u64,
}

/// Counts, with faults.
#[flow_handler]
fn count(packet: &mut Headers, connections: &mut Table<Connection>) -> Verdict {
    let key = packet.five_tuple()?;
    if let Some(connection) = connections.get_mut(&key) {
        connection.packets += 1;
        // At the second packet of its flow, which the NIC has under a plan that splits.
        assert!(key.destination_port != 13, "a fault");
        while key.destination_port == 14 {
            core::hint::spin_loop();
        }
    } else {
        connections.insert(key, Connection { packets: 1 })?;
    }
    Transmit
}

cora::app!(count);
