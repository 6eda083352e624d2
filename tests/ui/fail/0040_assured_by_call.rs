#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m", assured_by = self.is_assured())]
struct Session {
    packets: u64,
}

fn main() {}
