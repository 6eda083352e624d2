#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
}

#[flow_handler]
fn take(packet: &mut Packet, ports: Ports) -> Verdict {
    Transmit
}

fn main() {}
