#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "never", ttl = "1s")]
struct Answer {
    code: u16,
}

fn main() {}
