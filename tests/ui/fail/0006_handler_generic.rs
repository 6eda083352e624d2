#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn any<T: Copy, const N: usize>(packet: &mut Packet) -> Verdict {
    Transmit
}

fn main() {}
