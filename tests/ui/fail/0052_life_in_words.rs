#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "never", life = "30 seconds")]
struct Answer {
    code: u16,
}

fn main() {}
