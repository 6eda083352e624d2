#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1 << 27, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
