#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn wait(packet: &mut Packet) -> Verdict {
    let _later = async { std::future::ready(packet.len()).await };
    Transmit
}

fn main() {}
