//! # empty-chain: lets every packet pass
//!
//! To measure, not to copy: what a packet costs before a handler does anything.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Lets it pass.
#[flow_handler]
fn pass(_packet: &mut Packet) -> Verdict {
    Transmit
}

cora::app!(pass);
