#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
}

#[flow_handler]
fn turned(ports: &mut Ports, packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
