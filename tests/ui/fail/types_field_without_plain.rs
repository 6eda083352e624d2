#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy)]
struct Mark {
    value: u8,
}

#[state(key = FiveTuple, capacity = 10, idle = "5m")]
struct Session {
    mark: Mark,
}

fn main() {}
