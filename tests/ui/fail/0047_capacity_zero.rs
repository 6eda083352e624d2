#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 0, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
