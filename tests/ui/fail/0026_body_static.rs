#![allow(unused)]

use cora::prelude::*;

use std::sync::atomic::{AtomicU64, Ordering};

#[flow_handler]
fn count(packet: &mut Packet) -> Verdict {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    SEEN.fetch_add(packet.len() as u64, Ordering::Relaxed);
    Transmit
}

fn main() {}
