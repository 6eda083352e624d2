#![allow(unused)]

use cora::prelude::*;

#[state(key = usize, capacity = 10, idle = "5m")]
struct Seen {
    packets: u64,
}

fn main() {}
