//! # parsed-chain: has every packet parsed, and lets it pass
//!
//! To measure, not to copy: the cost of a packet before a handler does anything with its fields.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Lets it pass. Packets that no handler names are not parsed (see `empty-chain`): this one names
/// them.
#[flow_handler]
fn pass(packet: &mut Packet) -> Verdict {
    let _length = packet.len();
    Transmit
}

cora::app!(pass);
