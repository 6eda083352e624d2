#![allow(unused)]

use cora::prelude::*;

#[state(capacity = 1_000, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
