#![allow(unused)]

use cora::prelude::*;

const MAX_FLOWS: u32 = 1000;

#[state(key = FiveTuple, capacity = MAX_FLOWS, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
