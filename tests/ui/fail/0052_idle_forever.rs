#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "forever")]
struct Answer {
    code: u16,
}

fn main() {}
