#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 16, idle = "1m", length = 16)]
struct Flow {
    packets: u64,
}

fn main() {}
