#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "never", life = "1s", on_expire)]
struct Answer {
    code: u16,
}

fn main() {}
