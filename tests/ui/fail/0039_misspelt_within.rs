#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, group = SourceAddress, capacity = 10, idle = "5m")]
struct Quota {
    bytes: u64,
}

fn main() {}
