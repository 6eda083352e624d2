#![allow(unused)]

use cora::prelude::*;

#[state(map, capacity = 1_000)]
struct Subscriber {
    rate: u32,
}

#[state(prefixes, key = SourceAddress, capacity = 1_000)]
struct Route {
    port: u8,
}

#[state(acl)]
struct Rule {
    allow: bool,
}

#[state(acl, capacity = 10, idle = "5m", durable)]
struct Old {
    allow: bool,
}

fn main() {}
