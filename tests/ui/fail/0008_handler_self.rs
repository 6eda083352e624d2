#![allow(unused)]

use cora::prelude::*;

struct Firewall;

impl Firewall {
    #[flow_handler]
    fn run(&mut self, packet: &mut Packet) -> Verdict {
        Transmit
    }
}

fn main() {}
