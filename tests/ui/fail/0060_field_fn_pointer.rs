#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    policy: fn(u8) -> bool,
}

fn main() {}
