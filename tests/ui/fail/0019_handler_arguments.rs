#![allow(unused)]

use cora::prelude::*;

#[flow_handler(side = "nic")]
fn placed(packet: &mut Packet) -> Verdict {
    Transmit
}

#[flow_handler(at = nic)]
fn kept_at_the_nic(packet: &mut Packet) -> Verdict {
    Transmit
}

#[flow_handler(at = host, transparent, at = host)]
fn twice(packet: &mut Packet) -> Verdict {
    Transmit
}

#[flow_handler(host)]
fn without_at(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
