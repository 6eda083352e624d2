#![allow(unused)]

use cora::prelude::*;

#[state(reply, capacity = 10, idle = "5m")]
struct Session {
    packets: u64,
}

fn main() {}
