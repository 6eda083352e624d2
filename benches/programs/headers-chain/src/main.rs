//! # headers-chain: takes every packet's headers, and lets it pass
//!
//! To measure, not to copy: `parsed-chain`, but that it promises to ask for no more than headers.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Lets it pass. Of long frames, the host gets the heads alone.
#[flow_handler]
fn pass(packet: &mut Headers) -> Verdict {
    let _length = packet.len();
    Transmit
}

cora::app!(pass);
