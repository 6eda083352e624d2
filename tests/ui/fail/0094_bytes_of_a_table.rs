#![allow(unused)]

use cora::prelude::*;

#[state(key = u64, bytes = "32 MiB", capacity = 1_000, idle = "1h")]
struct Row {
    value: u64,
}

fn main() {}
