#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn allow(packet: &mut Packet) -> bool {
    true
}

fn main() {}
