#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
}

#[flow_handler]
fn sometimes(packet: &mut Packet, #[cfg_attr(all(), allow(unused))] ports: &mut Ports) -> Verdict {
    Transmit
}

fn main() {}
