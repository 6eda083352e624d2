#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = "many", idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
