#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
