#![allow(unused)]

use cora::prelude::*;

#[state(key = SourceAddress, capacity = 10, idle = "5m")]
struct Quota {
    sessions: u32,
}

#[every("1s")]
fn without() {}

#[every("1s")]
fn other(packet: &mut Packet) {}

#[every("1s")]
fn mutable(tick: &mut Tick, quotas: &mut Table<Quota>) -> bool {
    true
}

fn main() {}
