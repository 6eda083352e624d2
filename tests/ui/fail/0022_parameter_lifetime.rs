#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct Ports {
    next: u16,
}

#[flow_handler]
fn forever(packet: &mut Packet, ports: &'static mut Ports) -> Verdict {
    Transmit
}

#[every("1s")]
fn probe(tick: &'static Tick) {}

fn main() {}
