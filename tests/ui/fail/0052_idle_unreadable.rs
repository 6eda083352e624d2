#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "soon")]
struct Session {
    packets: u64,
}

fn main() {}
