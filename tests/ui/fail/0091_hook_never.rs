#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "never", on_expire)]
struct Answer {
    code: u16,
}

fn main() {}
