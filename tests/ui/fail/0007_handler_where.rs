#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn bounded(packet: &mut Packet) -> Verdict
where
    u8: Copy,
{
    Transmit
}

fn main() {}
