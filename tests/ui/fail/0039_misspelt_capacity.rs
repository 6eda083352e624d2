#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capcity = 10, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
