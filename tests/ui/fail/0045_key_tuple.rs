#![allow(unused)]

use cora::prelude::*;

#[state(key = (u32, u16), capacity = 10, idle = "5m")]
struct Seen {
    packets: u64,
}

fn main() {}
