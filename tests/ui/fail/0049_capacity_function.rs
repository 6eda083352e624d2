#![allow(unused)]

use cora::prelude::*;

const fn most() -> u32 {
    1000
}

#[state(key = FiveTuple, capacity = most(), idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
