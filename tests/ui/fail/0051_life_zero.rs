#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "never", life = "0s")]
struct Answer {
    code: u16,
}

fn main() {}
