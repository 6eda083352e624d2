#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
}

#[flow_handler]
fn apart(packet: &mut Packet, Ports { next }: &mut Ports) -> Verdict {
    Transmit
}

fn main() {}
