#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m")]
struct Session {
    packets: u64,
}

#[state(singleton)]
struct Pool {
    sessions: Table<Session>,
}

fn main() {}
