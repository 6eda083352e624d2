#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, reply = true, capacity = 10, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
