#![allow(unused)]

use cora::prelude::*;

#[state(singleton, merged)]
#[derive(Default)]
struct Total {
    packets: u64,
}

#[state(key = FiveTuple, capacity = 10, idle = "5m", merged)]
struct Session {
    port: u16,
}

#[state(merged)]
struct Forgotten {
    packets: Sum,
}

fn main() {}
