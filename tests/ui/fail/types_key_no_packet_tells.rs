#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Tenant {
    number: u32,
}

#[state(key = Tenant, capacity = 10, idle = "5m")]
struct Quota {
    bytes: u64,
}

#[flow_handler]
fn limit(packet: &mut Packet, quotas: &mut Table<Quota>) -> Verdict {
    Transmit
}

fn main() {}

