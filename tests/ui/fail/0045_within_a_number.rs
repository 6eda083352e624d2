#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, within = usize, capacity = 10, idle = "5m")]
struct Quota {
    bytes: u64,
}

fn main() {}
