#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Tenant {
    number: u32,
}

impl HeaderKey for Tenant {
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        Ok(Self { number: u32::from(packet.vlan().map_or(0, |tag| tag.id)) })
    }
}

#[state(key = Tenant, within = Tenant, capacity = 10, idle = "5m")]
struct Quota {
    bytes: u64,
}

fn main() {}
