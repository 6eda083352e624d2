#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
async fn wait(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
