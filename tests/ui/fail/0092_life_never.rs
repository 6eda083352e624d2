#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "5m", life = "never")]
struct Answer {
    code: u16,
}

fn main() {}
