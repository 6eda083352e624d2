#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5 minutes")]
struct Session {
    packets: u64,
}

fn main() {}
