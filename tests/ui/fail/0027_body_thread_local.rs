#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn count(packet: &mut Packet) -> Verdict {
    std::thread_local! {
        static SEEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    SEEN.set(packet.len() as u64);
    Transmit
}

fn main() {}
