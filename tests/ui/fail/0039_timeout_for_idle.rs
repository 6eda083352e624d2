#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, timeout = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
