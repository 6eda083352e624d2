//! # empty-chain: lets every packet pass
//!
//! To measure, not to copy: the cost of a packet before a handler does anything. It is not even
//! parsed, since no handler names it (see `parsed-chain`).
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Lets it pass.
#[flow_handler]
fn pass(_packet: &mut Packet) -> Verdict {
    Transmit
}

cora::app!(pass);
