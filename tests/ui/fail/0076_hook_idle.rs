#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 1_000, idle = "500ms", on_expire)]
struct Probe {
    sent: u64,
}

fn main() {}
